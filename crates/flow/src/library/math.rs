//! The functions of `Math`.

use std::cmp::Ordering;

use super::Call;
use crate::runtime_error::Evaluated;
use crate::value::Value;

pub fn floor(call: &mut Call<'_>) -> Evaluated {
    Ok(Value::Number(call.number(0)?.floor()))
}

pub fn ceil(call: &mut Call<'_>) -> Evaluated {
    Ok(Value::Number(call.number(0)?.ceil()))
}

pub fn abs(call: &mut Call<'_>) -> Evaluated {
    Ok(Value::Number(call.number(0)?.abs()))
}

pub fn round(call: &mut Call<'_>) -> Evaluated {
    Ok(Value::Number(call.number(0)?.round()))
}

pub fn min(call: &mut Call<'_>) -> Evaluated {
    best(call, Ordering::Less)
}

pub fn max(call: &mut Call<'_>) -> Evaluated {
    best(call, Ordering::Greater)
}

fn best(call: &mut Call<'_>, wanted: Ordering) -> Evaluated {
    let mut best = call.number(0)?;
    for place in 1..call.arguments.len() {
        let number = call.number(place)?;
        if number.compare(best) == wanted {
            best = number;
        }
    }
    Ok(Value::Number(best))
}
