//! Timestamps and durations: `timestamp("2026-01-31T12:00:00Z")`, `duration("1h30m")`. Parts of timestamps
//! are in UTC.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::expression::{Arithmetic, Part};
use super::numbers::Number;
use super::value::{Fault, Val};

/// Start of year 1. CEL timestamps span the years 1 to 9999.
const FIRST_SECOND: i64 = -62_135_596_800;
/// Maximum length of a duration in seconds, about ten thousand years.
const MOST_SECONDS: i64 = 315_576_000_000;
const NANOS: i128 = 1_000_000_000;
/// Maximum digits after a decimal point. A nanosecond as a fraction of an hour needs fewer.
const MOST_DIGITS: usize = 18;
const UNITS: [(&str, i128); 6] =
    [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", NANOS), ("m", 60 * NANOS), ("h", 3_600 * NANOS)];

fn moment<'a>(moment: Timestamp) -> Result<Val<'a>, Fault> {
    match moment.as_second() >= FIRST_SECOND {
        true => Ok(Val::Moment(moment)),
        false => Err(Fault::error("a timestamp lies before the year 1")),
    }
}

fn length<'a>(length: Option<SignedDuration>) -> Result<Val<'a>, Fault> {
    let length = length.filter(|length| length.as_secs().unsigned_abs() <= MOST_SECONDS.unsigned_abs());
    length.map(Val::Length).ok_or_else(|| Fault::error("a duration is longer than ten thousand years"))
}

/// Parses an RFC 3339 text, or seconds since 1970.
pub(super) fn timestamp<'a>(value: &Val<'a>) -> Option<Result<Val<'a>, Fault>> {
    let unreadable = || Fault::error("this is no time such as 2026-01-31T12:00:00Z");
    let found = match value {
        Val::Moment(moment) => Ok(*moment),
        Val::Number(number) => {
            Timestamp::from_second(number.int().and_then(|seconds| i64::try_from(seconds).ok())?)
                .map_err(|_| Fault::error("a timestamp lies outside of the years 1 to 9999"))
        }
        other => other.as_text()?.parse().map_err(|_| unreadable()),
    };
    Some(found.and_then(moment))
}

pub(super) fn duration<'a>(value: &Val<'a>) -> Option<Result<Val<'a>, Fault>> {
    if let Val::Length(_) = value {
        return Some(Ok(value.clone()));
    }
    let read = read_duration(value.as_text()?);
    Some(read.ok_or_else(|| Fault::error("this is no duration such as 1h30m")).and_then(of_nanos))
}

fn of_nanos<'a>(nanos: i128) -> Result<Val<'a>, Fault> {
    length(
        i64::try_from(nanos / NANOS).ok().map(|seconds| SignedDuration::new(seconds, (nanos % NANOS) as i32)),
    )
}

/// Parses numbers with units in sequence, such as `-1.5h`, `1m30s` or `0`.
fn read_duration(text: &str) -> Option<i128> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut nanos = 0_i128;
    loop {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let after = &rest[number..];
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == &after[..end])?;
        nanos = nanos.checked_add(of_units(&rest[..number], *unit)?)?;
        rest = &after[end..];
        if rest.is_empty() {
            return Some(sign * nanos);
        }
    }
}

fn of_units(number: &str, unit: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() + fraction.len() == 0 || whole.len() > MOST_DIGITS || fraction.len() > MOST_DIGITS {
        return None;
    }
    let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<i128>().ok() };
    Some(digits(whole)? * unit + digits(fraction)? * unit / 10_i128.pow(fraction.len() as u32))
}

