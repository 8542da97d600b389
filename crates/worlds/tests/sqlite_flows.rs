//! Made flow programs on SQLite do what they do in memory.

mod agreeing;
mod made_flows;

use std::sync::Arc;

use agreeing::NOON;
use made_flows::{agrees, seeds};
use rhythm_engine::world::ManualClock;
use rhythm_worlds::sqlite::{SqliteOptions, SqliteWorld};

async fn play(shard: u64) {
    for seed in seeds(shard) {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let clock = ManualClock::at(NOON);
        let options = SqliteOptions { clock: Some(clock.clone()), ..SqliteOptions::default() };
        let world = SqliteWorld::open(folder.path().join("rhythm.db"), options).expect("the file opens");
        agrees(seed, clock, Arc::new(world)).await;
    }
}

#[tokio::test]
async fn flows_do_the_same_as_in_memory_0() {
    play(0).await;
}

#[tokio::test]
async fn flows_do_the_same_as_in_memory_1() {
    play(1).await;
}

#[tokio::test]
async fn flows_do_the_same_as_in_memory_2() {
    play(2).await;
}
