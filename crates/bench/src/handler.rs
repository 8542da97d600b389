//! The task of all workloads: it does nothing and returns its input. Nodes of graphs get their config beside
//! the input and return only the input.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use async_trait::async_trait;
use rhythm_core::failure::codes;
use rhythm_core::{Failure, Payload};
use rhythm_engine::worker::{Handler, TaskContext};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc::UnboundedSender;

pub const NAME: &str = "noop";
pub const PASS: &str = "pass";

#[derive(Clone, Default)]
pub struct Noop {
    pub executions: Arc<AtomicU64>,
    /// Gets the time of every execution.
    pub entries: Option<UnboundedSender<Instant>>,
    pub tally: Option<Arc<Tally>>,
}

/// The same handler for nodes of graphs.
pub struct Pass(pub Noop);

#[async_trait]
impl Handler for Noop {
    async fn handle(&self, _: TaskContext, input: Payload) -> Result<Payload, Failure> {
        if let Some(entries) = &self.entries {
            let _ = entries.send(Instant::now());
        }
        self.executions.fetch_add(1, Ordering::Relaxed);
        if let Some(tally) = &self.tally {
            tally.add().map_err(|error| Failure::new(codes::FAILED, error.to_string()))?;
        }
        Ok(input)
    }
}

#[async_trait]
impl Handler for Pass {
    async fn handle(&self, context: TaskContext, given: Payload) -> Result<Payload, Failure> {
        #[derive(Deserialize)]
        struct Given {
            input: Box<RawValue>,
        }
        let given = self.0.handle(context, given).await?;
        let refused = |error: serde_json::Error| Failure::new(codes::FAILED, error.to_string());
        let Payload::Inline(text) = given else { return Ok(given) };
        let Given { input } = serde_json::from_str(text.get()).map_err(refused)?;
        Payload::parse(input.get().to_owned()).map_err(refused)
    }
}

/// Counts the executions of several processes in a file, one byte each. The bytes survive a kill of the
/// process.
pub struct Tally(File);

impl Tally {
    pub fn open(path: &Path) -> std::io::Result<Self> {
        Ok(Self(OpenOptions::new().create(true).append(true).open(path)?))
    }

    fn add(&self) -> std::io::Result<()> {
        (&self.0).write_all(b".")
    }

    pub fn count(path: &Path) -> std::io::Result<u64> {
        Ok(std::fs::metadata(path)?.len())
    }
}
