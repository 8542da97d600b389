//! Races about approvals and patches on SQLite, the same as for the reference world.

#[path = "../../engine/tests/races/mod.rs"]
mod races;
#[path = "../../engine/tests/rig/mod.rs"]
mod rig;

use std::sync::Arc;

use races::Track;
use rhythm_core::Timestamp;
use rhythm_engine::world::ManualClock;
use rhythm_worlds::sqlite::{SqliteOptions, SqliteWorld};

const ROUNDS: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn races_on_sqlite_have_one_outcome_each() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let clock = ManualClock::at(Timestamp(1_794_774_600_000));
    let options = SqliteOptions { clock: Some(clock.clone()), ..SqliteOptions::default() };
    let world = SqliteWorld::open(folder.path().join("rhythm.db"), options).expect("the file opens");
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
