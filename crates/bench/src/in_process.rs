//! A worker inside the measuring process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rhythm_core::{Actor, TenantId, WorkerId};
use rhythm_engine::client::Client;
use rhythm_engine::config::Config;
use rhythm_engine::drive::{Driver, HostClock, Stopper};
use rhythm_engine::local_worker::LocalWorker;
use rhythm_engine::process::Process;
use rhythm_engine::programs::Programs;
use rhythm_engine::time::WorldTime;
use rhythm_engine::worker::{Handlers, Worker};
use rhythm_engine::world::World;
use rhythm_engine::write_stats::Written;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;

use crate::handler::{self, Noop, Pass};
use crate::wait::{Look, until};
use crate::{BenchError, scratch_db};

/// Time running attempts may take to finish when a worker stops.
pub const PATIENCE: Duration = Duration::from_secs(10);

pub struct InProcess {
    pub client: Client,
    executions: Arc<AtomicU64>,
    process: Arc<Process>,
    stopper: Stopper,
    driver: Option<JoinHandle<()>>,
}

/// Times at which handlers were entered.
pub type Entries = UnboundedReceiver<Instant>;

impl InProcess {
    /// Starts a worker on a new tenant.
    pub async fn start(world: &Arc<dyn World>, concurrency: u32) -> Result<Self, BenchError> {
        Self::of(world, scratch_db::fresh_tenant(), concurrency).await
    }

    /// Starts a worker on a tenant that may have been used before.
    pub async fn of(world: &Arc<dyn World>, tenant: TenantId, concurrency: u32) -> Result<Self, BenchError> {
        Self::with(world, tenant, concurrency, Noop::default()).await
    }

    /// Starts a worker and returns also the times at which handlers were entered.
    pub async fn watched(world: &Arc<dyn World>, concurrency: u32) -> Result<(Self, Entries), BenchError> {
        let (entries, entered) = unbounded_channel();
        let noop = Noop { entries: Some(entries), ..Noop::default() };
        Ok((Self::with(world, scratch_db::fresh_tenant(), concurrency, noop).await?, entered))
    }

    async fn with(
        world: &Arc<dyn World>,
        tenant: TenantId,
        concurrency: u32,
        noop: Noop,
    ) -> Result<Self, BenchError> {
        let executions = noop.executions.clone();
        let (process, driver) = assemble(world.clone(), tenant.clone(), concurrency, noop);
        // The measurement must not include the start of the worker.
        driver.announce().await?;
        let (nearby, stopper) = (Arc::<LocalWorker>::default(), driver.stopper());
        nearby.move_in(&driver);
        let driver = tokio::spawn(async move {
            if let Err(error) = driver.run(PATIENCE).await {
                tracing::error!(%error, "the bench worker stopped");
            }
        });
        let client = client(world.clone(), tenant).beside(nearby);
        Ok(Self { client, executions, process, stopper, driver: Some(driver) })
    }

    /// Returns the number of handler executions.
    pub fn executions(&self) -> u64 {
        self.executions.load(Ordering::Relaxed)
    }

    pub fn written(&self) -> Written {
        self.process.meter.written()
    }

    /// Waits until `enough`, but not for a worker that is stuck.
    pub async fn until(&self, mut enough: impl FnMut(&Written) -> bool) -> Result<(), BenchError> {
        until(async || {
            let written = self.written();
            Ok(Look { done: enough(&written), moved: written.items + self.executions() })
        })
        .await
    }

    pub async fn until_ended(&self, runs: u64) -> Result<(), BenchError> {
        self.until(|written| written.ended >= runs).await
    }

    pub async fn stop(mut self) {
        self.stopper.stop();
        if let Some(driver) = self.driver.take() {
            let _ = driver.await;
        }
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}

pub fn client(world: Arc<dyn World>, tenant: TenantId) -> Client {
    Client::new(world, tenant, Actor("user:bench".into()))
}

/// Assembles a complete worker with the handlers that do nothing.
pub fn assemble(
    world: Arc<dyn World>,
    tenant: TenantId,
    concurrency: u32,
    noop: Noop,
) -> (Arc<Process>, Arc<Driver>) {
    let mut handlers = Handlers::default();
    handlers.add(handler::PASS, Arc::new(Pass(noop.clone())));
    handlers.add(handler::NAME, Arc::new(noop));
    let id = WorkerId::new(scratch_db::fresh_name());
    let config = Config { tenant, concurrency: concurrency as usize, ..Config::new(id) };
    let time = WorldTime::new(Arc::new(HostClock::default()));
    let process = Arc::new(Process::new(world, config, Programs::default(), time));
    let worker = Arc::new(Worker::new(process.clone(), handlers, "bench".into(), std::process::id()));
    let driver = Driver::new(process.clone(), worker);
    (process, driver)
}
