//! I9: timers, delayed tasks, retries and delayed starts are never early by the world's clock, reckoned from when
//! they were asked for. That timers are asked for as their plans say is watched by `asked`.

use std::collections::BTreeMap;

use rhythm_core::message::MessageBody;
use rhythm_core::{CommandId, MessageId, Millis, RunId, TaskId, TaskOptions, Timestamp};
use rhythm_engine::world::*;

use super::{Applied, Check, Moment, Objection};

#[derive(Default)]
pub struct Early {
    timers: BTreeMap<(RunId, CommandId), Timestamp>,
    starts: BTreeMap<RunId, Timestamp>,
    tasks: BTreeMap<TaskId, Known>,
}

struct Known {
    options: TaskOptions,
    /// When it may be claimed next.
    due: Timestamp,
}

impl Check for Early {
    fn name(&self) -> &'static str {
        "early"
    }

    fn applied(&mut self, applied: &Applied<'_>, at: &Moment<'_>) -> Result<(), Objection> {
        match applied {
            Applied::CreateRuns(request, answers) => {
                let created = request.runs.iter().zip(*answers).filter(|(_, a)| **a == Creation::Created);
                self.starts.extend(created.map(|(run, _)| (run.id.clone(), at.now.plus(run.delay))));
            }
            Applied::EnqueueTasks(request, answers) => {
                let created = request.tasks.iter().zip(*answers).filter(|(_, a)| **a == Creation::Created);
                created.for_each(|(task, _)| self.asked(task, at.now));
            }
            Applied::Commit(commit, committed) => {
                for (item, outcome) in commit.items.iter().zip(&committed.outcomes) {
                    if let CommitOutcome::Done(done) = outcome {
                        self.committed(item, done, committed.at)?;
                    }
                }
            }
            Applied::FinishTasks(request, answers) => {
                for (finished, answer) in request.finished.iter().zip(*answers) {
                    if *answer == Finish::Done {
                        self.finished(finished, at.now)?;
                    }
                }
            }
            Applied::ClaimRuns(_, claimed) => {
                return claimed.runs.iter().try_for_each(|run| self.run_claimed(run, claimed.at));
            }
            Applied::ClaimTasks(request, claimed) if !request.overdue => {
                return claimed.tasks.iter().try_for_each(|task| self.task_claimed(&task.id, claimed.at));
            }
            Applied::Control(request, Controlled::Done) => match &request.control {
                Control::RequeueDead { task } => self.starts_anew(task, at.now),
                Control::Reopen { requeue, .. } => {
                    requeue.iter().for_each(|task| self.starts_anew(task, at.now));
                }
                Control::FireSchedule { tasks, .. } => tasks.iter().for_each(|task| self.asked(task, at.now)),
                _ => {}
            },
            _ => {}
        }
        Ok(())
    }
}

impl Early {
    fn asked(&mut self, task: &NewTask, at: Timestamp) {
        let known = Known { options: task.options.clone(), due: at.plus(task.options.delay) };
        self.tasks.entry(task.id.clone()).or_insert(known);
    }

    fn committed(&mut self, item: &CommitItem, done: &Done, at: Timestamp) -> Result<(), Objection> {
        for timer in &item.timers {
            self.timers.entry((item.run.clone(), timer.timer)).or_insert(timer.fire_at);
        }
        item.tasks.iter().for_each(|task| self.asked(task, at));
        // What the committing worker takes at once is handed out, too.
        for claim in &done.claimed {
            let delayed = self.tasks.get(&claim.task).is_some_and(|task| task.options.delay > Millis::ZERO);
            if delayed {
                return Err(Objection::of_task(&claim.task, "taken at once, although it is delayed"));
            }
        }
        Ok(())
    }

    /// A requeued task is due at once.
    fn starts_anew(&mut self, task: &TaskId, now: Timestamp) {
        if let Some(known) = self.tasks.get_mut(task) {
            known.due = now;
        }
    }

    fn finished(&mut self, finished: &FinishedTask, now: Timestamp) -> Result<(), Objection> {
        let TaskOutcome::Retry { failure, delay } = &finished.outcome else { return Ok(()) };
        let Some(known) = self.tasks.get_mut(&finished.task) else { return Ok(()) };
        known.due = now.plus(*delay);
        let (least, most) = delay_after(failure.attempts, &known.options);
        if *delay < least || *delay > most {
            let what =
                format!("attempt {} is followed after {delay}, not {least} to {most}", failure.attempts);
            return Err(Objection::of_task(&finished.task, what));
        }
        Ok(())
    }

    fn run_claimed(&self, claimed: &ClaimedRun, at: Timestamp) -> Result<(), Objection> {
        let run = &claimed.run.id;
        let ends = claimed.messages.iter().any(|message| message.body.ends_a_pending_run());
        for message in &claimed.messages {
            let due = match &message.body {
                MessageBody::TimerFired(fired) => match self.timers.get(&(run.clone(), fired.timer)) {
                    Some(due) => Some(*due),
                    None => return Err(Objection::of_run(run, format!("nobody asked for {}", message.id))),
                },
                // A run that is ended before its start is claimed at once.
                MessageBody::Start(_) if !ends && message.id == MessageId::start() => {
                    self.starts.get(run).copied()
                }
                _ => None,
            };
            if let Some(due) = due.filter(|due| at < *due) {
                let what = format!("{} came {} before its time", message.id, due.since(at));
                return Err(Objection::of_run(run, what));
            }
        }
        Ok(())
    }

    fn task_claimed(&self, task: &TaskId, at: Timestamp) -> Result<(), Objection> {
        let Some(known) = self.tasks.get(task) else {
            return Err(Objection::of_task(task, "handed out, nobody asked for it"));
        };
        if at < known.due {
            return Err(Objection::of_task(task, format!("handed out {} early", known.due.since(at))));
        }
        Ok(())
    }
}

/// The bounds of the wait after an attempt, for the growing delays the workload uses.
fn delay_after(attempt: u32, options: &TaskOptions) -> (Millis, Millis) {
    let policy = options.policy();
    let grown =
        policy.initial_delay.as_u64() as f64 * policy.multiplier.powi(attempt.saturating_sub(1) as i32);
    let most = policy.max_delay.as_u64() as f64;
    let middle = grown.min(most);
    let bound = |share: f64| Millis((middle * share).min(most) as u64);
    (
        Millis(bound(1.0 - policy.jitter).as_u64().saturating_sub(1)),
        Millis(bound(1.0 + policy.jitter).as_u64() + 1),
    )
}
