//! No claim is taken from its holder without a reason, and no run or task is quarantined without one. An
//! attempt is handed out again, or a run claimed again, only after a fault struck the last holder. `POISON`
//! and quarantine come only after the allowed number of deliveries.

use std::collections::BTreeMap;

use rhythm_core::failure::codes;
use rhythm_core::task::MAX_DELIVERIES;
use rhythm_core::{BlockedCode, RunId, TaskId};
use rhythm_engine::world::*;

use super::{Applied, Check, Moment, Objection};
use crate::executor::Owner;

/// A run claimed more often than this without a commit may be quarantined.
const MAX_RUN_DELIVERIES: u32 = 5;

/// Time after a fault in which a worker may still lose claims. When a clock jumps, every worker without a
/// heartbeat since then is given up; and claims made by a doubled request reach no process.
const SHAKEN_MS: u64 = 10_000;

/// Holder of a claim, and the number of faults that had struck it when it got the claim.
#[derive(Clone, Copy)]
struct Holder {
    owner: Owner,
    claim: u64,
    misfortunes: u64,
    deliveries: u32,
    /// Set when a fault had struck the holder less than `SHAKEN_MS` before.
    shaken: bool,
}

impl Holder {
    fn first(claim: u64, at: &Moment<'_>) -> Self {
        let last = at.luck.last(at.owner);
        let shaken = last.is_some_and(|last| at.virtual_ms.saturating_sub(last) < SHAKEN_MS);
        let misfortunes = at.luck.misfortunes(at.owner);
        Self { owner: at.owner, claim, misfortunes, deliveries: 1, shaken }
    }

    /// Returns Ok when there is a reason to take the claim from this holder.
    fn lost_it(self, at: &Moment<'_>) -> Result<(), String> {
        let struck = self.shaken || at.luck.misfortunes(self.owner) != self.misfortunes;
        match struck || at.luck.is_in_trouble(self.owner) {
            true => Ok(()),
            false => Err(format!("taken from p{}, to whom nothing happened", self.owner.0)),
        }
    }
}

#[derive(Default)]
pub struct Redeliveries {
    tasks: BTreeMap<(TaskId, u32), Holder>,
    runs: BTreeMap<RunId, Holder>,
}

