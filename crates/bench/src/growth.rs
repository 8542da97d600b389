//! Whether sleeping and finished runs slow anything down: claim latency and throughput, before and after.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rhythm_core::{Millis, WorkerId, WorkflowKind};
use rhythm_engine::client::{Client, EnqueueTask};
use rhythm_engine::world::*;
use serde::Serialize;

use crate::BenchError;
use crate::workload::Bench;

const SAMPLES: usize = 200;

/// One state of the database.
#[derive(Clone, Debug, Serialize)]
pub struct Growth {
    pub world: String,
    pub sleeping_runs: u64,
    pub finished_runs: u64,
    /// Median time to claim when there is nothing.
    pub empty_claim_ms: f64,
    /// Median time to claim one ready task.
    pub task_claim_ms: f64,
    /// Median time of the sweep every worker makes once a second.
    pub sweep_ms: f64,
    pub steps_per_s: f64,
}

pub async fn measure(
    world: &Arc<dyn World>,
    label: &str,
    sizes: (usize, usize),
    progress: impl Fn(&str),
) -> Result<Vec<Growth>, BenchError> {
    let (sleeping, finished) = sizes;
    let before = look(world, label, 0, 0).await?;
    let bench = Bench::start(world.clone(), 100);
    progress(&format!("starting {sleeping} runs that sleep"));
    bench.fill(r#"{"steps":[{"sleep":"52w"}]}"#, sleeping).await?;
    progress(&format!("finishing {finished} runs"));
    bench.fill(r#"{"steps":[{"keep":1}]}"#, finished).await?;
    bench.stop().await;
    let after = look(world, label, sleeping as u64, finished as u64).await?;
    Ok(vec![before, after])
}

async fn look(
    world: &Arc<dyn World>,
    label: &str,
    sleeping: u64,
    finished: u64,
) -> Result<Growth, BenchError> {
    let bench = Bench::start(world.clone(), 100);
    let steps_per_s = bench.steps(500, 10).await?.per_s();
    let client = bench.client.clone();
    bench.stop().await;
    client.register("probe", WorkflowKind::Drill, r#"{"steps":[]}"#).await?;
    let mut growth = Growth {
        world: label.to_owned(),
        sleeping_runs: sleeping,
        finished_runs: finished,
        empty_claim_ms: 0.0,
        task_claim_ms: 0.0,
        sweep_ms: 0.0,
        steps_per_s,
    };
    growth.empty_claim_ms = median(&client, async |client| {
        claim_runs(client).await?;
        Ok(())
    })
    .await?;
    growth.sweep_ms = median(&client, async |client| {
        client.world().upkeep(Upkeep::Sweep { limit: 2_000 }).await?;
        Ok(())
    })
    .await?;
    for _ in 0..SAMPLES {
        client.enqueue_task(EnqueueTask { name: "noop".into(), ..EnqueueTask::default() }).await?;
    }
    growth.task_claim_ms = median(&client, async |client| {
        claim_task(client).await?;
        Ok(())
    })
    .await?;
    Ok(growth)
}

async fn median(
    client: &Client,
    call: impl AsyncFn(&Client) -> Result<(), BenchError>,
) -> Result<f64, BenchError> {
    let mut times: Vec<Duration> = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        let began = Instant::now();
        call(client).await?;
        times.push(began.elapsed());
    }
    times.sort();
    Ok(times[SAMPLES / 2].as_secs_f64() * 1e3)
}

async fn claim_runs(client: &Client) -> Result<ClaimedRuns, BenchError> {
    let request = ClaimRuns {
        tenant: client.tenant().clone(),
        worker: WorkerId::new("probe"),
        kinds: vec![WorkflowKind::Drill],
        workflows: Vec::new(),
        limit: 200,
        hold: Millis::from_secs(30),
        ask: Default::default(),
    };
    Ok(client.world().claim_runs(request).await?)
}

async fn claim_task(client: &Client) -> Result<ClaimedTasks, BenchError> {
    let request = ClaimTasks {
        tenant: client.tenant().clone(),
        worker: WorkerId::new("probe"),
        queues: vec![("default".into(), 1)],
        names: vec!["noop".into()],
        hold: Millis::from_secs(30),
        with_runs: true,
        overdue: false,
        ask: Default::default(),
    };
    Ok(client.world().claim_tasks(request).await?)
}
