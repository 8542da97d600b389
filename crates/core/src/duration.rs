//! Durations as text: `500ms`, `10s`, `1h30m`, `3d`, `2w`. Owns parsing, the canonical form, and the lenient
//! serde form that also accepts a number of seconds.

use std::fmt;

use thiserror::Error;

use crate::time::Millis;

/// Units, largest first. A duration names its units in this order, each at most once.
const UNITS: [(&str, u64); 6] =
    [("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// Reasons a text is not a duration. Each message says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DurationError {
    #[error("a duration cannot be empty: write a number and a unit, such as \"10s\" or \"1h30m\"")]
    Empty,
    #[error("a duration is numbers and units without spaces: write {0:?}")]
    Meant(String),
    #[error(
        "a duration has no spaces, and {0:?} is not understood: write a number and a unit, such as \"1h30m\""
    )]
    Space(String),
    #[error("a duration has no sign: {0:?} must begin with a digit, such as \"10s\"")]
    Sign(String),
    #[error("{0:?} has no unit: append one of ms, s, m, h, d, w, such as \"{0}s\"")]
    NoUnit(String),
    #[error("there is no number before {0:?}: write one, such as \"10s\" or \"0.5s\"")]
    NoNumber(String),
    #[error("{0:?} is not a unit of time: use ms, s, m, h, d or w, such as \"10s\"")]
    UnknownUnit(String),
    #[error("the unit {0:?} is given twice: give each unit once, such as \"1h30m\"")]
    Repeated(&'static str),
    #[error("{0:?} must come before {1:?}: write larger units first, such as \"1h30m\"")]
    Order(&'static str, &'static str),
    #[error("{0:?} mixes a decimal with several units: write \"1.5h\" or \"1h30m\"")]
    Decimal(String),
    #[error("{0:?} is not a whole number of milliseconds: one millisecond is the smallest step")]
    NotWhole(String),
    #[error("{0:?} is too long: a duration ends at {max}", max = Millis::MAX)]
    TooLong(String),
}

/// Parses a duration. The whole text must match: nothing is trimmed or guessed. Returns a [`DurationError`]
/// otherwise.
pub fn parse(text: &str) -> Result<Millis, DurationError> {
    if text.is_empty() {
        return Err(DurationError::Empty);
    }
    if let Some(meant) = in_words(text) {
        return Err(DurationError::Meant(meant.to_string()));
    }
    if text.contains(char::is_whitespace) {
        return Err(DurationError::Space(text.to_owned()));
    }
    if text.starts_with(['+', '-']) {
        return Err(DurationError::Sign(text.to_owned()));
    }
    let too_long = || DurationError::TooLong(text.to_owned());
    let mut total = 0_u64;
    let mut last: Option<usize> = None;
    let mut rest = text;
    while !rest.is_empty() {
        let (number, after) = split_where(rest, |c| !c.is_ascii_digit() && c != '.');
        let (unit, after) = split_where(after, |c| c.is_ascii_digit() || c == '.');
        let (rank, size) = check_part(number, unit)?;
        if let Some(previous) = last {
            if previous == rank {
                return Err(DurationError::Repeated(UNITS[rank].0));
            }
            if previous > rank {
                return Err(DurationError::Order(UNITS[rank].0, UNITS[previous].0));
            }
        }
        let millis = match number.split_once('.') {
            None => number.parse::<u64>().ok().and_then(|n| n.checked_mul(size)).ok_or_else(too_long)?,
            Some(_) if last.is_some() || !after.is_empty() => {
                return Err(DurationError::Decimal(text.to_owned()));
            }
            Some((whole, fraction)) => decimal(text, whole, fraction, size)?,
        };
        total = total.checked_add(millis).ok_or_else(too_long)?;
        last = Some(rank);
        rest = after;
    }
    Ok(Millis(total))
}

/// Returns the meaning of texts such as `1 hour` and `2 days 3 hours`, for the error message. Returns `None`
/// for a text that is already in the accepted form.
fn in_words(text: &str) -> Option<Millis> {
    const LONGEST: usize = 100;
    if text.len() > LONGEST || !text.contains(|c: char| c.is_whitespace() || c.is_alphabetic()) {
        return None;
    }
    let mut total = 0_u64;
    let mut rest = text.trim();
    let mut spelled = text.contains(char::is_whitespace);
    while !rest.is_empty() {
        let (number, after) = split_where(rest, |c| !c.is_ascii_digit());
        let (word, after) = split_where(after.trim_start(), |c| !c.is_alphabetic());
        // `M` may mean minutes, months or a million, so single letters keep their case and are not guessed.
        let word = if word.len() > 1 { word.to_ascii_lowercase() } else { word.to_owned() };
        let unit = match word.as_str() {
            "w" | "week" | "weeks" => "w",
            "d" | "day" | "days" => "d",
            "h" | "hr" | "hrs" | "hour" | "hours" => "h",
            "m" | "min" | "mins" | "minute" | "minutes" => "m",
            "s" | "sec" | "secs" | "second" | "seconds" => "s",
            "ms" | "msec" | "millis" | "millisecond" | "milliseconds" => "ms",
            _ => return None,
        };
        spelled |= word != unit;
        let (_, size) = UNITS.iter().find(|(name, _)| *name == unit)?;
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(*size)?)?;
        rest = after.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
    }
    spelled.then_some(Millis(total))
}

