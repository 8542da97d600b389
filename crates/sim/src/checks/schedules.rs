//! Schedules: every fire time is started once or counted as missed, never both, never twice.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::{RunId, Timestamp};
use rhythm_engine::world::{Control, Controlled};

use super::{Applied, Check, Objection, View};

#[derive(Default)]
pub struct Schedules {
    expected: BTreeMap<String, BTreeSet<Timestamp>>,
    started: BTreeSet<RunId>,
    /// Fires that were won, by schedule: started and missed.
    fired: BTreeMap<String, (u64, u64)>,
}

impl Check for Schedules {
    fn name(&self) -> &'static str {
        "schedules"
    }

    fn applied(&mut self, applied: &Applied<'_>, _now: Timestamp) -> Result<(), Objection> {
        let Applied::Control(request, Controlled::Done) = applied else { return Ok(()) };
        if let Control::PutSchedule(schedule) = &request.control {
            // Put again, it counts from the start.
            self.fired.remove(&schedule.name);
        }
        let Control::FireSchedule { name, expected, runs, missed, .. } = &request.control else {
            return Ok(());
        };
        if !self.expected.entry(name.clone()).or_default().insert(*expected) {
            return Err(Objection::general(format!("schedule {name} was moved on from {expected} twice")));
        }
        for run in runs {
            if !self.started.insert(run.id.clone()) {
                return Err(Objection::of_run(&run.id, format!("schedule {name} started it twice")));
            }
        }
        let (started, passed_over) = self.fired.entry(name.clone()).or_default();
        *started += runs.len() as u64;
        *passed_over += missed;
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
