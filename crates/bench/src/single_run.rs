//! Measures one small run: from the call that starts it to the first line of its handler.

use std::time::{Duration, Instant};

use rhythm_engine::client::Client;
use serde_json::json;

use crate::BenchError;
use crate::flows::STEPS;
use crate::in_process::Entries;

/// Time limit for reaching a handler.
const LONGEST: Duration = Duration::from_secs(60);

/// The workflow must be registered, and no other run may enter a handler at the same time.
pub async fn start_latency(client: &Client, entries: &mut Entries) -> Result<Duration, BenchError> {
    let start = STEPS.start(&json!({ "steps": 1 }))?;
    let began = Instant::now();
    client.start_run(start).await?;
    Ok(entered(entries).await? - began)
}

/// Returns the time of the next handler execution.
pub async fn entered(entries: &mut Entries) -> Result<Instant, BenchError> {
    let entry = tokio::time::timeout(LONGEST, entries.recv()).await.ok().flatten();
    entry.ok_or_else(|| BenchError::NotMeasured(format!("no handler was reached within {LONGEST:?}")))
}
