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

/// Starts tasks and runs, and reads their results as Rust types.
///
/// Dereferences to the engine's client, which has all other operations: signals, cancellation, listings,
/// dead letters, schedules.
#[derive(Clone)]
pub struct Client(rhythm_engine::client::Client);

impl Client {
    pub(crate) fn new(client: rhythm_engine::client::Client) -> Self {
        Self(client)
    }

    /// Returns a client that checks the programs in graphs: registering a graph fails if `programs` cannot
    /// read one of them.
    pub fn reading(self, programs: ReadProgram) -> Self {
        Self(self.0.reading(programs))
    }

    /// Enqueues a standalone task with default options and returns its id. `enqueue_task` takes options.
    ///
    /// Each call enqueues another task. Fails if the input cannot be written as JSON, if the name is empty or
    /// longer than 200 bytes, or if the world refuses the task.
    pub async fn enqueue<T: Serialize + ?Sized>(&self, name: &str, input: &T) -> Result<TaskId, Error> {
        let task =
            EnqueueTask { name: name.to_owned(), input: Payload::of(input)?, ..EnqueueTask::default() };
        Ok(self.0.enqueue_task(task).await?)
    }

    /// Starts a run of a workflow's current version and returns its id. `start_run` takes options.
    ///
    /// Each call starts another run. Fails if the input cannot be written as JSON or the workflow is not
    /// registered.
    pub async fn start<T: Serialize + ?Sized>(&self, workflow: &str, input: &T) -> Result<RunId, Error> {
        let start =
            StartRun { workflow: workflow.to_owned(), input: Payload::of(input)?, ..StartRun::default() };
        Ok(self.0.start_run(start).await?)
    }

    /// Waits, without a time limit, until a run has ended and returns its output.
    ///
    /// Fails with [`Error::Failed`] if the run failed or was cancelled, with [`Error::BadPayload`] if the
    /// output does not fit `T`, and with [`Error::Engine`] if there is no such run.
    pub async fn result<T: DeserializeOwned>(&self, run: &RunId) -> Result<T, Error> {
        let picture = wait_for_run(&self.0, run).await?;
        let output = output_of(picture).map_err(Error::Failed)?;
        self.read(&output).await
    }

    /// Waits, without a time limit, until a standalone task has ended and returns its output.
    ///
    /// Fails with [`Error::Failed`] if the task failed or was cancelled, with [`Error::BadPayload`] if the
    /// output does not fit `T`, and with [`Error::Engine`] if there is no such task.
    pub async fn task_result<T: DeserializeOwned>(&self, task: &TaskId) -> Result<T, Error> {
        let summary = wait_for_task(&self.0, task).await?;
        match (summary.output, summary.failure) {
            (Some(output), _) => self.read(&output).await,
            (None, Some(failure)) => Err(Error::Failed(failure)),
            (None, None) => Err(Error::Failed(Failure::new(codes::FAILED, "the task has no output"))),
        }
    }

    /// Reads a value as a Rust type. Loads it from the world first if it is stored as a blob.
    ///
    /// Fails with [`Error::BadPayload`] if the value does not fit `T`; the message names the field.
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
