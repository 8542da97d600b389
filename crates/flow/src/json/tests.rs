//! Every written value reads back, and plain data cannot be read as a tagged value.

use std::sync::Arc;

use rhythm_core::payload::BlobRef;

use super::*;
use crate::limits::Limit;
use crate::value::{ErrorValue, Object, Value, equal};

fn plain(value: &Value) -> String {
    let mut out = Vec::new();
    write_plain(value, Handles::Absent, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn stored(value: &Value) -> String {
    let mut out = Vec::new();
    write_stored(value, &mut out);
    String::from_utf8(out).unwrap()
}

fn reload(value: &Value) -> Value {
    serde_json::from_str::<Stored>(&stored(value)).unwrap().0
}

#[test]
fn plain_json_reads_and_writes_in_order() {
    for text in [
        "null",
        r#"{"b":1,"a":[true,false,"x\n\"é"],"":{}}"#,
        "[9223372036854775807,-9223372036854775808,0.1,1e+300]",
        r#"{"$handle":3}"#,
        r#"{"$$x":{"$error":[]}}"#,
    ] {
        let value = read(text).unwrap();
        assert_eq!(plain(&value), text);
        assert!(equal(&reload(&value), &value), "{text}");
    }
}

#[test]
fn numbers_and_keys_given_twice_take_one_form() {
    assert_eq!(
        plain(&read("[1.0, -0.0, 1e2, 18446744073709551615]").unwrap()),
        "[1,0,100,18446744073709552000]"
    );
    assert_eq!(plain(&read(r#"{"a":1,"b":2,"a":3}"#).unwrap()), r#"{"a":3,"b":2}"#);
}

#[test]
fn what_is_no_value_is_refused_with_the_reason() {
    assert_eq!(read("1e999").unwrap_err(), ReadError::Number);
    assert!(matches!(read("{\"a\":"), Err(ReadError::Syntax(_))));
    assert!(matches!(read("1 2"), Err(ReadError::Syntax(_))));
    assert!(matches!(read(r#""\ud800""#), Err(ReadError::Syntax(_))));
    let deep = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(read(&deep(100)).is_ok());
    assert_eq!(read(&deep(101)).unwrap_err(), ReadError::Limit(Limit::Depth));
    assert_eq!(read(&deep(100_000)).unwrap_err(), ReadError::Limit(Limit::Depth));
    let wide = format!("[{}1]", "1,".repeat(3_000_000));
    assert_eq!(read(&wide).unwrap_err(), ReadError::Limit(Limit::Memory));
    let hollow = format!("[{}[]]", "[],".repeat(1_000_000));
    assert_eq!(read(&hollow).unwrap_err(), ReadError::Limit(Limit::Memory));
}

#[test]
fn errors_handles_and_blobs_survive_storing() {
    let mut error = ErrorValue::new("X", "no \"stock\"");
    error.kind = Arc::from("OutOfStock");
    error.fields = Object::of([("data", Value::Handle(4)), ("$x", Value::Null)]).unwrap();
    let blob = BlobRef { hash: "sha256:00".into(), bytes: 70_000 };
    let value = Object::of([
        ("e", Value::Error(Arc::new(error))),
        ("h", Value::Handle(7)),
        ("b", Value::Blob(Arc::new(blob))),
    ]);
    let value = Value::Object(value.unwrap());
    assert_eq!(
        stored(&value),
        r#"{"e":{"$error":{"code":"X","message":"no \"stock\"","type":"OutOfStock","data":{"$handle":4},"$$x":null}},"h":{"$handle":7},"b":{"$blob":"sha256:00","bytes":70000}}"#
    );
    assert!(equal(&reload(&value), &value));
}

#[test]
fn the_deepest_value_survives_storing_even_when_every_key_is_escaped() {
    let mut value = Value::Null;
    for _ in 0..100 {
        value = Value::Object(Object::of([("$error", value)]).unwrap());
    }
    assert!(equal(&reload(&value), &value));
}

#[test]
fn a_forged_or_broken_tag_is_refused() {
    for text in [
        r#"{"$handle":"x"}"#,
        r#"{"$handle":1,"a":2}"#,
        r#"{"$other":1}"#,
        r#"{"a":1,"$handle":2}"#,
        r#"{"$error":{"code":"X"}}"#,
        r#"{"$blob":"x"}"#,
    ] {
        assert!(serde_json::from_str::<Stored>(text).is_err(), "{text}");
    }
}
