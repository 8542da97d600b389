//! Cancelling a graph's run while its last task reports: two processes and whoever cancels go for it on threads of their
//! own. However it goes, each run has exactly one outcome.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod rig;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use rhythm_core::{Event, EventData, RunId, Status, WorkflowKind};
use rhythm_engine::error::EngineError;
use rhythm_graph::machine::recount;
use serde_json::json;

use rig::{Actor1, Rig};

/// Runs of one world, and how many such worlds.
const RUNS: usize = 500;
const WORLDS: usize = 20;
/// One of so many last tasks reports only when whoever cancels is at it: the others are mostly faster.
const HELD: usize = 3;
const PATIENCE: Duration = Duration::from_secs(60);
/// Of all races at least so many must go either way: else nobody raced.
const LEAST: usize = 20;

fn wait_for<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

/// What `a` did is undone when the run is cancelled; `slow` joins two ways and is the last.
async fn start_all(rig: &Rig) -> Vec<RunId> {
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["b", "c"], "compensator": {"action": "undo"}},
        {"id": "b", "type": "task", "dependents": ["slow"]},
        {"id": "c", "type": "task", "dependents": ["slow"]},
        {"id": "slow", "type": "task", "dependencies": ["b", "c"]}]});
    rig.client.register("g", WorkflowKind::Graph, &graph.to_string()).await.unwrap();
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        runs.push(rig.start_named("g").await);
    }
    runs
}

fn keep_going(actor: &Actor1, over: &AtomicBool) {
    wait_for(async {
        while !over.load(Ordering::SeqCst) {
            actor.round().await;
            std::thread::yield_now();
        }
    });
}

/// A run whose last task has begun, and where to say that it is about to be cancelled.
type Begun = (RunId, mpsc::Sender<()>);

/// Cancels each run when its last task has begun. Gives those that had ended by then.
fn cancel_all(rig: &Rig, begun: mpsc::Receiver<Begun>) -> BTreeSet<RunId> {
    let (mut late, mut seen) = (BTreeSet::new(), BTreeSet::new());
    while seen.len() < RUNS {
        let (run, about_to) = begun.recv_timeout(PATIENCE).expect("every run comes to its last task");
        if !seen.insert(run.clone()) {
            continue;
        }
        let _ = about_to.send(());
        match wait_for(rig.client.cancel(&run, "enough")) {
            Ok(()) => {}
            Err(EngineError::Ended(_)) => drop(late.insert(run)),
            Err(error) => panic!("{run}: {error}"),
        }
    }
    late
}

/// The one outcome of a run, by its history: an end, its last row, and all that belongs to that end and no other.
fn outcome(run: &RunId, status: Status, history: &[Event], was_late: bool) -> Status {
    let count = |wanted: fn(&EventData) -> bool| history.iter().filter(|row| wanted(&row.data)).count();
    let ends = |data: &EventData| {
        matches!(
            data,
            EventData::WorkflowCompleted(_) | EventData::WorkflowCancelled(_) | EventData::WorkflowFailed(_)
        )
    };
    assert_eq!(count(ends), 1, "{run}");
    assert!(ends(&history.last().unwrap().data), "{run}: something follows its end");
    let asked = count(|data| matches!(data, EventData::CancelRequested(_)));
    let undone = count(|data| matches!(data, EventData::StepScheduled(step) if step.name == "undo"));
    let last = count(|data| matches!(data, EventData::StepScheduled(step) if step.name == "slow"));
    let tokens = recount(history).unwrap();
    match status {
        Status::Completed => assert_eq!((asked, undone, last, tokens), (0, 0, 1, 0), "{run}"),
        Status::Cancelled => assert_eq!((asked, undone, last, was_late), (1, 1, 1, false), "{run}"),
        other => panic!("{run} ended {other:?}"),
    }
    status
}

fn race() -> BTreeMap<&'static str, usize> {
    let rig = Rig::new();
    let two = rig.another("w2", |config| config);
    let (tell, begun) = mpsc::channel::<Begun>();
    let mut nth = 0;
    rig.stage.on("slow", move |context, _| {
        let (run, _) = context.task_id().as_str().rsplit_once(':').unwrap();
        let (about_to, is_about_to) = mpsc::channel();
        let told = tell.send((RunId::new(run), about_to));
        nth += 1;
        if told.is_ok() && nth % HELD == 0 {
            let _ = is_about_to.recv_timeout(PATIENCE);
        }
        Ok(json!({}))
    });
    let runs = wait_for(start_all(&rig));
    let over = AtomicBool::new(false);
    let late = std::thread::scope(|scope| {
        let (rig, two, over) = (&rig, &two, &over);
        let processes = [&rig.one, two].map(|actor| scope.spawn(move || keep_going(actor, over)));
        let late = scope.spawn(move || cancel_all(rig, begun)).join();
        over.store(true, Ordering::SeqCst);
        processes.into_iter().for_each(|process| process.join().unwrap());
        late.unwrap()
    });
    let mut outcomes = BTreeMap::new();
    wait_for(async {
        rig.settle().await;
        two.settle().await;
        rig.settle().await;
        for (place, run) in runs.iter().enumerate() {
            let status = rig.status(run).await;
            let history = rig.client.history(run).await.unwrap();
            *outcomes.entry(outcome(run, status, &history, late.contains(run)).as_str()).or_default() += 1;
            if place % 10 == 0 {
                rig.verify(run).await;
            }
        }
    });
    outcomes
}

#[test]
fn ten_thousand_races_of_cancelling_and_completing_have_one_outcome_each() {
    let mut all: BTreeMap<&'static str, usize> = BTreeMap::new();
    for _ in 0..WORLDS {
        race().into_iter().for_each(|(status, count)| *all.entry(status).or_default() += count);
    }
    eprintln!("{all:?}");
    assert_eq!(all.values().sum::<usize>(), 10_000);
    assert!(all.len() == 2 && all.values().all(|count| *count >= LEAST), "nobody raced: {all:?}");
}
