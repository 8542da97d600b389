//! I9: timers, delayed tasks, retries and delayed starts are never early by the world's clock, counted from
//! when they were asked for. `asked` checks that timers have the lengths of their plan.

use std::collections::BTreeMap;

use rhythm_core::message::MessageBody;
use rhythm_core::{CommandId, MessageId, Millis, RunId, TaskId, TaskOptions, Timestamp};
use rhythm_engine::world::*;

use super::book::Book;
use super::{Applied, Check, Moment, Objection};

#[derive(Default)]
pub struct Early {
    timers: BTreeMap<(RunId, CommandId), Timestamp>,
    starts: BTreeMap<RunId, Timestamp>,
    tasks: Book,
}

impl Check for Early {
    fn name(&self) -> &'static str {
        "early"
    }

    fn applied(&mut self, applied: &Applied<'_>, at: &Moment<'_>) -> Result<(), Objection> {
        self.tasks.applied(applied, at);
        match applied {
            Applied::CreateRuns(request, answers) => {
                let created = request.runs.iter().zip(*answers).filter(|(_, a)| **a == Creation::Created);
                self.starts.extend(created.map(|(run, _)| (run.id.clone(), at.now.plus(run.delay))));
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
                        self.finished(finished)?;
                    }
                }
            }
            Applied::ClaimRuns(_, claimed) => {
                return claimed.runs.iter().try_for_each(|run| self.run_claimed(run, claimed.at));
            }
            Applied::ClaimTasks(request, claimed) if !request.overdue => {
                return claimed.tasks.iter().try_for_each(|task| self.task_claimed(&task.id, claimed.at));
            }
            _ => {}
        }
        Ok(())
    }
}

impl Early {
    fn committed(&mut self, item: &CommitItem, done: &Done, now: Timestamp) -> Result<(), Objection> {
        for timer in &item.fired {
            let due = self.timers.get(&(item.run.clone(), *timer));
            if due.is_none_or(|due| now < *due) {
                let what = format!("timer {timer} fires with a commit at {now}, it is due at {due:?}");
                return Err(Objection::of_run(&item.run, what));
            }
        }
        for timer in &item.timers {
            self.timers.entry((item.run.clone(), timer.timer)).or_insert(timer.fire_at);
        }
        // A task claimed by the commit that creates it counts as handed out, too.
        for claim in &done.claimed {
            let delayed = self.tasks.task(&claim.task).is_some_and(|task| task.options.delay > Millis::ZERO);
            if delayed {
                return Err(Objection::of_task(&claim.task, "taken at once, although it is delayed"));
            }
        }
        Ok(())
    }

    fn finished(&self, finished: &FinishedTask) -> Result<(), Objection> {
        let TaskOutcome::Retry { failure, delay } = &finished.outcome else { return Ok(()) };
        let Some(known) = self.tasks.task(&finished.task) else { return Ok(()) };
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
                // A run that is ended before its start time is claimed at once.
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
        let Some(known) = self.tasks.task(task) else {
            return Err(Objection::of_task(task, "handed out, nobody asked for it"));
        };
        // A task past its deadline is handed out only to be failed; it is not executed.
        let is_over = known.options.deadline.is_some_and(|deadline| known.since.plus(deadline) <= at);
        if at < known.due && !is_over {
            return Err(Objection::of_task(task, format!("handed out {} early", known.due.since(at))));
        }
        Ok(())
    }
}

/// Returns the bounds of the delay after an attempt, for the exponential policies of the workload.
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
