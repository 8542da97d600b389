//! Races about approvals and patches on PostgreSQL, the same as for the reference world.

mod postgres_stage;
#[path = "../../engine/tests/races/mod.rs"]
mod races;
#[path = "../../engine/tests/rig/mod.rs"]
mod rig;

use std::sync::Arc;

use postgres_stage::PostgresStage;
use races::Track;
use rhythm_core::Timestamp;
use rhythm_engine::world::ManualClock;
use rhythm_worlds::postgres::{PostgresOptions, PostgresWorld};

const ROUNDS: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn races_on_postgres_have_one_outcome_each() {
    let stage = PostgresStage::open_copy().await;
    let clock = ManualClock::at(Timestamp(1_794_744_000_000));
    let options = PostgresOptions { clock: Some(clock.clone()), ..PostgresOptions::default() };
    let world = PostgresWorld::connect(&stage.database.url, options).await.expect("the world opens");
    let mut track = Track::open(Arc::new(world), clock, 7).await;
    for tally in [
        track.two_people(ROUNDS).await,
        track.against_the_clock(ROUNDS).await,
        track.against_a_cancel(ROUNDS).await,
        track.two_patches(ROUNDS).await,
    ] {
        assert_eq!(tally.first + tally.second, ROUNDS);
    }
}
