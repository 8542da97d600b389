//! Schedules: every fire time is either started once or counted as missed. The schedules of the workload fire
//! every full minute, so no calendar is needed here.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::cron::{CatchUp, Overlap};
use rhythm_core::{RunId, Timestamp};
use rhythm_engine::world::{Control, Controlled, NewRun, Schedule};

use super::{Applied, Check, Moment, Objection, View};

const MINUTE: i64 = 60_000;

#[derive(Default)]
pub struct Schedules {
    rules: BTreeMap<String, Schedule>,
    /// Next fire time.
    next: BTreeMap<String, Timestamp>,
    started: BTreeSet<RunId>,
    /// Runs named by each schedule since it was put. A schedule that is put again with an earlier time names
    /// the same runs again; they exist already.
    named: BTreeMap<String, BTreeSet<RunId>>,
    /// Number of fires by schedule: started and missed.
    fired: BTreeMap<String, (u64, u64)>,
}

struct Fire<'a> {
    name: &'a str,
    expected: Timestamp,
    next_at: Option<Timestamp>,
    runs: &'a [NewRun],
    missed: u64,
}

impl Check for Schedules {
    fn name(&self) -> &'static str {
        "schedules"
    }

    fn applied(&mut self, applied: &Applied<'_>, at: &Moment<'_>) -> Result<(), Objection> {
        let Applied::Control(request, Controlled::Done) = applied else { return Ok(()) };
        match &request.control {
            Control::PutSchedule(schedule) => self.put(schedule, at.now),
            Control::FireSchedule { name, expected, next_at, runs, missed, .. } => {
                let fire = Fire { name, expected: *expected, next_at: *next_at, runs, missed: *missed };
                let of_tenant = |time: Timestamp| RunId::for_fire(&request.tenant, name, time);
                self.fire(&fire, at.now, of_tenant)
            }
            _ => Ok(()),
        }
        .map_err(Objection::general)?;
        Ok(())
    }

    fn ended(&mut self, view: &View<'_>) -> Result<(), Objection> {
        for run in &self.started {
            if !view.runs.contains_key(run) {
                return Err(Objection::of_run(run, "its schedule started it, it does not exist"));
            }
        }
        for schedule in &view.schedules {
            let (started, missed) = self.fired.get(&schedule.name).copied().unwrap_or_default();
            if (schedule.fired, schedule.missed) != (started, missed) {
                let what = format!(
                    "schedule {} counts {} fired and {} missed, there were {started} and {missed}",
                    schedule.name, schedule.fired, schedule.missed
                );
                return Err(Objection::general(what));
            }
        }
        Ok(())
    }
}

impl Schedules {
    /// Records a schedule. Putting it again resets its counts.
    fn put(&mut self, schedule: &Schedule, now: Timestamp) -> Result<(), String> {
        let name = schedule.name.clone();
        self.fired.remove(&name);
        self.named.remove(&name);
        self.rules.insert(name.clone(), schedule.clone());
        let next = schedule.next_at.ok_or("a schedule of every minute never fires")?;
        self.next.insert(name, next);
        // The client read the clock some time before.
        if next.millis() % MINUTE != 0 || next.millis() > now.millis() + MINUTE {
            return Err(format!("its first time is {next}, now is {now}"));
        }
        Ok(())
    }

    fn fire(
        &mut self,
        fire: &Fire<'_>,
        now: Timestamp,
        id: impl Fn(Timestamp) -> RunId,
    ) -> Result<(), String> {
        let Fire { name, expected, runs, missed, .. } = fire;
        let rule = self.rules.get(*name).ok_or_else(|| format!("schedule {name} was never put"))?;
        if self.next.get(*name) != Some(expected) {
            return Err(format!("schedule {name} was moved on from {expected}, its time is another"));
        }
        let next_at = fire.next_at.ok_or_else(|| format!("schedule {name} says it never fires again"))?;
        self.next.insert((*name).to_owned(), next_at);
        // Each minute from the expected time up to the next one was either started or missed.
        let minutes: Vec<Timestamp> = (expected.millis()..next_at.millis())
            .step_by(usize::try_from(MINUTE).unwrap_or(1))
            .map(Timestamp::from_millis)
            .collect();
        let accounted = runs.len() as u64 + missed;
        if next_at.millis() % MINUTE != 0 || accounted != minutes.len() as u64 {
            let what = format!("{} minutes from {expected} to {next_at}", minutes.len());
            return Err(format!("schedule {name}: {what}, {} started and {missed} missed", runs.len()));
        }
        if minutes.last().is_some_and(|last| *last > now) {
            return Err(format!("schedule {name} was fired until {next_at}, it is {now}"));
        }
        let times: BTreeSet<RunId> = minutes.iter().map(|minute| id(*minute)).collect();
        for run in *runs {
            if !times.contains(&run.id) {
                return Err(format!("schedule {name} started {}, which is none of its times", run.id));
            }
            let named = self.named.entry((*name).to_owned()).or_default();
            if !named.insert(run.id.clone()) {
                return Err(format!("schedule {name} started {} twice", run.id));
            }
            self.started.insert(run.id.clone());
        }
        let newest = minutes.last().is_some_and(|last| runs.iter().all(|run| run.id == id(*last)));
        match (rule.catch_up, rule.overlap) {
            (CatchUp::All, Overlap::Allow | Overlap::CancelPrevious) if *missed > 0 => {
                return Err(format!("schedule {name} catches up with all, it missed {missed}"));
            }
            (CatchUp::One | CatchUp::Skip, _) if runs.len() > 1 || !newest => {
                return Err(format!("schedule {name} starts the newest only, it started {}", runs.len()));
            }
            (CatchUp::One, Overlap::Allow | Overlap::CancelPrevious) if runs.is_empty() => {
                return Err(format!("schedule {name} starts one however late, it started none"));
            }
            _ => {}
        }
        let (started, passed_over) = self.fired.entry((*name).to_owned()).or_default();
        *started += runs.len() as u64;
        *passed_over += missed;
        Ok(())
    }
}
