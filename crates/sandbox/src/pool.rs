//! The parent's side: children that are warm, one question each at a time, killed when they take too long and replaced
//! when they misbehave.

mod worker;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::error::{Limit, SandboxError};
use crate::request::{GRACE_MS, MAX_LINE, Request};
use worker::Worker;

/// How a child is started.
#[derive(Clone, Debug)]
pub struct Launch {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

impl Launch {
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), arguments: Vec::new() }
    }

    /// The program that is running, as `rhythm sandbox`.
    pub fn own_command() -> std::io::Result<Self> {
        Ok(Self { program: std::env::current_exe()?, arguments: vec!["sandbox".into()] })
    }
}

/// Answers of one child, after which another takes its place: nothing it holds on to grows for ever.
const MAX_ANSWERS: u32 = 1_000;

/// At most so many children at once; none before the first question.
#[derive(Debug)]
pub struct Pool {
    launch: Launch,
    grace: Duration,
    room: Semaphore,
    idle: Mutex<Vec<Worker>>,
}

impl Pool {
    pub fn new(launch: Launch, most: usize) -> Self {
        Self {
            launch,
            grace: Duration::from_millis(GRACE_MS),
            room: Semaphore::new(most.max(1)),
            idle: Mutex::new(Vec::new()),
        }
    }

    /// Waits so much longer than a program may take: for a machine that is too busy to let it.
    pub fn with_grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// Asks a child and waits for its answer. A question that is dropped takes its child with it.
    pub async fn evaluate(&self, request: &Request) -> Result<Value, SandboxError> {
        let question = serde_json::to_string(request).map_err(SandboxError::bad_answer)?;
        if question.len() >= MAX_LINE {
            return Err(SandboxError::limit(Limit::Size));
        }
        let _room = self.room.acquire().await.map_err(SandboxError::crashed)?;
        let warm = self.idle().pop();
        let mut worker = match warm {
            Some(worker) => worker,
            None => Worker::start(&self.launch).await?,
        };
        let time = Duration::from_millis(request.timeout_ms()) + self.grace;
        let answer = match timeout(time, worker.ask(&question)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(broken)) => return Err(worker.bury(broken).await),
            // Dropping the worker kills it.
            Err(_) => return Err(SandboxError::limit(Limit::Time)),
        };
        if answer.reusable() && worker.answers < MAX_ANSWERS {
            self.idle().push(worker);
        }
        answer.result
    }

    /// Children that wait for a question.
    pub fn warm(&self) -> usize {
        self.idle().len()
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
