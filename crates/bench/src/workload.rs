//! The measured workloads: a real driver in this process, handlers that do nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rhythm_core::{Actor, Failure, Payload, TenantId, WorkerId, WorkflowKind};
use rhythm_engine::client::{Client, EnqueueTask, StartRun, fresh_id};
use rhythm_engine::config::Config;
use rhythm_engine::drive::{Driver, HostClock, Stopper};
use rhythm_engine::error::EngineError;
use rhythm_engine::process::Process;
use rhythm_engine::programs::Programs;
use rhythm_engine::time::WorldTime;
use rhythm_engine::worker::{Handler, Handlers, TaskContext, Worker};
use rhythm_engine::world::World;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Tasks are enqueued in calls of this many.
const ENQUEUE_BATCH: usize = 100;

/// What a workload came to.
pub struct Measured {
    pub count: u64,
    pub wall: Duration,
    /// How often a handler ran more often than its task needed.
    pub repeated: u64,
}

impl Measured {
    pub fn per_s(&self) -> f64 {
        self.count as f64 / self.wall.as_secs_f64()
    }
}

/// Counts what is done and tells when all of it is.
#[derive(Default)]
pub struct Counter {
    done: AtomicU64,
    goal: AtomicU64,
    reached: Notify,
}

impl Counter {
    fn expect(&self, goal: u64) {
        self.goal.store(goal, Ordering::SeqCst);
    }

    pub fn done(&self) -> u64 {
        self.done.load(Ordering::SeqCst)
    }
}

struct Noop(Arc<Counter>);

#[async_trait]
impl Handler for Noop {
    async fn handle(&self, _: TaskContext, input: Payload) -> Result<Payload, Failure> {
        if self.0.done.fetch_add(1, Ordering::SeqCst) + 1 >= self.0.goal.load(Ordering::SeqCst) {
            self.0.reached.notify_one();
        }
        Ok(input)
    }
}

/// A driver that runs beside the measurement, on a tenant of its own.
pub struct Bench {
    pub client: Client,
    pub counter: Arc<Counter>,
    stopper: Stopper,
    running: JoinHandle<()>,
}

impl Bench {
    pub fn start(world: Arc<dyn World>, concurrency: usize) -> Self {
        let tenant = TenantId::new(format!("bench-{}", fresh_id()));
        let client = Client::new(world.clone(), tenant.clone(), Actor("user:bench".into()));
        let counter = Arc::new(Counter::default());
        let mut handlers = Handlers::default();
        handlers.add("noop", Arc::new(Noop(counter.clone())));
        let worker_id = WorkerId::new(format!("bench-{}", fresh_id()));
        let config = Config { tenant, concurrency, ..Config::new(worker_id) };
        let time = WorldTime::new(Arc::new(HostClock::default()));
        let process = Arc::new(Process::new(world, config, Programs::default(), time));
        let worker = Arc::new(Worker::new(process.clone(), handlers, "bench".into(), std::process::id()));
        let driver = Driver::new(process, worker);
        let stopper = driver.stopper();
        let running = tokio::spawn(async move {
            if let Err(error) = driver.run(Duration::from_secs(10)).await {
                tracing::error!(%error, "the bench worker stopped");
            }
        });
        Self { client, counter, stopper, running }
    }

    pub async fn stop(self) {
        self.stopper.stop();
        let _ = self.running.await;
    }

    /// Standalone tasks that do nothing; the time includes enqueueing them and writing their results.
    pub async fn tasks(&self, count: usize) -> Result<Measured, EngineError> {
        self.counter.expect(self.counter.done() + count as u64);
        let (before, began) = (self.counter.done(), Instant::now());
        let mut left = count;
        while left > 0 {
            let size = left.min(ENQUEUE_BATCH);
            let task = || EnqueueTask { name: "noop".into(), ..EnqueueTask::default() };
            self.client.enqueue_tasks((0..size).map(|_| task()).collect()).await?;
            left -= size;
        }
        self.counter.reached.notified().await;
        self.until_idle().await?;
        Ok(self.measured(count as u64, before, began))
    }

    /// Runs of sequential tasks that do nothing.
    pub async fn steps(&self, runs: usize, steps: u64) -> Result<Measured, EngineError> {
        let plan = format!(r#"{{"steps":[{{"repeat":{{"times":{steps},"task":{{"name":"noop"}}}}}}]}}"#);
        self.client.register("bench-steps", WorkflowKind::Drill, &plan).await?;
        let count = runs as u64 * steps;
        self.counter.expect(self.counter.done() + count);
        let (before, began) = (self.counter.done(), Instant::now());
        let mut left = runs;
        while left > 0 {
            let size = left.min(ENQUEUE_BATCH);
            let start = || StartRun { workflow: "bench-steps".into(), ..StartRun::default() };
            self.client.start_runs((0..size).map(|_| start()).collect()).await?;
            left -= size;
        }
        self.counter.reached.notified().await;
        self.until_idle().await?;
        Ok(self.measured(count, before, began))
    }

    /// Runs that end at once, or sleep for a long time: what a database fills up with.
    pub async fn fill(&self, plan: &str, runs: usize) -> Result<(), EngineError> {
        let name = "bench-fill".to_owned();
        self.client.register(&name, WorkflowKind::Drill, plan).await?;
        let mut left = runs;
        while left > 0 {
            let size = left.min(1_000);
            let start = || StartRun { workflow: name.clone(), ..StartRun::default() };
            self.client.start_runs((0..size).map(|_| start()).collect()).await?;
            left -= size;
        }
        self.until_idle().await
    }

    /// Until nothing is ready or running any more.
    async fn until_idle(&self) -> Result<(), EngineError> {
        use rhythm_engine::world::Upkeep;
        loop {
            let queues = self.client.world().queues(self.client.tenant()).await?;
            let busy: u64 = queues.iter().map(|queue| queue.ready + queue.running).sum();
            let sweep = Upkeep::Sweep { limit: 0 };
            let ready = self.client.world().upkeep(sweep).await?.runs_ready;
            if busy == 0 && !ready {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    fn measured(&self, count: u64, before: u64, began: Instant) -> Measured {
        let repeated = (self.counter.done() - before).saturating_sub(count);
        Measured { count, wall: began.elapsed(), repeated }
    }
}
