//! State of the world and the logs once nothing moves any more.

use std::collections::BTreeMap;

use rhythm_core::{Event, RunId, Timestamp};
use rhythm_engine::world::{DeadLetter, Picture, QueueRow, Schedule, TaskSummary, WorkflowRow};

use crate::client::ClientLog;
use crate::handlers::Ledger;

pub struct View<'a> {
    /// World time.
    pub now: Timestamp,
    pub runs: BTreeMap<RunId, Seen>,
    pub tasks: Vec<TaskSummary>,
    /// Every failed task, in whatever state.
    pub letters: Vec<DeadLetter>,
    pub queues: Vec<QueueRow>,
    pub schedules: Vec<Schedule>,
    pub workflows: Vec<WorkflowRow>,
    pub virtual_ms: u64,
    pub ledger: &'a Ledger,
    pub client: &'a ClientLog,
}

/// One run as stored in the world.
pub struct Seen {
    pub picture: Picture,
    pub history: Vec<Event>,
}
