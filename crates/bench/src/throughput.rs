//! W1: many runs of sequential tasks. W5: many standalone tasks. The time includes starting and enqueueing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use rhythm_core::TenantId;
use rhythm_engine::client::{Client, EnqueueTask};
use rhythm_engine::world::World;
use serde_json::{Map, Value, json};

use crate::check::{lost_runs, lost_runs_since, lost_tasks};
use crate::flows::{CALL, STEPS, WARM_UP, in_calls, payload};
use crate::in_process::InProcess;
use crate::processes::own_rss_mb;
use crate::report::{Measured, object};
use crate::wait::{Look, until};
use crate::{BenchError, handler};

/// Runs or tasks done before the measurement, so that connections are open and statements prepared.
const FIRST: u32 = 100;

/// Size of W1, and of the workloads that repeat it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    pub runs: u32,
    /// Tasks of each run.
    pub steps: u32,
    /// Largest number of concurrent tasks in one process.
    pub concurrency: u32,
}

impl Load {
    pub fn tasks(&self) -> u64 {
        u64::from(self.runs) * u64::from(self.steps)
    }

    pub fn detail(&self) -> Map<String, Value> {
        object(json!({ "runs": self.runs, "steps": self.steps, "concurrency": self.concurrency }))
    }

    pub async fn start(&self, client: &Client) -> Result<(), BenchError> {
        STEPS.start_many(client, self.runs, &json!({ "steps": self.steps })).await
    }

    /// Returns how many runs of `rounds` such loads did not complete with the right output.
    pub async fn lost(&self, client: &Client, rounds: u64) -> Result<u64, BenchError> {
        lost_runs(client, &STEPS, u64::from(self.runs) * rounds, &json!(self.steps)).await
    }

    /// Runs the load once on a worker without other work, until the last run has ended. Returns the time.
    pub async fn round(&self, worker: &InProcess) -> Result<Duration, BenchError> {
        let goal = worker.written().ended + u64::from(self.runs);
        let began = Instant::now();
        self.start(&worker.client).await?;
        worker.until_ended(goal).await?;
        Ok(began.elapsed())
    }

    /// Computes the figures of this load from its time.
    pub fn measured(&self, wall: Duration, lost: u64, executions: u64) -> Measured {
        Measured {
            per_s: Some(self.tasks() as f64 / wall.as_secs_f64()),
            wall_s: Some(wall.as_secs_f64()),
            lost: Some(lost),
            repeated: Some(executions.saturating_sub(self.tasks())),
            detail: self.detail(),
            ..Measured::default()
        }
    }
}

/// Measures W1 with a worker on this tenant, which may contain older runs.
pub async fn runs(world: &Arc<dyn World>, tenant: TenantId, load: &Load) -> Result<Measured, BenchError> {
    let since = world.now().await?;
    let worker = InProcess::of(world, tenant, load.concurrency).await?;
    let client = &worker.client;
    WARM_UP.register(client).await?;
    WARM_UP.start_many(client, FIRST, &json!({ "steps": load.steps })).await?;
    worker.until_ended(FIRST.into()).await?;
    let first = worker.executions();
    STEPS.register(client).await?;
    let wall = load.round(&worker).await?;
    let (executions, rss_mb) = (worker.executions() - first, own_rss_mb());
    let lost = lost_runs_since(client, &STEPS, since, load.runs.into(), &json!(load.steps)).await?;
    let measured = Measured { rss_mb, ..load.measured(wall, lost, executions) };
    worker.stop().await;
    Ok(measured)
}

pub async fn tasks(world: &Arc<dyn World>, tasks: u32, concurrency: u32) -> Result<Measured, BenchError> {
    let worker = InProcess::start(world, concurrency).await?;
    let client = &worker.client;
    let input = payload(&json!({ "step": 0 }))?;
    let task = EnqueueTask { name: handler::NAME.to_owned(), input, ..EnqueueTask::default() };
    let enqueue = |size| client.enqueue_tasks(vec![task.clone(); size]);
    let all_done = async |expected: u64| {
        until(async || {
            // Queries to the world cost it time, so they are made only after the handlers have finished.
            let moved = worker.executions();
            let done = moved >= expected && !has_open_tasks(client).await?;
            Ok(Look { done, moved })
        })
        .await
    };
    enqueue(FIRST as usize).await?;
    all_done(FIRST.into()).await?;
    let (expected, began) = (u64::from(FIRST + tasks), Instant::now());
    in_calls((tasks, CALL), enqueue).try_for_each(|_| std::future::ready(Ok(()))).await?;
    let enqueued = began.elapsed();
    all_done(expected).await?;
    let wall = began.elapsed();
    let rss_mb = own_rss_mb();
    let measured = Measured {
        rss_mb,
        per_s: Some(f64::from(tasks) / wall.as_secs_f64()),
        wall_s: Some(wall.as_secs_f64()),
        lost: Some(lost_tasks(client, expected).await?),
        repeated: Some(worker.executions().saturating_sub(expected)),
        detail: object(json!({
            "tasks": tasks,
            "concurrency": concurrency,
            "enqueued_after_s": enqueued.as_secs_f64(),
        })),
        ..Measured::default()
    };
    worker.stop().await;
    Ok(measured)
}

async fn has_open_tasks(client: &Client) -> Result<bool, BenchError> {
    let queues = client.world().queues(client.tenant()).await?;
    Ok(queues.iter().any(|queue| queue.ready + queue.delayed + queue.running + queue.held > 0))
}
