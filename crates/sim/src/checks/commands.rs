//! No command takes effect twice: each task, timer, child and signal of a run is asked for once and answered at
//! most once, plus once for each time the run, or the child that answers, was opened again.

use std::collections::BTreeMap;

use rhythm_core::{CommandId, Event, EventData};

use super::{Check, Objection, Seen, View};

pub struct Commands;

impl Check for Commands {
    fn name(&self) -> &'static str {
        "commands"
    }

    fn ended(&mut self, view: &View<'_>) -> Result<(), Objection> {
        for (run, seen) in &view.runs {
            let reopened = |child: CommandId| {
                view.runs.get(&run.child(child)).map_or(0, |seen| times_reopened(&seen.history))
            };
            look(seen, &reopened).map_err(|what| Objection::of_run(run, what))?;
        }
        Ok(())
    }
}

fn times_reopened(history: &[Event]) -> u64 {
    history.iter().filter(|event| matches!(event.data, EventData::Reopened(_))).count() as u64
}

fn look(seen: &Seen, child_reopened: &dyn Fn(CommandId) -> u64) -> Result<(), String> {
    let mut asked: BTreeMap<CommandId, &'static str> = BTreeMap::new();
    let mut answers: BTreeMap<CommandId, u64> = BTreeMap::new();
    let reopened = times_reopened(&seen.history);
    for event in &seen.history {
        let asks = match &event.data {
            EventData::StepScheduled(step) => Some(step.task),
            EventData::TimerScheduled(timer) => Some(timer.timer),
            EventData::ChildStarted(child) => Some(child.child),
            EventData::SignalSent(signal) => Some(signal.signal),
            EventData::ApprovalCreated(approval) => Some(approval.approval),
            _ => None,
        };
        let answers_to = match &event.data {
            EventData::StepCompleted(done) => Some(done.task),
            EventData::StepFailed(failed) => Some(failed.task),
            EventData::TimerFired(fired) => Some(fired.timer),
            EventData::ChildCompleted(done) => Some(done.child),
            EventData::ChildFailed(failed) => Some(failed.child),
            EventData::ApprovalDecided(decided) => Some(decided.approval),
            _ => None,
        };
        if let Some(command) = asks
            && asked.insert(command, event.data.kind()).is_some()
        {
            return Err(format!("command {command} was asked for twice (row {})", event.seq));
        }
        if let Some(command) = answers_to {
            if !asked.contains_key(&command) {
                return Err(format!("row {} answers command {command}, which nobody asked for", event.seq));
            }
            let count = answers.entry(command).or_default();
            *count += 1;
            if *count > 1 + reopened + child_reopened(command) {
                return Err(format!("command {command} was answered {count} times (row {})", event.seq));
            }
        }
    }
    Ok(())
}
