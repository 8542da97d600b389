//! Made programs and schedules of answers, played by the real engine: on this world they come to the same as in memory,
//! event by event, whether processes change after every transition or everything is delivered twice.

#[path = "../../../core/tests/language/made.rs"]
mod made;

use std::sync::Arc;

use made::{Dice, Reply, Schedule};
use rhythm_core::{Actor, RunId, TenantId, Timestamp};
use rhythm_engine::client::Client;
use rhythm_engine::programs::Programs;
use rhythm_engine::verify::verify;
use rhythm_engine::world::{ManualClock, World};
use rhythm_scenario::Scenario;
use rhythm_scenario::stage::{Place, Way, play_at};
use serde_json::{Value, json};

/// Noon of a day in a month that has partitions, however the real clock stands.
pub const NOON: Timestamp = Timestamp(1_794_744_000_000);

/// Of each world; `RHYTHM_WORLD_PROGRAMS` asks for more.
const PROGRAMS: u64 = 300;
pub const SHARDS: u64 = 3;

/// The seeds of a shard.
pub fn seeds(shard: u64) -> impl Iterator<Item = u64> {
    let asked = std::env::var("RHYTHM_WORLD_PROGRAMS").ok().and_then(|count| count.parse().ok());
    (0..asked.unwrap_or(PROGRAMS)).filter(move |seed| seed % SHARDS == shard)
}

/// Plays one seed in memory and on a world that was made for it.
pub async fn agrees(seed: u64, clock: Arc<ManualClock>, world: Arc<dyn World>) {
    let scenario = scenario(seed);
    let way = Way::ALL[(seed / SHARDS) as usize % 3];
    let source = scenario.source.as_deref().unwrap_or_default();
    let told = |what: &str| format!("seed {seed}, {way:?}: {what}\n{source}");
    let memory = |way| {
        let scenario = scenario.clone();
        async move { play_at(&Place::in_memory(NOON), &scenario, way, 0).await }
    };
    let straight = memory(Way::Straight).await.unwrap_or_else(|error| panic!("{}", told(&error)));
    let reference = memory(way).await.unwrap_or_else(|error| panic!("{}", told(&error)));
    let place = Place { world: world.clone(), clock, tenant: TenantId::default() };
    let played = play_at(&place, &scenario, way, 0).await.unwrap_or_else(|error| panic!("{}", told(&error)));
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
    let client = Client::new(world, TenantId::default(), Actor::system());
    let verified = verify(&client, &Programs::default(), &RunId::new("scenario")).await.expect("it is there");
    assert_eq!(verified.problem, None, "{}", told("its history does not fold to its snapshot"));
}

fn scenario(seed: u64) -> Scenario {
    let mut dice = Dice::new(seed);
    let source = dice.program();
    let Schedule { replies, signals, cancel } = dice.schedule();
    // The child does as its task is told to.
    let name = |name: &str| if name == "kid" { "work of kid".to_owned() } else { name.to_owned() };
    let tasks: serde_json::Map<String, Value> = replies
        .iter()
        .map(|(task, replies)| {
            (name(task), replies.iter().map(|(reply, after)| answer(reply, *after)).collect())
        })
        .collect();
    let signals: Vec<Value> =
        signals.iter().map(|(name, number, at)| json!({"name": name, "payload": number, "at": at})).collect();
    let mut scenario = json!({
        "source": source,
        "inputs": {"n": 3, "list": [1, 2]},
        "workflows": {"kid": "let done = await Task.run(\"work of kid\", Inputs)\nreturn done"},
        "tasks": tasks,
        "signals": signals,
    });
    if let Some(at) = cancel {
        scenario["cancel"] = json!({"at": at});
    }
    serde_json::from_value(scenario).expect("a scenario")
}

fn answer(reply: &Reply, after: f64) -> Value {
    match reply {
        Reply::Number(number) => json!({"ok": number, "after": after}),
        Reply::Object(number) => json!({"ok": {"n": number, "$x": [1]}, "after": after}),
        // Too large to stay inline.
        Reply::Large => json!({"ok": {"n": 7, "list": ["x".repeat(70_000)]}, "after": after}),
        Reply::Failure => json!({"err": {"message": "bad", "code": "BAD"}, "after": after}),
        Reply::Never => json!({"never": true}),
    }
}
