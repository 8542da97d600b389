//! Late polls: which fires start, which are dropped, and which is stored as next.

use proptest::prelude::*;

use super::*;

fn at(text: &str) -> Timestamp {
    Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
}

fn hourly() -> Cron {
    Cron::parse("@hourly", "UTC").unwrap()
}

const NOON: &str = "2026-01-01T12:00:00Z";

fn due(now: &str, catch_up: CatchUp, limit: usize) -> Due {
    due_fires(&hourly(), at(NOON), at(now), catch_up, limit)
}

#[test]
fn nothing_is_due_before_its_time() {
    for catch_up in [CatchUp::Skip, CatchUp::One, CatchUp::All] {
        let early = due("2026-01-01T11:59:59.999Z", catch_up, 100);
        assert_eq!(early, Due { fires: vec![], missed: 0, next_at: Some(at(NOON)) });
    }
}

#[test]
fn a_fire_in_time_starts_under_every_policy() {
    for catch_up in [CatchUp::Skip, CatchUp::One, CatchUp::All] {
        for now in [NOON, "2026-01-01T12:01:00Z"] {
            let next_at = Some(at("2026-01-01T13:00:00Z"));
            assert_eq!(due(now, catch_up, 100), Due { fires: vec![at(NOON)], missed: 0, next_at });
        }
    }
}

#[test]
fn skip_drops_a_fire_that_is_more_than_a_minute_late() {
    let next_at = Some(at("2026-01-01T13:00:00Z"));
    assert_eq!(
        due("2026-01-01T12:01:00.001Z", CatchUp::Skip, 100),
        Due { fires: vec![], missed: 1, next_at }
    );
}

#[test]
fn skip_starts_the_newest_when_it_is_hardly_late() {
    let next_at = Some(at("2026-01-01T16:00:00Z"));
    let fires = vec![at("2026-01-01T15:00:00Z")];
    assert_eq!(due("2026-01-01T15:00:30Z", CatchUp::Skip, 100), Due { fires, missed: 3, next_at });
}

#[test]
fn one_starts_the_newest_however_late() {
    let next_at = Some(at("2026-01-01T16:00:00Z"));
    let fires = vec![at("2026-01-01T15:00:00Z")];
    assert_eq!(due("2026-01-01T15:59:59Z", CatchUp::One, 100), Due { fires, missed: 3, next_at });
}

#[test]
fn all_starts_each_and_leaves_the_rest_due_beyond_the_limit() {
    let hours: Vec<Timestamp> = (12..=15).map(|hour| at(&format!("2026-01-01T{hour}:00:00Z"))).collect();
    let now = "2026-01-01T15:30:00Z";
    let next_at = Some(at("2026-01-01T16:00:00Z"));
    assert_eq!(due(now, CatchUp::All, 100), Due { fires: hours.clone(), missed: 0, next_at });
    assert_eq!(due(now, CatchUp::All, 4), Due { fires: hours.clone(), missed: 0, next_at });
    let taken = hours[..3].to_vec();
    assert_eq!(due(now, CatchUp::All, 3), Due { fires: taken, missed: 0, next_at: Some(hours[3]) });
    assert_eq!(due(now, CatchUp::All, 0), Due { fires: vec![], missed: 0, next_at: Some(at(NOON)) });
}

#[test]
fn a_year_of_missed_seconds_is_settled_at_once() {
    let cron = Cron::parse("* * * * * *", "Europe/Berlin").unwrap();
    let now = at("2027-01-01T12:00:00.250Z");
    let next_at = Some(at("2027-01-01T12:00:01Z"));
    let fires = vec![at("2027-01-01T12:00:00Z")];
    for catch_up in [CatchUp::Skip, CatchUp::One] {
        let due = due_fires(&cron, at(NOON), now, catch_up, 100);
        assert_eq!(due, Due { fires: fires.clone(), missed: 10_000, next_at });
    }
}

#[test]
fn missed_fires_are_counted_exactly_up_to_the_limit() {
    let cron = Cron::parse("* * * * * *", "UTC").unwrap();
    for (late, missed) in
        [(9_998, 9_998), (9_999, 9_999), (10_000, 10_000), (10_001, 10_000), (20_000, 10_000)]
    {
        let now = at(NOON).plus(Millis::from_secs(late));
        let due = due_fires(&cron, at(NOON), now, CatchUp::One, 100);
        assert_eq!((due.fires, due.missed), (vec![now], missed), "{late}");
    }
}

#[test]
fn a_schedule_that_is_over_has_no_next_fire() {
    let never = Cron::parse("0 0 30 2 *", "UTC").unwrap();
    for catch_up in [CatchUp::Skip, CatchUp::One, CatchUp::All] {
        let due = due_fires(&never, at(NOON), at(NOON), catch_up, 100);
        assert_eq!(due, Due { fires: vec![at(NOON)], missed: 0, next_at: None });
    }
}

#[test]
fn policies_are_written_in_snake_case() {
    assert_eq!(serde_json::to_string(&Overlap::CancelPrevious).unwrap(), "\"cancel_previous\"");
    assert_eq!(serde_json::from_str::<CatchUp>("\"one\"").unwrap(), CatchUp::One);
    assert_eq!((CatchUp::default(), Overlap::default()), (CatchUp::Skip, Overlap::Skip));
}

proptest! {
    #[test]
    fn taking_all_in_slices_takes_each_fire_once(late in 0..600_000_i64, limit in 1..7_usize) {
        let cron = Cron::parse("*/7 */3 * * * *", "UTC").unwrap();
        let first = cron.next_after(at(NOON)).unwrap();
        let now = Timestamp(first.millis() + late);
        let whole = due_fires(&cron, first, now, CatchUp::All, usize::MAX);
        let (mut next_at, mut taken) = (first, Vec::new());
        while next_at <= now {
            let slice = due_fires(&cron, next_at, now, CatchUp::All, limit);
            prop_assert!(!slice.fires.is_empty() && slice.fires.len() <= limit);
            taken.extend(slice.fires);
            next_at = slice.next_at.unwrap();
        }
        prop_assert_eq!(&taken, &whole.fires);
        let one = due_fires(&cron, first, now, CatchUp::One, 100);
        prop_assert_eq!(one.fires.last(), taken.last());
        prop_assert_eq!(one.missed + 1, taken.len() as u64);
        prop_assert_eq!(one.next_at, whole.next_at);
    }
}
