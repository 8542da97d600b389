//! W8: whether finished and sleeping runs slow anything down: W1 and the calls a worker makes all the time, on an empty
//! database and on full ones.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Instant;

use rhythm_core::{Millis, WorkerId, WorkflowKind};
use rhythm_engine::client::{Client, EnqueueTask};
use rhythm_engine::world::*;
use serde_json::json;

use crate::figures::Samples;
use crate::flows::{FINISHED, SLEEPING, Script};
use crate::ground::Ground;
use crate::in_process::{InProcess, client};
use crate::progress::Progress;
use crate::report::{Measured, object};
use crate::throughput::{self, Load};
use crate::{BenchError, ground, handler};

const SAMPLES: usize = 200;
/// Each state is measured so often; the middle one counts.
const ROUNDS: usize = 5;
const FILL_CONCURRENCY: u32 = 100;

/// What the database holds.
#[derive(Clone, Debug)]
pub struct Growth {
    /// One state each.
    pub finished: Vec<u32>,
    /// In every state that has finished runs.
    pub sleeping: u32,
}

/// One measurement for each state, with its ratio to the first.
pub async fn measure(
    ground: &Ground,
    load: &Load,
    growth: &Growth,
    progress: &Progress,
) -> Result<Vec<Measured>, BenchError> {
    let world = &ground.open().await?;
    // A database only ever gets fuller.
    let mut goals = growth.finished.clone();
    goals.sort_unstable();
    let (mut finished, mut sleeping) = (0, 0);
    let mut all: Vec<Measured> = Vec::new();
    for goal in goals {
        if goal > 0 {
            fill(world, &SLEEPING, growth.sleeping - sleeping, progress).await?;
            sleeping = growth.sleeping;
        }
        fill(world, &FINISHED, goal - finished, progress).await?;
        finished = goal;
        progress.say(&format!("measuring with {finished} finished and {sleeping} sleeping runs"));
        ground.rest().await?;
        let mut measured = middle(world, load).await?;
        measured.detail.extend(object(json!({ "finished": finished, "sleeping": sleeping })));
        measured.detail.extend(calls(world).await?);
        measured.note_ratio(all.first());
        all.push(measured);
    }
    Ok(all)
}

async fn middle(world: &Arc<dyn World>, load: &Load) -> Result<Measured, BenchError> {
    let mut rounds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        rounds.push(throughput::runs(world, load).await?);
    }
    rounds.sort_by(|one, other| one.per_s.partial_cmp(&other.per_s).unwrap_or(Ordering::Equal));
    Ok(rounds.swap_remove(ROUNDS / 2))
}

/// Runs that end at once, or sleep for a long time, done by an engine like any others.
async fn fill(
    world: &Arc<dyn World>,
    script: &Script,
    runs: u32,
    progress: &Progress,
) -> Result<(), BenchError> {
    if runs == 0 {
        return Ok(());
    }
    progress.say(&format!("filling the database: {runs} runs of {}", script.name));
    let worker = InProcess::start(world, FILL_CONCURRENCY).await?;
    script.register(&worker.client).await?;
    script.fill(&worker, runs, &json!({ "number": 1 }), progress).await?;
    worker.stop().await;
    Ok(())
}

/// The median times of what a worker asks again and again.
async fn calls(world: &Arc<dyn World>) -> Result<serde_json::Map<String, serde_json::Value>, BenchError> {
    let client = client(world.clone(), ground::fresh_tenant());
    let empty = median(async || {
        claim_runs(&client).await?;
        Ok(())
    });
    let empty_claim_ms = empty.await?;
    let sweep = median(async || {
        world.upkeep(Upkeep::Sweep { limit: 2_000 }).await?;
        Ok(())
    });
    let sweep_ms = sweep.await?;
    let task = EnqueueTask { name: handler::NAME.to_owned(), ..EnqueueTask::default() };
    client.enqueue_tasks(vec![task; SAMPLES]).await?;
    let claim = median(async || {
        claim_task(&client).await?;
        Ok(())
    });
    let task_claim_ms = claim.await?;
    let figures =
        json!({ "empty_claim_ms": empty_claim_ms, "sweep_ms": sweep_ms, "task_claim_ms": task_claim_ms });
    Ok(object(figures))
}

async fn median(call: impl AsyncFn() -> Result<(), BenchError>) -> Result<Option<f64>, BenchError> {
    let mut times = Samples::default();
    for _ in 0..SAMPLES {
        let began = Instant::now();
        call().await?;
        times.add(began.elapsed());
    }
    Ok(times.p50())
}

async fn claim_runs(client: &Client) -> Result<ClaimedRuns, BenchError> {
    let request = ClaimRuns {
        tenant: client.tenant().clone(),
        worker: WorkerId::new("probe"),
        kinds: vec![WorkflowKind::Flow],
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
        names: vec![handler::NAME.to_owned()],
        hold: Millis::from_secs(30),
        with_runs: true,
        overdue: false,
        ask: Default::default(),
    };
    Ok(client.world().claim_tasks(request).await?)
}
