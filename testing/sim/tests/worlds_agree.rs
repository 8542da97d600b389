//! Runs the same seeds without faults on every world and compares histories and snapshots byte by byte.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::sync::Arc;

use rhythm_engine::memory::MemoryWorld;
use rhythm_engine::world::World;
use rhythm_sim::case::Case;
use rhythm_sim::sim::{Outcome, Place, simulate_on};
use rhythm_worlds::postgres::{PostgresOptions, PostgresWorld};
use rhythm_worlds::sqlite::{SqliteOptions, SqliteWorld};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::NoTls;

/// Range of seeds. Every request is a round trip, so only a few run here. `SIM_WORLD_SEEDS=100` runs more;
/// `SIM_WORLD_FROM=33 SIM_WORLD_SEEDS=1` runs a single one.
fn seeds() -> std::ops::Range<u64> {
    let told = |name| std::env::var(name).ok().and_then(|count| count.parse().ok());
    let from = told("SIM_WORLD_FROM").unwrap_or(0);
    from..from + told("SIM_WORLD_SEEDS").unwrap_or(12)
}

/// Events that must occur in the compared runs: every kind of program, failures, and operators' requests.
const WANTED: [&str; 25] = [
    "node_emitted",
    "node_consumed",
    "condition_evaluated",
    "patched",
    "patch_adopted",
    "patch_refused",
    "step_failed",
    "workflow_completed",
    "workflow_failed",
    "workflow_cancelled",
    "deadline_reached",
    "timer_fired",
    "signal_received",
    "child_completed",
    "child_failed",
    "approval_decided",
    "parallel_completed",
    "compensator",
    "cancel_task",
    "cancel_timer",
    "paused",
    "resumed",
    "reopened",
    "take back",
    "replay_requested",
];

fn in_memory(seed: u64) -> Outcome {
    simulate_on(&Case::tame(seed), true, |clock| {
        let memory = MemoryWorld::new(Some(clock));
        Place { doors: Arc::new(move || Arc::new(memory.handle())), runtime: None }
    })
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Compares a world with the in-memory world.
fn agree(simulate: impl Fn(u64) -> Outcome) {
    let (mut transitions, mut seen) = (0, BTreeMap::<&str, u64>::new());
    for seed in seeds() {
        let (reference, other) = (in_memory(seed), simulate(seed));
        assert_eq!(reference.violations, [], "seed {seed}");
        assert_eq!(other.violations, [], "seed {seed}");
        assert_same(seed, &reference, &other);
        transitions += reference.transitions;
        reference.tally.iter().for_each(|(what, count)| *seen.entry(*what).or_default() += count);
    }
    eprintln!("{transitions} transitions agree: {seen:?}");
    assert!(transitions > 500, "only {transitions} transitions");
    let missing: Vec<&str> = WANTED.into_iter().filter(|what| !seen.contains_key(what)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "among what agreed there was none of these");
}

/// Compares histories and states. On a difference, shows where the traces first differ and where the
/// histories do.
fn assert_same(seed: u64, one: &Outcome, other: &Outcome) {
    if one.histories == other.histories {
        assert_eq!(one.states, other.states, "seed {seed}: the same histories, other snapshots");
        return;
    }
    let pairs = one.lines.iter().zip(&other.lines).map(|(a, b)| (a.show(), b.show()));
    let apart = pairs.clone().position(|(a, b)| a != b).unwrap_or_default();
    let before: Vec<String> = pairs.clone().take(apart).map(|(a, _)| a).collect();
    let before = before[before.len().saturating_sub(15)..].join("\n");
    let (mine, theirs) = pairs.clone().nth(apart).unwrap_or_default();
    panic!("seed {seed}: histories differ. Both:\n{before}\nin memory:\n{mine}\nhere:\n{theirs}");
}

#[test]
fn sqlite_writes_the_same_histories() {
    let runtime = runtime();
    agree(|seed| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sim.db");
        simulate_on(&Case::tame(seed), true, |clock| {
            let doors = move || -> Arc<dyn World> {
                let options = SqliteOptions { clock: Some(clock.clone()), ..SqliteOptions::default() };
                Arc::new(SqliteWorld::open(&path, options).unwrap())
            };
            Place { doors: Arc::new(doors), runtime: Some(runtime.handle().clone()) }
        })
    });
}

#[test]
fn postgres_writes_the_same_histories() {
    let runtime = runtime();
    agree(|seed| {
        let url = runtime.block_on(fresh_database());
        let opener = runtime.handle().clone();
        simulate_on(&Case::tame(seed), true, |clock| {
            let doors = move || -> Arc<dyn World> {
                // With more lanes, rows created in the same millisecond have no fixed order.
                let options =
                    PostgresOptions { clock: Some(clock.clone()), lanes: 1, ..PostgresOptions::default() };
                Arc::new(opener.block_on(PostgresWorld::connect(&url, options)).unwrap())
            };
            Place { doors: Arc::new(doors), runtime: Some(runtime.handle().clone()) }
        })
    });
}

async fn fresh_database() -> String {
    let server = std::env::var("RHYTHM_TEST_POSTGRES")
        .expect("RHYTHM_TEST_POSTGRES names no server: run the tests through `make test`");
    let (client, connection) = tokio_postgres::connect(&server, NoTls).await.unwrap();
    tokio::spawn(connection);
    let name = format!("sim_{}", uuid::Uuid::now_v7().simple());
    client.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
    let (base, _) = server.rsplit_once('/').unwrap();
    format!("{base}/{name}")
}
