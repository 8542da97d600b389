//! Compares JSON values: numbers by value, texts by code points, everything else only for equality.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::bounds::{Fuel, Limit};
use super::error::ConditionError;
use super::fields::malformed;

/// The comparison operators, also used in names such as `sum_gt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl Relation {
    pub fn of_symbol(text: &str) -> Option<Self> {
        Some(match text {
            "==" => Self::Equal,
            "!=" => Self::NotEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            _ => return None,
        })
    }

    /// Parses the spelling inside names: `sum_gt`, `length_eq`.
    pub fn of_word(text: &str) -> Option<Self> {
        Some(match text {
            "eq" => Self::Equal,
            "ne" | "neq" => Self::NotEqual,
            "gt" => Self::Greater,
            "gte" | "ge" => Self::GreaterOrEqual,
            "lt" => Self::Less,
            "lte" | "le" => Self::LessOrEqual,
            _ => return None,
        })
    }

    pub fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::NotEqual => ordering.is_ne(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
        }
    }
}

/// Operator between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Relation(Relation),
    In,
    Contains,
}

/// Reason that a comparison has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Incomparable {
    Limit(Limit),
    Types(String),
}

impl From<Limit> for Incomparable {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}

impl std::fmt::Display for Incomparable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Limit(limit) => limit.fmt(f),
            Self::Types(text) => f.write_str(text),
        }
    }
}

impl Operator {
    pub fn of(text: &str) -> Option<Self> {
        match text {
            "in" => Some(Self::In),
            "contains" => Some(Self::Contains),
            _ => Relation::of_symbol(text).map(Self::Relation),
        }
    }

    pub fn read(place: &str, text: &str) -> Result<Self, ConditionError> {
        let wrong = || malformed(place, &format!("{text:?} is none of == != > >= < <= in contains"));
        Self::of(text).ok_or_else(wrong)
    }

    pub fn compare(self, left: &Value, right: &Value, fuel: &mut Fuel) -> Result<bool, Incomparable> {
        match self {
            Self::In => contains(right, left, fuel),
            Self::Contains => contains(left, right, fuel),
            Self::Relation(Relation::Equal) => Ok(equal(left, right, fuel)?),
            Self::Relation(Relation::NotEqual) => Ok(!equal(left, right, fuel)?),
            Self::Relation(relation) => {
                let ordering = match (left, right) {
                    (Value::Number(left), Value::Number(right)) => Num::of(left).order(Num::of(right)),
                    (Value::String(left), Value::String(right)) => {
                        fuel.bytes(left.len().min(right.len()))?;
                        Some(left.cmp(right))
                    }
                    _ => None,
                };
                let ordering = ordering.ok_or_else(|| {
                    let (left, right) = (type_name(left), type_name(right));
                    Incomparable::Types(format!("{left} and {right} have no order"))
                })?;
                Ok(relation.holds(ordering))
            }
        }
    }
}

