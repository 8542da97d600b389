//! W2: from one handler to the next within a run. W3: from the start of a run to its first handler.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rhythm_engine::client::Client;
use rhythm_engine::world::World;
use serde_json::json;

use crate::BenchError;
use crate::check::lost_runs;
use crate::figures::Samples;
use crate::flows::STEPS;
use crate::in_process::{InProcess, client};
use crate::report::{Measured, object};
use crate::single_run::{entered, start_latency};

/// Long enough for a worker to become idle.
const PAUSE: Duration = Duration::from_millis(10);
const CONCURRENCY: u32 = 100;

pub async fn hops(world: &Arc<dyn World>, runs: u32, steps: u32) -> Result<Measured, BenchError> {
    let (worker, mut entries) = InProcess::watched(world, CONCURRENCY).await?;
    STEPS.register(&worker.client).await?;
    let start = STEPS.start(&json!({ "steps": steps }))?;
    let mut hops = Samples::default();
    let began = Instant::now();
    for run in 1..=runs {
        worker.client.start_run(start.clone()).await?;
        // The times are read after the run: a thread that wakes up at every hop would take a core from the
        // measured work.
        worker.until_ended(run.into()).await?;
        let mut last = entered(&mut entries).await?;
        for _ in 1..steps {
            let next = entered(&mut entries).await?;
            hops.add(next - last);
            last = next;
        }
    }
    let wall = began.elapsed();
    let expected = u64::from(runs) * u64::from(steps);
    let measured = Measured {
        p50_ms: hops.p50(),
        p99_ms: hops.p99(),
        wall_s: Some(wall.as_secs_f64()),
        lost: Some(lost_runs(&worker.client, &STEPS, runs.into(), &json!(steps)).await?),
        repeated: Some(worker.executions().saturating_sub(expected)),
        detail: object(json!({ "runs": runs, "steps": steps, "hops": hops.count() })),
        ..Measured::default()
    };
    worker.stop().await;
    Ok(measured)
}

/// Measures starts by a client beside a worker in the same process, then by one without: its runs go through
/// the queue.
pub async fn starts(world: &Arc<dyn World>, samples: u32) -> Result<Measured, BenchError> {
    let (worker, mut entries) = InProcess::watched(world, CONCURRENCY).await?;
    STEPS.register(&worker.client).await?;
    let apart = client(world.clone(), worker.client.tenant().clone());
    let mut ended = 0;
    let mut starts_of = async |client: &Client| {
        let mut times = Samples::default();
        for _ in 0..samples {
            times.add(start_latency(client, &mut entries).await?);
            ended += 1;
            worker.until_ended(ended).await?;
            tokio::time::sleep(PAUSE).await;
        }
        Ok::<_, BenchError>(times)
    };
    let began = Instant::now();
    let times = starts_of(&worker.client).await?;
    let apart_times = starts_of(&apart).await?;
    let runs = u64::from(samples) * 2;
    let measured = Measured {
        p50_ms: times.p50(),
        p99_ms: times.p99(),
        wall_s: Some(began.elapsed().as_secs_f64()),
        lost: Some(lost_runs(&worker.client, &STEPS, runs, &json!(1)).await?),
        repeated: Some(worker.executions().saturating_sub(runs)),
        detail: object(json!({
            "samples": samples,
            "apart_p50_ms": apart_times.p50(),
            "apart_p99_ms": apart_times.p99(),
        })),
        ..Measured::default()
    };
    worker.stop().await;
    Ok(measured)
}
