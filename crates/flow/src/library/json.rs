//! The functions of `JSON`.

use super::Call;
use crate::json::{Handles, ReadError, read, write_plain};
use crate::runtime_error::{Evaluated, codes, throw, wrong_argument};

pub fn parse(call: &mut Call<'_>) -> Evaluated {
    let text = call.text(0)?;
    call.meter.scan(4 * text.len() as u64)?;
    match read(&text) {
        Ok(value) => {
            call.meter.allocate(value.weight())?;
            Ok(value)
        }
        Err(ReadError::Limit(limit)) => Err(limit.into()),
        Err(ReadError::Number) => {
            throw(codes::NUMBER_ERROR, "JSON.parse: the text holds a number that is too large")
        }
        Err(ReadError::Syntax(why)) => wrong_argument(format!("JSON.parse takes JSON text: {why}")),
    }
}

pub fn stringify(call: &mut Call<'_>) -> Evaluated {
    let value = call.argument(0).clone();
    if value.bulk().holds_handles() {
        return wrong_argument("JSON.stringify cannot write a handle: `await` it first");
    }
    call.meter.scan(value.weight())?;
    let mut out = Vec::new();
    write_plain(&value, Handles::Absent, &mut out)?;
    call.make_text(&String::from_utf8_lossy(&out))
}