fn split_where(text: &str, stop: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(stop).unwrap_or(text.len()))
}

/// Returns the rank and size of the unit. Fails when the number or the unit is missing, or the unit is
/// unknown.
fn check_part(number: &str, unit: &str) -> Result<(usize, u64), DurationError> {
    if number.is_empty() {
        return Err(DurationError::NoNumber(unit.to_owned()));
    }
    if unit.is_empty() {
        return Err(DurationError::NoUnit(number.to_owned()));
    }
    UNITS
        .iter()
        .enumerate()
        .find(|(_, (name, _))| *name == unit)
        .map(|(rank, (_, size))| (rank, *size))
        .ok_or_else(|| DurationError::UnknownUnit(unit.to_owned()))
}

fn decimal(text: &str, whole: &str, fraction: &str, size: u64) -> Result<u64, DurationError> {
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return Err(DurationError::NoNumber(
            text.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned(),
        ));
    }
    let too_long = || DurationError::TooLong(text.to_owned());
    let whole = whole.parse::<u64>().ok().and_then(|n| n.checked_mul(size)).ok_or_else(too_long)?;
    let digits = fraction.trim_end_matches('0');
    // The largest unit is 2^10 * 3^3 * 5^5 * 7 ms, so more than ten digits never give whole milliseconds.
    if digits.len() > 10 {
        return Err(DurationError::NotWhole(text.to_owned()));
    }
    let scale = digits.bytes().fold(1_u64, |scale, _| scale * 10);
    let part = digits.bytes().fold(0_u64, |n, digit| n * 10 + u64::from(digit - b'0'));
    let scaled = part * size;
    if !scaled.is_multiple_of(scale) {
        return Err(DurationError::NotWhole(text.to_owned()));
    }
    whole.checked_add(scaled / scale).ok_or_else(too_long)
}

impl fmt::Display for Millis {
    /// Writes the canonical form: largest units first, zero units left out, no decimals. [`parse`] reads it
    /// back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Millis::ZERO {
            return f.pad("0ms");
        }
        let mut text = String::new();
        let mut rest = self.0;
        for (unit, size) in UNITS {
            if rest >= size {
                text.push_str(&format!("{}{unit}", rest / size));
                rest %= size;
            }
        }
        f.pad(&text)
    }
}

/// For `#[serde(with = "duration::lenient")]`. Reads a duration text or a number of seconds, where a fraction
/// is rounded to the nearest millisecond. Writes the canonical text.
pub mod lenient {
    use std::fmt;

    use serde::de::{Deserializer, Error, Unexpected, Visitor};
    use serde::ser::Serializer;

    use crate::time::Millis;

    pub fn serialize<S: Serializer>(length: &Millis, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(length)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Millis, D::Error> {
        deserializer.deserialize_any(Lenient)
    }

    struct Lenient;

    impl Visitor<'_> for Lenient {
        type Value = Millis;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a duration such as \"1h30m\", or a number of seconds that is not negative")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Millis, E> {
            super::parse(text).map_err(E::custom)
        }

        fn visit_u64<E: Error>(self, secs: u64) -> Result<Millis, E> {
            let millis = secs.checked_mul(1000);
            millis.map(Millis).ok_or_else(|| E::invalid_value(Unexpected::Unsigned(secs), &self))
        }

        fn visit_i64<E: Error>(self, secs: i64) -> Result<Millis, E> {
            match u64::try_from(secs) {
                Ok(secs) => self.visit_u64(secs),
                Err(_) => Err(E::invalid_value(Unexpected::Signed(secs), &self)),
            }
        }

        fn visit_f64<E: Error>(self, secs: f64) -> Result<Millis, E> {
            let millis = (secs * 1000.0).round();
            // 2^64 as f64: below it the cast is exact. NaN fails both comparisons.
            if secs >= 0.0 && millis < 18_446_744_073_709_551_616.0 {
                Ok(Millis(millis as u64))
            } else {
                Err(E::invalid_value(Unexpected::Float(secs), &self))
            }
        }
    }
}

/// The same as [`lenient`], for an optional length.
pub mod lenient_option {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::time::Millis;

    #[derive(Serialize, Deserialize)]
    #[serde(transparent)]
    struct Lenient(#[serde(with = "super::lenient")] Millis);

    pub fn serialize<S: Serializer>(length: &Option<Millis>, serializer: S) -> Result<S::Ok, S::Error> {
        length.map(Lenient).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Millis>, D::Error> {
        Ok(Option::<Lenient>::deserialize(deserializer)?.map(|lenient| lenient.0))
    }
}

#[cfg(test)]
mod tests;
