//! Ten thousand races about approvals and some about patches on the reference world.

mod races;
mod rig;

use std::sync::Arc;

use races::Track;
use rhythm_core::Timestamp;
use rhythm_engine::memory::MemoryWorld;
use rhythm_engine::world::ManualClock;

const ROUNDS: usize = 3_400;
/// The reference world scans everything for each request, so each world is small.
const ROUNDS_A_WORLD: usize = 100;

async fn track(seed: u64) -> Track {
    let clock = ManualClock::at(Timestamp(1_000_000));
    let world = MemoryWorld::new(Some(clock.clone()));
    Track::open(Arc::new(world), clock, seed).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn of_two_people_who_decide_at_once_one_does() {
    let (mut first, mut second) = (0, 0);
    for seed in 0..ROUNDS / ROUNDS_A_WORLD {
        let tally = track(seed as u64).await.two_people(ROUNDS_A_WORLD).await;
        (first, second) = (first + tally.first, second + tally.second);
    }
    assert!(first > 0 && second > 0, "never close: {first} and {second}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_decision_comes_in_time_or_is_told_that_it_did_not() {
    let (mut first, mut second) = (0, 0);
    for seed in 0..ROUNDS / ROUNDS_A_WORLD {
        let tally = track(seed as u64).await.against_the_clock(ROUNDS_A_WORLD).await;
        (first, second) = (first + tally.first, second + tally.second);
    }
    assert!(first > 0 && second > 0, "never close: {first} and {second}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_decision_comes_before_a_cancel_or_is_told_that_it_did_not() {
    let (mut first, mut second) = (0, 0);
    for seed in 0..ROUNDS / ROUNDS_A_WORLD {
        let tally = track(seed as u64).await.against_a_cancel(ROUNDS_A_WORLD).await;
        (first, second) = (first + tally.first, second + tally.second);
    }
    assert!(first > 0 && second > 0, "never close: {first} and {second}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn of_two_patches_of_one_run_one_is_adopted() {
    let (mut first, mut second) = (0, 0);
    for seed in 0..ROUNDS / ROUNDS_A_WORLD {
        let tally = track(seed as u64).await.two_patches(ROUNDS_A_WORLD).await;
        (first, second) = (first + tally.first, second + tally.second);
    }
    assert!(first > 0 && second > 0, "never close: {first} and {second}");
}
