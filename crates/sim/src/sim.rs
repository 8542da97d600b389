//! One simulation from seed to verdict: chaos, calm, judgement.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rhythm_core::{RunId, WorkflowKind};
use rhythm_engine::client::Client;
use rhythm_engine::error::EngineError;
use rhythm_engine::memory::MemoryWorld;
use rhythm_engine::world::{Clock, TaskQuery, TaskSummary, World as _};

use crate::caretaker::{Caretaker, all_runs};
use crate::checks::{Fold, Seen, View, Violation};
use crate::client::{ClientLog, client_on};
use crate::dice::Dice;
use crate::faults::{Fault, Faults};
use crate::handlers::Ledger;
use crate::kernel::{Executor, NOBODY};
use crate::nemesis::{Doors, Nemesis, WorldClock};
use crate::network::Network;
use crate::process::Setup;
use crate::sim_world::SimWorld;
use crate::trace::{Line, Trace};
use crate::workload::{Action, Workload};

/// The calm may last this long; what has not ended then never will.
const CALM_MS: u64 = 2 * 3_600_000;

/// What to simulate.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub seed: u64,
    /// Faults left out, whatever the seed says.
    pub without: BTreeSet<Fault>,
    /// Actions left out, by their place.
    pub skipped: BTreeSet<usize>,
    /// Keep lines to read.
    pub readable: bool,
}

/// What came of it.
pub struct Outcome {
    pub seed: u64,
    pub violations: Vec<Violation>,
    pub transitions: u64,
    pub faults: BTreeMap<Fault, u64>,
    pub tally: BTreeMap<&'static str, u64>,
    pub runs: usize,
    pub virtual_ms: u64,
    /// The same for the same seed and commit.
    pub digest: u64,
    pub lines: Vec<Line>,
    /// Every history as text.
    pub histories: BTreeMap<RunId, String>,
}

/// Where a simulation takes place.
pub struct Place {
    pub doors: Doors,
    /// Where the requests of a real world are waited for.
    pub runtime: Option<tokio::runtime::Handle>,
}

/// With faults, on the in-memory world.
pub fn simulate(options: &Options) -> Outcome {
    let workload = Workload::new(options.seed, false);
    let faults = Faults::new(options.seed, &options.without);
    run(options, workload, faults, |clock| {
        let memory = MemoryWorld::new(Some(clock));
        let hints = memory.wakeups();
        let place = Place { doors: Arc::new(move || Arc::new(memory.handle())), runtime: None };
        (place, Some(hints))
    })
}

/// Without faults, on any world: the histories are the same on all of them.
pub fn simulate_on(options: &Options, open: impl FnOnce(Arc<dyn Clock>) -> Place) -> Outcome {
    let workload = Workload::new(options.seed, true);
    run(options, workload, Faults::none(), |clock| (open(clock), None))
}

fn run(
    options: &Options,
    workload: Workload,
    faults: Faults,
    open: impl FnOnce(Arc<dyn Clock>) -> (Place, Option<rhythm_engine::world::Wakeups>),
) -> Outcome {
    let seed = options.seed;
    let tame = faults.is_calm();
    let mut executor = Executor::new(Dice::new(seed, "scheduler"));
    let kernel = executor.kernel();
    let clock = Arc::new(WorldClock::new(kernel.clone()));
    let (place, hints) = open(clock.clone());
    let trace = Trace::new(kernel.clone(), options.readable);
    let mut network = Network::new(kernel.clone(), trace, faults, Dice::new(seed, "network"));
    if let Some(runtime) = place.runtime {
        network = network.with_runtime(runtime);
    }
    let network = Arc::new(network);
    if let Some(hints) = hints {
        network.listen(hints);
    }
    let chaos_ms = workload.chaos_ms;
    let (nemesis, outside) = assemble(options, &network, workload, clock, place.doors);
    let mut dice = Dice::new(seed, "setups");
    for number in 0..dice.number(2..4) {
        let place = usize::try_from(number).unwrap_or_default();
        let setup = match tame {
            true => Setup { name: format!("w{number}"), ..Setup::plain() },
            false => Setup::new(&mut dice, u32::try_from(number).unwrap_or_default()),
        };
        kernel.spawn(NOBODY, Box::pin(nemesis.clone().keep_process(setup, place)));
    }
    kernel.spawn(NOBODY, Box::pin(nemesis.clone().keep_client()));
    kernel.spawn(NOBODY, Box::pin(nemesis.clone().strike()));
    executor.run(chaos_ms, || false);
    nemesis.calm_down();
    network.trace.note(NOBODY, "calm", 0, String::new);
    let all_told = {
        let nemesis = nemesis.clone();
        move || nemesis.log.done() >= nemesis.actions.len()
    };
    executor.run(kernel.now() + CALM_MS, all_told);
    let done = Arc::new(AtomicBool::new(false));
    // What the caretaker does is seen by the checkers, too.
    let world = Arc::new(SimWorld::new(network.clone(), NOBODY, (nemesis.doors)()));
    let client = client_on(world, &nemesis.log);
    let caretaker =
        Caretaker { network: network.clone(), client, done: done.clone(), requeued: BTreeSet::new() };
    kernel.spawn(NOBODY, Box::pin(caretaker.work()));
    executor.run(kernel.now() + CALM_MS, || done.load(Ordering::SeqCst));
    judge(options, &network, &nemesis, &outside)
}

