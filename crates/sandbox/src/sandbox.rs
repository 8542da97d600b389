//! Chooses where the programs of workflows under test run: in this process or in children.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::error::SandboxError;
use crate::here;
use crate::pool::{Launch, Pool};
use crate::request::Request;

/// Wall-clock limit for a stuck program. The kernel limits processor time; a tight wall-clock limit would
/// make tests depend on the load of the machine.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Clone, Debug)]
pub enum Sandbox {
    /// Runs programs in the process of the caller. Nothing limits a jq filter here: for programs that are
    /// known to end.
    Here,
    /// Runs programs in child processes, with the limits that real runs have.
    Apart(Arc<Apart>),
}

/// Children with their own runtime, because callers come from different runtimes, some of which end between
/// two requests. The first request starts both.
#[derive(Debug)]
pub struct Apart {
    launch: Result<Launch, SandboxError>,
    most: usize,
    children: OnceLock<Result<Children, SandboxError>>,
}

#[derive(Debug)]
struct Children {
    pool: Arc<Pool>,
    /// `None` only during `drop`.
    runtime: Option<Runtime>,
}

impl Sandbox {
    /// Runs programs in at most `most` children of this command.
    pub fn apart(launch: Launch, most: usize) -> Self {
        Self::launched(Ok(launch), most)
    }

    /// Runs programs in children of the running program: `rhythm sandbox`.
    pub fn own_command(most: usize) -> Self {
        Self::launched(Launch::own_command().map_err(SandboxError::crashed), most)
    }

    fn launched(launch: Result<Launch, SandboxError>, most: usize) -> Self {
        Self::Apart(Arc::new(Apart { launch, most, children: OnceLock::new() }))
    }

    /// Evaluates a request. Fails with a typed error if the program is wrong, exceeds a limit or crashes its
    /// child.
    pub async fn evaluate(&self, request: Request) -> Result<Value, SandboxError> {
        match self {
            Self::Here => here::evaluate(request),
            Self::Apart(apart) => {
                let children = apart.children.get_or_init(|| Children::of(apart));
                children.as_ref().map_err(Clone::clone)?.evaluate(request).await
            }
        }
    }
}

impl Children {
    fn of(apart: &Apart) -> Result<Self, SandboxError> {
        let pool = Pool::new(apart.launch.clone()?, apart.most).with_grace(PATIENCE);
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        Ok(Self { pool: Arc::new(pool), runtime: Some(runtime.map_err(SandboxError::crashed)?) })
    }

    async fn evaluate(&self, request: Request) -> Result<Value, SandboxError> {
        let pool = self.pool.clone();
        let ended = || SandboxError::crashed("its runtime has ended");
        let runtime = self.runtime.as_ref().ok_or_else(ended)?;
        let asked = runtime.spawn(async move { pool.evaluate(&request).await });
        asked.await.unwrap_or_else(|error| Err(SandboxError::crashed(error)))
    }
}

impl Drop for Children {
    /// Shuts down in the background: a runtime must not be waited for inside of another one.
    fn drop(&mut self) {
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
    }
}
