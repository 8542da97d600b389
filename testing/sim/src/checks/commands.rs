//! No command takes effect twice. Each task, timer, child and signal of a run is asked for once and answered
//! at most once. One more answer is allowed each time the command is repeated on request: its dead letter is
//! requeued, its answer is redelivered, or its child is reopened.

use std::collections::BTreeMap;

use rhythm_core::{CommandId, Event, EventData, RunId, TaskId};
use rhythm_engine::world::{Control, Controlled, FreshTime};

use super::{Applied, Check, Moment, Objection, View};

#[derive(Default)]
pub struct Commands {
    /// Number of times each command was repeated on request.
    anew: BTreeMap<(RunId, CommandId), u64>,
}

impl Check for Commands {
    fn name(&self) -> &'static str {
        "commands"
    }

    fn applied(&mut self, applied: &Applied<'_>, _at: &Moment<'_>) -> Result<(), Objection> {
        let Applied::Control(request, Controlled::Done) = applied else { return Ok(()) };
        match &request.control {
            Control::Reopen { run, requeue, redeliver, fresh, .. } => {
                requeue.iter().chain(FreshTime::anew(fresh)).for_each(|task| self.task_tried_anew(task));
                for message in redeliver {
                    self.tried_anew(run.clone(), answers(&EventData::of_message(&message.body)));
                }
                self.child_tried_anew(run);
            }
            Control::TakeBack { run, .. } => self.child_tried_anew(run),
            Control::RequeueDead { task } => self.task_tried_anew(task),
            _ => {}
        }
        Ok(())
    }

    fn ended(&mut self, view: &View<'_>) -> Result<(), Objection> {
        for (run, seen) in &view.runs {
            self.look(run, &seen.history).map_err(|what| Objection::of_run(run, what))?;
        }
        Ok(())
    }
}

impl Commands {
    fn tried_anew(&mut self, run: RunId, command: Option<CommandId>) {
        if let Some(command) = command {
            *self.anew.entry((run, command)).or_default() += 1;
        }
    }

    fn task_tried_anew(&mut self, task: &TaskId) {
        if let Some((run, number)) = task.as_str().rsplit_once(':') {
            self.tried_anew(RunId::new(run), number.parse().ok().map(CommandId));
        }
    }

    fn child_tried_anew(&mut self, child: &RunId) {
        if let Some((parent, number)) = child.as_str().rsplit_once('.') {
            self.tried_anew(RunId::new(parent), number.parse().ok().map(CommandId));
        }
    }

    fn look(&self, run: &RunId, history: &[Event]) -> Result<(), String> {
        let mut asked: BTreeMap<CommandId, &'static str> = BTreeMap::new();
        let mut answered: BTreeMap<CommandId, u64> = BTreeMap::new();
        for event in history {
            if let Some(command) = asks(&event.data)
                && asked.insert(command, event.data.kind()).is_some()
            {
                return Err(format!("command {command} was asked for twice (row {})", event.seq));
            }
            // A row a graph writes itself, such as an approval timeout, is no answer.
            let Some(command) = answers(&event.data).filter(|_| event.message.is_some()) else { continue };
            if !asked.contains_key(&command) {
                return Err(format!("row {} answers command {command}, which nobody asked for", event.seq));
            }
            let count = answered.entry(command).or_default();
            *count += 1;
            let anew = self.anew.get(&(run.clone(), command)).copied().unwrap_or_default();
            if *count > 1 + anew {
                let what = format!("command {command} was answered {count} times (row {})", event.seq);
                return Err(format!("{what}, and tried anew {anew} times"));
            }
        }
        Ok(())
    }
}

fn asks(data: &EventData) -> Option<CommandId> {
    match data {
        EventData::StepScheduled(step) => Some(step.task),
        EventData::TimerScheduled(timer) => Some(timer.timer),
        EventData::ChildStarted(child) => Some(child.child),
        EventData::SignalSent(signal) => Some(signal.signal),
        EventData::ApprovalCreated(approval) => Some(approval.approval),
        _ => None,
    }
}

fn answers(data: &EventData) -> Option<CommandId> {
    match data {
        EventData::StepCompleted(done) => Some(done.task),
        EventData::StepFailed(failed) => Some(failed.task),
        EventData::TimerFired(fired) => Some(fired.timer),
        EventData::ChildCompleted(done) => Some(done.child),
        EventData::ChildFailed(failed) => Some(failed.child),
        EventData::ApprovalDecided(decided) => Some(decided.approval),
        _ => None,
    }
}
