//! The parent's side: a pool of warm children. Each takes one request at a time, is killed when it takes too
//! long, and is replaced after a crash.

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

/// Command that starts a child.
#[derive(Clone, Debug)]
pub struct Launch {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

impl Launch {
    /// Returns a command without arguments.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), arguments: Vec::new() }
    }

    /// Returns the running program with the argument `sandbox`. Fails if the path of the running program is
    /// unknown.
    pub fn own_command() -> std::io::Result<Self> {
        Ok(Self { program: std::env::current_exe()?, arguments: vec!["sandbox".into()] })
    }
}

/// Number of responses after which a child is replaced, so that leaked memory cannot accumulate.
const MAX_ANSWERS: u32 = 1_000;

/// A pool of children with an upper bound. The first request starts the first child.
#[derive(Debug)]
pub struct Pool {
    launch: Launch,
    grace: Duration,
    room: Semaphore,
    idle: Mutex<Vec<Worker>>,
}

impl Pool {
    /// Returns a pool of at most `most` children. It starts none before the first request.
    pub fn new(launch: Launch, most: usize) -> Self {
        Self {
            launch,
            grace: Duration::from_millis(GRACE_MS),
            room: Semaphore::new(most.max(1)),
            idle: Mutex::new(Vec::new()),
        }
    }

    /// Sets how much longer than the program's time limit the pool waits for a response, for busy machines.
    pub fn with_grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// Sends a request to a child and waits for the response. Dropping this future kills the child.
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

    /// Returns the number of idle children.
    pub fn warm(&self) -> usize {
        self.idle().len()
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
