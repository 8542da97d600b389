//! Generated programs and schedules of answers, which give the same result on every world.

#[path = "../../../flow/tests/language/made.rs"]
mod made;

use std::sync::Arc;

use rhythm_engine::world::{ManualClock, World};
use rhythm_scenario::Scenario;
use serde_json::{Value, json};

use crate::agreeing::{self, NOON};
use made::{Dice, Reply, Schedule};

/// Number of programs per world; `RHYTHM_WORLD_PROGRAMS` overrides it.
const PROGRAMS: u64 = 100;

/// Plays the seeds of a shard in memory and on worlds that `open` makes for them. The second value of `open`
/// must outlive the world.
pub async fn play<K>(shard: u64, open: impl AsyncFn(Arc<ManualClock>) -> (Arc<dyn World>, K)) {
    for seed in agreeing::seeds(shard, "RHYTHM_WORLD_PROGRAMS", PROGRAMS) {
        let scenario = scenario(seed);
        let source = scenario.source.clone().unwrap_or_default();
        let clock = ManualClock::at(NOON);
        let (world, _kept) = open(clock.clone()).await;
        agreeing::agrees(seed, (&scenario, &source), clock, world).await;
    }
}

fn scenario(seed: u64) -> Scenario {
    let mut dice = Dice::new(seed);
    let source = dice.program();
    let Schedule { replies, signals, cancel } = dice.schedule();
    // The child behaves as its task is scripted to.
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
