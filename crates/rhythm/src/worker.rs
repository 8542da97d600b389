//! Building and running a worker: an engine that steps runs, and the handlers of tasks.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use rhythm_core::task::DEFAULT_QUEUE;
use rhythm_core::{Actor, Millis, RunId, TaskDefaults, TenantId, WorkerId};
use rhythm_engine::client::{Client, fresh_id};
use rhythm_engine::config::Config;
use rhythm_engine::drive::{Driver, HostClock, Stopper};
use rhythm_engine::local_worker::LocalWorker;
use rhythm_engine::process::Process;
use rhythm_engine::programs::Programs;
use rhythm_engine::time::WorldTime;
use rhythm_engine::worker::{Handler, Handlers, TaskContext, Worker};
use rhythm_engine::world::{World, WorldResult};
use rhythm_graph::NodeType;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;

use crate::error::Error;
use crate::handler::{AsyncTask, BlockingTask};
use crate::task_error::TaskError;

/// How long running attempts may take to finish when a worker stops.
const PATIENCE: Duration = Duration::from_secs(30);

/// A worker in the making; see [`Rhythm::worker`](crate::Rhythm::worker).
#[must_use = "a worker does nothing until it is started"]
pub struct WorkerBuilder {
    world: Arc<dyn World>,
    nearby: Arc<LocalWorker>,
    config: Config,
    queues: Vec<(String, usize)>,
    handlers: Handlers,
    node_types: Vec<NodeType>,
    fast: bool,
    patience: Duration,
}

/// A worker that is running. Dropping it stops it too, without waiting.
pub struct RunningWorker {
    id: WorkerId,
    stopper: Stopper,
    driver: Option<JoinHandle<WorldResult<()>>>,
}

impl WorkerBuilder {
    pub(crate) fn new(world: Arc<dyn World>, tenant: TenantId, nearby: Arc<LocalWorker>) -> Self {
        let host = host_name();
        let id = WorkerId::new(format!("{host}-{}-{}", std::process::id(), short_id()));
        let config = Config { tenant, ..Config::new(id) };
        Self {
            world,
            nearby,
            config,
            queues: Vec::new(),
            handlers: Handlers::default(),
            node_types: Vec::new(),
            fast: false,
            patience: PATIENCE,
        }
    }

    /// Takes tasks from this queue too. Without any call: from the queue `default`.
    pub fn queue(self, name: impl Into<String>) -> Self {
        self.queue_limit(name, usize::MAX)
    }

    /// Takes tasks from this queue, at most `limit` at once.
    pub fn queue_limit(mut self, name: impl Into<String>, limit: usize) -> Self {
        let name = name.into();
        self.queues.retain(|(known, _)| *known != name);
        self.queues.push((name, limit));
        self
    }

    /// The most tasks to run at once over all queues; 100 unless told.
    pub fn concurrency(mut self, most: usize) -> Self {
        self.config.concurrency = most;
        self
    }

    /// Shorter claims and heartbeats: a hung worker is given up after 5 s instead of 30 s.
    pub fn fast(mut self) -> Self {
        self.fast = true;
        self
    }

    /// How often to look for work that no wake-up told of; a second unless told.
    pub fn poll_interval(mut self, every: Duration) -> Self {
        self.config.poll = Millis(u64::try_from(every.as_millis()).unwrap_or(u64::MAX).max(1));
        self
    }

