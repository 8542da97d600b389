//! Parses `compute` of an `aggregate` in all its spellings. `compute` is `{name: figure}`, a list of figures,
//! or one figure. A figure is text (`count`, `sum:amount`, `sum(amount) as total`), `{sum: amount}`,
//! `{op: sum, field: amount, as: total}` or `[sum, amount]`; in a list also `{total: figure}`. An ambiguous
//! figure is refused.

use serde_json::{Map, Value};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Function {
    Count,
    /// The members themselves.
    Group,
    Sum,
    Min,
    Max,
    Avg,
}

#[derive(Debug, PartialEq)]
pub struct Figure {
    pub name: String,
    pub function: Function,
    /// Empty for a figure about the members themselves.
    pub field: String,
}

/// The accepted keys of a figure written out as a mapping.
const OP: &[&str] = &["op", "operation", "function", "fn", "func", "agg", "type"];
const FIELD: &[&str] = &["field", "of", "on", "path", "column"];
const NAME: &[&str] = &["as", "name", "alias"];

pub fn figures(compute: Option<&Value>) -> Result<Vec<Figure>, String> {
    let figures = match compute {
        None | Some(Value::Null) => vec![Asked::of(Function::Count).figure(None)?],
        Some(Value::Object(spelled)) if is_spelled_out(spelled) => vec![read(None, compute)?],
        Some(Value::Object(named)) => {
            let each = named.iter().map(|(name, value)| read_all(name, value));
            each.collect::<Result<Vec<_>, String>>()?.into_iter().flatten().collect()
        }
        Some(Value::Array(several)) => {
            several.iter().map(|value| read(None, Some(value))).collect::<Result<Vec<_>, String>>()?
        }
        one => vec![read(None, one)?],
    };
    let mut names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("two figures are called {:?}: give one of them another name", pair[0])),
        None => Ok(figures),
    }
}

/// A parsed figure before it gets its default name.
#[derive(Clone, Default)]
struct Asked {
    function: Option<Function>,
    field: String,
    name: Option<String>,
}

impl Asked {
    fn of(function: Function) -> Self {
        Self { function: Some(function), ..Self::default() }
    }

    fn about(self, field: &str) -> Self {
        let field = field.trim();
        let field = field.strip_prefix('$').unwrap_or(field).trim_start_matches('.');
        Self { field: if field == "*" { String::new() } else { field.to_owned() }, ..self }
    }

    fn figure(self, source: Option<&Value>) -> Result<Figure, String> {
        let source = source.map(Value::to_string).unwrap_or_default();
        let Some(function) = self.function else {
            return Err(format!(
                "{source} is no figure: write for example \"count\", \"sum:amount\" or {{\"avg\": \"price\"}}"
            ));
        };
        if self.field.is_empty() && !matches!(function, Function::Count | Function::Group) {
            return Err(format!("{source} says of no field: write for example \"sum:amount\""));
        }
        let word = format!("{function:?}").to_lowercase();
        let usual = || match self.field.as_str() {
            "" => word,
            field => format!("{word}_{}", field.replace('.', "_")),
        };
        Ok(Figure { name: self.name.unwrap_or_else(usual), function, field: self.field })
    }
}

/// Reads the figures under a name. Under the name of a function, the value may be a field or a list of
/// fields.
fn read_all(name: &str, value: &Value) -> Result<Vec<Figure>, String> {
    match (function(name), value) {
        (Some(function), Value::Array(fields)) if asked(value).function.is_none() => {
            let each = fields.iter().map(|field| match field.as_str() {
                Some(field) => Asked::of(function).about(field).figure(Some(value)),
                None => Asked::default().figure(Some(value)),
            });
            each.collect()
        }
        _ => Ok(vec![read(Some(name), Some(value))?]),
    }
}

fn read(name: Option<&str>, value: Option<&Value>) -> Result<Figure, String> {
    let mut found = value.map(asked).unwrap_or_default();
    if found.function.is_none()
        && let (Some(word), Some(value)) = (name, value)
    {
        found = of_function(word, value);
    }
    // A figure in a list such as `{total: {sum: amount}}`.
    if found.function.is_none()
        && name.is_none()
        && let Some((word, inner)) = value.and_then(only_entry)
    {
        return read(Some(word), Some(inner));
    }
    if let Some(name) = name {
        found.name = Some(name.to_owned());
    }
    found.figure(value)
}

/// Parses a value without considering its name.
fn asked(value: &Value) -> Asked {
    match value {
        Value::String(text) => of_text(text),
        Value::Object(spelled) if is_spelled_out(spelled) || has(spelled, OP).is_some() => {
            let text = |keys| has(spelled, keys).and_then(Value::as_str);
            let asked = of_text(text(OP).unwrap_or_default());
            let asked = match text(FIELD) {
                Some(field) => asked.about(field),
                None => asked,
            };
            let name = text(NAME).map(str::to_owned);
            Asked { name: name.or(asked.name.clone()), ..asked }
        }
        Value::Object(_) => {
            only_entry(value).map(|(word, inner)| of_function(word, inner)).unwrap_or_default()
        }
        Value::Array(pair) => match pair.as_slice() {
            [Value::String(word), Value::String(field)] if function(field).is_none() => {
                function(word).map(|function| Asked::of(function).about(field)).unwrap_or_default()
            }
            _ => Asked::default(),
        },
        _ => Asked::default(),
    }
}

/// Parses a function and its subject: a field, `{field: amount}`, or none.
fn of_function(word: &str, of: &Value) -> Asked {
    let Some(function) = function(word) else { return Asked::default() };
    match of {
        Value::String(field) => Asked::of(function).about(field),
        Value::Object(fields) => match has(fields, FIELD).and_then(Value::as_str) {
            Some(field) => Asked::of(function).about(field),
            None if fields.is_empty() => Asked::of(function),
            None => Asked::default(),
        },
        Value::Null | Value::Bool(true) => Asked::of(function),
        _ => Asked::default(),
    }
}

