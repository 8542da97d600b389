//! Compares the fires that `next_after` finds with a slow search through every local minute.

use std::collections::BTreeSet;

use jiff::ToSpan;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::{CatchUp, Cron, due_fires};
use crate::time::{Millis, Timestamp};

const MINUTE: i64 = 60_000;
/// Minutes that each case checks.
const WINDOW: i64 = 4 * 24 * 60;

/// One field of a rule: its text and the numbers it matches.
#[derive(Clone, Debug)]
struct Field {
    text: String,
    numbers: BTreeSet<i8>,
    /// Plain numbers, no `*`, range or step.
    plain: bool,
}

fn field(low: i8, high: i8) -> impl Strategy<Value = Field> {
    let list = prop::collection::btree_set(low..=high, 1..4).prop_map(|numbers| Field {
        text: numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        numbers,
        plain: true,
    });
    let every = (1..=high).prop_map(move |step| Field {
        text: format!("*/{step}"),
        numbers: (low..=high).step_by(usize::from(step.unsigned_abs())).collect(),
        plain: false,
    });
    let range = (low..=high, low..=high).prop_map(|(a, b)| {
        let (from, to) = (a.min(b), a.max(b));
        Field { text: format!("{from}-{to}"), numbers: (from..=to).collect(), plain: false }
    });
    prop_oneof![3 => list, 1 => every, 1 => range, 2 => any_of(low, high)]
}

fn any_of(low: i8, high: i8) -> impl Strategy<Value = Field> {
    Just(Field { text: "*".to_owned(), numbers: (low..=high).collect(), plain: false })
}

#[derive(Clone, Debug)]
struct Rule {
    minute: Field,
    hour: Field,
    day: Field,
    month: Field,
    week: Field,
}

impl Rule {
    fn text(&self) -> String {
        let fields = [&self.minute, &self.hour, &self.day, &self.month, &self.week];
        fields.map(|field| field.text.clone()).join(" ")
    }

    fn is_fixed(&self) -> bool {
        self.minute.plain && self.hour.plain
    }

    fn matches(&self, wall: DateTime) -> bool {
        let day = self.day.numbers.contains(&wall.day());
        let week = self.week.numbers.contains(&wall.weekday().to_sunday_zero_offset());
        // When both day fields are given, either is enough.
        let either = self.day.text != "*" && self.week.text != "*";
        self.minute.numbers.contains(&wall.minute())
            && self.hour.numbers.contains(&wall.hour())
            && self.month.numbers.contains(&wall.month())
            && if either { day || week } else { day && week }
    }

    /// Returns every fire in the minutes after `from`.
    fn fires(&self, zone: &TimeZone, from: i64) -> Vec<Timestamp> {
        let wall = |minute: i64| {
            zone.to_datetime(jiff::Timestamp::from_millisecond(from + minute * MINUTE).expect("in range"))
        };
        // Starting one day before the window shows which local times have already occurred.
        let mut latest = wall(-1440);
        let mut fires = Vec::new();
        for minute in -1439..=WINDOW {
            let now = wall(minute);
            let fires_now = if self.is_fixed() {
                let skipped = minutes_between(latest, now).any(|skipped| self.matches(skipped));
                now > latest && (self.matches(now) || skipped)
            } else {
                self.matches(now)
            };
            if fires_now && minute > 0 {
                fires.push(Timestamp(from + minute * MINUTE));
            }
            latest = latest.max(now);
        }
        fires
    }
}

/// Returns the local minutes that a clock change skipped.
fn minutes_between(before: DateTime, after: DateTime) -> impl Iterator<Item = DateTime> {
    std::iter::successors(Some(before + 1.minute()), |last| Some(*last + 1.minute()))
        .take_while(move |minute| *minute < after)
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let day = prop_oneof![3 => any_of(1, 31).boxed(), 1 => field(1, 31).boxed()];
    let month = prop_oneof![6 => any_of(1, 12).boxed(), 1 => field(1, 12).boxed()];
    let week = prop_oneof![3 => any_of(0, 6).boxed(), 1 => field(0, 6).boxed()];
    (field(0, 59), field(0, 23), day, month, week).prop_map(|(minute, hour, day, month, week)| Rule {
        minute,
        hour,
        day,
        month,
        week,
    })
}

const ZONES: [&str; 8] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Havana",
    "America/Nuuk",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "Pacific/Auckland",
];

/// Picks a zone and a minute: shortly before a clock change, before a leap day, or any, until 2060.
fn any_place() -> impl Strategy<Value = (&'static str, i64)> {
    let near =
        (prop::sample::select(&ZONES[..]), 0..2_100_000_000_i64, 0..WINDOW).prop_map(|(zone, at, ahead)| {
            let known = TimeZone::get(zone).expect("a zone of the list");
            let from = jiff::Timestamp::from_second(at).expect("in range");
            let change = known.following(from).next().map_or(at, |change| change.timestamp().as_second());
            (zone, change.div_euclid(60) * MINUTE - ahead * MINUTE)
        });
    let leap = (prop::sample::select(&ZONES[..]), 0..22_i64, 0..WINDOW).prop_map(|(zone, fours, ahead)| {
        let day = jiff::civil::date((1972 + 4 * fours) as i16, 3, 1).to_zoned(TimeZone::UTC).expect("a day");
        (zone, day.timestamp().as_millisecond() - ahead * MINUTE)
    });
    let any = (prop::sample::select(&ZONES[..]), 0..47_000_000_i64);
    prop_oneof![3 => near, 1 => leap, 1 => any.prop_map(|(zone, minute)| (zone, minute * MINUTE))]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn no_minute_that_fires_is_passed_over_and_no_other_fires(rule in any_rule(), (zone, from) in any_place()) {
        let cron = Cron::parse(&rule.text(), zone).unwrap();
        let end = Timestamp(from + WINDOW * MINUTE);
        let next = |last: &Timestamp| cron.next_after(*last).filter(|next| *next <= end);
        let found: Vec<Timestamp> = std::iter::successors(next(&Timestamp(from)), next).collect();
        prop_assert_eq!(found, rule.fires(&TimeZone::get(zone).unwrap(), from), "{} in {}", rule.text(), zone);
    }

    #[test]
    fn polls_at_any_moments_start_each_fire_once(
        rule in any_rule(), (zone, from) in any_place(), limit in 1..50_usize,
        pauses in prop::collection::vec(1..200 * MINUTE, 1..40),
    ) {
        let cron = Cron::parse(&rule.text(), zone).unwrap();
        let mut stored = cron.next_after(Timestamp(from));
        let (mut now, mut started) = (Timestamp(from), Vec::new());
        for pause in pauses {
            now = now.plus(Millis(pause.unsigned_abs())).min(Timestamp(from + WINDOW * MINUTE));
            while let Some(next) = stored.filter(|next| *next <= now) {
                let due = due_fires(&cron, next, now, CatchUp::All, limit);
                prop_assert!(!due.fires.is_empty());
                started.extend(due.fires);
                stored = due.next_at;
            }
        }
        let expected: Vec<Timestamp> =
            rule.fires(&TimeZone::get(zone).unwrap(), from).into_iter().filter(|fire| *fire <= now).collect();
        prop_assert_eq!(started, expected, "{} in {}", rule.text(), zone);
    }
}
