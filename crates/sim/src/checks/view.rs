//! Everything there is to see when a simulation has ended.

use std::collections::BTreeMap;

use rhythm_core::{Event, RunId};
use rhythm_engine::world::{Picture, QueueRow, Schedule, TaskSummary};

use crate::client::ClientLog;
use crate::handlers::Ledger;

pub struct View<'a> {
    pub runs: BTreeMap<RunId, Seen>,
    pub tasks: Vec<TaskSummary>,
    pub queues: Vec<QueueRow>,
    pub schedules: Vec<Schedule>,
    pub ledger: &'a Ledger,
    pub client: &'a ClientLog,
}

/// One run as the world keeps it.
pub struct Seen {
    pub picture: Picture,
    pub history: Vec<Event>,
}
