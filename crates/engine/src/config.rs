//! How one process takes part.

use rhythm_core::{Millis, RunId, TenantId, WorkerId};
use serde::{Deserialize, Serialize};

/// What a process claims, and how fast it beats.
#[derive(Clone, Debug)]
pub struct Config {
    pub tenant: TenantId,
    pub worker: WorkerId,
    /// Steps only this run and the runs below it, and does only their tasks.
    pub only: Option<RunId>,
    /// This life of the worker; unique even when its name is used again.
    pub incarnation: String,
    /// Queues to take tasks from, each with the most to run at once here.
    pub queues: Vec<(String, usize)>,
    /// The most tasks to run at once over all queues.
    pub concurrency: usize,
    /// Claims hold this long unless renewed.
    pub hold: Millis,
    /// Time between heartbeats.
    pub beat: Millis,
    /// When this worker has not been heard of for so long it is given up.
    pub silence: Millis,
    /// The safety net behind wake-ups.
    pub poll: Millis,
    /// The most runs claimed at once. With more, a few claims would take all there is while other processes have none.
    pub run_batch: usize,
    /// How long a cancelled attempt may take to stop by itself.
    pub grace: Millis,
    /// Ended runs and tasks are kept this long.
    pub keep: Millis,
    /// Failed runs that nobody dismissed are kept this long.
    pub keep_failed: Millis,
    /// Blobs that nothing names are kept this long: who has stored one may be about to name it.
    pub blob_grace: Millis,
    pub results: Batches,
}

/// How results are put together on their way into the world.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Batches {
    /// The most results in one.
    pub most: usize,
    /// The most under way at once.
    pub at_once: usize,
    /// One beside others is worth its start from so many results on; the first goes at once, however small.
    pub beside: usize,
    /// Whoever has fewer tasks in hand sends one batch at a time: two small ones cost more than waiting for each other.
    #[serde(default)]
    pub few: usize,
}

impl Default for Batches {
    fn default() -> Self {
        Self { most: 500, at_once: 4, beside: 64, few: 300 }
    }
}

impl Config {
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

/// Of one worker: its random part may be short, and it is stored with every commit.
fn incarnation(worker: &WorkerId) -> String {
    let id = crate::client::fresh_id();
    let random = id.rsplit('-').next().unwrap_or(&id);
    format!("{worker}#{random}")
}
