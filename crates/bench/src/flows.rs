//! The workflows that are measured: real scripts, compiled and stepped like anybody's.

use rhythm_core::{Payload, WorkflowKind};
use rhythm_engine::client::{Client, StartRun};
use serde_json::Value;

use crate::BenchError;
use crate::in_process::InProcess;
use crate::progress::Progress;

pub const STEPS: Script = Script { name: "bench-steps", source: include_str!("flows/steps.flow") };
pub const FAN_OUT: Script = Script { name: "bench-fan-out", source: include_str!("flows/fan_out.flow") };
pub const FINISHED: Script = Script { name: "bench-finished", source: include_str!("flows/finished.flow") };
pub const SLEEPING: Script = Script { name: "bench-sleeping", source: include_str!("flows/sleeping.flow") };
pub const DUE: Script = Script { name: "bench-due", source: include_str!("flows/due.flow") };

/// The most runs or tasks one call asks for while it is measured.
pub const CALL: u32 = 100;
/// The same where nothing is measured yet.
const FILL_CALL: u32 = 1_000;

pub struct Script {
    pub name: &'static str,
    source: &'static str,
}

impl Script {
    pub async fn register(&self, client: &Client) -> Result<(), BenchError> {
        client.register(self.name, WorkflowKind::Flow, self.source).await?;
        Ok(())
    }

    pub fn start(&self, input: &Value) -> Result<StartRun, BenchError> {
        Ok(StartRun { workflow: self.name.to_owned(), input: payload(input)?, ..StartRun::default() })
    }

    /// Starts so many runs with the same input, in calls of [`CALL`].
    pub async fn start_many(&self, client: &Client, count: u32, input: &Value) -> Result<(), BenchError> {
        self.start_in_calls(client, (count, CALL), input, &Progress::silent()).await
    }

    /// Starts so many runs and waits until each has been stepped once. The worker must have nothing else to do.
    pub async fn fill(
        &self,
        worker: &InProcess,
        count: u32,
        input: &Value,
        progress: &Progress,
    ) -> Result<(), BenchError> {
        let before = worker.written().items;
        self.start_in_calls(&worker.client, (count, FILL_CALL), input, progress).await?;
        worker
            .until(|written| {
                let stepped = written.items - before;
                progress.count("runs stepped", stepped, count.into());
                stepped >= count.into()
            })
            .await
    }

    async fn start_in_calls(
        &self,
        client: &Client,
        (count, most): (u32, u32),
        input: &Value,
        progress: &Progress,
    ) -> Result<(), BenchError> {
        let start = self.start(input)?;
        let mut left = count;
        while left > 0 {
            let size = left.min(most);
            client.start_runs(vec![start.clone(); size as usize]).await?;
            left -= size;
            progress.count("runs started", u64::from(count - left), count.into());
        }
        Ok(())
    }
}

pub fn payload(value: &Value) -> Result<Payload, BenchError> {
    Payload::of(value).map_err(|error| BenchError::NotMeasured(error.to_string()))
}
