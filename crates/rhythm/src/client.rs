//! The engine's client with typed inputs and results.

use std::ops::Deref;

use rhythm_core::failure::codes;
use rhythm_core::{Failure, Payload, RunId, TaskId};
use rhythm_engine::client::{EnqueueTask, StartRun};
use rhythm_engine::definitions::ReadProgram;
use rhythm_engine::drive::{output_of, wait_for_run, wait_for_task};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::handler::from_json;

/// Asks for things. All that the engine's client can do, it can do too.
#[derive(Clone)]
pub struct Client(rhythm_engine::client::Client);

impl Client {
    pub(crate) fn new(client: rhythm_engine::client::Client) -> Self {
        Self(client)
    }

    /// The same client, which refuses graphs with programs that `programs` cannot read.
    pub fn reading(self, programs: ReadProgram) -> Self {
        Self(self.0.reading(programs))
    }

    /// Enqueues a task with the usual options; `enqueue_task` takes others.
    pub async fn enqueue<T: Serialize + ?Sized>(&self, name: &str, input: &T) -> Result<TaskId, Error> {
        let task =
            EnqueueTask { name: name.to_owned(), input: Payload::of(input)?, ..EnqueueTask::default() };
        Ok(self.0.enqueue_task(task).await?)
    }

    /// Starts a run of a registered workflow; `start_run` takes options.
    pub async fn start<T: Serialize + ?Sized>(&self, workflow: &str, input: &T) -> Result<RunId, Error> {
        let start =
            StartRun { workflow: workflow.to_owned(), input: Payload::of(input)?, ..StartRun::default() };
        Ok(self.0.start_run(start).await?)
    }

    /// Waits until a run has ended and gives its output.
    pub async fn result<T: DeserializeOwned>(&self, run: &RunId) -> Result<T, Error> {
        let picture = wait_for_run(&self.0, run).await?;
        let output = output_of(picture).map_err(Error::Failed)?;
        self.read(&output).await
    }

    /// Waits until a standalone task has ended and gives its output.
    pub async fn task_result<T: DeserializeOwned>(&self, task: &TaskId) -> Result<T, Error> {
        let summary = wait_for_task(&self.0, task).await?;
        match (summary.output, summary.failure) {
            (Some(output), _) => self.read(&output).await,
            (None, Some(failure)) => Err(Error::Failed(failure)),
            (None, None) => Err(Error::Failed(Failure::new(codes::FAILED, "the task has no output"))),
        }
    }

    /// A value as a Rust type, wherever it is stored.
    pub async fn read<T: DeserializeOwned>(&self, payload: &Payload) -> Result<T, Error> {
        let text = self.0.load(payload).await?;
        from_json(&text).map_err(|detail| Error::BadPayload(format!("the result does not fit: {detail}")))
    }
}

impl Deref for Client {
    type Target = rhythm_engine::client::Client;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