impl Check for Redeliveries {
    fn name(&self) -> &'static str {
        "redeliveries"
    }

    fn applied(&mut self, applied: &Applied<'_>, at: &Moment<'_>) -> Result<(), Objection> {
        match applied {
            Applied::ClaimTasks(_, claimed) => {
                claimed.tasks.iter().try_for_each(|task| self.task_claimed(task, at))
            }
            Applied::ClaimRuns(_, claimed) => {
                claimed.runs.iter().try_for_each(|run| self.run_claimed(&run.run.id, run.claim, at))
            }
            Applied::Commit(commit, committed) => self.committed(commit, committed, at),
            Applied::FinishTasks(request, answers) => {
                let done = request.finished.iter().zip(*answers).filter(|(_, a)| **a == Finish::Done);
                done.map(|(finished, _)| finished).try_for_each(|finished| self.finished(finished))
            }
            Applied::Control(request, Controlled::Done) => {
                match &request.control {
                    Control::PauseRun { run, .. } | Control::ResumeRun { run, .. } => self.excuse(run),
                    Control::RequeueDead { task } => self.starts_anew(task),
                    Control::Reopen { run, requeue, fresh, .. } => {
                        self.runs.remove(run);
                        requeue.iter().chain(FreshTime::anew(fresh)).for_each(|task| self.starts_anew(task));
                    }
                    Control::Annotate { run, .. } => self.excuse(run),
                    Control::Unblock { run } | Control::TakeBack { run, .. } => {
                        self.runs.remove(run);
                    }
                    _ => {}
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Redeliveries {
    /// Marks the claim as lost for a good reason. Its deliveries still count.
    fn excuse(&mut self, run: &RunId) {
        if let Some(holder) = self.runs.get_mut(run) {
            holder.misfortunes = u64::MAX;
        }
    }

    fn starts_anew(&mut self, task: &TaskId) {
        self.tasks.retain(|(of, _), _| of != task);
    }

    fn task_claimed(&mut self, task: &ClaimedTask, at: &Moment<'_>) -> Result<(), Objection> {
        let key = (task.id.clone(), task.attempt);
        let last = self.tasks.get(&key).copied();
        let deliveries = last.map_or(0, |last| last.deliveries) + 1;
        let holder = Holder { deliveries, ..Holder::first(task.claim, at) };
        self.tasks.insert(key, holder);
        last.map_or(Ok(()), |last| last.lost_it(at)).map_err(|what| Objection::of_task(&task.id, what))?;
        if task.delivery != holder.deliveries {
            let what = format!("counted as delivery {}, it is number {}", task.delivery, holder.deliveries);
            return Err(Objection::of_task(&task.id, what));
        }
        Ok(())
    }

    fn run_claimed(&mut self, run: &RunId, claim: u64, at: &Moment<'_>) -> Result<(), Objection> {
        let last = self.runs.get(run).copied();
        let deliveries = last.map_or(0, |last| last.deliveries) + 1;
        self.runs.insert(run.clone(), Holder { deliveries, ..Holder::first(claim, at) });
        last.map_or(Ok(()), |last| last.lost_it(at)).map_err(|what| Objection::of_run(run, what))
    }

    fn committed(
        &mut self,
        commit: &Commit,
        committed: &Committed,
        at: &Moment<'_>,
    ) -> Result<(), Objection> {
        for (item, outcome) in commit.items.iter().zip(&committed.outcomes) {
            let CommitOutcome::Done(done) = outcome else {
                // A refused item gives back the claim it had, if any.
                continue;
            };
            self.runs.remove(&item.run);
            item.finished.iter().try_for_each(|finished| self.finished(finished))?;
            for claim in &done.claimed {
                self.tasks.insert((claim.task.clone(), 1), Holder::first(claim.claim, at));
            }
        }
        for released in &commit.released {
            // A holder that was taken over has nothing to give back; the new holder keeps the run.
            let holder = self.runs.get(&released.run).copied();
            let Some(holder) = holder.filter(|holder| holder.claim == released.claim) else { continue };
            if let ReleaseOutcome::Aside(blocked) = &released.outcome
                && blocked.code == BlockedCode::Quarantined
                && holder.deliveries <= MAX_RUN_DELIVERIES
            {
                let what = format!("set aside after {} claims: {}", holder.deliveries, blocked.detail);
                return Err(Objection::of_run(&released.run, what));
            }
            // The claim may have been taken over before; then there was nothing to give back.
            match holder.lost_it(at) {
                Ok(()) => self.excuse(&released.run),
                Err(_) => drop(self.runs.remove(&released.run)),
            }
        }
        Ok(())
    }

    fn finished(&mut self, finished: &FinishedTask) -> Result<(), Objection> {
        let id = &finished.task;
        match &finished.outcome {
            TaskOutcome::Released => {
                let attempt = self.tasks.range_mut((id.clone(), 0)..=(id.clone(), u32::MAX)).next_back();
                if let Some((key, holder)) = attempt {
                    // A task that is handed back does not count this delivery.
                    holder.deliveries -= 1;
                    let (key, gone) = (key.clone(), holder.deliveries == 0);
                    if gone {
                        self.tasks.remove(&key);
                    } else {
                        holder.misfortunes = u64::MAX;
                    }
                }
            }
            TaskOutcome::Exhausted { failure, .. } if failure.code == codes::POISON => {
                let holder = self.tasks.get(&(id.clone(), failure.attempts));
                let deliveries = holder.map_or(0, |holder| holder.deliveries);
                if deliveries <= MAX_DELIVERIES {
                    let what = format!("called poison after {deliveries} deliveries");
                    return Err(Objection::of_task(id, what));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
