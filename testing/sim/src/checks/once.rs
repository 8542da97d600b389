//! Filters repeated requests and answers, so that the checkers see each claim and each commit once. A repeat
//! was judged when it was first made.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::CommitId;
use rhythm_engine::world::*;

#[derive(Default)]
pub struct Once {
    /// Number of the last claim given on each run and task.
    claims: BTreeMap<String, u64>,
    commits: BTreeSet<CommitId>,
}

impl Once {
    pub fn runs(&mut self, request: &ClaimRuns, claimed: &ClaimedRuns) -> ClaimedRuns {
        let taken = |run: &&ClaimedRun| self.is_new(run.run.id.as_str(), run.claim, request.ask);
        let runs: Vec<ClaimedRun> = claimed.runs.iter().filter(taken).cloned().collect();
        self.claims.extend(runs.iter().map(|run| (run.run.id.to_string(), run.claim)));
        ClaimedRuns { at: claimed.at, runs }
    }

    pub fn tasks(&mut self, request: &ClaimTasks, claimed: &ClaimedTasks) -> ClaimedTasks {
        let taken = |task: &&ClaimedTask| self.is_new(task.id.as_str(), task.claim, request.ask);
        let tasks: Vec<ClaimedTask> = claimed.tasks.iter().filter(taken).cloned().collect();
        self.claims.extend(tasks.iter().map(|task| (task.id.to_string(), task.claim)));
        ClaimedTasks { at: claimed.at, tasks, runs: claimed.runs.clone() }
    }

    /// Returns the items of a commit that were not made before, or None when all are new.
    pub fn commit(&mut self, commit: &Commit, committed: &Committed) -> Option<(Commit, Committed)> {
        let answered = || commit.items.iter().zip(&committed.outcomes);
        let is_again = |(item, outcome): (&CommitItem, &CommitOutcome)| {
            outcome.is_done() && !self.commits.insert(item.commit.clone())
        };
        let again: Vec<bool> = answered().map(is_again).collect();
        if !again.contains(&true) {
            return None;
        }
        let fresh = answered().zip(&again).filter(|(_, again)| !**again).map(|(pair, _)| pair);
        let (items, outcomes) = fresh.map(|(item, outcome)| (item.clone(), outcome.clone())).unzip();
        Some((Commit { items, ..commit.clone() }, Committed { at: committed.at, outcomes }))
    }

    /// Returns whether a claim is new. Only the last claim may be repeated, and only for a request marked as
    /// a repeat.
    fn is_new(&self, id: &str, claim: u64, ask: Ask) -> bool {
        !(ask.again && self.claims.get(id) == Some(&claim))
    }
}
