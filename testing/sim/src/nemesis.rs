//! Injects faults into processes and the world, and restarts processes that died.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rhythm_core::{Millis, Timestamp};
use rhythm_engine::client::Client;
use rhythm_engine::drive::Stopper;
use rhythm_engine::world::{Clock, World};

use crate::client::{Caller, ClientLog, client_on};
use crate::dice::Dice;
use crate::executor::{Kernel, NOBODY, Owner};
use crate::faults::Fault;
use crate::handlers::Ledger;
use crate::network::Network;
use crate::process::{Setup, boot};
use crate::sim_world::SimWorld;
use crate::workload::{Act, Action};

/// World clock: virtual time plus the sum of its jumps.
pub struct WorldClock {
    kernel: Kernel,
    offset: AtomicI64,
}

/// World time at the start. Calendar rules need a real date.
const EPOCH: i64 = 1_794_744_000_000;

impl WorldClock {
    pub fn new(kernel: Kernel) -> Self {
        Self { kernel, offset: AtomicI64::new(0) }
    }

    fn jump(&self, by: i64) {
        self.offset.fetch_add(by, Ordering::SeqCst);
    }
}

impl Clock for WorldClock {
    fn now(&self) -> Timestamp {
        let now = i64::try_from(self.kernel.now()).unwrap_or(i64::MAX);
        Timestamp::from_millis(EPOCH + now + self.offset.load(Ordering::SeqCst))
    }
}

/// Opens a world handle of its own for each process.
pub type Doors = Arc<dyn Fn() -> Arc<dyn World> + Send + Sync>;

pub struct Nemesis {
    pub seed: u64,
    pub network: Arc<Network>,
    pub ledger: Arc<Ledger>,
    pub log: Arc<ClientLog>,
    pub clock: Arc<WorldClock>,
    pub doors: Doors,
    pub actions: Arc<Vec<Action>>,
    pub owners: AtomicU32,
    /// The process that runs in each place now.
    pub places: Mutex<BTreeMap<usize, (Owner, Stopper)>>,
    /// Processes that were asked to stop.
    pub stopping: Mutex<BTreeSet<Owner>>,
}

impl Nemesis {
    fn next_owner(&self) -> Owner {
        Owner(self.owners.fetch_add(1, Ordering::SeqCst) + 1)
    }

    /// Keeps one place occupied: a process that dies is replaced by another one, mostly with the same name.
    pub async fn keep_process(self: Arc<Self>, setup: Setup, place: usize) {
        let mut dice = Dice::new(self.seed, &format!("place {place}"));
        loop {
            let owner = self.next_owner();
            let mut setup = setup.clone();
            if dice.chance(0.3) {
                setup.name = format!("{}-{}", setup.name, owner.0);
            }
            self.network.trace.mark(owner, "process starts", || setup.name.clone());
            let door = (self.doors)();
            let (stopper, client) =
                boot(&self.network, &self.ledger, door, &setup, &self.log, (owner, self.seed));
            self.occupy(place, owner, stopper);
            if setup.own_starts > 0 {
                let starts = self.clone().start_within(owner, client, setup.own_starts);
                self.network.kernel.spawn(owner, Box::pin(starts));
            }
            while !self.network.kernel.is_dead(owner) {
                self.network.kernel.sleep(100).await;
            }
            self.network.trace.mark(owner, "process is gone", String::new);
            self.network.kernel.sleep(dice.skewed(10_000)).await;
        }
    }

    /// Starts runs from within a worker process: the same kinds of runs as clients start, under names of
    /// their own.
    async fn start_within(self: Arc<Self>, owner: Owner, client: Client, count: u64) {
        let dice = Dice::new(self.seed, &format!("starts of {}", owner.0));
        let (network, log) = (self.network.clone(), self.log.clone());
        let mut caller = Caller { owner, network, client, log, dice };
        for number in 0..count {
            self.network.kernel.sleep(caller.dice.skewed(20_000)).await;
            if self.network.faults().is_calm() || self.actions.is_empty() {
                return;
            }
            let action = caller.dice.pick(&self.actions);
            if let Act::Start { workflow, input, priority, .. } = &action.act {
                let start = Act::Start {
                    run: format!("p{}-{number}", owner.0),
                    workflow: workflow.clone(),
                    input: input.clone(),
                    delay: Millis::ZERO,
                    deadline: None,
                    priority: *priority,
                };
                caller.until_known(&start).await;
            }
        }
    }

