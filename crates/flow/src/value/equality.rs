//! Structural equality. Values of different types are unequal; the order of an object's keys does not matter.

use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use super::{ErrorValue, Number, Value};

/// Returns whether two values are equal. Blobs must be loaded first; otherwise they are compared by
/// reference.
pub fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Boolean(a), Value::Boolean(b)) => a == b,
        (Value::Number(a), Value::Number(b)) => a == b,
        (Value::Text(a), Value::Text(b)) => a == b,
        (Value::List(a), Value::List(b)) => {
            a.is_same(b) || (a.len() == b.len() && a.items().iter().zip(b.items()).all(|(a, b)| equal(a, b)))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.is_same(b)
                || (a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b))))
        }
        (Value::Error(a), Value::Error(b)) => errors_equal(a, b),
        (Value::Handle(a), Value::Handle(b)) => a == b,
        (Value::Blob(a), Value::Blob(b)) => a == b,
        (Value::Kept(a), Value::Kept(b)) => Arc::ptr_eq(a, b),
        _ => false,
    }
}

fn errors_equal(a: &ErrorValue, b: &ErrorValue) -> bool {
    a.code == b.code
        && a.message == b.message
        && a.kind == b.kind
        && equal(&Value::Object(a.fields.clone()), &Value::Object(b.fields.clone()))
}

/// Returns a hash that is the same for equal values. It only sorts values into buckets and is never stored.
pub fn fingerprint(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    mix(value, &mut hasher);
    hasher.finish()
}

fn mix(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Null => hasher.write_u8(0),
        Value::Boolean(boolean) => hasher.write_u8(1 + u8::from(*boolean)),
        Value::Number(Number::Integer(integer)) => {
            hasher.write_u8(3);
            hasher.write_i64(*integer);
        }
        Value::Number(Number::Float(float)) => {
            hasher.write_u8(4);
            hasher.write_u64(float.to_bits());
        }
        Value::Text(text) => mix_text(5, text, hasher),
        Value::List(list) => {
            hasher.write_u8(6);
            hasher.write_usize(list.len());
            list.items().iter().for_each(|item| mix(item, hasher));
        }
        Value::Object(object) => {
            // Sum the hashes of the entries, because the order of the keys must not matter.
            let sum = object.iter().fold(0_u64, |sum, (key, value)| {
                let mut entry = DefaultHasher::new();
                mix_text(0, key, &mut entry);
                mix(value, &mut entry);
                sum.wrapping_add(entry.finish())
            });
            hasher.write_u8(7);
            hasher.write_u64(sum);
        }
        Value::Error(error) => {
            hasher.write_u8(8);
            mix_text(0, &error.code, hasher);
            mix_text(0, &error.message, hasher);
        }
        Value::Handle(handle) => {
            hasher.write_u8(9);
            hasher.write_u64(*handle);
        }
        Value::Blob(blob) => mix_text(10, &blob.hash, hasher),
        Value::Kept(kept) => {
            hasher.write_u8(11);
            hasher.write_usize(kept.count());
        }
    }
}

fn mix_text(kind: u8, text: &str, hasher: &mut DefaultHasher) {
    hasher.write_u8(kind);
    hasher.write_usize(text.len());
    hasher.write(text.as_bytes());
}
