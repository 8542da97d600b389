//! The same seeds, without faults, on every world: byte-equal histories.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::sync::Arc;

use rhythm_core::RunId;
use rhythm_engine::memory::MemoryWorld;
use rhythm_engine::world::World;
use rhythm_sim::sim::{Options, Outcome, Place, simulate_on};
use rhythm_worlds::postgres::{PostgresOptions, PostgresWorld};
use rhythm_worlds::sqlite::{SqliteOptions, SqliteWorld};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::NoTls;

const SEEDS: std::ops::Range<u64> = 0..25;

fn options(seed: u64) -> Options {
    Options { seed, ..Options::default() }
}

fn in_memory(seed: u64) -> Outcome {
    simulate_on(&options(seed), |clock| {
        let memory = MemoryWorld::new(Some(clock));
        Place { doors: Arc::new(move || Arc::new(memory.handle())), runtime: None }
    })
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Compares a world with the in-memory one.
fn agree(simulate: impl Fn(u64) -> Outcome) {
    let mut transitions = 0;
    for seed in SEEDS {
        let (reference, other) = (in_memory(seed), simulate(seed));
        assert_eq!(reference.violations, [], "seed {seed}");
        assert_eq!(other.violations, [], "seed {seed}");
        assert_same(seed, &reference.histories, &other.histories);
        transitions += reference.transitions;
    }
    eprintln!("{transitions} transitions agree");
    assert!(transitions > 500, "only {transitions} transitions");
}

fn assert_same(seed: u64, one: &BTreeMap<RunId, String>, other: &BTreeMap<RunId, String>) {
    assert!(one.keys().eq(other.keys()), "seed {seed}: not the same runs");
    for (run, history) in one {
        if history == &other[run] {
            continue;
        }
        let pairs = history.lines().zip(other[run].lines());
        let first = pairs.enumerate().find(|(_, (a, b))| a != b);
        panic!("seed {seed}, run {run}: histories differ, first in line {first:?}");
    }
}

#[test]
fn sqlite_writes_the_same_histories() {
    let runtime = runtime();
    agree(|seed| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sim.db");
        simulate_on(&options(seed), |clock| {
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
        simulate_on(&options(seed), |clock| {
            let doors = move || -> Arc<dyn World> {
                let options = PostgresOptions { clock: Some(clock.clone()), ..PostgresOptions::default() };
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