    /// Keeps a client running until all actions are done.
    pub async fn keep_client(self: Arc<Self>) {
        let mut dice = Dice::new(self.seed, "client");
        while self.log.done() < self.actions.len() {
            let owner = self.next_owner();
            let world = Arc::new(SimWorld::new(self.network.clone(), owner, (self.doors)()));
            let client = client_on(world, &self.log);
            let (network, log) = (self.network.clone(), self.log.clone());
            let purpose = Dice::new(self.seed, &format!("client {}", owner.0));
            let caller = Caller { owner, network, client, log, dice: purpose };
            let (actions, kernel) = (self.actions.clone(), self.network.kernel.clone());
            let life = async move {
                caller.work(actions).await;
                kernel.kill(owner);
            };
            self.network.kernel.spawn(owner, Box::pin(life));
            while !self.network.kernel.is_dead(owner) {
                self.network.kernel.sleep(100).await;
            }
            self.network.kernel.sleep(dice.skewed(2_000)).await;
        }
    }

    /// Draws faults for a random process and for the world, every 0.2 to 2 seconds.
    pub async fn strike(self: Arc<Self>) {
        let mut dice = Dice::new(self.seed, "nemesis");
        while !self.network.faults().is_calm() {
            self.network.kernel.sleep(dice.number(200..2_000)).await;
            if let Some((victim, stopper)) = self.victim(&mut dice) {
                self.strike_process(victim, &stopper, &mut dice);
            }
            self.strike_world(&mut dice);
        }
    }

    /// Returns a random process that is neither dead nor stopped.
    fn victim(&self, dice: &mut Dice) -> Option<(Owner, Stopper)> {
        let kernel = &self.network.kernel;
        let places = self.places();
        let living: Vec<&(Owner, Stopper)> = places
            .values()
            .filter(|(owner, _)| !kernel.is_dead(*owner) && !kernel.is_stopped(*owner))
            .collect();
        (!living.is_empty()).then(|| (*dice.pick(&living)).clone())
    }

    fn strike_process(self: &Arc<Self>, victim: Owner, stopper: &Stopper, dice: &mut Dice) {
        let (network, kernel) = (&self.network, &self.network.kernel);
        if network.strikes(victim, Fault::Crash, String::new) {
            kernel.kill(victim);
        } else if !self.is_stopping(victim) && network.strikes(victim, Fault::Restart, String::new) {
            self.stopping.lock().unwrap_or_else(PoisonError::into_inner).insert(victim);
            stopper.stop();
        } else if network.draws(Fault::Pause) {
            let time = dice.number(1_000..40_000);
            network.strike(victim, Fault::Pause, || format!("for {time} ms"));
            kernel.stop(victim);
            let network = network.clone();
            let wake = async move {
                network.kernel.sleep(time).await;
                network.trace.mark(victim, "wakes up", String::new);
                network.wakes_up(victim);
                network.kernel.let_go(victim);
            };
            kernel.spawn(NOBODY, Box::pin(wake));
        }
    }

    fn is_stopping(&self, owner: Owner) -> bool {
        self.stopping.lock().unwrap_or_else(PoisonError::into_inner).contains(&owner)
    }

    fn strike_world(&self, dice: &mut Dice) {
        let network = &self.network;
        let length = i64::try_from(dice.skewed(3_600_000)).unwrap_or_default().max(1_000);
        if network.strikes(NOBODY, Fault::ClockForward, || format!("by {length} ms")) {
            self.clock.jump(length);
        }
        // World time stands still while the clock is behind its high-water mark. A step back is at most a
        // minute, because the calm phase waits for world time.
        let back = length / 60;
        if network.strikes(NOBODY, Fault::ClockBack, || format!("by {back} ms")) {
            self.clock.jump(-back);
        }
        let time = dice.skewed(20_000) + 100;
        if network.strikes(NOBODY, Fault::Outage, || format!("for {time} ms")) {
            network.fail_until(network.kernel.now() + time);
        }
    }

    /// Ends all faults: wakes up stopped processes and switches the faults off.
    pub fn calm_down(&self) {
        self.network.faults().calm_down();
        self.network.fail_until(0);
        for (owner, _) in self.places().values() {
            if self.network.kernel.is_stopped(*owner) {
                self.network.befalls(*owner);
                self.network.kernel.let_go(*owner);
            }
        }
    }

    fn occupy(&self, place: usize, owner: Owner, stopper: Stopper) {
        self.places().insert(place, (owner, stopper));
    }

    fn places(&self) -> MutexGuard<'_, BTreeMap<usize, (Owner, Stopper)>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
