//! `jsonpath`: compares the values that a query finds in the output with a value. A query that finds several
//! values is satisfied when one of them is. `length_`, `sum_` and similar operators test the number or the
//! aggregate of the values.

mod cost;

use serde_json::Value;
use serde_json_path::JsonPath;

use super::bounds::{Fuel, Size, check_source};
use super::compare::{Incomparable, Num, Operator, Relation, type_name};
use super::error::{ConditionError, ErrorKind};
use super::fields::{Fields, malformed};
use super::{Scope, Verdict};
use cost::Shape;

#[derive(Debug)]
pub(super) struct JsonPathCondition {
    path: JsonPath,
    /// The part of the query before the first step that can find several values. When it finds no value, the
    /// condition is not met.
    to_several: Option<JsonPath>,
    shape: Shape,
    test: Test,
    value: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    Each(Operator),
    Exists,
    /// The length of the one value found, or the number of values found.
    Length(Operator),
    Aggregate(Aggregate, Relation),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aggregate {
    Sum,
    Min,
    Max,
    Average,
}

impl JsonPathCondition {
    pub fn of(fields: &Fields<'_>) -> Result<Self, ConditionError> {
        let source = fields.text("query")?;
        check_source("query", source)?;
        let (query, length) = match source.trim_end().strip_suffix(".length()") {
            Some(query) => (query, true),
            None => (source.trim_end(), false),
        };
        let syntax = |message: String| ConditionError::new(ErrorKind::Syntax, "query", message);
        let shape = Shape::of(query)
            .map_err(|message| ConditionError::new(ErrorKind::Unsupported, "query", message))?;
        let path = JsonPath::parse(query)
            .map_err(|error| syntax(format!("at {}: {}", error.position() + 1, error.message())))?;
        let test = test(fields.text("operator")?, length)?;
        let value = match (fields.given("value"), test) {
            (Some(value), _) => value.clone(),
            (None, Test::Exists) => Value::Bool(true),
            (None, _) => return Err(malformed("value", "it is missing")),
        };
        check_value(test, &value)?;
        let to_several = one_place(query).and_then(|part| JsonPath::parse(part).ok());
        Ok(Self { path, to_several, shape, test, value })
    }

    pub fn evaluate(&self, scope: &Scope<'_>) -> Verdict {
        match self.try_evaluate(scope.output) {
            Ok(met) => Verdict::of(met),
            Err(reason) => Verdict::NotEvaluable(reason.to_string()),
        }
    }

    fn try_evaluate(&self, output: &Value) -> Result<bool, Incomparable> {
        let size = Size::of(output)?;
        self.shape.check(size)?;
        if self.test != Test::Exists
            && self.to_several.as_ref().is_some_and(|part| part.query(output).is_empty())
        {
            return Ok(false);
        }
        let found = self.path.query(output).all();
        let mut fuel = Fuel::default();
        match self.test {
            Test::Exists => Ok(Value::Bool(!found.is_empty()) == self.value),
            Test::Each(operator) => {
                // A value of the wrong type does not hide a value that satisfies the comparison.
                let mut reason = None;
                for value in found {
                    match operator.compare(value, &self.value, &mut fuel) {
                        Ok(true) => return Ok(true),
                        Ok(false) => {}
                        Err(Incomparable::Limit(limit)) => return Err(limit.into()),
                        Err(other) => reason = reason.or(Some(other)),
                    }
                }
                reason.map_or(Ok(false), Err)
            }
            Test::Length(operator) => match self.length(&found)? {
                Some(length) => operator.compare(&Value::from(length), &self.value, &mut fuel),
                None => Ok(false),
            },
            Test::Aggregate(aggregate, relation) => {
                let wanted = self.value.as_number().map(Num::of);
                let ordering = match (self.aggregate(aggregate, &found)?, wanted) {
                    (Some(number), Some(wanted)) => number.order(wanted),
                    _ => None,
                };
                Ok(ordering.is_some_and(|ordering| relation.holds(ordering)))
            }
        }
    }

    /// Returns the length of the value when the query can find only one, else the number of values found.
    /// `None` when the single value is missing.
    fn length(&self, found: &[&Value]) -> Result<Option<usize>, Incomparable> {
        match (self.shape.is_singular(), found) {
            (false, found) => Ok(Some(found.len())),
            (true, [Value::Array(items)]) => Ok(Some(items.len())),
            (true, [Value::Object(entries)]) => Ok(Some(entries.len())),
            (true, [Value::String(text)]) => Ok(Some(text.chars().count())),
            (true, [other, ..]) => Err(Incomparable::Types(format!("{} has no length", type_name(other)))),
            (true, []) => Ok(None),
        }
    }

