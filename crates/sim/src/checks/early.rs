//! I9: timers, delayed tasks, retries and delayed starts are never early by the world's clock.

use std::collections::BTreeMap;

use rhythm_core::message::MessageBody;
use rhythm_core::{CommandId, MessageId, Millis, RunId, TaskId, Timestamp};
use rhythm_engine::world::*;

use super::{Applied, Check, Objection};

#[derive(Default)]
pub struct Early {
    timers: BTreeMap<(RunId, CommandId), Timestamp>,
    starts: BTreeMap<RunId, Millis>,
    /// When a task may be claimed next.
    due: BTreeMap<TaskId, Timestamp>,
}

impl Check for Early {
    fn name(&self) -> &'static str {
        "early"
    }

    fn applied(&mut self, applied: &Applied<'_>, now: Timestamp) -> Result<(), Objection> {
        match applied {
            Applied::CreateRuns(request, answers) => {
                let created = request.runs.iter().zip(*answers).filter(|(_, a)| **a == Creation::Created);
                self.starts.extend(created.map(|(run, _)| (run.id.clone(), run.delay)));
            }
            Applied::Commit(commit, committed) => {
                for (item, outcome) in commit.items.iter().zip(&committed.outcomes) {
                    if *outcome != CommitOutcome::Stale {
                        self.committed(item, committed.at);
                    }
                }
            }
            Applied::FinishTasks(request, answers) => {
                for (finished, answer) in request.finished.iter().zip(*answers) {
                    if let (Finish::Done, TaskOutcome::Retry { delay, .. }) = (answer, &finished.outcome) {
                        self.due.insert(finished.task.clone(), now.plus(*delay));
                    }
                }
            }
            Applied::ClaimRuns(_, claimed) => {
                return claimed.runs.iter().try_for_each(|run| self.run_claimed(run, claimed.at));
            }
            Applied::ClaimTasks(request, claimed) if !request.overdue => {
                return claimed.tasks.iter().try_for_each(|task| self.task_claimed(task, claimed.at));
            }
            Applied::Control(request, Controlled::Done) => match &request.control {
                Control::RequeueDead { task } => self.starts_anew(task, now),
                Control::Reopen { requeue, .. } => {
                    requeue.iter().for_each(|task| self.starts_anew(task, now))
                }
                _ => {}
            },
            _ => {}
        }
        Ok(())
    }
}

impl Early {
    fn committed(&mut self, item: &CommitItem, at: Timestamp) {
        for timer in &item.timers {
            self.timers.insert((item.run.clone(), timer.timer), timer.fire_at);
        }
        for task in item.tasks.iter().filter(|task| task.options.delay > Millis::ZERO) {
            self.due.entry(task.id.clone()).or_insert(at.plus(task.options.delay));
        }
    }

    /// A requeued task is due at once.
    fn starts_anew(&mut self, task: &TaskId, now: Timestamp) {
        self.due.insert(task.clone(), now);
    }

    fn run_claimed(&self, claimed: &ClaimedRun, at: Timestamp) -> Result<(), Objection> {
        let run = &claimed.run.id;
        let ends = claimed.messages.iter().any(|message| message.body.ends_a_pending_run());
        for message in &claimed.messages {
            let due = match &message.body {
                MessageBody::TimerFired(fired) => self.timers.get(&(run.clone(), fired.timer)).copied(),
                // A run that is ended before its start is claimed at once.
                MessageBody::Start(_) if !ends && message.id == MessageId::start() => {
                    self.starts.get(run).map(|delay| claimed.run.created_at.plus(*delay))
                }
                _ => None,
            };
            if due.is_some_and(|due| at < due) {
                return Err(Objection::of_run(run, format!("{} came before its time", message.id)));
            }
        }
        Ok(())
    }

    fn task_claimed(&self, task: &ClaimedTask, at: Timestamp) -> Result<(), Objection> {
        let first = task.created_at.plus(task.options.delay);
        let due = self.due.get(&task.id).copied().unwrap_or(first);
        if at < due {
            let what = format!("attempt {} was handed out {} ms early", task.attempt, due.since(at).as_u64());
            return Err(Objection::of_task(&task.id, what));
        }
        Ok(())
    }
}
