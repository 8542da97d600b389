//! The operators, each also a function: `a + b` is `add(a, b)`. Their behaviour is defined only here. Large
//! operands must be loaded first, because an unloaded one would count as its reference.

use std::cmp::Ordering;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::json::{Handles, write_plain};
use super::limits::WriteStats;
use super::runtime_error::{Evaluated, codes, throw, type_error};
use super::value::{Number, Value, equal};

/// Operators that evaluate both sides. `&&`, `||` and `??` may skip their right side and are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operator {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Eq,
    Ne,
    Lt,
    Lte,
    Gt,
    Gte,
}

impl Operator {
    pub fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Rem => "%",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Lte => "<=",
            Self::Gt => ">",
            Self::Gte => ">=",
        }
    }

    pub fn apply(self, left: &Value, right: &Value, meter: &mut WriteStats) -> Evaluated {
        match self {
            Self::Add => add(left, right, meter),
            Self::Sub => self.arithmetic(left, right, Number::minus),
            Self::Mul => self.arithmetic(left, right, Number::times),
            Self::Div => self.arithmetic(left, right, Number::over),
            Self::Rem => self.arithmetic(left, right, Number::remainder),
            Self::Eq => Ok(Value::Boolean(same(left, right, meter)?)),
            Self::Ne => Ok(Value::Boolean(!same(left, right, meter)?)),
            Self::Lt => self.comparison(left, right, Ordering::is_lt),
            Self::Lte => self.comparison(left, right, Ordering::is_le),
            Self::Gt => self.comparison(left, right, Ordering::is_gt),
            Self::Gte => self.comparison(left, right, Ordering::is_ge),
        }
    }

    fn numbers(self, left: &Value, right: &Value) -> Evaluated<(Number, Number)> {
        match (left, right) {
            (Value::Number(left), Value::Number(right)) => Ok((*left, *right)),
            _ => type_error(format!(
                "`{}` takes two numbers, not {} and {}",
                self.sign(),
                left.described(),
                right.described()
            )),
        }
    }

    fn arithmetic(
        self,
        left: &Value,
        right: &Value,
        compute: fn(Number, Number) -> Option<Number>,
    ) -> Evaluated {
        let (left, right) = self.numbers(left, right)?;
        match compute(left, right) {
            Some(number) => Ok(Value::Number(number)),
            None => number_error(self, left, right),
        }
    }

    fn comparison(self, left: &Value, right: &Value, holds: fn(Ordering) -> bool) -> Evaluated {
        let (left, right) = self.numbers(left, right)?;
        Ok(Value::Boolean(holds(left.compare(right))))
    }
}

fn number_error<T>(operator: Operator, left: Number, right: Number) -> Evaluated<T> {
    let why = match operator {
        Operator::Div | Operator::Rem if right.is_zero() => "a division by zero".to_owned(),
        _ => "too large for a number".to_owned(),
    };
    throw(codes::NUMBER_ERROR, format!("{left} {} {right} is {why}", operator.sign()))
}

fn add(left: &Value, right: &Value, meter: &mut WriteStats) -> Evaluated {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => match a.plus(*b) {
            Some(sum) => Ok(Value::Number(sum)),
            None => number_error(Operator::Add, *a, *b),
        },
        (Value::Text(_), _) | (_, Value::Text(_)) => {
            let (left, right) = (text_of(left, meter)?, text_of(right, meter)?);
            meter.allocate((left.len() + right.len()) as u64)?;
            let mut joined = String::with_capacity(left.len() + right.len());
            joined.push_str(&left);
            joined.push_str(&right);
            let joined = Value::Text(Arc::from(joined));
            joined.bulk().checked()?;
            Ok(joined)
        }
        _ => type_error(format!(
            "`+` takes two numbers, or a string and something to join to it, not {} and {}",
            left.described(),
            right.described()
        )),
    }
}

/// Equality, paid for by the smaller side: the comparison ends where that one does.
pub fn same(left: &Value, right: &Value, meter: &mut WriteStats) -> Evaluated<bool> {
    if let Some(handle) = [left, right].into_iter().find(|side| matches!(side, Value::Handle(_))) {
        return type_error(format!("{} cannot be compared", handle.described()));
    }
    meter.scan(left.weight().min(right.weight()))?;
    Ok(equal(left, right))
}

