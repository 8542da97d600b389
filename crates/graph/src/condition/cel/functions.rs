//! The functions of expressions.

use super::super::bounds::Fuel;
use super::super::compare::Num;
use super::evaluate::Evaluated;
use super::expression::Function;
use super::numbers::Number;
use super::times;
use super::value::{Fault, Val};

pub(super) fn call<'a>(
    function: Function,
    first: Val<'a>,
    second: Option<Val<'a>>,
    fuel: &mut Fuel,
) -> Evaluated<'a> {
    let unfit = || Fault::error(format!("{function:?} does not take {}", first.type_name()).to_lowercase());
    match function {
        Function::Dyn => Ok(first),
        Function::Size => {
            let size = match &first {
                Val::Object(entries) => entries.len(),
                Val::Map(entries) => entries.len(),
                Val::Text(_) | Val::Made(_) => {
                    let text = first.as_text().unwrap_or_default();
                    fuel.bytes(text.len())?;
                    text.chars().count()
                }
                list => list.length().ok_or_else(unfit)?,
            };
            Ok(Val::Number(Number::count(size)))
        }
        Function::Contains | Function::StartsWith | Function::EndsWith => {
            let part = second.unwrap_or(Val::Null);
            let (Some(text), Some(part)) = (first.as_text(), part.as_text()) else { return Err(unfit()) };
            fuel.bytes(text.len() + part.len())?;
            Ok(Val::Bool(match function {
                Function::Contains => text.contains(part),
                Function::StartsWith => text.starts_with(part),
                _ => text.ends_with(part),
            }))
        }
        Function::LowerAscii | Function::UpperAscii | Function::Trim => {
            let text = first.as_text().ok_or_else(unfit)?;
            fuel.bytes(text.len())?;
            let made = match function {
                Function::LowerAscii => text.to_ascii_lowercase(),
                Function::UpperAscii => text.to_ascii_uppercase(),
                _ => text.trim().to_owned(),
            };
            Ok(Val::text(made, fuel)?)
        }
        Function::Int => int(&first, fuel)?.ok_or_else(unfit),
        Function::Double => double(&first, fuel)?.ok_or_else(unfit),
        Function::Bool => match (&first, first.as_text()) {
            (Val::Bool(_), _) => Ok(first),
            (_, Some("true" | "True" | "TRUE" | "t" | "1")) => Ok(Val::Bool(true)),
            (_, Some("false" | "False" | "FALSE" | "f" | "0")) => Ok(Val::Bool(false)),
            _ => Err(unfit()),
        },
        Function::Text => {
            let made = match &first {
                Val::Text(_) | Val::Made(_) => return Ok(first),
                Val::Bool(value) => value.to_string(),
                Val::Number(number) => match number.num() {
                    Num::Int(value) => value.to_string(),
                    Num::Float(value) => value.to_string(),
                },
                Val::Moment(moment) => moment.to_string(),
                Val::Length(length) => times::length_text(*length),
                _ => return Err(unfit()),
            };
            Ok(Val::text(made, fuel)?)
        }
        Function::Type => Ok(Val::Type(first.kind())),
        Function::Timestamp | Function::Duration => {
            fuel.bytes(first.as_text().map_or(0, str::len))?;
            let read = if function == Function::Timestamp { times::timestamp } else { times::duration };
            read(&first).ok_or_else(unfit)?
        }
        Function::Part(part) => times::part(part, &first)
            .ok_or_else(|| Fault::error(format!("{} has no such part", first.type_name()))),
    }
}

/// Converts to a whole number by truncation, as CEL does.
fn int<'a>(value: &Val<'a>, fuel: &mut Fuel) -> Result<Option<Val<'a>>, Fault> {
    let range = i128::from(i64::MIN)..=i128::from(i64::MAX);
    let int = match value {
        Val::Number(number) => match number.num() {
            Num::Int(value) => Some(value),
            Num::Float(value) if value.is_finite() && value.abs() < 1e19 => Some(value.trunc() as i128),
            Num::Float(_) => None,
        },
        // Seconds since 1970.
        Val::Moment(moment) => Some(moment.as_second().into()),
        other => match other.as_text() {
            Some(text) => {
                fuel.bytes(text.len())?;
                text.parse::<i64>().ok().map(i128::from)
            }
            None => None,
        },
    };
    Ok(int.filter(|int| range.contains(int)).map(|int| Val::Number(Number::whole(int))))
}

fn double<'a>(value: &Val<'a>, fuel: &mut Fuel) -> Result<Option<Val<'a>>, Fault> {
    let double = match value {
        Val::Number(number) => Some(number.num().float()),
        other => match other.as_text() {
            Some(text) => {
                fuel.bytes(text.len())?;
                text.parse().ok()
            }
            None => None,
        },
    };
    Ok(double.map(|double| Val::Number(Number::double(double))))
}
