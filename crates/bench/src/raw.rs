//! The raw limit of a database: step-sized writes per second, with one per commit and with a hundred per
//! commit, measured in the same run as the workload. A step is fixed: insert one event row, update one run
//! row, insert and delete one queue row. Statements are prepared, on one connection, with payloads like W1's.

mod postgres;
mod sqlite;

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::BenchError;
use crate::figures::Samples;
use crate::scratch_db::Ground;

const BATCH: usize = 100;
/// Sizes in bytes of a snapshot, of a history row's data, and a task's input in W1;
/// `a_raw_step_writes_what_a_step_of_w1_writes` compares them.
const SNAPSHOT_BYTES: usize = 147;
const EVENT_BYTES: usize = 52;
const INPUT: &str = r#"{"step":5}"#;

#[derive(Clone, Copy, Debug, Serialize)]
pub struct RawLimit {
    /// Steps per second with one step per commit, on one connection.
    pub single_per_s: f64,
    /// Steps per second with a hundred steps per commit, on one connection.
    pub batched_per_s: f64,
    /// Median time of a commit of one step.
    pub commit_ms: f64,
}

pub async fn limit_of(ground: &Ground, each: Duration) -> Result<RawLimit, BenchError> {
    match ground.folder() {
        Some(folder) => Ok(tokio::task::block_in_place(|| sqlite::limit(folder, each))?),
        None => postgres::limit(ground.url(), each).await,
    }
}

/// Contents a step writes.
struct Payloads {
    snapshot: Vec<u8>,
    data: String,
}

impl Payloads {
    fn of_w1() -> Self {
        Self { snapshot: vec![b's'; SNAPSHOT_BYTES], data: "e".repeat(EVENT_BYTES) }
    }
}

/// A run in the raw tables.
struct Run {
    id: String,
    revision: i64,
}

impl Run {
    fn batch() -> Vec<Self> {
        (0..BATCH).map(|number| Self { id: format!("run-{number}"), revision: 0 }).collect()
    }

    fn task(&self) -> String {
        format!("{}:{}", self.id, self.revision)
    }

    fn next_task(&self) -> String {
        format!("{}:{}", self.id, self.revision + 1)
    }
}

/// Counts steps until the time is over.
struct Stopwatch {
    began: Instant,
    each: Duration,
    commits: Samples,
    steps: usize,
}

impl Stopwatch {
    fn start(each: Duration) -> Self {
        Self { began: Instant::now(), each, commits: Samples::default(), steps: 0 }
    }

    fn is_running(&self) -> bool {
        self.steps == 0 || self.began.elapsed() < self.each
    }

    fn committed(&mut self, steps: usize, since: Instant) {
        self.steps += steps;
        self.commits.add(since.elapsed());
    }

    fn per_s(&self) -> f64 {
        self.steps as f64 / self.began.elapsed().as_secs_f64()
    }
}

fn limit(single: (f64, Samples), batched_per_s: f64) -> RawLimit {
    let (single_per_s, commits) = single;
    RawLimit { single_per_s, batched_per_s, commit_ms: commits.p50().unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::flows::STEPS;
    use crate::in_process::InProcess;

    /// Returns whether the sizes differ by at most 20 %.
    fn near(fixed: usize, real: f64) -> bool {
        (fixed as f64 / real - 1.0).abs() <= 0.2
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_raw_step_writes_what_a_step_of_w1_writes() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("rhythm.db").display());
        let ground = Ground::like(&url).await.unwrap();
        let world = ground.open().await.unwrap();
        let worker = InProcess::start(&world, 10).await.unwrap();
        STEPS.register(&worker.client).await.unwrap();
        let run = worker.client.start_run(STEPS.start(&json!({ "steps": 10 })).unwrap()).await.unwrap();
        worker.until_ended(1).await.unwrap();
        // The last snapshot, without anything to wait for, is not typical of a step.
        let last = worker.client.picture(&run).await.unwrap().row.state.snapshot;
        let last = last.map_or(0, |snapshot| snapshot.bytes.len());
        let written = worker.written();
        let snapshot = (written.snapshot_bytes as f64 - last as f64) / (written.items - 1) as f64;
        assert!(near(SNAPSHOT_BYTES, snapshot), "a snapshot has {snapshot} bytes");
        let mut sizes = Vec::new();
        for event in worker.client.history(&run).await.unwrap() {
            let row = serde_json::to_value(&event).unwrap();
            if event.data.kind().starts_with("step_") {
                sizes.push(row["data"].to_string().len());
            }
        }
        let data = sizes.iter().sum::<usize>() as f64 / sizes.len() as f64;
        assert!(near(EVENT_BYTES, data), "the data of a history row has {data} bytes: {sizes:?}");
        worker.stop().await;
        ground.remove().await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_limit_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("rhythm.db").display());
        let ground = Ground::like(&url).await.unwrap();
        let limit = limit_of(&ground, Duration::from_millis(20)).await.unwrap();
        assert!(limit.single_per_s > 0.0 && limit.batched_per_s > 0.0 && limit.commit_ms > 0.0);
        let inside = ground.folder().unwrap();
        assert_eq!(std::fs::read_dir(inside).unwrap().count(), 0);
        ground.remove().await.unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
