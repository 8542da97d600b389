//! Numbers of CEL and of JSON, and the results of mixing them.

use serde_json::Number as JsonNumber;

use super::super::compare::Num;
use super::expression::Arithmetic;
use super::value::Fault;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    num: Num,
    /// The number comes from data or from a calculation with data, where 1 may have meant 1.0.
    data: bool,
}

impl Number {
    pub fn of_data(number: &JsonNumber) -> Self {
        Self { num: Num::of(number), data: true }
    }

    pub fn whole(value: i128) -> Self {
        Self { num: Num::Int(value), data: false }
    }

    pub fn double(value: f64) -> Self {
        Self { num: Num::Float(value), data: false }
    }

    pub fn count(value: usize) -> Self {
        Self::whole(value as i128)
    }

    pub fn num(self) -> Num {
        self.num
    }

    pub fn int(self) -> Option<i128> {
        match self.num {
            Num::Int(value) => Some(value),
            Num::Float(_) => None,
        }
    }

    /// Returns the number as a list index.
    pub fn index(self) -> Option<usize> {
        match self.num {
            Num::Int(value) => usize::try_from(value).ok(),
            Num::Float(value) if value.fract() == 0.0 && (0.0..1e15).contains(&value) => Some(value as usize),
            Num::Float(_) => None,
        }
    }

    pub fn negate(self) -> Result<Self, Fault> {
        match self.num {
            Num::Int(value) => whole(-value, self.data),
            Num::Float(value) => Ok(Self { num: Num::Float(-value), data: self.data }),
        }
    }

    pub fn calculate(self, operator: Arithmetic, other: Self) -> Result<Self, Fault> {
        let data = self.data || other.data;
        let (left, right) = match (self.num, other.num) {
            // Neither operand was written as a whole number in the expression.
            (Num::Int(left), Num::Int(right))
                if operator == Arithmetic::Divide
                    && self.data
                    && other.data
                    && right != 0
                    && left % right != 0 =>
            {
                (left as f64, right as f64)
            }
            (Num::Int(left), Num::Int(right)) => return of_ints(operator, left, right, data),
            (left, right) => (left.float(), right.float()),
        };
        // CEL does not mix number types, but a number from data has no fixed type.
        let mixed =
            matches!((self.num, other.num), (Num::Int(_), Num::Float(_)) | (Num::Float(_), Num::Int(_)));
        if mixed && !data {
            return Err(Fault::error("a whole number and a fraction are mixed: convert with double()"));
        }
        let value = match operator {
            Arithmetic::Add => left + right,
            Arithmetic::Subtract => left - right,
            Arithmetic::Multiply => left * right,
            Arithmetic::Divide => left / right,
            Arithmetic::Remainder => return Err(Fault::error("fractions have no remainder")),
        };
        Ok(Self { num: Num::Float(value), data })
    }
}

fn of_ints(operator: Arithmetic, left: i128, right: i128, data: bool) -> Result<Number, Fault> {
    let by_zero = || Fault::error("division by zero");
    match operator {
        // Both numbers are below 2^64, so 128 bits cannot overflow.
        Arithmetic::Add => whole(left + right, data),
        Arithmetic::Subtract => whole(left - right, data),
        Arithmetic::Multiply => match left.checked_mul(right) {
            Some(product) => whole(product, data),
            None => Err(overflow()),
        },
        Arithmetic::Divide if right == 0 => Err(by_zero()),
        Arithmetic::Divide => whole(left / right, data),
        Arithmetic::Remainder if right == 0 => Err(by_zero()),
        Arithmetic::Remainder => whole(left % right, data),
    }
}

/// Checks the range of a whole number: that of CEL, or for data the larger range of JSON.
fn whole(value: i128, data: bool) -> Result<Number, Fault> {
    let most = if data { i128::from(u64::MAX) } else { i128::from(i64::MAX) };
    if value < i128::from(i64::MIN) || value > most {
        return Err(overflow());
    }
    Ok(Number { num: Num::Int(value), data })
}

fn overflow() -> Fault {
    Fault::error("a whole number became too large")
}
