//! One simulation from seed to verdict: faults, calm, checks.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rhythm_core::{Millis, RunId, WorkflowKind};
use rhythm_engine::client::Client;
use rhythm_engine::definitions::define;
use rhythm_engine::error::EngineError;
use rhythm_engine::memory::MemoryWorld;
use rhythm_engine::world::{Clock, LetterStatus, Upkeep, Wakeups, World as _};

use crate::case::Case;
use crate::checks::{Checks, Fold, Objection, Seen, Sketch, View, Violation};
use crate::client::{ClientLog, client_on};
use crate::collector::{collect_all, keep_collecting};
use crate::dice::Dice;
use crate::drain::Caretaker;
use crate::executor::{Executor, NOBODY, Rest, panic_text};
use crate::faults::{Fault, Faults};
use crate::listing;
use crate::nemesis::{Doors, Nemesis, WorldClock};
use crate::network::Network;
use crate::sim_world::SimWorld;
use crate::trace::{Line, Trace};
use crate::workload::Workload;

/// Limit of the calm phase. A run that has not ended by then never will.
const CALM_MS: u64 = 2 * 3_600_000;
/// Time without help from the caretaker; longer than any timer, delay or lease of a workload.
const QUIET_MS: u64 = 150_000;

/// Result of a simulation.
pub struct Outcome {
    pub seed: u64,
    pub violations: Vec<Violation>,
    pub transitions: u64,
    pub faults: BTreeMap<Fault, u64>,
    pub tally: BTreeMap<&'static str, u64>,
    pub runs: usize,
    /// Number of runs by final status.
    pub statuses: BTreeMap<&'static str, u64>,
    pub virtual_ms: u64,
    /// Digest of the trace; equal for the same case and commit.
    pub digest: u64,
    pub lines: Vec<Line>,
    /// Every history as text.
    pub histories: BTreeMap<RunId, String>,
    /// State of every run, including the snapshot's bytes.
    pub states: BTreeMap<RunId, String>,
}

/// World on which a simulation runs.
pub struct Place {
    pub doors: Doors,
    /// Runtime on which requests to a real world are awaited.
    pub runtime: Option<tokio::runtime::Handle>,
}

/// Simulates a case with faults on the in-memory world.
pub fn simulate(case: &Case, readable: bool) -> Outcome {
    guarded(case, || {
        let faults = Faults::new(case.seed, &case.rates);
        run(case, readable, faults, |clock| {
            let memory = MemoryWorld::new(Some(clock));
            let hints = memory.wakeups();
            let place = Place { doors: Arc::new(move || Arc::new(memory.handle())), runtime: None };
            (place, Some(hints))
        })
    })
}

/// Simulates a case without faults on any world. The histories are the same on all worlds.
pub fn simulate_on(case: &Case, readable: bool, open: impl FnOnce(Arc<dyn Clock>) -> Place) -> Outcome {
    guarded(case, || run(case, readable, Faults::none(), |clock| (open(clock), None)))
}

/// Turns a panic outside of all futures into a violation.
fn guarded(case: &Case, simulation: impl FnOnce() -> Outcome) -> Outcome {
    catch_unwind(AssertUnwindSafe(simulation)).unwrap_or_else(|panic| Outcome {
        seed: case.seed,
        violations: vec![Violation { check: "panic", what: panic_text(&*panic), about: Vec::new() }],
        transitions: 0,
        faults: BTreeMap::new(),
        tally: BTreeMap::new(),
        runs: 0,
        statuses: BTreeMap::new(),
        virtual_ms: 0,
        digest: 0,
        lines: Vec::new(),
        histories: BTreeMap::new(),
        states: BTreeMap::new(),
    })
}

fn run(
    case: &Case,
    readable: bool,
    faults: Faults,
    open: impl FnOnce(Arc<dyn Clock>) -> (Place, Option<Wakeups>),
) -> Outcome {
    let tame = faults.is_calm();
    let mut executor = Executor::new(Dice::new(case.seed, "scheduler"));
    let kernel = executor.kernel();
    let clock = Arc::new(WorldClock::new(kernel.clone()));
    let (place, hints) = open(clock.clone());
    let trace = Trace::new(kernel.clone(), readable);
    let checks = Checks::new(sketches(&case.workload));
    let mut network = Network::new(kernel.clone(), trace, faults, Dice::new(case.seed, "network"), checks);
    if let Some(runtime) = place.runtime {
        network = network.with_runtime(runtime);
    }
    let network = Arc::new(network);
    if let Some(hints) = hints {
        network.listen(hints);
    }
    let (nemesis, outside) = assemble(case, &network, clock, place.doors);
    for (place, setup) in case.setups.iter().enumerate() {
        kernel.spawn(NOBODY, Box::pin(nemesis.clone().keep_process(setup.clone(), place)));
    }
    kernel.spawn(NOBODY, Box::pin(nemesis.clone().keep_client()));
    kernel.spawn(NOBODY, Box::pin(nemesis.clone().strike()));
    if !tame {
        let dice = Dice::new(case.seed, "collector");
        kernel.spawn(NOBODY, Box::pin(keep_collecting(network.clone(), (nemesis.doors)(), dice)));
    }
    let played = play(case, &mut executor, &nemesis, &outside, tame);
    judge(case, &nemesis, &outside, played)
}

