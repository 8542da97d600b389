//! Cron rules in a time zone: parsing and the next fire. `due.rs` decides what starts after a late poll.
//! croner computes only the plain calendar. Clock changes are handled here, because croner's own zone search
//! invents a fire when the gap begins at midnight (Santiago) and loses one when it ends there (Nuuk).

mod due;
mod syntax;

use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use thiserror::Error;

pub use due::{CATCH_UP_LIMIT, CatchUp, Due, Overlap, due_fires};

use crate::time::Timestamp;

/// 0001-01-01, where croner's calendar begins.
const FIRST_SECOND: i64 = -62_135_596_800;

/// Reasons a cron rule or zone is refused. Each message says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CronError {
    #[error("the cron rule is empty: write five fields, such as \"0 9 * * MON-FRI\", or @daily")]
    Empty,
    #[error("{0:?} is not known: write @hourly, @daily, @weekly, @monthly or @yearly")]
    UnknownAlias(String),
    #[error(
        "the cron rule {text:?} has {count} fields: write minute, hour, day of month, month, day of week, with \
         seconds in front if needed, such as \"0 9 * * MON-FRI\" or \"*/10 * * * * *\""
    )]
    FieldCount { text: String, count: usize },
    #[error("the {field} field of the cron rule cannot be {part:?}: {reason}, for example {example}")]
    Field { field: &'static str, part: String, reason: String, example: &'static str },
    #[error("the cron rule {text:?} cannot be read: {reason}; write for example \"0 9 * * MON-FRI\"")]
    Rule { text: String, reason: String },
    #[error("there is no time zone {zone:?}: write a name such as {example:?} or \"UTC\"")]
    Zone { zone: String, example: String },
}

/// A cron rule in a time zone: five fields, or six with seconds first, or `@hourly`, `@daily`, `@weekly`,
/// `@monthly`, `@yearly`. `L`, `15W`, `LW`, `5#2` and `5L` are supported. When both day fields are given, a
/// day that matches either one fires.
///
/// When the clocks change, two kinds of rules differ:
///
/// - A fixed-time rule gives its time of day in plain numbers (`30 2 * * *`, `0 6,18 * * *`). It keeps to the
///   calendar: a time that the clocks skip in spring fires at the first instant after the gap (several in one
///   gap: once), a time that comes twice in autumn fires the first time only.
/// - Any other rule (`*`, ranges, steps in the time of day) follows the local clock. It fires whenever that
///   clock shows a matching time: never for a skipped time and twice for a repeated one.
///   `*/15 * * * *` therefore fires every 15 minutes of real time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    text: String,
    rule: croner::Cron,
    fixed: bool,
    zone: TimeZone,
}

impl Cron {
    /// Parses a rule for the named IANA zone. Returns a [`CronError`] when the rule or the zone is not valid.
    pub fn parse(text: &str, zone: &str) -> Result<Cron, CronError> {
        let checked = syntax::check(text)?;
        let parser = CronParser::builder().seconds(Seconds::Required).year(Year::Disallowed).build();
        let rule = parser.parse(&checked.normal).map_err(|error| CronError::Rule {
            text: text.trim().to_owned(),
            reason: error.to_string().trim_end_matches('.').to_owned(),
        })?;
        Ok(Cron { text: text.trim().to_owned(), rule, fixed: checked.fixed, zone: find_zone(zone)? })
    }

    /// Returns the rule as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the name of the zone in its official spelling.
    pub fn zone(&self) -> &str {
        self.zone.iana_name().unwrap_or("UTC")
    }

    /// Returns the rule in English, with its zone.
    pub fn describe(&self) -> String {
        format!("{} ({})", self.rule.describe().trim_end_matches('.'), self.zone())
    }

    /// Returns the first fire later than `after`. Returns `None` for a rule that never fires, such as 30
    /// February: the search ends with the year 5000, after about 15 ms.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        // Fires are whole seconds. A fire later than the start of this second is therefore later than
        // `after`.
        let second = after.millis().div_euclid(1000).max(FIRST_SECOND);
        let after = jiff::Timestamp::from_second(second).ok()?;
        let fire = if self.fixed { self.next_fixed(after) } else { self.next_on_the_wall(after) };
        Some(Timestamp(fire?.as_millisecond()))
    }

    /// Searches the plain calendar and converts each match to an instant. Those instants never run backwards,
    /// so the first one later than `after` is the next fire.
    fn next_fixed(&self, after: jiff::Timestamp) -> Option<jiff::Timestamp> {
        let mut wall = self.zone.to_datetime(after);
        loop {
            wall = self.rule.find_next_occurrence(&wall, false).ok()?;
            let fire = self.takes_place(wall)?;
            if fire > after {
                return Some(fire);
            }
        }
    }

    /// Returns the instant at which a matching local time fires: the first of two in autumn, the end of the
    /// gap for a time that spring skips.
    fn takes_place(&self, wall: DateTime) -> Option<jiff::Timestamp> {
        match self.zone.to_ambiguous_timestamp(wall).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(wall).ok(),
            AmbiguousOffset::Fold { before, .. } => before.to_timestamp(wall).ok(),
            AmbiguousOffset::Gap { after, .. } => {
                // Read with the later offset, a skipped time lies just before the clocks change.
                let eve = after.to_timestamp(wall).ok()?;
                self.zone
                    .following(eve)
                    .find(|change| change.offset() == after)
                    .map(|change| change.timestamp())
            }
        }
    }

    /// Between two clock changes local time has a fixed offset, so this searches one such interval after the
    /// other.
    fn next_on_the_wall(&self, after: jiff::Timestamp) -> Option<jiff::Timestamp> {
        let mut from = after;
        let mut inclusive = false;
        loop {
            let offset = self.zone.to_offset(from);
            let wall = self.rule.find_next_occurrence(&offset.to_datetime(from), inclusive).ok()?;
            let fire = offset.to_timestamp(wall).ok()?;
            match self.zone.following(from).next() {
                Some(change) if change.timestamp() <= fire => from = change.timestamp(),
                _ => return Some(fire),
            }
            inclusive = true;
        }
    }
}

/// Reads only the bundled zone database, never the machine's, so a rule fires at the same times on every
/// machine.
fn find_zone(name: &str) -> Result<TimeZone, CronError> {
    let zones = TimeZoneDatabase::bundled();
    match zones.get(name) {
        Ok(zone) if !zone.is_unknown() => Ok(zone),
        _ => {
            let city = name.trim().replace(' ', "_");
            let known = zones.available().map(|known| known.to_string()).find(|known| {
                !city.is_empty()
                    && known.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case(&city))
            });
            let example = known.unwrap_or_else(|| "Europe/Berlin".to_owned());
            Err(CronError::Zone { zone: name.to_owned(), example })
        }
    }
}

#[cfg(test)]
mod brute;
#[cfg(test)]
mod tests;
