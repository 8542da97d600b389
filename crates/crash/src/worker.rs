//! A worker process for crash tests. Every attempt writes a line into a ledger before and after its work, so
//! that a test can tell, without asking the engine, what really happened.
//!
//! Usage: `crash-worker WORLD LEDGER [fast]`

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Duration;

use rhythm::{Rhythm, TaskContext, TaskError};
use serde::Deserialize;

/// How long an attempt takes.
#[derive(Deserialize)]
struct Work {
    millis: u64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, world, ledger, rest @ ..] = &arguments[..] else {
        return Err("usage: crash-worker WORLD LEDGER [fast]".into());
    };
    let rhythm = Rhythm::open(world).await?;
    let ledger = ledger.clone();
    let mut worker = rhythm.worker().concurrency(20).task("work", move |context: TaskContext, work: Work| {
        let ledger = ledger.clone();
        async move {
            record(&ledger, "began", &context)?;
            tokio::time::sleep(Duration::from_millis(work.millis)).await;
            record(&ledger, "did", &context)?;
            Ok::<_, TaskError>(std::process::id())
        }
    });
    if rest.first().is_some_and(|word| word == "fast") {
        worker = worker.fast();
    }
    worker.run_until(std::future::pending()).await?;
    Ok(())
}

/// One line in one write: lines of several processes never mix.
fn record(ledger: &str, what: &str, context: &TaskContext) -> std::io::Result<()> {
    let line = format!("{what} {} {}\n", context.idempotency_key(), std::process::id());
    OpenOptions::new().create(true).append(true).open(ledger)?.write_all(line.as_bytes())
}