fn assemble(
    options: &Options,
    network: &Arc<Network>,
    workload: Workload,
    clock: Arc<WorldClock>,
    doors: Doors,
) -> (Arc<Nemesis>, Client) {
    let log = Arc::new(ClientLog::default());
    let outside = client_on(doors(), &log);
    for (name, source) in &workload.workflows {
        let registered = network.wait(outside.register(name, WorkflowKind::Drill, source));
        registered.expect("a new world takes definitions");
    }
    let kept = |(place, action): (usize, Action)| (!options.skipped.contains(&place)).then_some(action);
    let actions: Vec<Action> = workload.actions.into_iter().enumerate().filter_map(kept).collect();
    let nemesis = Nemesis {
        seed: options.seed,
        network: network.clone(),
        ledger: Arc::default(),
        log,
        clock,
        doors,
        actions: Arc::new(actions),
        owners: AtomicU32::new(0),
        places: Mutex::default(),
    };
    (Arc::new(nemesis), outside)
}

fn judge(options: &Options, network: &Arc<Network>, nemesis: &Nemesis, client: &Client) -> Outcome {
    let runs = network.wait(everything(client)).expect("the world can be read");
    let tasks = network.wait(tasks(client)).expect("the world can be read");
    let queues = network.wait(client.world().queues(client.tenant())).unwrap_or_default();
    let schedules = network.wait(client.world().schedules(client.tenant())).unwrap_or_default();
    let ids: Vec<RunId> = runs.keys().cloned().collect();
    let ledger: &Ledger = &nemesis.ledger;
    let view = View { runs, tasks, queues, schedules, ledger, client: &nemesis.log };
    let mut checks = network.checks.lock().unwrap_or_else(PoisonError::into_inner);
    checks.ended(&view);
    Fold { network, client }.look(&ids, &mut checks);
    let histories: BTreeMap<RunId, String> = view
        .runs
        .into_iter()
        .map(|(run, seen)| (run, serde_json::to_string_pretty(&seen.history).unwrap_or_default()))
        .collect();
    let sealed: Vec<&str> = histories.values().map(String::as_str).collect();
    Outcome {
        seed: options.seed,
        violations: checks.found().to_vec(),
        transitions: checks.transitions,
        faults: network.faults().counts().clone(),
        tally: checks.tally.clone(),
        runs: ids.len(),
        virtual_ms: network.kernel.now(),
        digest: network.trace.seal(&sealed.concat()),
        lines: network.trace.lines(),
        histories,
    }
}

async fn everything(client: &Client) -> Result<BTreeMap<RunId, Seen>, EngineError> {
    let mut runs = BTreeMap::new();
    for summary in all_runs(client).await? {
        let picture = client.picture(&summary.id).await?;
        let history = client.history(&summary.id).await?;
        runs.insert(summary.id, Seen { picture, history });
    }
    Ok(runs)
}

async fn tasks(client: &Client) -> Result<Vec<TaskSummary>, EngineError> {
    let query = TaskQuery { tenant: client.tenant().clone(), limit: 500, ..TaskQuery::default() };
    Ok(client.world().list_tasks(query).await?.rows)
}
