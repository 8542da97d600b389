//! Repeated requests change nothing: small simulations with one kind of fault at a high rate.
#![allow(clippy::unwrap_used)]

use rhythm_core::Millis;
use rhythm_core::cron::{CatchUp, Overlap};
use rhythm_sim::case::Case;
use rhythm_sim::faults::{Fault, Rates};
use rhythm_sim::process::Setup;
use rhythm_sim::sim::{Outcome, simulate};
use rhythm_sim::workload::{Act, Action, Workload};
use serde_json::json;

const OFTEN: u32 = 400_000;

fn play(fault: Fault, workflow: &str, actions: Vec<Action>) -> Outcome {
    let workflows = vec![("flow".to_owned(), workflow.to_owned())];
    let workload = Workload { workflows, actions, chaos_ms: 300_000 };
    let rates = Rates::from([(fault.name().to_owned(), OFTEN)]);
    let outcome = simulate(&Case { seed: 1, rates, setups: vec![Setup::plain(0)], workload }, false);
    assert_eq!(outcome.violations, []);
    outcome
}

/// There is only one worker, so a second fire can only be its own request repeated.
#[test]
fn a_schedule_fired_twice_by_its_worker_starts_once() {
    let (catch_up, overlap) = (CatchUp::All, Overlap::Allow);
    let act = Act::Schedule { name: "often".into(), workflow: "flow".into(), catch_up, overlap };
    let outcome = play(Fault::Doubled, r#"{"steps": [{"log": "here"}]}"#, vec![Action { at: 0, act }]);
    let seen = |what: &str| outcome.tally.get(what).copied().unwrap_or_default();
    assert!(seen("schedule fired before") > 0, "{:?}", outcome.tally);
    assert_eq!(seen("fire schedule"), outcome.runs as u64);
}

/// A client that does not know whether its patch arrived sends it again. Both count as one patch.
#[test]
fn a_patch_sent_again_after_a_lost_reply_is_applied_once() {
    let graph = r#"{"nodes": [{"id": "a", "type": "delay", "config": {"for": "60000ms"}, "dependents": ["b"]},
        {"id": "b", "type": "task", "config": {"task": "work", "ms": 5}}]}"#;
    let start = |run: &str| Act::Start {
        run: run.to_owned(),
        workflow: "flow".into(),
        input: json!({}),
        delay: Millis::ZERO,
        deadline: None,
        priority: 0,
    };
    let operations =
        json!([{"op": "replace", "path": "/nodes/1/config", "value": {"task": "work", "ms": 6}}]);
    let runs: Vec<String> = (0..20).map(|number| format!("r{number}")).collect();
    let patch = |run: &String| Act::Patch {
        run: run.clone(),
        operations: operations.clone(),
        id: Some(format!("{run}-0")),
    };
    let acts = runs.iter().flat_map(|run| [start(run), patch(run)]);
    let actions = acts.zip(0..).map(|(act, place)| Action { at: place * 10, act }).collect();
    let outcome = play(Fault::LostReply, graph, actions);
    let seen = |what: &str| outcome.tally.get(what).copied().unwrap_or_default();
    assert!(seen("patch again") > 0, "{:?}", outcome.tally);
    assert_eq!((seen("patched"), seen("patch_adopted")), (20, 20), "{:?}", outcome.tally);
}
