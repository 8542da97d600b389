//! `aggregate`: groups a list and computes figures for each group. Without `by` the result is one object of
//! figures. With it the result is a list of objects, in the order in which the groups first appear.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::Machine;
use super::execute::Trouble;
use super::figures::{Figure, Function, figures};
use super::values::ValueId;
use crate::reference;

impl Machine<'_> {
    pub fn aggregate(&mut self, config: &Value, input: ValueId) -> Result<ValueId, Trouble> {
        let items = self.items(config, input)?;
        let by: Vec<&str> = match config.get("by") {
            Some(Value::String(field)) => vec![field],
            Some(Value::Array(fields)) => fields.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let figures = match figures(config.get("compute")) {
            Ok(figures) => figures,
            Err(message) => return Trouble::bad_config(message),
        };
        if by.is_empty() {
            let all: Vec<&Value> = items.iter().collect();
            return Ok(self.made(Value::Object(compute(&figures, &all).collect())));
        }
        let mut groups: Vec<(Vec<&Value>, Vec<&Value>)> = Vec::new();
        let mut places = BTreeMap::new();
        for item in &items {
            let key: Vec<&Value> = by.iter().map(|field| field_of(item, field)).collect();
            // Keyed by text for fast lookup, because a list may have as many groups as items.
            let text = serde_json::to_string(&key).expect("values always serialise");
            let place = *places.entry(text).or_insert(groups.len());
            match groups.get_mut(place) {
                Some((_, members)) => members.push(item),
                None => groups.push((key, vec![item])),
            }
        }
        let shown = groups.iter().map(|(key, members)| {
            let key = by.iter().zip(key).map(|(field, value)| ((*field).to_owned(), (*value).clone()));
            Value::Object(key.chain(compute(&figures, members)).collect::<Map<_, _>>())
        });
        Ok(self.made(shown.collect()))
    }
}

/// Returns the key of an invalid figure in a config and the reason, unless the value contains a reference.
pub fn impossible_figures(config: &Value) -> Option<(&'static str, String)> {
    let compute = config.get("compute").filter(|compute| !reference::refers(compute));
    Some(("compute", figures(compute).err()?))
}

fn compute<'a>(figures: &'a [Figure], items: &'a [&'a Value]) -> impl Iterator<Item = (String, Value)> + 'a {
    figures.iter().map(|figure| {
        let numbers = || items.iter().filter_map(|item| field_of(item, &figure.field).as_number());
        let extreme = |better: fn(f64, f64) -> bool| {
            let best = numbers().reduce(|best, next| {
                let (a, b) = (best.as_f64().unwrap_or_default(), next.as_f64().unwrap_or_default());
                if better(b, a) { next } else { best }
            });
            best.cloned().map_or(Value::Null, Value::Number)
        };
        let value = match figure.function {
            Function::Count if figure.field.is_empty() => Value::from(items.len()),
            Function::Count => {
                Value::from(items.iter().filter(|item| !field_of(item, &figure.field).is_null()).count())
            }
            Function::Group => items.iter().copied().cloned().collect(),
            Function::Sum => sum(numbers()),
            Function::Min => extreme(|next, best| next < best),
            Function::Max => extreme(|next, best| next > best),
            Function::Avg => match numbers().count() {
                0 => Value::Null,
                count => number(sum(numbers()).as_f64().unwrap_or_default() / count as f64),
            },
        };
        (figure.name.clone(), value)
    })
}

/// Sums the numbers. Whole numbers stay whole while the sum fits in 64 bits.
fn sum<'a>(numbers: impl Iterator<Item = &'a Number> + Clone) -> Value {
    let whole = numbers.clone().try_fold(0_i64, |sum, next| sum.checked_add(next.as_i64()?));
    match whole {
        Some(whole) => Value::from(whole),
        None => number(numbers.filter_map(Number::as_f64).sum()),
    }
}

fn number(number: f64) -> Value {
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

fn field_of<'a>(item: &'a Value, field: &str) -> &'a Value {
    const NONE: &Value = &Value::Null;
    let walked = field.split('.').filter(|step| !step.is_empty()).try_fold(item, |value, step| match value {
        Value::Array(items) => step.parse::<usize>().ok().and_then(|place| items.get(place)),
        other => other.get(step),
    });
    walked.unwrap_or(NONE)
}