/// The simulation was stopped early by a panic or a livelock.
struct BrokenOff;

/// Plays the faults and the calm, then lets the caretaker help waiting runs.
fn play(
    case: &Case,
    executor: &mut Executor,
    nemesis: &Arc<Nemesis>,
    outside: &Client,
    tame: bool,
) -> Result<(), BrokenOff> {
    let (network, kernel) = (&nemesis.network, &nemesis.network.kernel);
    let mut turn = |until: u64, done: &dyn Fn() -> bool| match executor.run(until, done) {
        Rest::Panicked(owner, text) => {
            network.object("panic", Objection::general(format!("p{} panicked: {text}", owner.0)));
            Err(BrokenOff)
        }
        Rest::Livelock => {
            let what = format!("nothing comes to rest at {} ms: a livelock", kernel.now());
            network.object("livelock", Objection::general(what));
            Err(BrokenOff)
        }
        Rest::Done | Rest::TimeUp | Rest::Silence => Ok(()),
    };
    turn(case.workload.chaos_ms, &|| false)?;
    nemesis.calm_down();
    network.trace.mark(NOBODY, "calm", String::new);
    turn(kernel.now() + CALM_MS, &|| nemesis.log.done() >= nemesis.actions.len())?;
    if !tame {
        // The caretaker starts only after everything that is due by itself has happened: its help could hide
        // that the engine forgot something. World time is awaited, too, because it may stand still after a
        // clock was set back.
        let world_now = || network.wait(outside.world().now()).unwrap_or_default();
        let (end, quiet) = (kernel.now() + CALM_MS, world_now().plus(Millis(QUIET_MS)));
        while kernel.now() < end && world_now() < quiet {
            turn(kernel.now() + QUIET_MS / 3, &|| false)?;
        }
        let view = look_around(nemesis, outside);
        network.checks.lock().unwrap_or_else(PoisonError::into_inner).settled(&view);
    }
    let done = Arc::new(AtomicBool::new(false));
    // Requests of the caretaker are shown to the checkers, too.
    let world = Arc::new(SimWorld::new(network.clone(), NOBODY, (nemesis.doors)()));
    let client = client_on(world, &nemesis.log);
    let caretaker =
        Caretaker { network: network.clone(), client, done: done.clone(), requeued: BTreeSet::new() };
    kernel.spawn(NOBODY, Box::pin(caretaker.work()));
    turn(kernel.now() + CALM_MS, &|| done.load(Ordering::SeqCst))
}

/// Returns the tasks and timers each workflow may ask for, read from the workload.
fn sketches(workload: &Workload) -> BTreeMap<String, Sketch> {
    let read = workload.workflows.iter().map(|(name, source)| {
        (name.clone(), Sketch::of(source).expect("the workload has readable programs"))
    });
    read.collect()
}

/// Returns the kind of a workflow. Drills and graphs are JSON; a flow has its plan in its first line.
fn kind(source: &str) -> WorkflowKind {
    match Sketch::of(source) {
        Some(Sketch::Graph(_)) => WorkflowKind::Graph,
        Some(Sketch::Plan(_)) if source.starts_with('{') => WorkflowKind::Drill,
        _ => WorkflowKind::Flow,
    }
}

fn assemble(
    case: &Case,
    network: &Arc<Network>,
    clock: Arc<WorldClock>,
    doors: Doors,
) -> (Arc<Nemesis>, Client) {
    let log = Arc::new(ClientLog::default());
    let outside = client_on(doors(), &log);
    for (name, source) in &case.workload.workflows {
        let defined = define(name, kind(source), source).expect("the workload has sound programs");
        let registered = network.wait(outside.register_defined(defined));
        registered.expect("a new world takes definitions");
    }
    let nemesis = Nemesis {
        seed: case.seed,
        network: network.clone(),
        ledger: Arc::default(),
        log,
        clock,
        doors,
        actions: Arc::new(case.workload.actions.clone()),
        owners: AtomicU32::new(0),
        places: Mutex::default(),
        stopping: Mutex::default(),
    };
    (Arc::new(nemesis), outside)
}

