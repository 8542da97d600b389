//! Tests of schedules over a year: a table of next fires, the days on which clocks change, and the laws of
//! `next_after`.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn at(text: &str) -> Timestamp {
    Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
}

fn cron(rule: &str, zone: &str) -> Cron {
    Cron::parse(rule, zone).unwrap_or_else(|error| panic!("{rule}: {error}"))
}

/// Returns the fires after an instant, in the zone's local time.
fn fires(rule: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    let cron = cron(rule, zone);
    let next = |last: &Timestamp| cron.next_after(*last);
    let show = |fire: Timestamp| {
        let instant = jiff::Timestamp::from_millisecond(fire.millis()).unwrap();
        instant.display_with_offset(cron.zone.to_offset(instant)).to_string()
    };
    std::iter::successors(next(&at(after)), next).take(count).map(show).collect()
}

#[rustfmt::skip]
const TABLE: &[(&str, &str, &str, &str)] = &[
    // the plain calendar
    ("* * * * *", "UTC", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00+00:00"),
    ("* * * * *", "UTC", "2026-01-01T00:00:59.999Z", "2026-01-01T00:01:00+00:00"),
    ("* * * * * *", "UTC", "2026-01-01T00:00:00.001Z", "2026-01-01T00:00:01+00:00"),
    ("* * * * * *", "UTC", "2026-12-31T23:59:59Z", "2027-01-01T00:00:00+00:00"),
    ("*/10 * * * * *", "UTC", "2026-01-01T00:00:50Z", "2026-01-01T00:01:00+00:00"),
    ("*/15 * * * *", "UTC", "2026-01-01T00:46:00Z", "2026-01-01T01:00:00+00:00"),
    ("5-59/20 * * * *", "UTC", "2026-01-01T00:26:00Z", "2026-01-01T00:45:00+00:00"),
    ("0 9 * * MON-FRI", "UTC", "2026-01-02T09:00:00Z", "2026-01-05T09:00:00+00:00"),
    ("0 9 * * fri-sun", "UTC", "2026-01-01T00:00:00Z", "2026-01-02T09:00:00+00:00"),
    ("0 9 * * 7", "UTC", "2026-01-01T00:00:00Z", "2026-01-04T09:00:00+00:00"),
    ("0 0 1 JAN,JUL *", "UTC", "2026-01-01T00:00:00Z", "2026-07-01T00:00:00+00:00"),
    ("0 0 31 * *", "UTC", "2026-01-31T00:00:00Z", "2026-03-31T00:00:00+00:00"),
    ("0 0 13 * FRI", "UTC", "2026-02-07T00:00:00Z", "2026-02-13T00:00:00+00:00"),
    ("0 0 13 * FRI", "UTC", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00+00:00"),
    ("0 0 ? * MON", "UTC", "2026-01-01T00:00:00Z", "2026-01-05T00:00:00+00:00"),
    ("0 0 L * *", "UTC", "2026-02-01T00:00:00Z", "2026-02-28T00:00:00+00:00"),
    ("0 0 L 2 *", "UTC", "2027-03-01T00:00:00Z", "2028-02-29T00:00:00+00:00"),
    ("0 0 LW * *", "UTC", "2026-05-01T00:00:00Z", "2026-05-29T00:00:00+00:00"),
    ("0 0 15W * *", "UTC", "2026-02-01T00:00:00Z", "2026-02-16T00:00:00+00:00"),
    ("0 0 * * 5#2", "UTC", "2026-01-01T00:00:00Z", "2026-01-09T00:00:00+00:00"),
    ("0 0 * * FRI#5", "UTC", "2026-02-01T00:00:00Z", "2026-05-29T00:00:00+00:00"),
    ("0 0 * * 5L", "UTC", "2026-01-01T00:00:00Z", "2026-01-30T00:00:00+00:00"),
    ("0 0 * * 7L", "UTC", "2026-01-01T00:00:00Z", "2026-01-25T00:00:00+00:00"),
    // aliases
    ("@hourly", "UTC", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00+00:00"),
    ("@daily", "Asia/Tokyo", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00+09:00"),
    ("@weekly", "UTC", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00+00:00"),
    ("@Monthly", "UTC", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00+00:00"),
    ("@yearly", "UTC", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00+00:00"),
    // leap days and far years
    ("0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00+00:00"),
    ("0 0 29 2 *", "UTC", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00+00:00"),
    ("0 0 28 2 *", "UTC", "2100-02-28T00:00:00Z", "2101-02-28T00:00:00+00:00"),
    ("0 0 L 2 *", "UTC", "2100-01-01T00:00:00Z", "2100-02-28T00:00:00+00:00"),
    ("14 3 19 1 *", "UTC", "2038-01-19T03:13:00Z", "2038-01-19T03:14:00+00:00"),
    ("15 3 19 1 *", "UTC", "2038-01-19T03:14:08Z", "2038-01-19T03:15:00+00:00"),
    ("30 2 * * *", "Europe/Berlin", "2050-03-27T00:59:59Z", "2050-03-27T03:00:00+02:00"),
    ("0 12 1 7 *", "America/New_York", "2100-01-01T00:00:00Z", "2100-07-01T12:00:00-04:00"),
    ("0 0 1 1 *", "UTC", "1899-06-01T00:00:00Z", "1900-01-01T00:00:00+00:00"),
    // zones
    ("0 9 * * *", "Europe/Berlin", "2026-01-15T08:00:00Z", "2026-01-16T09:00:00+01:00"),
    ("0 9 * * *", "Europe/Berlin", "2026-07-15T06:59:00Z", "2026-07-15T09:00:00+02:00"),
    ("0 9 * * *", "Asia/Kolkata", "2026-01-01T00:00:00Z", "2026-01-01T09:00:00+05:30"),
    ("0 9 * * *", "Asia/Kathmandu", "2026-01-01T00:00:00Z", "2026-01-01T09:00:00+05:45"),
    ("30 0 1 * *", "Pacific/Kiritimati", "2026-01-15T00:00:00Z", "2026-02-01T00:30:00+14:00"),
    // spring: a skipped time fires at the end of the gap, wherever the gap lies
    ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T03:00:00+02:00"),
    ("30 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-30T02:30:00+02:00"),
    ("30 2 * * SUN", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T03:00:00+02:00"),
    ("0 2,14 * * *", "Europe/Berlin", "2026-03-28T20:00:00Z", "2026-03-29T03:00:00+02:00"),
    ("30 2 * * *", "America/New_York", "2026-03-08T00:00:00Z", "2026-03-08T03:00:00-04:00"),
    ("30 2 * * *", "Australia/Sydney", "2026-10-03T12:00:00Z", "2026-10-04T03:00:00+11:00"),
    ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", "2026-10-04T02:30:00+11:00"),
    ("0 0 * * *", "America/Havana", "2026-03-08T00:00:00Z", "2026-03-08T01:00:00-04:00"),
    ("0 0 * * *", "America/Santiago", "2026-09-06T00:00:00Z", "2026-09-06T01:00:00-03:00"),
    ("0 9 * * *", "America/Santiago", "2026-09-05T13:00:00Z", "2026-09-06T09:00:00-03:00"),
    ("30 23 * * SAT", "America/Nuuk", "2026-03-28T12:00:00Z", "2026-03-29T00:00:00-01:00"),
    ("0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", "2011-12-31T00:00:00+14:00"),
    ("30 2 29 3 *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T03:00:00+02:00"),
    // a rule that follows the local clock has no fire in the gap
    ("*/30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T02:00:00+02:00"),
    ("*/20 * * * *", "Europe/Berlin", "2026-03-29T00:40:00Z", "2026-03-29T03:00:00+02:00"),
    // autumn: the first of the two repeated times fires
    ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T02:30:00+02:00"),
    ("30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T02:30:00+01:00"),
    ("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", "2026-10-26T02:30:00+01:00"),
    ("30 1 * * *", "America/New_York", "2026-11-01T05:30:00Z", "2026-11-02T01:30:00-05:00"),
    ("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00Z", "2026-04-05T01:45:00+11:00"),
    ("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T14:45:00Z", "2026-04-06T01:45:00+10:30"),
];

#[test]
fn the_next_fire_is_the_one_in_the_table() {
    for (rule, zone, after, expected) in TABLE {
        assert_eq!(fires(rule, zone, after, 1), [*expected], "{rule} in {zone} after {after}");
    }
}

#[test]
fn a_fixed_time_rule_fires_once_a_day_over_both_changes() {
    for zone in
        ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Australia/Sydney", "America/Nuuk"]
    {
        for hour in [0, 1, 2, 3, 23] {
            for minute in [0, 15, 30, 45] {
                let rule = format!("{minute} {hour} * * *");
                let year = fires(&rule, zone, "2026-01-01T12:00:00Z", 365);
                let days: BTreeSet<&str> = year.iter().map(|fire| &fire[..10]).collect();
                // Nuuk skips the last hour of a day: that fire moves to midnight and falls on the next day,
                // which has its own fire.
                let expected = if zone == "America/Nuuk" && hour == 23 { 364 } else { 365 };
                assert_eq!(days.len(), expected, "{rule} in {zone}");
                let last = at(&year[364]).since(at(&year[0])).as_u64();
                assert_eq!((last + 43_200_000) / 86_400_000, 364, "{rule} in {zone}");
            }
        }
    }
}

#[test]
fn several_fixed_times_in_one_gap_fire_once_after_it() {
    assert_eq!(
        fires("0,20,40 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 4),
        [
            "2026-03-29T03:00:00+02:00",
            "2026-03-29T03:20:00+02:00",
            "2026-03-29T03:40:00+02:00",
            "2026-03-30T02:00:00+02:00"
        ]
    );
}

#[test]
fn a_rule_on_the_wall_clock_fires_in_both_halves_of_a_repeated_hour() {
    assert_eq!(
        fires("*/30 * * * *", "Europe/Berlin", "2026-10-24T23:45:00Z", 5),
        [
            "2026-10-25T02:00:00+02:00",
            "2026-10-25T02:30:00+02:00",
            "2026-10-25T02:00:00+01:00",
            "2026-10-25T02:30:00+01:00",
            "2026-10-25T03:00:00+01:00"
        ]
    );
    assert_eq!(
        fires("*/15 * * * *", "Australia/Lord_Howe", "2026-04-04T14:15:00Z", 5),
        [
            "2026-04-05T01:30:00+11:00",
            "2026-04-05T01:45:00+11:00",
            "2026-04-05T01:30:00+10:30",
            "2026-04-05T01:45:00+10:30",
            "2026-04-05T02:00:00+10:30"
        ]
    );
    let hours = fires("0 * * * *", "America/New_York", "2026-11-01T03:30:00Z", 4);
    assert_eq!(hours[1..3], ["2026-11-01T01:00:00-04:00", "2026-11-01T01:00:00-05:00"]);
}

/// The answer takes about 15 ms a rule in an optimised build. The core has no clock to measure it with.
#[test]
fn a_rule_that_never_fires_is_answered_soon() {
    for rule in ["0 0 30 2 *", "* * * 30 2 *", "* * * 31 4,6 ?", "59 59 23 31W 2 *", "0 0 31 2,4,6,9,11 *"] {
        let cron = cron(rule, "Europe/Berlin");
        assert_eq!(cron.next_after(at("2026-01-01T00:00:00Z")), None, "{rule}");
    }
}

#[test]
fn instants_outside_the_calendar_are_answered() {
    let daily = cron("@daily", "Europe/Berlin");
    assert_eq!(daily.next_after(Timestamp(i64::MAX)), None);
    assert_eq!(daily.next_after(at("5001-01-01T00:00:00Z")), None);
    assert!(daily.next_after(Timestamp(i64::MIN)).is_some());
    assert!(cron("* * * * *", "America/New_York").next_after(Timestamp(i64::MIN)).is_some());
}

#[test]
fn a_wrong_rule_is_refused_with_a_reason_and_an_example() {
    let rows = [
        ("", "the cron rule is empty: write five fields, such as \"0 9 * * MON-FRI\", or @daily"),
        ("@noon", "\"@noon\" is not known: write @hourly, @daily, @weekly, @monthly or @yearly"),
        ("* * * *", "has 4 fields: write minute, hour, day of month, month, day of week"),
        ("0 0 0 1 1 * 2030", "has 7 fields"),
        (
            "60 * * * *",
            "the minute field of the cron rule cannot be \"60\": the number must be from 0 to 59, for example 30 or */15",
        ),
        ("* 24 * * *", "the hour field of the cron rule cannot be \"24\": the number must be from 0 to 23"),
        (
            "0 0 0 * *",
            "the day of month field of the cron rule cannot be \"0\": the number must be from 1 to 31",
        ),
        ("0 0 * 13 *", "the number must be from 1 to 12"),
        ("0 0 * * 8", "the number must be from 0 to 7"),
        ("SUN * * * *", "the minute field of the cron rule cannot be \"SUN\": a number is expected"),
        ("0 0 1MON * *", "the day of month field of the cron rule cannot be \"1MON\": a number is expected"),
        ("0 0 * * MONDAY", "a number is expected, for example MON-FRI"),
        (", * * * *", "a list item is empty"),
        ("1,,2 * * * *", "a list item is empty"),
        ("*,5 * * * *", "cannot be \"*\": a number is expected"),
        ("-5 * * * *", "a number is expected"),
        ("+5 * * * *", "a number is expected"),
        ("5/15 * * * *", "a step needs a range: write 5-59/15"),
        ("*/0 * * * *", "the step must be a number from 1 to 59"),
        ("*/+5 * * * *", "the step must be a number from 1 to 59"),
        ("*/99999999 * * * *", "the step must be a number from 1 to 59"),
        ("0 22-6 * * *", "a range cannot run backwards: write 22-23,0-6"),
        ("0 0 * * L", "L needs a day before it, such as 5L for the last Friday"),
        ("0 0 * * 5#6", "after # comes a number from 1 to 5"),
        ("0 0 L,LW * *", "L and LW cannot stand together"),
        ("0 0 L-3 * *", "a number is expected"),
        ("0 0 1 * +MON", "a number is expected"),
        ("? * * * *", "a number is expected"),
    ];
    for (rule, reason) in rows {
        let error = Cron::parse(rule, "UTC").unwrap_err().to_string();
        assert!(error.contains(reason), "{rule}: {error}");
    }
}

#[test]
fn an_unknown_zone_is_refused_with_a_name_that_would_do() {
    let error = |zone| Cron::parse("@daily", zone).unwrap_err().to_string();
    assert_eq!(
        error("Mars/Base"),
        "there is no time zone \"Mars/Base\": write a name such as \"Europe/Berlin\" or \"UTC\""
    );
    assert_eq!(
        error("new york"),
        "there is no time zone \"new york\": write a name such as \"America/New_York\" or \"UTC\""
    );
    for zone in ["", " UTC", "+02:00", "Etc/Unknown", "../etc/passwd"] {
        assert!(error(zone).contains("there is no time zone"), "{zone}");
    }
}

#[test]
fn a_rule_keeps_its_text_and_describes_itself() {
    let rule = cron(" 0 9 * * MON-FRI ", "europe/berlin");
    assert_eq!((rule.text(), rule.zone()), ("0 9 * * MON-FRI", "Europe/Berlin"));
    assert_eq!(
        rule.describe(),
        "At 09:00, on Monday, Tuesday, Wednesday, Thursday, and Friday (Europe/Berlin)"
    );
    assert_eq!(cron("*/15 * * * *", "UTC").describe(), "At every 15 minutes (UTC)");
}

fn any_rule() -> impl Strategy<Value = String> {
    let part = |low: u16, high: u16| {
        prop_oneof![
            2 => Just("*".to_owned()),
            3 => (low..=high).prop_map(|n| n.to_string()),
            1 => (1..=high).prop_map(|step| format!("*/{step}")),
            1 => (low..=high, low..=high).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
            1 => (low..=high, low..=high).prop_map(|(a, b)| format!("{a},{b}")),
        ]
    };
    let month = prop_oneof![4 => Just("*".to_owned()), 1 => part(1, 12)];
    let day = prop_oneof![2 => Just("*".to_owned()), 1 => part(1, 28)];
    let week = prop_oneof![2 => Just("*".to_owned()), 1 => part(0, 6)];
    let second = prop_oneof![4 => Just("0".to_owned()), 1 => part(0, 59)];
    (second, part(0, 59), part(0, 23), day, month, week)
        .prop_map(|(s, m, h, d, mo, w)| format!("{s} {m} {h} {d} {mo} {w}"))
}

fn any_zone() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "Australia/Sydney",
        "America/Nuuk",
        "America/Havana",
        "Africa/Casablanca",
        "Asia/Kathmandu",
    ])
}

/// Picks an instant until 2100. Half of them lie within hours of a clock change.
fn any_instant() -> impl Strategy<Value = i64> {
    let change =
        (1990..2100_i64, 0..2_i64, -100_000_000..100_000_000_i64).prop_map(|(year, autumn, near)| {
            let months = if autumn == 1 { "10-28" } else { "03-28" };
            at(&format!("{year}-{months}T01:00:00Z")).millis() + near * 6
        });
    prop_oneof![change, 0..4_102_444_800_000_i64]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_next_fire_is_later_and_never_jumps_back(
        rule in any_rule(), zone in any_zone(), after in any_instant(), more in 0..90_000_000_i64,
    ) {
        let cron = cron(&rule, zone);
        let next = cron.next_after(Timestamp(after));
        prop_assert!(next.is_none_or(|next| next > Timestamp(after)));
        if let Some(next) = next {
            let later = Timestamp(after + more);
            let second = cron.next_after(later);
            // No fire lies between an instant and its next fire.
            let kept = if later < next { second == Some(next) } else { second.is_none_or(|second| second > next) };
            prop_assert!(kept, "{:?} then {:?}", next, second);
        }
    }

    #[test]
    fn croner_agrees_where_its_own_zone_rules_are_sound(
        rule in any_rule(), zone in any_zone(), after in any_instant(),
    ) {
        let cron = cron(&rule, zone);
        // A gap at midnight: croner fires every fixed time of that day in it, or loses the fire of the day's
        // last hour.
        prop_assume!(!["America/Nuuk", "America/Havana"].contains(&zone));
        // Fixed times in a list: croner skips them in a gap and fires them twice in autumn.
        prop_assume!(cron.fixed == (cron.rule.determine_job_type() == croner::JobType::FixedTime));
        let second = jiff::Timestamp::from_second(after.div_euclid(1000)).unwrap();
        let theirs = cron.rule.find_next_occurrence(&second.to_zoned(cron.zone.clone()), false).ok();
        let theirs = theirs.map(|fire| Timestamp(fire.timestamp().as_millisecond()));
        prop_assert_eq!(cron.next_after(Timestamp(after)), theirs);
    }

    #[test]
    fn any_text_is_read_or_refused_without_a_panic(text in "[0-9*/,\\-LW#?@a-zA-Z ]{0,24}|\\PC{0,16}") {
        let _ = Cron::parse(&text, "UTC");
    }
}