/// Parses `count`, `sum:amount` or `sum(amount)`, each optionally followed by `as total`.
fn of_text(text: &str) -> Asked {
    let (text, name) = match text.trim().rsplit_once(" as ") {
        Some((text, name)) => (text.trim(), Some(name.trim().to_owned())),
        None => (text.trim(), None),
    };
    let (word, field) = match text.split_once([':', '(']) {
        Some((word, field)) => (word, field.trim().trim_end_matches(')')),
        None => (text, ""),
    };
    match function(word) {
        Some(function) => Asked { name, ..Asked::of(function).about(field) },
        None => Asked::default(),
    }
}

fn function(word: &str) -> Option<Function> {
    Some(match word.trim().to_ascii_lowercase().as_str() {
        "count" => Function::Count,
        "group" => Function::Group,
        "sum" => Function::Sum,
        "min" | "minimum" => Function::Min,
        "max" | "maximum" => Function::Max,
        "avg" | "mean" | "average" => Function::Avg,
        _ => return None,
    })
}

/// Returns whether a mapping is one figure `{op, field, as}`. As names of figures these keys would make no
/// sense.
fn is_spelled_out(map: &Map<String, Value>) -> bool {
    let op = has(map, OP).and_then(Value::as_str);
    let more = has(map, FIELD).or_else(|| has(map, NAME)).and_then(Value::as_str);
    op.is_some_and(|op| of_text(op).function.is_some())
        && more.is_some_and(|more| of_text(more).function.is_none())
}

fn has<'v>(map: &'v Map<String, Value>, keys: &[&str]) -> Option<&'v Value> {
    keys.iter().find_map(|key| map.get(*key))
}

fn only_entry(value: &Value) -> Option<(&str, &Value)> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    map.iter().next().map(|(key, value)| (key.as_str(), value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn all(compute: Value) -> String {
        let figures = figures(Some(&compute)).unwrap_or_else(|wrong| panic!("{compute}: {wrong}"));
        let shown = figures.iter().map(|f| format!("{}={:?}({})", f.name, f.function, f.field));
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn one_figure_may_be_written_in_many_ways() {
        for compute in [
            json!({"total": {"sum": "amount"}}),
            json!({"total": "sum:amount"}),
            json!({"total": "sum(amount)"}),
            json!({"total": "SUM(amount)"}),
            json!({"total": {"op": "sum", "field": "amount"}}),
            json!({"total": {"function": "sum", "of": "$.amount"}}),
            json!({"total": {"sum": {"field": "amount"}}}),
            json!({"total": ["sum", "amount"]}),
            json!({"op": "sum", "field": "amount", "as": "total"}),
            json!([{"op": "sum", "field": "amount", "as": "total"}]),
            json!([{"type": "sum", "column": ".amount", "name": "total"}]),
            json!([{"total": {"sum": "amount"}}]),
            json!([{"total": "sum:amount"}]),
            json!([{"total": {"op": "sum", "field": "amount"}}]),
            json!(["sum(amount) as total"]),
            json!("sum:amount as total"),
        ] {
            assert_eq!(all(compute), "total=Sum(amount)");
        }
        for compute in [
            json!(null),
            json!("count"),
            json!("count(*)"),
            json!("COUNT"),
            json!(["count"]),
            json!({"count": true}),
            json!({"count": null}),
            json!({"count": {}}),
            json!({"count": "*"}),
            json!({"count": "count"}),
            json!([{"count": true}]),
            json!([{"op": "count"}]),
            json!([{"op": "count", "as": "count"}]),
        ] {
            assert_eq!(all(compute), "count=Count()");
        }
    }

    #[test]
    fn several_figures_keep_their_order_and_get_the_usual_names() {
        for (compute, shown) in [
            (json!(["avg:price", "count"]), "avg_price=Avg(price) count=Count()"),
            (json!([{"max": "a.b"}, {"op": "min", "field": "a"}]), "max_a_b=Max(a.b) min_a=Min(a)"),
            (json!({"sum": ["a", "b"], "n": "count:c"}), "sum_a=Sum(a) sum_b=Sum(b) n=Count(c)"),
            (json!({"sum": "a", "average": "b"}), "sum=Sum(a) average=Avg(b)"),
            (json!({"op": "count", "field": "sum:a"}), "op=Count() field=Sum(a)"),
            (json!({"op": "count"}), "op=Count()"),
            (json!({"name": "group", "of": {"min": "x"}}), "name=Group() of=Min(x)"),
            (json!({"members": "group"}), "members=Group()"),
        ] {
            assert_eq!(all(compute), shown);
        }
    }

    #[test]
    fn what_is_no_figure_or_could_be_two_is_refused() {
        for (compute, part) in [
            (json!({"x": "median"}), "is no figure"),
            (json!({"x": "sum"}), "of no field"),
            (json!({"amount": "sum"}), "of no field"),
            (json!({"x": {"sum": true}}), "of no field"),
            (json!({"x": {"sum": "a", "max": "a"}}), "is no figure"),
            (json!({"x": {"count": false}}), "is no figure"),
            (json!({"x": {"op": "median", "field": "a"}}), "is no figure"),
            (json!({"x": 3}), "is no figure"),
            (json!([["sum", "avg"]]), "is no figure"),
            (json!([{"sum": "a"}, "sum:a"]), "two figures are called \"sum_a\""),
        ] {
            let wrong = figures(Some(&compute)).unwrap_err();
            assert!(wrong.contains(part), "{compute}: {wrong}");
        }
    }
}
