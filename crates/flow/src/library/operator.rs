//! The operators as functions.

use super::Call;
use crate::operators::{Operator, undecided};
use crate::runtime_error::Evaluated;
use crate::value::Value;

macro_rules! operators {
    ($($name:ident => $operator:ident,)*) => {
        $(pub fn $name(call: &mut Call<'_>) -> Evaluated {
            Operator::$operator.apply(&call.arguments[0], &call.arguments[1], call.meter)
        })*
    };
}

operators! {
    add => Add,
    sub => Sub,
    mul => Mul,
    div => Div,
    eq => Eq,
    ne => Ne,
    lt => Lt,
    lte => Lte,
    gt => Gt,
    gte => Gte,
}

pub fn not(call: &mut Call<'_>) -> Evaluated {
    Ok(Value::Boolean(!truthy(call.argument(0))?))
}

/// Returns the value of `a && b`. Unlike the operator, the function evaluates both sides.
pub fn and(call: &mut Call<'_>) -> Evaluated {
    let place = usize::from(truthy(call.argument(0))?);
    Ok(call.argument(place).clone())
}

/// Returns the value of `a || b`. Unlike the operator, the function evaluates both sides.
pub fn or(call: &mut Call<'_>) -> Evaluated {
    let place = usize::from(!truthy(call.argument(0))?);
    Ok(call.argument(place).clone())
}

fn truthy(value: &Value) -> Evaluated<bool> {
    match value {
        Value::Handle(_) => undecided(value),
        value => Ok(value.is_truthy()),
    }
}
