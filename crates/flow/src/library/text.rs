//! Methods of strings. They count characters, not bytes.

use std::sync::Arc;

use super::Call;
use crate::runtime_error::Evaluated;
use crate::value::Value;

/// Returns the string and its only argument, after charging the meter for reading both.
fn both(call: &mut Call<'_>) -> Evaluated<(Arc<str>, Arc<str>)> {
    let (text, other) = (call.own_text()?, call.text(0)?);
    call.meter.scan((text.len() + other.len()) as u64)?;
    Ok((text, other))
}

fn own(call: &mut Call<'_>) -> Evaluated<Arc<str>> {
    let text = call.own_text()?;
    call.meter.scan(text.len() as u64)?;
    Ok(text)
}

pub fn includes(call: &mut Call<'_>) -> Evaluated {
    let (text, part) = both(call)?;
    Ok(Value::Boolean(text.contains(&*part)))
}

pub fn starts_with(call: &mut Call<'_>) -> Evaluated {
    let (text, part) = both(call)?;
    Ok(Value::Boolean(text.starts_with(&*part)))
}

pub fn ends_with(call: &mut Call<'_>) -> Evaluated {
    let (text, part) = both(call)?;
    Ok(Value::Boolean(text.ends_with(&*part)))
}

/// Splits a string. An empty separator splits it into characters.
pub fn split(call: &mut Call<'_>) -> Evaluated {
    let (text, separator) = both(call)?;
    let mut parts = Vec::new();
    let mut add = |part: &str| -> Evaluated<()> {
        call.meter.allocate(64 + part.len() as u64)?;
        parts.push(Value::text(part));
        Ok(())
    };
    if separator.is_empty() {
        let mut buffer = [0; 4];
        text.chars().try_for_each(|character| add(character.encode_utf8(&mut buffer)))?;
    } else {
        text.split(&*separator).try_for_each(&mut add)?;
    }
    call.make_list(parts)
}

pub fn trim(call: &mut Call<'_>) -> Evaluated {
    let text = own(call)?;
    call.make_text(text.trim())
}

pub fn upper(call: &mut Call<'_>) -> Evaluated {
    let text = own(call)?;
    call.meter.scan(8 * text.len() as u64)?;
    call.make_text(&text.to_uppercase())
}

pub fn lower(call: &mut Call<'_>) -> Evaluated {
    let text = own(call)?;
    call.meter.scan(8 * text.len() as u64)?;
    call.make_text(&text.to_lowercase())
}

/// Replaces the first occurrence, as in JavaScript.
pub fn replace(call: &mut Call<'_>) -> Evaluated {
    let (text, part) = both(call)?;
    let with = call.text(1)?;
    call.meter.allocate((text.len() + with.len()) as u64)?;
    call.make_text(&text.replacen(&*part, &with, 1))
}

pub fn slice(call: &mut Call<'_>) -> Evaluated {
    let text = own(call)?;
    let range = call.range(text.chars().count())?;
    let start = byte_of(&text, range.start);
    let rest = text.get(start..).unwrap_or_default();
    let end = byte_of(rest, range.len());
    call.make_text(rest.get(..end).unwrap_or_default())
}

fn byte_of(text: &str, characters: usize) -> usize {
    text.char_indices().nth(characters).map_or(text.len(), |(byte, _)| byte)
}
