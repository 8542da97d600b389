//! W4: one run with many concurrent tasks and a join, from the call that starts it until it has ended.

use std::sync::Arc;
use std::time::Instant;

use rhythm_engine::world::World;
use serde_json::json;

use crate::BenchError;
use crate::check::lost_runs;
use crate::figures::Samples;
use crate::flows::FAN_OUT;
use crate::in_process::InProcess;
use crate::report::{Measured, object};

pub async fn measure(
    world: &Arc<dyn World>,
    tasks: u32,
    samples: u32,
    concurrency: u32,
) -> Result<Measured, BenchError> {
    let worker = InProcess::start(world, concurrency).await?;
    FAN_OUT.register(&worker.client).await?;
    let start = FAN_OUT.start(&json!({ "tasks": tasks }))?;
    let mut times = Samples::default();
    for sample in 1..=samples {
        let began = Instant::now();
        worker.client.start_run(start.clone()).await?;
        worker.until_ended(sample.into()).await?;
        times.add(began.elapsed());
    }
    let (written, expected) = (worker.written(), u64::from(tasks) * u64::from(samples));
    let output: Vec<u32> = (0..tasks).collect();
    let each = |total: u64| total as f64 / f64::from(samples);
    let measured = Measured {
        per_s: times.p50().map(|millis| f64::from(tasks) / (millis / 1e3)),
        p50_ms: times.p50(),
        p99_ms: times.p99(),
        wall_s: times.p50().map(|millis| millis / 1e3),
        lost: Some(lost_runs(&worker.client, &FAN_OUT, samples.into(), &json!(output)).await?),
        repeated: Some(worker.executions().saturating_sub(expected)),
        detail: object(json!({
            "tasks": tasks,
            "samples": samples,
            "concurrency": concurrency,
            "snapshot_bytes": each(written.snapshot_bytes),
            "transitions": each(written.items),
            "commits": each(written.commits),
        })),
        ..Measured::default()
    };
    worker.stop().await;
    Ok(measured)
}
