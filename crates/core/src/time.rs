//! Instants and lengths of time in whole milliseconds, passed in from outside. `duration.rs` owns the text
//! form of lengths.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch, by the world's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    pub const fn millis(self) -> i64 {
        self.0
    }

    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the instant `length` later, at most the last representable one.
    pub fn plus(self, length: Millis) -> Self {
        Self(self.0.saturating_add_unsigned(length.0))
    }

    /// Returns the time since `earlier`, or zero when `earlier` is later.
    pub fn since(self, earlier: Timestamp) -> Millis {
        if self > earlier { Millis(self.0.abs_diff(earlier.0)) } else { Millis::ZERO }
    }
}

impl fmt::Display for Timestamp {
    /// Prints RFC 3339 in UTC with milliseconds. An instant outside the calendar prints as `@<millis>ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(instant) => write!(f, "{instant:.3}"),
            Err(_) => write!(f, "@{}ms", self.0),
        }
    }
}

/// A length of time in whole milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Millis {
    pub const ZERO: Millis = Millis(0);
    pub const MAX: Millis = Millis(u64::MAX);

    /// Returns the length of `secs` seconds, at most [`Self::MAX`].
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// Returns the sum, at most [`Self::MAX`].
    pub const fn saturating_add(self, other: Millis) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the difference, at least zero.
    pub const fn saturating_sub(self, other: Millis) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns the product, at most [`Self::MAX`].
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_prints_as_rfc_3339_with_milliseconds() {
        assert_eq!(Timestamp(1_794_774_600_123).to_string(), "2026-11-15T20:30:00.123Z");
        assert_eq!(Timestamp(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp(-1).to_string(), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn an_instant_no_calendar_can_name_prints_its_number() {
        assert_eq!(Timestamp(i64::MAX).to_string(), "@9223372036854775807ms");
        assert_eq!(Timestamp(i64::MIN).to_string(), "@-9223372036854775808ms");
    }

    #[test]
    fn arithmetic_saturates_and_never_runs_backwards() {
        assert_eq!(Timestamp(i64::MAX).plus(Millis(1)), Timestamp(i64::MAX));
        assert_eq!(Timestamp(i64::MIN).plus(Millis::MAX), Timestamp(i64::MAX));
        assert_eq!(Timestamp(-5).plus(Millis::MAX), Timestamp(i64::MAX));
        assert_eq!(Timestamp(5).since(Timestamp(9)), Millis::ZERO);
        assert_eq!(Timestamp(i64::MAX).since(Timestamp(i64::MIN)), Millis::MAX);
        assert_eq!(Timestamp(9).since(Timestamp(5)), Millis(4));
    }
}
