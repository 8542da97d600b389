//! Methods of lists. None of them changes its list.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::Call;
use crate::operators::{same, text_of};
use crate::runtime_error::{Evaluated, codes, short, throw, type_error};
use crate::value::{Number, Value, fingerprint};

/// Appends the items of list arguments, and any other argument as one item.
pub fn concat(call: &mut Call<'_>) -> Evaluated {
    let mut items = call.list()?.items().to_vec();
    for argument in std::mem::take(&mut call.arguments) {
        match argument {
            Value::List(list) => {
                call.meter.allocate(24 * list.len() as u64)?;
                items.extend_from_slice(list.items());
            }
            other => items.push(other),
        }
    }
    call.make_list(items)
}

pub fn includes(call: &mut Call<'_>) -> Evaluated {
    Ok(Value::Boolean(position(call)?.is_some()))
}

/// Returns the index of the value, or -1.
pub fn index_of(call: &mut Call<'_>) -> Evaluated {
    let place = position(call)?.and_then(|place| i64::try_from(place).ok());
    Ok(Value::integer(place.unwrap_or(-1)))
}

fn position(call: &mut Call<'_>) -> Evaluated<Option<usize>> {
    let list = call.list()?;
    let wanted = call.argument(0).clone();
    for (place, item) in list.items().iter().enumerate() {
        if same(item, &wanted, call.meter)? {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

pub fn slice(call: &mut Call<'_>) -> Evaluated {
    let list = call.list()?;
    let range = call.range(list.len())?;
    call.make_list(list.items().get(range).unwrap_or_default().to_vec())
}

/// Joins the items as text. A null item becomes empty text, as in JavaScript.
pub fn join(call: &mut Call<'_>) -> Evaluated {
    let list = call.list()?;
    let separator = if call.has(0) { call.text(0)? } else { Arc::from(",") };
    let mut joined = String::new();
    for (place, item) in list.items().iter().enumerate() {
        if place > 0 {
            joined.push_str(&separator);
        }
        let text = match item {
            Value::Null => Arc::from(""),
            item => text_of(item, call.meter)?,
        };
        call.meter.allocate(16 + (separator.len() + text.len()) as u64)?;
        joined.push_str(&text);
    }
    call.make_text(&joined)
}

pub fn reverse(call: &mut Call<'_>) -> Evaluated {
    let mut items = call.list()?.items().to_vec();
    items.reverse();
    call.make_list(items)
}

/// Returns the first item, or null for an empty list.
pub fn first(call: &mut Call<'_>) -> Evaluated {
    Ok(call.list()?.items().first().cloned().unwrap_or(Value::Null))
}

pub fn last(call: &mut Call<'_>) -> Evaluated {
    Ok(call.list()?.items().last().cloned().unwrap_or(Value::Null))
}

pub fn sum(call: &mut Call<'_>) -> Evaluated {
    let list = call.list()?;
    call.meter.scan(list.bulk().weight)?;
    let mut sum = Number::Integer(0);
    for (place, item) in list.items().iter().enumerate() {
        let Value::Number(number) = item else {
            return type_error(format!("sum adds numbers, and item {place} is {}", item.described()));
        };
        sum = match sum.plus(*number) {
            Some(sum) => sum,
            None => return throw(codes::NUMBER_ERROR, "the sum is too large for a number"),
        };
    }
    Ok(Value::Number(sum))
}

/// Sorts by a field, smallest first; the sort is stable. The keys must be all numbers or all strings.
pub fn sort_by(call: &mut Call<'_>) -> Evaluated {
    let list = call.list()?;
    let key = call.text(0)?;
    let mut keyed = Vec::with_capacity(list.len());
    call.meter.allocate(48 * list.len() as u64)?;
    let mut bytes = 0;
    call.meter.scan((key.len() as u64).saturating_mul(4 * list.len() as u64))?;
    for (place, item) in list.items().iter().enumerate() {
        let value = field(call, item, &key, place)?;
        bytes += value.weight();
        keyed.push((value, item.clone()));
    }
    if let Some((place, odd)) = unsortable(&keyed) {
        let message =
            format!("sortBy compares numbers or strings: `{}` of item {place} is {odd}", short(&key));
        return type_error(message);
    }
    let rounds = u64::from(list.len().max(2).ilog2()) + 1;
    call.meter.scan(bytes.saturating_mul(rounds))?;
    keyed.sort_by(|(a, _), (b, _)| order(a, b));
    call.make_list(keyed.into_iter().map(|(_, item)| item).collect())
}

/// Returns the first key that cannot be compared with the key of the first item.
fn unsortable(keyed: &[(Value, Value)]) -> Option<(usize, &'static str)> {
    let (first, _) = keyed.first()?;
    keyed.iter().enumerate().find_map(|(place, (key, _))| match (first, key) {
        (Value::Number(_), Value::Number(_)) | (Value::Text(_), Value::Text(_)) => None,
        (_, odd) => Some((place, odd.described())),
    })
}

fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.compare(*b),
        (Value::Text(a), Value::Text(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}

pub fn pluck(call: &mut Call<'_>) -> Evaluated {
    let list = call.list()?;
    let key = call.text(0)?;
    let mut plucked = Vec::with_capacity(list.len());
    call.meter.scan((key.len() as u64 + 16).saturating_mul(4 * list.len() as u64))?;
    for (place, item) in list.items().iter().enumerate() {
        plucked.push(field(call, item, &key, place)?);
    }
    call.make_list(plucked)
}

fn field(call: &Call<'_>, item: &Value, key: &str, place: usize) -> Evaluated {
    let found = match item {
        Value::Object(object) => object.get(key).cloned(),
        Value::Error(error) => error.get(key),
        other => {
            let (name, what) = (call.name(), other.described());
            return type_error(format!(
                "{name} reads `{}` of objects, and item {place} is {what}",
                short(key)
            ));
        }
    };
    match found {
        Some(value) => Ok(value),
        None => throw(
            codes::PROPERTY_NOT_FOUND,
            format!("item {place} of the list has no property `{}`", short(key)),
        ),
    }
}

/// Flattens nested lists by one level, or by the given number of levels.
pub fn flat(call: &mut Call<'_>) -> Evaluated {
    let mut items = call.list()?.items().to_vec();
    let levels = match call.argument(0) {
        Value::Null => 1,
        _ => match call.number(0)?.as_index() {
            Some(levels) => levels,
            None => return call.refuse(0, "a whole number that is not negative", call.argument(0)),
        },
    };
    for _ in 0..levels {
        if !items.iter().any(|item| matches!(item, Value::List(_))) {
            break;
        }
        let mut flattened = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Value::List(inner) => {
                    call.meter.allocate(24 * inner.len() as u64)?;
                    flattened.extend_from_slice(inner.items());
                }
                other => flattened.push(other),
            }
        }
        call.meter.allocate(24 * flattened.len() as u64)?;
        items = flattened;
    }
    call.make_list(items)
}

/// Returns every value once, at its first position.
pub fn unique(call: &mut Call<'_>) -> Evaluated {
    let list = call.list()?;
    call.meter.scan(list.bulk().weight.saturating_add(64 * list.len() as u64))?;
    let mut seen: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let mut unique: Vec<Value> = Vec::new();
    'items: for item in list.items() {
        let bucket = seen.entry(fingerprint(item)).or_default();
        for &place in &*bucket {
            if same(&unique[place], item, call.meter)? {
                continue 'items;
            }
        }
        bucket.push(unique.len());
        unique.push(item.clone());
    }
    call.make_list(unique)
}
