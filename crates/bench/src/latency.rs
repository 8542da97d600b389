//! W2: from one handler to the next within a run. W3: from the start of a run to its first handler.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rhythm_engine::world::World;
use serde_json::json;

use crate::BenchError;
use crate::check::lost_runs;
use crate::figures::Samples;
use crate::flows::STEPS;
use crate::in_process::InProcess;
use crate::probe::{entered, start_latency};
use crate::report::{Measured, object};

/// Long enough for a worker to have nothing to do again.
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
        // Looked at afterwards: a thread that wakes up at every hop takes a core from what it measures.
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

pub async fn starts(world: &Arc<dyn World>, samples: u32) -> Result<Measured, BenchError> {
    let (worker, mut entries) = InProcess::watched(world, CONCURRENCY).await?;
    STEPS.register(&worker.client).await?;
    let mut times = Samples::default();
    let began = Instant::now();
    for sample in 1..=samples {
        times.add(start_latency(&worker.client, &mut entries).await?);
        worker.until_ended(sample.into()).await?;
        tokio::time::sleep(PAUSE).await;
    }
    let measured = Measured {
        p50_ms: times.p50(),
        p99_ms: times.p99(),
        wall_s: Some(began.elapsed().as_secs_f64()),
        lost: Some(lost_runs(&worker.client, &STEPS, samples.into(), &json!(1)).await?),
        repeated: Some(worker.executions().saturating_sub(samples.into())),
        detail: object(json!({ "samples": samples })),
        ..Measured::default()
    };
    worker.stop().await;
    Ok(measured)
}
