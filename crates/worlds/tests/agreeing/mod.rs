//! Plays a scenario with the real engine on a world and in memory, and compares them event by event. Some
//! scenarios run straight through, some change processes after every transition, and some get every message
//! twice.

use std::sync::Arc;

use rhythm_core::{Actor, RunId, TenantId, Timestamp};
use rhythm_engine::client::Client;
use rhythm_engine::programs::Programs;
use rhythm_engine::verify::verify;
use rhythm_engine::world::{ManualClock, World};
use rhythm_scenario::stage::{Place, Way, play_at};
use rhythm_scenario::{Outcome, Sandbox, Scenario};

/// Noon of a day in a month that has partitions, whatever the real date is.
pub const NOON: Timestamp = Timestamp(1_794_744_000_000);
pub const SHARDS: u64 = 3;

/// Makes a test for each shard, so that shards run in parallel.
macro_rules! in_shards {
    ($name:ident, $play:path, $open:path) => {
        mod $name {
            use super::*;

            #[tokio::test]
            async fn shard_0() {
                $play(0, $open).await;
            }

            #[tokio::test]
            async fn shard_1() {
                $play(1, $open).await;
            }

            #[tokio::test]
            async fn shard_2() {
                $play(2, $open).await;
            }
        }
    };
}

/// Returns the seeds of a shard out of `count`, or out of the number in the environment variable.
pub fn seeds(shard: u64, variable: &str, count: u64) -> impl Iterator<Item = u64> {
    let asked = std::env::var(variable).ok().and_then(|count| count.parse().ok());
    (0..asked.unwrap_or(count)).filter(move |seed| seed % SHARDS == shard)
}

/// Plays a scenario in memory and on a world of its own, and compares them. Returns the outcome.
pub async fn agrees(
    seed: u64,
    (scenario, source): (&Scenario, &str),
    clock: Arc<ManualClock>,
    world: Arc<dyn World>,
) -> Outcome {
    let way = Way::ALL[(seed / SHARDS) as usize % 3];
    let told = |what: &str| format!("seed {seed}, {way:?}: {what}\n{source}");
    let memory = async |way| play_at(&Place::in_memory(NOON, Sandbox::Here), scenario, way, 0).await;
    let straight = memory(Way::Straight).await.unwrap_or_else(|error| panic!("{}", told(&error)));
    let reference = memory(way).await.unwrap_or_else(|error| panic!("{}", told(&error)));
    let place = Place { world: world.clone(), clock, ..Place::in_memory(NOON, Sandbox::Here) };
    let played = play_at(&place, scenario, way, 0).await.unwrap_or_else(|error| panic!("{}", told(&error)));
    assert_eq!(played.outcome, straight.outcome, "{}", told("another outcome"));
    for (run, events) in &reference.histories {
        let json = |events: &[rhythm_core::Event]| -> Vec<String> {
            events
                .iter()
                .map(|event| {
                    format!("{} {} {:?} {}", event.seq, event.at, event.message, event.data.to_json())
                })
                .collect()
        };
        let here = played.histories.get(run).unwrap_or_else(|| panic!("{}", told("a run is missing")));
        assert_eq!(json(here), json(events), "{}", told("another history"));
        assert_eq!(here, events, "{}", told("another history"));
    }
    if played.histories.is_empty() {
        return played.outcome;
    }
    let client = Client::new(world, TenantId::default(), Actor::system());
    let verified = verify(&client, &Programs::default(), &RunId::new("scenario")).await.expect("it is there");
    assert_eq!(verified.problem, None, "{}", told("its history does not fold to its snapshot"));
    played.outcome
}
