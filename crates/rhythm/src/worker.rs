//! Builds and runs a worker: one engine that steps runs and one worker that performs tasks.

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

/// Default of [`WorkerBuilder::patience`].
const PATIENCE: Duration = Duration::from_secs(30);

/// Settings and handlers of a worker. Made by [`Rhythm::worker`](crate::Rhythm::worker), used up by
/// [`WorkerBuilder::start`].
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

/// A running worker. Dropping it tells the worker to stop but does not wait until it has.
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

    /// Adds a queue to take tasks from. Without any call the worker takes them from the queue `default` only.
    pub fn queue(self, name: impl Into<String>) -> Self {
        self.queue_limit(name, usize::MAX)
    }

    /// Adds a queue to take tasks from, and bounds how many of its tasks run in this worker at once. A second
    /// call for the same queue replaces the limit.
    pub fn queue_limit(mut self, name: impl Into<String>, limit: usize) -> Self {
        let name = name.into();
        self.queues.retain(|(known, _)| *known != name);
        self.queues.push((name, limit));
        self
    }

    /// Sets how many tasks run in this worker at once over all queues. The default is 100.
    pub fn concurrency(mut self, most: usize) -> Self {
        self.config.concurrency = most;
        self
    }

    /// Shortens claims and heartbeats, so that a hung worker loses its claims after 5 s instead of 30 s. The
    /// price is a heartbeat every second instead of every 5 s.
    pub fn fast(mut self) -> Self {
        self.fast = true;
        self
    }

    /// Sets how often the worker polls for work whose wake-up was lost. The default is 1 s.
    pub fn poll_interval(mut self, every: Duration) -> Self {
        self.config.poll = Millis(u64::try_from(every.as_millis()).unwrap_or(u64::MAX).max(1));
        self
    }

    /// Sets how long a stopping worker waits for running attempts before it hands them back. The default is
    /// 30 s.
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Sets how long ended runs and tasks are kept. The default is 30 days.
    pub fn retention(mut self, keep: Duration) -> Self {
        self.config.keep = Millis(u64::try_from(keep.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Sets how long failed runs are kept that no operator dismissed. The default is 90 days. A pending dead
    /// letter keeps its run until an operator requeues or discards it.
    pub fn failed_retention(mut self, keep: Duration) -> Self {
        self.config.keep_failed = Millis(u64::try_from(keep.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Sets how long unreferenced blobs (large values) are kept. The default is 3 days.
    pub fn blob_grace(mut self, grace: Duration) -> Self {
        self.config.blob_grace = Millis(u64::try_from(grace.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Restricts the worker to this run and its descendants: it steps no other run and performs no other
    /// task.
    pub fn only(mut self, run: RunId) -> Self {
        self.config.only = Some(run);
        self
    }

    /// Sets the worker's id, which listings show. No other worker may have it. The default is made of the
    /// host name, the process id and a random part.
    pub fn id(mut self, id: impl Into<WorkerId>) -> Self {
        self.config.worker = id.into();
        self
    }

    /// Registers an async function as the handler of all tasks of this name. A later registration of the name
    /// wins.
    ///
    /// The input is deserialized as `T` first. If it does not fit, the attempt fails with `BAD_PAYLOAD` and
    /// is not retried. A panic fails the attempt with the code `PANIC`.
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

    /// Registers a function that may block. Each attempt runs on a thread of Tokio's blocking pool; otherwise
    /// as [`WorkerBuilder::task`].
    pub fn blocking_task<F, T, U, E>(self, name: impl Into<String>, function: F) -> Self
    where
        F: Fn(TaskContext, T) -> Result<U, E> + Send + Sync + 'static,
        T: DeserializeOwned + Send + 'static,
        U: Serialize + Send + 'static,
        E: Into<TaskError> + Send + 'static,
    {
        self.handler(name, Arc::new(BlockingTask::new(function)))
    }

    /// Registers a handler that reads and writes raw payloads.
    pub fn handler(mut self, name: impl Into<String>, handler: Arc<dyn Handler>) -> Self {
        self.handlers.add(name, handler);
        self
    }

    /// Sets retries and timeouts for tasks of this name. They apply where neither the task nor its workflow
    /// sets its own.
    pub fn task_defaults(mut self, name: impl Into<String>, defaults: TaskDefaults) -> Self {
        self.handlers.set_defaults(name, defaults);
        self
    }

    /// Registers a node type when the worker starts. Graphs may use it from then on, and the task of the same
    /// name performs its nodes: give that task a handler, and add the type's queue to the worker. If the type
    /// has `max_concurrency`, this worker runs at most that many tasks of its queue at once.
    pub fn node_type(mut self, kind: NodeType) -> Self {
        self.node_types.push(kind);
        self
    }

    /// Returns the names of the tasks that have a handler.
    pub fn task_names(&self) -> Vec<String> {
        self.handlers.names()
    }

    /// Starts the worker in the background and returns after its first heartbeat was written.
    ///
    /// Waits while the world is unavailable, except to register node types. Fails if a node type is refused,
    /// such as one with the name of a built-in type, or if the world can no longer be used.
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
        // `run` sends the first heartbeat too, but then the caller would see an error of it only when the
        // worker stops.
        let driver = Driver::new(process, worker);
        driver.announce().await?;
        self.nearby.move_in(&driver);
        let (stopper, patience) = (driver.stopper(), self.patience);
        let driver = tokio::spawn(async move { driver.run(patience).await });
        Ok(RunningWorker { id, stopper, driver: Some(driver) })
    }

    /// Starts the worker, runs it until `shutdown` resolves, and stops it as [`RunningWorker::stop`] does.
    /// Ends early with an error if the world can no longer be used.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        self.start().await?.stop_when(shutdown).await
    }
}

impl RunningWorker {
    /// Returns the id that listings show.
    pub fn id(&self) -> &WorkerId {
        &self.id
    }

    /// Stops the worker: claims nothing more and waits for running attempts as long as
    /// [`WorkerBuilder::patience`] says. Then it signals
    /// [`Cancellation::Shutdown`](crate::Cancellation::Shutdown) to the rest, aborts what still runs 100 ms
    /// later, and hands those tasks back, so that other workers can claim them at once.
    ///
    /// Fails if the world can no longer be used, or with [`Error::WorkerDied`] after a panic in the worker
    /// itself.
    pub async fn stop(self) -> Result<(), Error> {
        self.stop_when(std::future::ready(())).await
    }

    /// Waits until `shutdown` resolves, then stops as [`RunningWorker::stop`] does. Ends early with an error
    /// if the world can no longer be used.
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

/// Returns this machine's name, which worker ids and default actors contain: `HOSTNAME`, else the kernel's
/// host name, else `localhost`.
pub fn host_name() -> String {
    let from_system = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = std::env::var("HOSTNAME").ok().or_else(from_system).unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}

/// Returns the random end of a fresh id. It distinguishes two workers of one process.
fn short_id() -> String {
    let id = fresh_id();
    id[id.len() - 4..].to_owned()
}