    /// How long running attempts may take to finish when the worker stops; 30 s unless told.
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Ended runs and tasks are kept this long; 30 days unless told.
    pub fn retention(mut self, keep: Duration) -> Self {
        self.config.keep = Millis(u64::try_from(keep.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Failed runs are kept this long, unless somebody dismisses them; 90 days unless told. Dead letters are kept until
    /// somebody decides about them, each with its run.
    pub fn failed_retention(mut self, keep: Duration) -> Self {
        self.config.keep_failed = Millis(u64::try_from(keep.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Large values that nothing refers to any more are kept this long; 3 days unless told.
    pub fn blob_grace(mut self, grace: Duration) -> Self {
        self.config.blob_grace = Millis(u64::try_from(grace.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Steps only this run and those below it, and does only their tasks.
    pub fn only(mut self, run: RunId) -> Self {
        self.config.only = Some(run);
        self
    }

    /// What listings show; unique among all workers. Made of host and process unless told.
    pub fn id(mut self, id: impl Into<WorkerId>) -> Self {
        self.config.worker = id.into();
        self
    }

    /// Handles tasks of this name with an async function.
    pub fn task<F, Fut, T, U, E>(self, name: impl Into<String>, function: F) -> Self
    where
        F: Fn(TaskContext, T) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<U, E>> + Send + 'static,
        T: DeserializeOwned + Send + 'static,
        U: Serialize + Send + 'static,
        E: Into<TaskError> + Send + 'static,
    {
        self.handler(name, Arc::new(AsyncTask::new(function)))
    }

    /// Handles tasks of this name with a function that may block its thread.
    pub fn blocking_task<F, T, U, E>(self, name: impl Into<String>, function: F) -> Self
    where
        F: Fn(TaskContext, T) -> Result<U, E> + Send + Sync + 'static,
        T: DeserializeOwned + Send + 'static,
        U: Serialize + Send + 'static,
        E: Into<TaskError> + Send + 'static,
    {
        self.handler(name, Arc::new(BlockingTask::new(function)))
    }

    /// Handles tasks of this name with raw payloads.
    pub fn handler(mut self, name: impl Into<String>, handler: Arc<dyn Handler>) -> Self {
        self.handlers.add(name, handler);
        self
    }

    /// What is so about tasks of this name unless they, or the workflow that asks for them, say otherwise.
    pub fn task_defaults(mut self, name: impl Into<String>, defaults: TaskDefaults) -> Self {
        self.handlers.set_defaults(name, defaults);
        self
    }

    /// Brings a type of node along: graphs may use it from now on, and its nodes are done by the task of its name. Give
    /// that task a handler too, and the worker the type's queue. A type with `max_concurrency` bounds how many tasks of its
    /// queue this worker does at once.
    pub fn node_type(mut self, kind: NodeType) -> Self {
        self.node_types.push(kind);
        self
    }

    /// The tasks it has handlers for.
    pub fn task_names(&self) -> Vec<String> {
        self.handlers.names()
    }

    /// Starts the worker beside the caller. The first heartbeat has been written when this returns.
    pub async fn start(self) -> Result<RunningWorker, Error> {
        let mut config = self.config;
        config.queues = match self.queues.is_empty() {
            true => vec![(DEFAULT_QUEUE.to_owned(), usize::MAX)],
            false => self.queues,
        };
        for kind in &self.node_types {
            let bounded = config.queues.iter_mut().filter(|(queue, _)| *queue == kind.queue);
            bounded.for_each(|(_, limit)| {
                *limit = kind.max_concurrency().map_or(*limit, |most| most.min(*limit))
            });
        }
        if self.fast {
            config = config.fast();
        }
        let id = config.worker.clone();
        if !self.node_types.is_empty() {
            let client =
                Client::new(self.world.clone(), config.tenant.clone(), Actor(format!("worker:{id}")));
            for kind in self.node_types {
                client.put_node_type(kind).await?;
            }
        }
        let time = WorldTime::new(Arc::new(HostClock::default()));
        let process = Arc::new(Process::new(self.world, config, Programs::default(), time));
        let worker = Arc::new(Worker::new(process.clone(), self.handlers, host_name(), std::process::id()));
        // The driver beats too, but its caller would learn of a refusal only when the worker stops.
        let driver = Driver::new(process, worker);
        driver.announce().await?;
        self.nearby.move_in(&driver);
        let (stopper, patience) = (driver.stopper(), self.patience);
        let driver = tokio::spawn(async move { driver.run(patience).await });
        Ok(RunningWorker { id, stopper, driver: Some(driver) })
    }

    /// Runs until `shutdown` resolves, then finishes or hands back what is running. Ends earlier, with an error,
    /// when the world broke for good.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        self.start().await?.stop_when(shutdown).await
    }
}

impl RunningWorker {
    pub fn id(&self) -> &WorkerId {
        &self.id
    }

    /// Takes on nothing new, waits for what is running, and hands back what takes too long.
    pub async fn stop(self) -> Result<(), Error> {
        self.stop_when(std::future::ready(())).await
    }

    /// Stops when `shutdown` resolves. Ends earlier, with an error, when the world broke for good.
    pub async fn stop_when(mut self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        let Some(mut driver) = self.driver.take() else { return Ok(()) };
        let ended = tokio::select! {
            ended = &mut driver => ended,
            () = shutdown => {
                self.stopper.stop();
                driver.await
            }
        };
        match ended {
            Ok(stopped) => Ok(stopped?),
            Err(died) => Err(Error::WorkerDied(died.to_string())),
        }
    }
}

impl Drop for RunningWorker {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}

/// The name of this machine, as workers and people on it are known.
pub fn host_name() -> String {
    let from_system = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = std::env::var("HOSTNAME").ok().or_else(from_system).unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}

/// The random end of a fresh id: tells two workers of one process apart.
fn short_id() -> String {
    let id = fresh_id();
    id[id.len() - 4..].to_owned()
}
