//! One worker process: the real driver on a simulated host.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rhythm_core::{Millis, WorkerId};
use rhythm_engine::client::Client;
use rhythm_engine::config::{Batches, Config};
use rhythm_engine::drive::{Driver, Stopper};
use rhythm_engine::host::{Host, Spawned};
use rhythm_engine::local_worker::LocalWorker;
use rhythm_engine::process::Process;
use rhythm_engine::programs::Programs;
use rhythm_engine::time::{Monotonic, WorldTime};
use rhythm_engine::worker::Worker;
use rhythm_engine::world::World;
use serde::{Deserialize, Serialize};

use crate::checks::Objection;
use crate::client::{ClientLog, client_on};
use crate::dice::Dice;
use crate::executor::{Kernel, Owner};
use crate::handlers::{Ledger, handlers};
use crate::network::Network;
use crate::plans::QUEUES;
use crate::sim_world::SimWorld;

/// Configuration of a process. It stays the same after each restart.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    pub name: String,
    pub hold: Millis,
    pub poll: Millis,
    pub concurrency: usize,
    pub run_batch: usize,
    /// Largest number of concurrent tasks by queue. A queue that is not listed has no limit of its own.
    #[serde(default)]
    pub limits: Vec<(String, usize)>,
    #[serde(default)]
    pub results: Batches,
    /// Drift of its monotonic clock against virtual time, in thousandths.
    pub drift: i64,
    /// Number of runs that each process in this place starts itself.
    #[serde(default)]
    pub own_starts: u64,
}

impl Setup {
    pub fn new(dice: &mut Dice, number: u64) -> Self {
        Self {
            name: format!("w{number}"),
            hold: Millis(dice.number(2_000..15_000)),
            poll: Millis(dice.number(500..3_000)),
            concurrency: dice.index(12) + 1,
            run_batch: dice.index(20) + 1,
            limits: limits(dice),
            results: results(dice),
            drift: i64::try_from(dice.number(0..41)).unwrap_or(0) - 20,
            own_starts: dice.number(0..4),
        }
    }

    /// Returns the largest number of concurrent tasks of a queue.
    pub fn room_for(&self, queue: &str) -> usize {
        let limit =
            self.limits.iter().find(|(name, _)| name == queue).map_or(usize::MAX, |(_, limit)| *limit);
        limit.min(self.concurrency)
    }

    /// A default setup, for histories that must not depend on random settings.
    pub fn plain(number: u64) -> Self {
        Self {
            name: format!("w{number}"),
            hold: Millis::from_secs(30),
            poll: Millis::from_secs(1),
            concurrency: 10,
            run_batch: 10,
            limits: Vec::new(),
            results: Batches::default(),
            drift: 0,
            own_starts: 0,
        }
    }
}

fn results(dice: &mut Dice) -> Batches {
    let (most, at_once, beside) = (dice.index(12) + 1, dice.index(4) + 1, dice.index(3) + 1);
    Batches { most, at_once, beside, few: most / 2 }
}

/// Gives a third of the queues a limit.
fn limits(dice: &mut Dice) -> Vec<(String, usize)> {
    let limited = QUEUES.iter().filter_map(|queue| {
        let limit = dice.index(4) + 1;
        dice.chance(0.33).then(|| ((*queue).to_owned(), limit))
    });
    limited.collect()
}

struct SimHost {
    kernel: Kernel,
    owner: Owner,
    dice: Mutex<Dice>,
}

impl Host for SimHost {
    fn spawn(&self, future: BoxFuture<'static, ()>) -> Box<dyn Spawned> {
        let number = self.kernel.spawn(self.owner, future);
        Box::new(Future { kernel: self.kernel.clone(), number })
    }

    fn sleep(&self, time: Millis) -> BoxFuture<'static, ()> {
        Box::pin(self.kernel.sleep(time.as_u64()))
    }

    fn spread(&self, limit: u64) -> u64 {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner).number(0..limit.max(1))
    }
}

struct Future {
    kernel: Kernel,
    number: u64,
}

impl Spawned for Future {
    fn abort(&self) {
        self.kernel.abort(self.number);
    }

    fn ended(self: Box<Self>) -> BoxFuture<'static, ()> {
        // The kernel carries out aborts before it polls anything else.
        Box::pin(self.kernel.sleep(0))
    }
}

/// Monotonic clock of one machine.
struct Drifting {
    kernel: Kernel,
    drift: i64,
}

impl Monotonic for Drifting {
    fn millis(&self) -> u64 {
        let now = self.kernel.now();
        let drift = i128::from(now) * i128::from(self.drift) / 1_000;
        u64::try_from(i128::from(now) + drift).unwrap_or_default()
    }
}

/// Starts a process, which runs as `owner` until it is stopped or killed. Returns also a client for code
/// inside the process.
pub fn boot(
    network: &Arc<Network>,
    ledger: &Arc<Ledger>,
    world: Arc<dyn World>,
    setup: &Setup,
    log: &Arc<ClientLog>,
    (owner, seed): (Owner, u64),
) -> (Stopper, Client) {
    let kernel = network.kernel.clone();
    let world: Arc<dyn World> = Arc::new(SimWorld::of_worker(network.clone(), owner, world));
    let mut config = Config::new(WorkerId::new(setup.name.clone()));
    config.incarnation = format!("{}#{}", setup.name, owner.0);
    config.queues = QUEUES.iter().map(|queue| ((*queue).to_owned(), setup.room_for(queue))).collect();
    config.results = setup.results;
    config.hold = setup.hold;
    config.beat = Millis(setup.hold.as_u64() / 5);
    config.silence = setup.hold;
    config.poll = setup.poll;
    config.concurrency = setup.concurrency;
    config.run_batch = setup.run_batch;
    config.grace = Millis(2_000);
    let clock = Arc::new(Drifting { kernel: kernel.clone(), drift: setup.drift });
    let nearby = Arc::<LocalWorker>::default();
    let client = client_on(world.clone(), log).beside(nearby.clone());
    let process = Arc::new(Process::new(world, config, Programs::default(), WorldTime::new(clock)));
    let worker = Worker::new(process.clone(), handlers(network, ledger, owner, seed), "sim".into(), owner.0);
    let dice = Mutex::new(Dice::new(seed, &format!("host of {}", owner.0)));
    let host = Arc::new(SimHost { kernel: kernel.clone(), owner, dice });
    let driver = Driver::on(host, process, Arc::new(worker));
    nearby.move_in(&driver);
    let stopper = driver.stopper();
    let life = {
        let network = network.clone();
        async move {
            // A world that is unavailable when the process stops is expected; any other error is not.
            match driver.run(Duration::from_secs(3)).await {
                Err(error) if !error.is_passing() => {
                    network.object(
                        "process",
                        Objection::general(format!("process p{} ended with: {error}", owner.0)),
                    );
                }
                _ => {}
            }
            kernel.kill(owner);
        }
    };
    network.kernel.spawn(owner, Box::pin(life));
    (stopper, client)
}