/// Throws for a handle used as a condition or as an operand of `&&`, `||` or `??`: only values can decide.
pub fn undecided<T>(handle: &Value) -> Evaluated<T> {
    type_error(format!("{} decides nothing", handle.described()))
}

pub fn negate(operand: &Value) -> Evaluated {
    match operand {
        Value::Number(number) => Ok(Value::Number(number.negate())),
        other => type_error(format!("`-` takes a number, not {}", other.described())),
    }
}

/// How a value reads inside a string: text as it is, lists and objects as JSON.
pub fn text_of(value: &Value, meter: &mut WriteStats) -> Evaluated<Arc<str>> {
    Ok(match value {
        Value::Text(text) => text.clone(),
        Value::Null => Arc::from("null"),
        Value::Boolean(boolean) => Arc::from(if *boolean { "true" } else { "false" }),
        Value::Number(number) => {
            meter.scan(128)?;
            Arc::from(number.to_string())
        }
        Value::Error(error) => {
            meter.allocate((error.code.len() + error.message.len()) as u64)?;
            Arc::from(format!("{}: {}", error.code, error.message))
        }
        value if value.bulk().holds_handles() => {
            return type_error(format!("{} cannot be part of a string", Value::Handle(0).described()));
        }
        value => {
            meter.scan(value.weight())?;
            let mut out = Vec::new();
            write_plain(value, Handles::Absent, &mut out)?;
            meter.allocate(out.len() as u64)?;
            Arc::from(String::from_utf8_lossy(&out))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::read;
    use crate::runtime_error::Stop;

    fn apply(operator: Operator, left: &str, right: &str) -> String {
        let (left, right) = (read(left).unwrap(), read(right).unwrap());
        match operator.apply(&left, &right, &mut WriteStats::default()) {
            Ok(value) => text_of(&value, &mut WriteStats::default()).unwrap().to_string(),
            Err(Stop::Thrown(error)) => error.code.to_string(),
            Err(stop) => panic!("{stop:?}"),
        }
    }

    #[test]
    fn numbers_with_numbers_and_strings_with_anything() {
        let cases = [
            (Operator::Add, "1", "2", "3"),
            (Operator::Add, "\"a\"", "1", "a1"),
            (Operator::Add, "null", "\"a\"", "nulla"),
            (Operator::Add, "[1, {\"b\": \"c\"}]", "\"\"", "[1,{\"b\":\"c\"}]"),
            (Operator::Add, "1", "true", codes::TYPE_ERROR),
            (Operator::Add, "[]", "[]", codes::TYPE_ERROR),
            (Operator::Sub, "\"3\"", "1", codes::TYPE_ERROR),
            (Operator::Mul, "1e200", "1e200", codes::NUMBER_ERROR),
            (Operator::Div, "4", "2", "2"),
            (Operator::Div, "7", "2", "3.5"),
            (Operator::Div, "1", "0", codes::NUMBER_ERROR),
            (Operator::Rem, "1", "0", codes::NUMBER_ERROR),
            (Operator::Rem, "7", "3", "1"),
            (Operator::Lt, "1", "1.5", "true"),
            (Operator::Gte, "2", "2.0", "true"),
            (Operator::Lt, "\"a\"", "\"b\"", codes::TYPE_ERROR),
            (Operator::Eq, "1", "\"1\"", "false"),
            (Operator::Eq, "null", "false", "false"),
            (Operator::Eq, "[1, {\"a\": 1, \"b\": 2}]", "[1.0, {\"b\": 2, \"a\": 1}]", "true"),
            (Operator::Ne, "[1]", "[2]", "true"),
        ];
        for (operator, left, right, expected) in cases {
            assert_eq!(apply(operator, left, right), expected, "{left} {} {right}", operator.sign());
        }
    }

    #[test]
    fn strings_cannot_grow_beyond_the_limit() {
        let mut text = Value::text("x".repeat(1 << 20));
        let mut meter = WriteStats::default();
        let stop = loop {
            meter.step().unwrap();
            match Operator::Add.apply(&text, &text, &mut meter) {
                Ok(longer) => text = longer,
                Err(stop) => break stop,
            }
        };
        assert!(matches!(stop, Stop::Limit(crate::limits::Limit::Memory)), "{stop:?}");
    }
}
