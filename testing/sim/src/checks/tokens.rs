//! I6: tokens are conserved. Each is emitted once and then consumed once. The counter in the rows has no gap.
//! A graph's run completes when no token is left, and not before.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::event::NodeToken;
use rhythm_core::{Event, EventData, RunId};
use rhythm_engine::world::CommitOutcome;

use super::{Applied, Check, Moment, Objection};

#[derive(Default)]
pub struct Tokens {
    runs: BTreeMap<RunId, Count>,
}

#[derive(Default)]
struct Count {
    live: BTreeSet<u64>,
    /// All tokens ever emitted: no number is used again.
    emitted: BTreeSet<u64>,
    applied: BTreeSet<String>,
}

impl Check for Tokens {
    fn name(&self) -> &'static str {
        "tokens"
    }

    fn applied(&mut self, applied: &Applied<'_>, _at: &Moment<'_>) -> Result<(), Objection> {
        let Applied::Commit(commit, committed) = applied else { return Ok(()) };
        for (item, outcome) in commit.items.iter().zip(&committed.outcomes) {
            if matches!(outcome, CommitOutcome::Done(_)) {
                let count = self.runs.entry(item.run.clone()).or_default();
                item.events
                    .iter()
                    .try_for_each(|event| count.row(event))
                    .map_err(|what| Objection::of_run(&item.run, what))?;
            }
        }
        Ok(())
    }
}

impl Count {
    fn row(&mut self, event: &Event) -> Result<(), String> {
        let before = self.live.len() as u64;
        let moved: &NodeToken = match &event.data {
            EventData::NodeEmitted(moved) => {
                if !self.emitted.insert(moved.token) {
                    return Err(format!("row {} emits token {} a second time", event.seq, moved.token));
                }
                self.live.insert(moved.token);
                moved
            }
            EventData::NodeConsumed(moved) => {
                if !self.live.remove(&moved.token) {
                    return Err(format!(
                        "row {} consumes token {}, which is not there",
                        event.seq, moved.token
                    ));
                }
                moved
            }
            EventData::WorkflowCompleted(_) if !self.live.is_empty() => {
                return Err(format!("it completed with tokens {:?}", self.live));
            }
            _ => return Ok(()),
        };
        if !self.applied.insert(moved.op_key.clone()) {
            return Err(format!("row {} applies {} a second time", event.seq, moved.op_key));
        }
        let after = self.live.len() as u64;
        if (moved.counter_before, moved.counter_after) != (before, after) {
            let told = (moved.counter_before, moved.counter_after);
            return Err(format!(
                "row {} tells {told:?} of a counter that went {before} to {after}",
                event.seq
            ));
        }
        Ok(())
    }
}