    /// Aggregates the values found, or the items of the one list found. The sum of no values is 0; they have
    /// no minimum, maximum or average.
    fn aggregate(&self, aggregate: Aggregate, found: &[&Value]) -> Result<Option<Num>, Incomparable> {
        let numbers: Vec<Num> = match (self.shape.is_singular(), found) {
            (true, []) => return Ok(None),
            (true, [Value::Array(items)]) => items.iter().map(number).collect::<Result<_, _>>()?,
            (_, found) => found.iter().map(|value| number(value)).collect::<Result<_, _>>()?,
        };
        let sum = || numbers.iter().fold(Num::Int(0), |sum, &number| sum.plus(number));
        let extreme = |relation: Relation| {
            numbers.iter().copied().reduce(|best, number| {
                if number.order(best).is_some_and(|ordering| relation.holds(ordering)) {
                    number
                } else {
                    best
                }
            })
        };
        Ok(match aggregate {
            Aggregate::Sum => Some(sum()),
            Aggregate::Min => extreme(Relation::Less),
            Aggregate::Max => extreme(Relation::Greater),
            Aggregate::Average if numbers.is_empty() => None,
            Aggregate::Average => Some(Num::Float(sum().float() / numbers.len() as f64)),
        })
    }
}

/// Returns the beginning of a query up to the first part that can find several values, or `None` when no part
/// can.
fn one_place(query: &str) -> Option<&str> {
    let mut at = query.find('$')? + 1;
    loop {
        let rest = &query[at..];
        let step = match rest.chars().next()? {
            '.' if rest.starts_with("..") || rest.starts_with(".*") => return Some(&query[..at]),
            '.' => 1 + rest[1..].find(['.', '[']).unwrap_or(rest.len() - 1),
            '[' => match single(&rest[1..]) {
                Some(length) => 1 + length,
                None => return Some(&query[..at]),
            },
            _ => return None,
        };
        at += step;
    }
}

/// Returns the length of a leading `'name']` or `0]`, if there is one.
fn single(rest: &str) -> Option<usize> {
    let inner = rest.trim_start();
    let end = match inner.chars().next()? {
        quote @ ('\'' | '"') => {
            let mut escaped = false;
            let close = inner[1..].char_indices().find(|(_, c)| {
                let closes = *c == quote && !escaped;
                escaped = *c == '\\' && !escaped;
                closes
            });
            1 + close?.0 + 1
        }
        _ => inner.find(|c: char| c != '-' && !c.is_ascii_digit()).filter(|end| *end > 0)?,
    };
    let after = inner[end..].trim_start();
    after.starts_with(']').then(|| rest.len() - after.len() + 1)
}

fn number(value: &Value) -> Result<Num, Incomparable> {
    let wrong = || Incomparable::Types(format!("{} cannot be added up", type_name(value)));
    value.as_number().map(Num::of).ok_or_else(wrong)
}

fn test(operator: &str, length: bool) -> Result<Test, ConditionError> {
    if let Some(plain) = Operator::of(operator) {
        return Ok(if length { Test::Length(plain) } else { Test::Each(plain) });
    }
    let wrong = || {
        malformed(
            "operator",
            &format!(
                "{operator:?} is none of == != > >= < <= in contains exists, nor length_, sum_, min_, max_ or \
                 avg_ with eq, ne, gt, gte, lt or lte"
            ),
        )
    };
    if length {
        return Err(malformed(
            "operator",
            "a query that ends in .length() is compared with == != > >= < <= or in",
        ));
    }
    if operator == "exists" {
        return Ok(Test::Exists);
    }
    let (what, word) = operator.split_once('_').ok_or_else(wrong)?;
    let relation = Relation::of_word(word).or_else(|| Relation::of_symbol(word)).ok_or_else(wrong)?;
    Ok(match what {
        "length" => Test::Length(Operator::Relation(relation)),
        "sum" => Test::Aggregate(Aggregate::Sum, relation),
        "min" => Test::Aggregate(Aggregate::Min, relation),
        "max" => Test::Aggregate(Aggregate::Max, relation),
        "avg" => Test::Aggregate(Aggregate::Average, relation),
        _ => return Err(wrong()),
    })
}

/// Refuses a value that no result could be compared with.
fn check_value(test: Test, value: &Value) -> Result<(), ConditionError> {
    if let Err(limit) = Size::of(value) {
        return Err(ConditionError::new(ErrorKind::TooLarge, "value", limit.to_string()));
    }
    let wanted = match test {
        Test::Exists if !value.is_boolean() => "it is true or false",
        Test::Aggregate(..) | Test::Length(Operator::Relation(_)) if !value.is_number() => "it is a number",
        Test::Each(Operator::In) if !value.is_array() && !value.is_string() && !value.is_object() => {
            "it is a list, a string or an object to look in"
        }
        Test::Length(Operator::In) if !value.is_array() => "it is a list of numbers",
        Test::Length(Operator::Contains) => "a length contains nothing",
        _ => return Ok(()),
    };
    Err(malformed("value", wanted))
}
