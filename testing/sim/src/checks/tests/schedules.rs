//! Objections of `schedules` to fires of a schedule that is due every minute.

use rhythm_core::cron::{CatchUp, Overlap};

use super::super::schedules::Schedules;
use super::*;

fn minute(number: i64) -> Timestamp {
    Timestamp((NOW.0 / 60_000 + number) * 60_000)
}

fn put() -> Control {
    Control::PutSchedule(Schedule {
        name: "often".into(),
        cron: "* * * * *".into(),
        zone: "UTC".into(),
        target: ScheduleTarget::Workflow { workflow: "flow".into(), input: Payload::null() },
        catch_up: CatchUp::All,
        overlap: Overlap::Allow,
        declared: false,
        paused: false,
        next_at: Some(minute(1)),
        last_at: None,
        last_started: None,
        fired: 0,
        missed: 0,
    })
}

fn was_put() -> Schedules {
    let mut check = Schedules::default();
    controlled(&mut check, put(), NOW).unwrap();
    check
}

fn fire(minutes: &[i64], next: i64) -> Control {
    let started = minutes.iter().map(|number| NewRun {
        id: RunId::for_fire(&TenantId::default(), "often", minute(*number)),
        ..created().runs.remove(0)
    });
    Control::FireSchedule {
        name: "often".into(),
        expected: minute(1),
        next_at: Some(minute(next)),
        runs: started.collect(),
        tasks: Vec::new(),
        missed: 0,
    }
}

#[test]
fn schedules_objects_to_a_minute_that_is_left_out_or_fired_twice() {
    controlled(&mut was_put(), fire(&[1, 2], 3), minute(2)).unwrap();
    controlled(&mut was_put(), fire(&[1], 3), minute(2)).unwrap_err();
    controlled(&mut was_put(), fire(&[1, 1], 3), minute(2)).unwrap_err();
    controlled(&mut was_put(), fire(&[1, 7], 3), minute(2)).unwrap_err();
    controlled(&mut was_put(), fire(&[1, 2], 3), minute(1)).unwrap_err();
    let mut check = was_put();
    controlled(&mut check, fire(&[1], 2), minute(1)).unwrap();
    controlled(&mut check, fire(&[1], 2), minute(1)).unwrap_err();
}

/// Found by seed 38453: a late put with a time the client computed earlier names the same runs again.
#[test]
fn schedules_counts_anew_when_a_schedule_is_put_again() {
    let mut check = was_put();
    controlled(&mut check, fire(&[1], 2), minute(1)).unwrap();
    controlled(&mut check, put(), NOW).unwrap();
    controlled(&mut check, fire(&[1], 2), minute(1)).unwrap();
}
