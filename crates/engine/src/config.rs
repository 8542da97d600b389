//! Configuration of one process.

use rhythm_core::{Millis, RunId, TenantId, WorkerId};
use serde::{Deserialize, Serialize};

/// Limits, intervals and retention times of one process.
#[derive(Clone, Debug)]
pub struct Config {
    pub tenant: TenantId,
    pub worker: WorkerId,
    /// Steps only this run and the runs below it, and does only their tasks.
    pub only: Option<RunId>,
    /// This life of the worker; unique even when its name is used again.
    pub incarnation: String,
    /// Queues to take tasks from, each with the largest number of tasks to run at once here.
    pub queues: Vec<(String, usize)>,
    /// Largest number of tasks to run at once over all queues.
    pub concurrency: usize,
    /// Duration of a claim unless it is renewed.
    pub hold: Millis,
    /// Time between heartbeats.
    pub beat: Millis,
    /// Heartbeat timeout: without one for this long, the worker is given up.
    pub silence: Millis,
    /// Longest pause between polls, in case wake-ups are lost.
    pub poll: Millis,
    /// Largest number of runs per claim. A larger one would let a few processes claim all runs while others
    /// idle.
    pub run_batch: usize,
    /// Time a cancelled attempt has to stop by itself.
    pub grace: Millis,
    /// Retention time of ended runs and tasks.
    pub keep: Millis,
    /// Retention time of failed runs that were not dismissed.
    pub keep_failed: Millis,
    /// Retention time of blobs without references: the process that stored one may be about to commit a
    /// reference.
    pub blob_grace: Millis,
    pub results: Batches,
}

/// Batch sizes of results.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Batches {
    /// Largest number of results per batch.
    pub most: usize,
    /// Largest number of batches in flight.
    pub at_once: usize,
    /// Smallest size of a batch sent while others are in flight. Without others, a batch of any size goes at
    /// once.
    pub beside: usize,
    /// A process with fewer tasks in hand sends one batch at a time: two small batches cost more than waiting
    /// for one.
    #[serde(default)]
    pub few: usize,
}

impl Default for Batches {
    fn default() -> Self {
        Self { most: 500, at_once: 4, beside: 64, few: 300 }
    }
}

impl Config {
    /// Returns the default configuration of a worker.
    pub fn new(worker: WorkerId) -> Self {
        Self {
            tenant: TenantId::default(),
            only: None,
            incarnation: incarnation(&worker),
            worker,
            queues: vec![(rhythm_core::task::DEFAULT_QUEUE.to_owned(), usize::MAX)],
            concurrency: 100,
            hold: Millis::from_secs(30),
            beat: Millis::from_secs(5),
            silence: Millis::from_secs(30),
            poll: Millis::from_secs(1),
            run_batch: 100,
            grace: Millis::from_secs(30),
            keep: Millis::from_secs(30 * 24 * 3600),
            keep_failed: Millis::from_secs(90 * 24 * 3600),
            blob_grace: Millis::from_secs(3 * 24 * 3600),
            results: Batches::default(),
        }
    }

    /// Whether it steps this run.
    pub fn serves(&self, run: &RunId) -> bool {
        self.only.as_ref().is_none_or(|root| run.is_in_family_of(root))
    }

    /// Shorter claims and heartbeats, for those who want a hung worker noticed sooner.
    pub fn fast(self) -> Self {
        Self { hold: Millis::from_secs(5), beat: Millis::from_secs(1), silence: Millis::from_secs(5), ..self }
    }
}

/// Unique id of one worker process. It is short, because it is stored with every commit.
fn incarnation(worker: &WorkerId) -> String {
    let id = crate::client::fresh_id();
    let random = id.rsplit('-').next().unwrap_or(&id);
    format!("{worker}#{random}")
}
