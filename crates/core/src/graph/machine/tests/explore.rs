//! Small graphs in every order their answers can come in, with every answer that was given once more at any time, and
//! a patch at any time.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::stage::{Outcome, Script, Stage, Way, script};
use crate::message::Message;

struct Explored {
    /// How often each node was executed, and what came of the run.
    ends: BTreeSet<String>,
    states: usize,
    patches: BTreeSet<String>,
}

/// Depth first over everything that can happen next. Where a stage comes to has been explored when the same messages
/// wait for the same snapshot.
fn explore(stage: Stage, repeated: Option<&Message>, seen: &mut BTreeSet<String>, found: &mut Explored) {
    let waiting: BTreeSet<&str> = stage.pending.iter().map(|(_, message)| message.id.as_str()).collect();
    let outcome = stage.outcome();
    let counts = counts(&outcome);
    let told = stage.patches();
    let state = format!("{:?} {waiting:?} {counts:?} {told:?} {}", stage.state.snapshot, repeated.is_some());
    if !seen.insert(state) {
        return;
    }
    if stage.end.is_some() || stage.pending.is_empty() {
        stage.check();
        let patched = told.join(",");
        found.patches.extend(told.into_iter().map(str::to_owned));
        found.ends.insert(format!(
            "{} {counts:?} {} {} {patched}",
            outcome.status, outcome.output, outcome.counter
        ));
        return;
    }
    // The start first: nothing else reaches a run before.
    let choices = if stage.history.is_empty() { vec![0] } else { stage.deliverable() };
    for place in choices {
        let mut next = stage.clone();
        let message = next.pending[place].1.clone();
        next.deliver(place);
        explore(next, repeated.or(Some(&message)), seen, found);
    }
    // An old answer comes again, much later.
    if let Some(message) = repeated {
        let mut next = stage.clone();
        let before = next.state.snapshot.clone();
        next.send(message);
        assert_eq!(next.state.snapshot, before);
        explore(next, None, seen, found);
    }
}

fn counts(outcome: &Outcome) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for node in &outcome.order {
        *counts.entry(node.as_str()).or_default() += 1;
    }
    counts
}

fn explored(graph: &Value, script: Script) -> Explored {
    let mut found = Explored { ends: BTreeSet::new(), states: 0, patches: BTreeSet::new() };
    let mut seen = BTreeSet::new();
    explore(Stage::new(graph, script, Way::Reloaded), None, &mut seen, &mut found);
    Explored { states: seen.len(), ..found }
}

fn cel(expression: &str) -> Value {
    json!({"type": "cel", "expression": expression})
}

/// Two branches, one of which may not reach the join, and a loop around it all.
fn graph() -> Value {
    json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["b", "c"]},
        {"id": "b", "type": "task", "branch": {"rules": [{"condition": cel("output.n > 1"), "next_nodes": ["d"]}], "default": ["x"]}},
        {"id": "x", "type": "task", "dependents": ["d"]},
        {"id": "c", "type": "task", "branch": {"rules": [{"condition": cel("output.n > 1"), "next_nodes": ["d"]}], "default": []}},
        {"id": "d", "type": "task", "dependencies": ["b", "x", "c"], "loop": {"condition": cel("output.n > 1"),
            "max_iterations": 3, "loop_back_to": "a", "break_path": ["e"]}},
        {"id": "e", "type": "task"}]})
}

fn answers() -> Script {
    script()
        .with("b", [json!({"n": 1}), json!({"n": 2})])
        .with("c", [json!({"n": 2}), json!({"n": 0})])
        .with("d", [json!({"n": 2}), json!({"n": 1})])
}

#[test]
fn a_join_behind_branches_in_a_loop_comes_to_the_same_in_every_order() {
    let found = explored(&graph(), answers());
    assert_eq!(found.ends.len(), 1, "{:#?}", found.ends);
    let end = found.ends.first().unwrap();
    assert!(end.starts_with(r#"completed {"a": 2, "b": 2, "c": 2, "d": 2, "e": 1, "x": 1}"#), "{end}");
    assert!(found.states > 50, "{}", found.states);
}

#[test]
fn a_patch_at_any_time_is_adopted_or_refused_and_the_run_completes() {
    // x and its edges go, unless something is there or the join counts on it.
    let operations = json!([
        {"op": "replace", "path": "/nodes/1/branch/default", "value": []},
        {"op": "replace", "path": "/nodes/4/dependencies", "value": ["b", "c"]},
        {"op": "remove", "path": "/nodes/2"}]);
    let found = explored(&graph(), answers().patched(0, "user:ann", operations));
    let expected = ["adopted", "join_unreachable", "live_node_removed"].map(str::to_owned);
    assert_eq!(found.patches, BTreeSet::from(expected), "{:#?}", found.ends);
    assert!(found.ends.iter().all(|end| end.starts_with("completed")), "{:#?}", found.ends);
}

#[test]
fn a_question_and_a_failure_beside_a_join_have_one_outcome_each_way_they_meet() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["b", "m"], "compensator": {"action": "undo"}},
        {"id": "b", "type": "task", "dependents": ["d"]},
        {"id": "m", "type": "human", "dependents": ["d"], "rejection_path": ["r"], "human_config": {"timeout": "1h"}},
        {"id": "r", "type": "task", "dependents": []},
        {"id": "d", "type": "task", "dependencies": ["b", "m"]}]});
    let script = script().decides("m", [json!({"decision": "approve", "by": "ann"})]);
    let found = explored(&graph, script.clone());
    assert!(found.ends.len() == 2, "approved, or nobody in time: {:#?}", found.ends);
    let found = explored(&graph, script.failing("b", "X"));
    assert!(
        found.ends.iter().all(|end| end.starts_with("failed") && end.contains(r#""undo a": 1"#)),
        "{:#?}",
        found.ends
    );
}
