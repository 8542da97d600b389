//! Made graphs on PostgreSQL do what they do in memory.

mod agreeing;
mod made_graphs;
mod postgres_stage;

use std::sync::Arc;

use agreeing::NOON;
use made_graphs::{Tally, agrees, seeds};
use postgres_stage::PostgresStage;
use rhythm_engine::world::ManualClock;
use rhythm_worlds::postgres::{PostgresOptions, PostgresWorld};

async fn play(shard: u64) {
    let mut tally = Tally::default();
    for seed in seeds(shard) {
        let stage = PostgresStage::open_copy().await;
        let clock = ManualClock::at(NOON);
        // Lanes write side by side: what they create in the same millisecond has no order.
        let options = PostgresOptions { clock: Some(clock.clone()), lanes: 1, ..PostgresOptions::default() };
        let world = PostgresWorld::connect(&stage.database.url, options).await.expect("the world opens");
        tally.add(&agrees(seed, clock, Arc::new(world)).await);
    }
    tally.is_worth_something();
}

#[tokio::test]
async fn graphs_do_the_same_as_in_memory_0() {
    play(0).await;
}

#[tokio::test]
async fn graphs_do_the_same_as_in_memory_1() {
    play(1).await;
}

#[tokio::test]
async fn graphs_do_the_same_as_in_memory_2() {
    play(2).await;
}