/// Returns whether a list has an item, a text a part, or an object a name.
fn contains(whole: &Value, part: &Value, fuel: &mut Fuel) -> Result<bool, Incomparable> {
    match (whole, part) {
        (Value::Array(items), _) => {
            for item in items {
                if equal(item, part, fuel)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        (Value::String(whole), Value::String(part)) => {
            fuel.bytes(whole.len() + part.len())?;
            Ok(whole.contains(part.as_str()))
        }
        (Value::Object(entries), Value::String(name)) => Ok(entries.contains_key(name)),
        (whole, part) => {
            let (whole, part) = (type_name(whole), type_name(part));
            Err(Incomparable::Types(format!("{whole} cannot contain {part}")))
        }
    }
}

/// Deep equality, where 1 equals 1.0.
pub(super) fn equal(left: &Value, right: &Value, fuel: &mut Fuel) -> Result<bool, Limit> {
    fuel.operation()?;
    Ok(match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            Num::of(left).order(Num::of(right)) == Some(Ordering::Equal)
        }
        (Value::String(left), Value::String(right)) => {
            fuel.bytes(left.len().min(right.len()))?;
            left == right
        }
        (Value::Array(left), Value::Array(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            for (left, right) in left.iter().zip(right) {
                if !equal(left, right, fuel)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Object(left), Value::Object(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            for (name, left) in left {
                fuel.bytes(name.len())?;
                let Some(right) = right.get(name) else { return Ok(false) };
                if !equal(left, right, fuel)? {
                    return Ok(false);
                }
            }
            true
        }
        (left, right) => left == right,
    })
}

pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A number without rounding: whole numbers stay whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Num {
    Int(i128),
    Float(f64),
}

impl Num {
    pub fn of(number: &Number) -> Self {
        match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => Self::Int(int.into()),
            (None, Some(int)) => Self::Int(int.into()),
            (None, None) => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    pub fn float(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    /// Compares exactly, also a whole number with a fraction. Only NaN has no order.
    pub fn order(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => Some(left.cmp(&right)),
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(&right),
            (Self::Int(left), Self::Float(right)) => order_mixed(left, right),
            (Self::Float(left), Self::Int(right)) => order_mixed(right, left).map(Ordering::reverse),
        }
    }

    /// Adds. Whole numbers are added exactly while the sum fits.
    pub fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => match left.checked_add(right) {
                Some(sum) => Self::Int(sum),
                None => Self::Float(left as f64 + right as f64),
            },
            (left, right) => Self::Float(left.float() + right.float()),
        }
    }
}

fn order_mixed(int: i128, float: f64) -> Option<Ordering> {
    const BEYOND: f64 = 1e37;
    match float {
        _ if float.is_nan() => None,
        _ if float >= BEYOND => Some(Ordering::Less),
        _ if float <= -BEYOND => Some(Ordering::Greater),
        _ => Some(int.cmp(&(float.trunc() as i128)).then_with(|| 0.0_f64.total_cmp(&(float.fract() + 0.0)))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn compare(left: Value, operator: &str, right: Value) -> Result<bool, Incomparable> {
        Operator::of(operator).unwrap().compare(&left, &right, &mut Fuel::default())
    }

    #[test]
    fn numbers_compare_by_what_they_are_worth() {
        assert_eq!(compare(json!(1), "==", json!(1.0)), Ok(true));
        assert_eq!(compare(json!(-1.5), "<", json!(-1)), Ok(true));
        assert_eq!(compare(json!(-1), "<", json!(-1.5)), Ok(false));
        assert_eq!(compare(json!(-0.0), "==", json!(0)), Ok(true));
        assert_eq!(
            compare(json!(9_007_199_254_740_993_i64), "==", json!(9_007_199_254_740_992_i64)),
            Ok(false)
        );
        assert_eq!(compare(json!(u64::MAX), ">", json!(i64::MAX)), Ok(true));
        assert_eq!(compare(json!(1e300), ">", json!(u64::MAX)), Ok(true));
        assert_eq!(compare(json!(-1e300), "<=", json!(i64::MIN)), Ok(true));
    }

    #[test]
    fn everything_has_equality_and_only_numbers_and_texts_have_an_order() {
        assert_eq!(compare(json!({"a": [1, {"b": null}]}), "==", json!({"a": [1.0, {"b": null}]})), Ok(true));
        assert_eq!(compare(json!([1, 2]), "!=", json!([2, 1])), Ok(true));
        assert_eq!(compare(json!({"a": 1}), "==", json!({"b": 1})), Ok(false));
        assert_eq!(compare(json!("1"), "==", json!(1)), Ok(false));
        assert_eq!(compare(json!("a"), "<", json!("b")), Ok(true));
        let message = "a string and a number have no order";
        assert_eq!(compare(json!("1"), "<", json!(2)), Err(Incomparable::Types(message.into())));
        for (left, right) in [(json!(null), json!(1)), (json!(true), json!(false)), (json!([1]), json!([2]))]
        {
            assert!(matches!(compare(left, ">", right), Err(Incomparable::Types(_))));
        }
    }

    #[test]
    fn lists_texts_and_objects_contain_things() {
        assert_eq!(compare(json!(2), "in", json!([1, 2.0])), Ok(true));
        assert_eq!(compare(json!("b"), "in", json!("abc")), Ok(true));
        assert_eq!(compare(json!({"a": 1}), "contains", json!("a")), Ok(true));
        assert_eq!(compare(json!([[1]]), "contains", json!([1])), Ok(true));
        assert_eq!(compare(json!("abc"), "contains", json!("")), Ok(true));
        assert!(compare(json!(5), "contains", json!(5)).is_err());
    }
}
