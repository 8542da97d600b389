//! Counts the tokens again from the history alone. `verify` compares the run's counter with this.

use std::collections::BTreeSet;

use rhythm_core::event::{Event, EventData, NodeToken};

/// Contradictions between the rows of a history.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Miscount {
    #[error("row {seq} applies {op_key} a second time")]
    Twice { seq: u64, op_key: String },
    #[error("row {seq} consumes token {token}, which was not emitted before")]
    Unknown { seq: u64, token: u64 },
    #[error("row {seq} says the counter went from {before} to {after}, it went from {counted} to {then}")]
    Wrong { seq: u64, before: u64, after: u64, counted: u64, then: u64 },
}

/// Returns the counter after these rows: tokens emitted less tokens consumed. Fails at the first
/// contradiction.
pub fn recount(history: &[Event]) -> Result<u64, Miscount> {
    let (mut live, mut applied) = (BTreeSet::new(), BTreeSet::new());
    for row in history {
        let (seq, counted) = (row.seq, live.len() as u64);
        let moved: &NodeToken = match &row.data {
            EventData::NodeEmitted(moved) => {
                live.insert(moved.token);
                moved
            }
            EventData::NodeConsumed(moved) => {
                if !live.remove(&moved.token) {
                    return Err(Miscount::Unknown { seq, token: moved.token });
                }
                moved
            }
            _ => continue,
        };
        if !applied.insert(moved.op_key.as_str()) {
            return Err(Miscount::Twice { seq, op_key: moved.op_key.clone() });
        }
        let (before, after, then) = (moved.counter_before, moved.counter_after, live.len() as u64);
        if (before, after) != (counted, then) {
            return Err(Miscount::Wrong { seq, before, after, counted, then });
        }
    }
    Ok(live.len() as u64)
}