/// Adds or subtracts when at least one operand is a timestamp or a duration.
pub(super) fn calculate<'a>(
    operator: Arithmetic,
    left: &Val<'a>,
    right: &Val<'a>,
) -> Option<Result<Val<'a>, Fault>> {
    let outside = |_| Fault::error("a timestamp lies outside of the years 1 to 9999");
    Some(match (operator, left, right) {
        (Arithmetic::Subtract, Val::Moment(left), Val::Moment(right)) => {
            length(Some(left.duration_since(*right)))
        }
        (Arithmetic::Add, Val::Moment(at), Val::Length(by))
        | (Arithmetic::Add, Val::Length(by), Val::Moment(at)) => {
            at.checked_add(*by).map_err(outside).and_then(moment)
        }
        (Arithmetic::Subtract, Val::Moment(at), Val::Length(by)) => {
            at.checked_sub(*by).map_err(outside).and_then(moment)
        }
        (Arithmetic::Add, Val::Length(left), Val::Length(right)) => length(left.checked_add(*right)),
        (Arithmetic::Subtract, Val::Length(left), Val::Length(right)) => length(left.checked_sub(*right)),
        _ => return None,
    })
}

/// Returns a part of a timestamp, or the whole duration in that unit.
pub(super) fn part<'a>(part: Part, value: &Val<'a>) -> Option<Val<'a>> {
    let number = match value {
        Val::Moment(moment) => of_moment(part, *moment),
        Val::Length(length) => match part {
            Part::Hours => i128::from(length.as_hours()),
            Part::Minutes => i128::from(length.as_mins()),
            Part::Seconds => i128::from(length.as_secs()),
            Part::Milliseconds => length.as_millis(),
            _ => return None,
        },
        _ => return None,
    };
    Some(Val::Number(Number::whole(number)))
}

/// Returns a part of a timestamp. Months and days count from 0, except the date.
fn of_moment(part: Part, moment: Timestamp) -> i128 {
    let time = moment.to_zoned(TimeZone::UTC);
    i128::from(match part {
        Part::FullYear => time.year(),
        Part::Month => i16::from(time.month()) - 1,
        Part::Date => time.day().into(),
        Part::DayOfMonth => i16::from(time.day()) - 1,
        Part::DayOfYear => time.day_of_year() - 1,
        Part::DayOfWeek => time.weekday().to_sunday_zero_offset().into(),
        Part::Hours => time.hour().into(),
        Part::Minutes => time.minute().into(),
        Part::Seconds => time.second().into(),
        Part::Milliseconds => time.millisecond(),
    })
}

/// Returns the seconds as text, with as many decimals as needed: `5400s`, `0.25s`.
pub(super) fn length_text(length: SignedDuration) -> String {
    let sign = if length.is_negative() { "-" } else { "" };
    let (seconds, nanos) = (length.as_secs().unsigned_abs(), length.subsec_nanos().unsigned_abs());
    let fraction = format!("{nanos:09}");
    match fraction.trim_end_matches('0') {
        "" => format!("{sign}{seconds}s"),
        fraction => format!("{sign}{seconds}.{fraction}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_they_are_written() {
        for (text, nanos) in [
            ("0", 0),
            ("0s", 0),
            ("1h30m", 5_400 * NANOS),
            ("-1.5h", -5_400 * NANOS),
            ("+2m", 120 * NANOS),
            (".5s", NANOS / 2),
            ("1.s", NANOS),
            ("100ms", NANOS / 10),
            ("1s1us1ns", NANOS + 1_001),
            ("0h0m5s", 5 * NANOS),
        ] {
            assert_eq!(read_duration(text), Some(nanos), "{text}");
        }
        for text in
            ["", "-", "1", "s", ".s", "1x", "1s2", "1 s", "1s ", "1.2.3s", "--1s", "9999999999999999999h"]
        {
            assert_eq!(read_duration(text), None, "{text}");
        }
    }

    #[test]
    fn durations_are_told_in_seconds() {
        for (nanos, text) in
            [(0, "0s"), (5_400 * NANOS, "5400s"), (-NANOS / 4, "-0.25s"), (1, "0.000000001s")]
        {
            let Ok(Val::Length(length)) = of_nanos(nanos) else { panic!("{text}") };
            assert_eq!(length_text(length), text);
        }
    }
}