/// Reads the state of the world and the logs.
fn look_around<'a>(nemesis: &'a Nemesis, client: &Client) -> View<'a> {
    let network = &nemesis.network;
    View {
        now: network.wait(client.world().now()).expect("the world can be read"),
        runs: network.wait(everything(client)).expect("the world can be read"),
        tasks: network.wait(listing::tasks(client)).expect("the world can be read"),
        letters: network.wait(listing::failures(client)).expect("the world can be read"),
        queues: network.wait(client.world().queues(client.tenant())).expect("the world can be read"),
        schedules: network.wait(client.world().schedules(client.tenant())).expect("the world can be read"),
        workflows: network.wait(client.world().workflows(client.tenant())).expect("the world can be read"),
        virtual_ms: network.kernel.now(),
        ledger: &nemesis.ledger,
        client: &nemesis.log,
    }
}

fn judge(case: &Case, nemesis: &Nemesis, client: &Client, played: Result<(), BrokenOff>) -> Outcome {
    let network = &nemesis.network;
    let mut histories: BTreeMap<RunId, String> = BTreeMap::new();
    let mut states: BTreeMap<RunId, String> = BTreeMap::new();
    let mut statuses: BTreeMap<&'static str, u64> = BTreeMap::new();
    // A simulation that was stopped early has no final state to check.
    if played.is_ok() {
        let view = look_around(nemesis, client);
        let ids: Vec<RunId> = view.runs.keys().cloned().collect();
        let mut checks = network.checks.lock().unwrap_or_else(PoisonError::into_inner);
        checks.ended(&view);
        drop(checks);
        network.wait(collect_all(network, &**client.world()));
        let mut checks = network.checks.lock().unwrap_or_else(PoisonError::into_inner);
        Fold { network, client }.look(&ids, &mut checks);
        forget(network, client, &view, &mut checks);
        for (run, seen) in view.runs {
            *statuses.entry(seen.picture.summary.status.as_str()).or_default() += 1;
            states.insert(run.clone(), format!("{:?}", seen.picture.row.state));
            histories.insert(run, serde_json::to_string_pretty(&seen.history).unwrap_or_default());
        }
    }
    let checks = network.checks.lock().unwrap_or_else(PoisonError::into_inner);
    let sealed: Vec<&str> = histories.values().map(String::as_str).collect();
    Outcome {
        seed: case.seed,
        violations: checks.found().to_vec(),
        transitions: checks.transitions,
        faults: network.faults().counts().clone(),
        tally: checks.tally.clone(),
        runs: histories.len(),
        statuses,
        virtual_ms: network.kernel.now(),
        digest: network.trace.seal(&sealed.concat()),
        lines: network.trace.lines(),
        histories,
        states,
    }
}

/// Runs retention at the end. It must keep exactly the runs with a pending dead letter and the runs above
/// them, with their history.
fn forget(network: &Network, client: &Client, view: &View<'_>, checks: &mut Checks) {
    let pending = view.letters.iter().filter(|letter| letter.status == LetterStatus::Pending);
    let kept: BTreeSet<&RunId> = pending.filter_map(|letter| letter.run.as_ref()).collect();
    let is_kept = |run: &RunId| {
        let below = format!("{run}.");
        kept.iter().any(|kept| *kept == run || kept.as_str().starts_with(&below))
    };
    let retain = Upkeep::Retain { keep: Millis::ZERO, keep_failed: Millis::ZERO, limit: usize::MAX >> 1 };
    network.wait(client.world().upkeep(retain)).expect("nobody disturbs it");
    for (run, seen) in &view.runs {
        let there =
            network.wait(client.world().picture(client.tenant(), run)).expect("the world can be read");
        let wanted =
            is_kept(run) || !seen.picture.summary.status.is_final() || !seen.picture.tasks.is_empty();
        let object = |what: &str| Objection::of_run(run, what);
        match there {
            None if wanted => {
                checks.object("retention", object("it is gone, and a letter of it was pending"))
            }
            // A run that ended in this very millisecond is not old enough to be removed.
            Some(_) if !wanted && seen.picture.summary.ended_at < Some(view.now) => {
                checks.object("retention", object("nothing keeps it, and it is still there"))
            }
            Some(_) => {
                let history = network.wait(client.history(run)).unwrap_or_default();
                if history != seen.history {
                    checks.object("retention", object("it was kept without its history"));
                }
            }
            None => {}
        }
    }
    let left = network.wait(listing::failures(client)).expect("the world can be read");
    let lost =
        view.letters.iter().filter(|letter| letter.status == LetterStatus::Pending && !left.contains(letter));
    for letter in lost {
        checks.object("retention", Objection::of_task(&letter.task, "its dead letter is gone"));
    }
}

async fn everything(client: &Client) -> Result<BTreeMap<RunId, Seen>, EngineError> {
    let mut runs = BTreeMap::new();
    for summary in listing::runs(client).await? {
        let picture = client.picture(&summary.id).await?;
        let history = client.history(&summary.id).await?;
        runs.insert(summary.id, Seen { picture, history });
    }
    Ok(runs)
}
