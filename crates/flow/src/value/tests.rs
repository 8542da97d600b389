//! Bulk, sharing, order and equality of values.

use std::sync::Arc;

use super::*;
use crate::limits::{Limit, MAX_VALUE_BYTES, MAX_VALUE_DEPTH, WriteStats};

fn list(items: Vec<Value>) -> Value {
    Value::List(List::new(items).unwrap())
}

fn object(fields: &[(&str, Value)]) -> Value {
    let fields = fields.iter().map(|(key, value)| (Arc::from(*key), value.clone()));
    Value::Object(Object::new(fields).unwrap())
}

fn set(value: &mut Value, _: &mut WriteStats) -> Result<(), Limit> {
    *value = Value::integer(1);
    Ok(())
}

#[test]
fn doubling_is_stopped_by_the_weight_of_the_tree_long_before_memory_is_used() {
    let mut value = Value::text("x".repeat(1000));
    let mut rounds = 0;
    let limit = loop {
        match List::new(vec![value.clone(), value.clone()]) {
            Ok(doubled) => value = Value::List(doubled),
            Err(limit) => break limit,
        }
        rounds += 1;
    };
    assert_eq!((limit, rounds), (Limit::Memory, 15));
    assert!(value.weight() <= MAX_VALUE_BYTES);
}

#[test]
fn nesting_is_stopped_at_the_limit_exactly() {
    let mut value = Value::Null;
    for _ in 0..MAX_VALUE_DEPTH {
        value = list(vec![value]);
    }
    assert_eq!(value.bulk().depth, MAX_VALUE_DEPTH);
    assert_eq!(List::new(vec![value.clone()]).unwrap_err(), Limit::Depth);
    assert_eq!(Object::of([("a", value)]).unwrap_err(), Limit::Depth);
}

#[test]
fn replacing_a_member_keeps_the_bulk_exact() {
    let mut meter = WriteStats::default();
    let deep = list(vec![list(vec![list(vec![])])]);
    let mut outer = List::new(vec![deep, Value::Handle(1), list(vec![])]).unwrap();
    assert_eq!(outer.bulk().depth, 4);
    assert!(outer.bulk().holds_handles());
    outer.change(0, &mut meter, set).unwrap().unwrap();
    assert_eq!(outer.bulk().depth, 2);
    outer.change(1, &mut meter, set).unwrap().unwrap();
    assert!(!outer.bulk().holds_handles());
    let anew = List::new(outer.items().to_vec()).unwrap();
    assert_eq!(outer.bulk(), anew.bulk());
    assert!(outer.change(9, &mut meter, set).is_none());
}

#[test]
fn writing_to_a_copy_leaves_the_original_alone() {
    let mut copy = List::new(vec![Value::Null]).unwrap();
    let original = copy.clone();
    copy.push(Value::Null).unwrap();
    copy.change(0, &mut WriteStats::default(), set).unwrap().unwrap();
    assert_eq!((original.len(), copy.len()), (1, 2));
    assert!(matches!(original.items()[0], Value::Null));
}

#[test]
fn keys_keep_the_order_of_their_first_writing_however_many_there_are() {
    let mut meter = WriteStats::default();
    let numbered = |number: i64| (Arc::from(format!("k{number}")), Value::integer(number));
    let twice = [(Arc::from("k7"), Value::Null)];
    let mut fields = Object::new((1..50).rev().map(numbered).chain(twice)).unwrap();
    let (key, value) = numbered(0);
    fields.add(key, value, &mut meter).unwrap();
    assert!(fields.change("k50", &mut meter, set).is_none());
    let keys: Vec<_> = fields.iter().map(|(key, _)| key.to_string()).collect();
    assert_eq!(keys[..2], ["k49", "k48"]);
    assert_eq!(keys.len(), 50);
    assert!(matches!(fields.get("k7"), Some(Value::Null)));
    assert!(matches!(fields.get("k8"), Some(Value::Number(Number::Integer(8)))));
    assert!(fields.get("k50").is_none());
}

#[test]
fn equality_is_by_structure_and_kinds_never_mix() {
    let one = object(&[("a", Value::integer(1)), ("b", list(vec![Value::text("x")]))]);
    let same = object(&[("b", list(vec![Value::text("x")])), ("a", Value::integer(1))]);
    assert!(equal(&one, &same));
    assert_eq!(fingerprint(&one), fingerprint(&same));
    let others = [
        Value::Null,
        Value::Boolean(false),
        Value::integer(0),
        Value::text(""),
        Value::text("0"),
        list(vec![]),
        object(&[]),
        object(&[("a", Value::integer(1))]),
        Value::Error(Arc::new(ErrorValue::new("X", "y"))),
        Value::Handle(0),
        one,
    ];
    for (i, a) in others.iter().enumerate() {
        for (j, b) in others.iter().enumerate() {
            assert_eq!(equal(a, b), i == j, "{a:?} {b:?}");
        }
    }
}

#[test]
fn falsy_is_what_javascript_calls_falsy() {
    let falsy = [Value::Null, Value::Boolean(false), Value::integer(0), Value::text("")];
    assert!(falsy.iter().all(|value| !value.is_truthy()));
    let truthy = [Value::Boolean(true), Value::integer(-1), Value::text("0"), list(vec![]), object(&[])];
    assert!(truthy.iter().all(Value::is_truthy));
}
