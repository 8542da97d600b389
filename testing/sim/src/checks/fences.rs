//! I5: only the newest claim may write. Claim numbers only grow, and the world accepts nothing from a holder
//! whose claim was taken over. `redeliveries` checks that such a holder cannot give the run back; that it
//! cannot quarantine the run is checked here.

use std::collections::BTreeMap;

use rhythm_core::{Blocked, RunId, TaskId};
use rhythm_engine::world::*;

use super::{Applied, Check, Moment, Objection, View};

#[derive(Default)]
pub struct Fences {
    runs: BTreeMap<RunId, u64>,
    tasks: BTreeMap<TaskId, u64>,
    /// Reasons runs were quarantined or put off, each with whether the newest claim gave it.
    blocked: BTreeMap<RunId, Vec<(Blocked, bool)>>,
}

impl Check for Fences {
    fn name(&self) -> &'static str {
        "fences"
    }

    fn applied(&mut self, applied: &Applied<'_>, _at: &Moment<'_>) -> Result<(), Objection> {
        match applied {
            Applied::ClaimRuns(_, claimed) => {
                for run in &claimed.runs {
                    let newest = self.runs.entry(run.run.id.clone()).or_default();
                    if run.claim <= *newest {
                        let what = format!("claim {} follows claim {newest}", run.claim);
                        return Err(Objection::of_run(&run.run.id, what));
                    }
                    *newest = run.claim;
                }
                Ok(())
            }
            Applied::ClaimTasks(_, claimed) => claimed.tasks.iter().try_for_each(|task| {
                self.task_claimed(&TaskClaim { task: task.id.clone(), claim: task.claim })
            }),
            Applied::Commit(commit, committed) => {
                commit.released.iter().for_each(|released| self.released(released));
                let answered = commit.items.iter().zip(&committed.outcomes);
                answered.into_iter().try_for_each(|(item, outcome)| self.committed(item, outcome))
            }
            Applied::FinishTasks(request, answers) => request
                .finished
                .iter()
                .zip(*answers)
                .filter(|(_, answer)| **answer == Finish::Done)
                .try_for_each(|(finished, _)| self.accepted(&finished.task, finished.claim)),
            _ => Ok(()),
        }
    }

    fn settled(&mut self, view: &View<'_>) -> Result<(), Objection> {
        self.blocked_by_the_newest(view)
    }

    fn ended(&mut self, view: &View<'_>) -> Result<(), Objection> {
        self.blocked_by_the_newest(view)
    }
}

impl Fences {
    fn released(&mut self, released: &ReleasedRun) {
        let why = match &released.outcome {
            ReleaseOutcome::Aside(blocked) => Some(blocked),
            ReleaseOutcome::Later { blocked, .. } => blocked.as_ref(),
            ReleaseOutcome::Idle { .. } => None,
        };
        if let Some(why) = why {
            let newest = self.runs.get(&released.run) == Some(&released.claim);
            self.blocked.entry(released.run.clone()).or_default().push((why.clone(), newest));
        }
    }

    fn blocked_by_the_newest(&self, view: &View<'_>) -> Result<(), Objection> {
        for (run, seen) in &view.runs {
            let Some(blocked) = &seen.picture.summary.blocked else { continue };
            let said = self.blocked.get(run).map_or(&[][..], Vec::as_slice);
            let mut so = said.iter().filter(|(why, _)| why == blocked).peekable();
            if so.peek().is_some() && so.all(|(_, newest)| !newest) {
                let what = format!("set aside under an old claim: {}", blocked.detail);
                return Err(Objection::of_run(run, what));
            }
        }
        Ok(())
    }

    fn task_claimed(&mut self, claim: &TaskClaim) -> Result<(), Objection> {
        let newest = self.tasks.entry(claim.task.clone()).or_default();
        if claim.claim <= *newest {
            let what = format!("claim {} follows claim {newest}", claim.claim);
            return Err(Objection::of_task(&claim.task, what));
        }
        *newest = claim.claim;
        Ok(())
    }

    fn committed(&mut self, item: &CommitItem, outcome: &CommitOutcome) -> Result<(), Objection> {
        let CommitOutcome::Done(done) = outcome else { return Ok(()) };
        if let Fence::Claim(claim) = item.fence {
            let newest = self.runs.get(&item.run).copied().unwrap_or_default();
            if claim != newest {
                let what = format!("a commit under claim {claim} was accepted, the newest is {newest}");
                return Err(Objection::of_run(&item.run, what));
            }
        }
        for finished in &item.finished {
            self.accepted(&finished.task, finished.claim)?;
        }
        done.claimed.iter().try_for_each(|claim| self.task_claimed(claim))
    }

    fn accepted(&self, task: &TaskId, claim: u64) -> Result<(), Objection> {
        let newest = self.tasks.get(task).copied().unwrap_or_default();
        if claim == newest {
            return Ok(());
        }
        let what = format!("a result under claim {claim} was accepted, the newest is {newest}");
        Err(Objection::of_task(task, what))
    }
}
