//! Computes a patch between two documents: few operations, and an exact result including the order of keys.

use serde_json::{Map, Value, json};

use super::operations::escaped;

/// Returns the operations that turn `from` into `to`.
pub fn between(from: &Value, to: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    compare(from, to, "", &mut found);
    found
}

fn compare(from: &Value, to: &Value, path: &str, found: &mut Vec<Value>) {
    match (from, to) {
        (Value::Object(old), Value::Object(new)) if keeps_order(old, new) => {
            for key in old.keys().filter(|key| !new.contains_key(*key)) {
                found.push(json!({"op": "remove", "path": format!("{path}/{}", escaped(key))}));
            }
            for (key, value) in new {
                let place = format!("{path}/{}", escaped(key));
                match old.get(key) {
                    Some(before) => compare(before, value, &place, found),
                    None => found.push(json!({"op": "add", "path": place, "value": value})),
                }
            }
        }
        (Value::Array(old), Value::Array(new)) => compare_lists(old, new, path, found),
        _ if is_same(from, to) => {}
        _ => found.push(json!({"op": "replace", "path": path, "value": to})),
    }
}

/// Compares two lists, changing only the part between their common beginning and end.
fn compare_lists(old: &[Value], new: &[Value], path: &str, found: &mut Vec<Value>) {
    let pairs = |(one, other): &(&Value, &Value)| is_same(one, other);
    let head = old.iter().zip(new).take_while(pairs).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(pairs).count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    if old.len() == new.len() {
        for (place, (before, after)) in old.iter().zip(new).enumerate() {
            compare(before, after, &format!("{path}/{}", head + place), found);
        }
        return;
    }
    for place in (0..old.len()).rev() {
        found.push(json!({"op": "remove", "path": format!("{path}/{}", head + place)}));
    }
    for (place, value) in new.iter().enumerate() {
        found.push(json!({"op": "add", "path": format!("{path}/{}", head + place), "value": value}));
    }
}

/// Returns whether removing keys and adding keys at the end gives the new order.
fn keeps_order(old: &Map<String, Value>, new: &Map<String, Value>) -> bool {
    let kept = old.keys().filter(|key| new.contains_key(*key));
    let added = new.keys().filter(|key| !old.contains_key(*key));
    kept.chain(added).eq(new.keys())
}

/// Returns whether two values are equal, including the order of keys.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|((key, value), (name, with))| key == name && is_same(value, with))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        _ => one == other,
    }
}
