//! The measured workflows: real scripts and graphs, compiled and stepped like any other.

use std::borrow::Cow;

use futures_util::{Stream, StreamExt, TryStreamExt};
use rhythm_core::{Payload, WorkflowKind};
use rhythm_engine::client::{Client, StartRun};
use rhythm_engine::error::EngineError;
use serde_json::Value;

use crate::BenchError;
use crate::in_process::InProcess;
use crate::progress::Progress;

pub const STEPS: Script = Script::flow("bench-steps", include_str!("flows/steps.flow"));
pub const FAN_OUT: Script = Script::flow("bench-fan-out", include_str!("flows/fan_out.flow"));
pub const WARM_UP: Script = Script::flow("bench-warm-up", include_str!("flows/steps.flow"));
pub const FINISHED: Script = Script::flow("bench-finished", include_str!("flows/finished.flow"));
pub const SLEEPING: Script = Script::flow("bench-sleeping", include_str!("flows/sleeping.flow"));
pub const DUE: Script = Script::flow("bench-due", include_str!("flows/due.flow"));

/// Batch size of calls that start runs or enqueue tasks while measuring, and largest number of concurrent
/// calls.
pub const CALL: u32 = 100;
const CALLS: usize = 10;
/// Batch size of calls outside of a measurement.
const FILL_CALL: u32 = 1_000;

pub struct Script {
    pub name: &'static str,
    kind: WorkflowKind,
    source: Cow<'static, str>,
}

impl Script {
    const fn flow(name: &'static str, source: &'static str) -> Self {
        Self { name, kind: WorkflowKind::Flow, source: Cow::Borrowed(source) }
    }

    pub fn graph(name: &'static str, document: &Value) -> Self {
        Self { name, kind: WorkflowKind::Graph, source: Cow::Owned(document.to_string()) }
    }

    pub async fn register(&self, client: &Client) -> Result<(), BenchError> {
        client.register(self.name, self.kind, &self.source).await?;
        Ok(())
    }

    pub fn start(&self, input: &Value) -> Result<StartRun, BenchError> {
        Ok(StartRun { workflow: self.name.to_owned(), input: payload(input)?, ..StartRun::default() })
    }

    /// Starts `count` runs with the same input, in calls of [`CALL`].
    pub async fn start_many(&self, client: &Client, count: u32, input: &Value) -> Result<(), BenchError> {
        self.start_in_calls(client, (count, CALL), input, &Progress::silent()).await
    }

    /// Starts `count` runs and waits until each has been stepped once. The worker must have no other work.
    pub async fn fill(
        &self,
        worker: &InProcess,
        count: u32,
        input: &Value,
        progress: &Progress,
    ) -> Result<(), BenchError> {
        let before = worker.written().items;
        self.start_in_calls(&worker.client, (count, FILL_CALL), input, progress).await?;
        let mut stepped = 0;
        worker
            .until(|written| {
                stepped = written.items - before;
                progress.count("runs stepped", stepped, count.into());
                stepped >= count.into()
            })
            .await?;
        if stepped < count.into() {
            let text = format!("the database could not be filled: {stepped} of {count} runs were stepped");
            return Err(BenchError::NotMeasured(text));
        }
        Ok(())
    }

    async fn start_in_calls(
        &self,
        client: &Client,
        (count, most): (u32, u32),
        input: &Value,
        progress: &Progress,
    ) -> Result<(), BenchError> {
        let start = self.start(input)?;
        let mut started = 0;
        in_calls((count, most), |size| client.start_runs(vec![start.clone(); size]))
            .try_for_each(|runs| {
                started += runs.len() as u64;
                progress.count("runs started", started, count.into());
                std::future::ready(Ok(()))
            })
            .await?;
        Ok(())
    }
}

/// Splits `count` items into calls of at most `most`, several of them concurrent, as if from several clients.
pub fn in_calls<T, F>(
    (count, most): (u32, u32),
    call: impl FnMut(usize) -> F,
) -> impl Stream<Item = Result<T, EngineError>>
where
    F: Future<Output = Result<T, EngineError>>,
{
    let sizes = (0..count.div_ceil(most)).map(move |nth| (count - nth * most).min(most) as usize);
    futures_util::stream::iter(sizes.map(call)).buffer_unordered(CALLS)
}

pub fn payload(value: &Value) -> Result<Payload, BenchError> {
    Payload::of(value).map_err(|error| BenchError::NotMeasured(error.to_string()))
}
