//! A model check: plays small graphs with their answers in every order and with a patch and a cancel at any
//! time. In every state each earlier message is delivered once more. The number of states is printed.
#![allow(clippy::print_stderr, reason = "how many states there were")]

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::id::Version;
use rhythm_core::message::Message;
use rhythm_core::program::Program as _;
use serde_json::{Value, json};

use super::stage::{Outcome, Script, Stage, Way, remember, script};

#[derive(Default)]
struct Explored {
    /// Number of executions of each node, with the result of the run.
    ends: BTreeSet<String>,
    /// Hashes of everything observable about a state.
    states: BTreeSet<Version>,
    repeats: usize,
    /// Number of states that refer to values outside the snapshot.
    large: usize,
    patches: BTreeSet<String>,
}

/// Explores everything that can happen next, depth first. A state counts as explored when the same messages
/// wait for the same snapshot after the same messages have been delivered.
fn explore(mut stage: Stage, delivered: &[Message], found: &mut Explored) {
    let ids = |messages: &mut dyn Iterator<Item = &Message>| -> BTreeSet<String> {
        messages.map(|message| message.id.as_str().to_owned()).collect()
    };
    let waiting = ids(&mut stage.pending.iter().map(|(_, message)| message));
    let outcome = stage.outcome();
    let (counts, told) = (counts(&outcome), stage.patches().join(","));
    let before = ids(&mut delivered.iter());
    let state = format!("{:?} {waiting:?} {before:?} {counts:?} {told}", stage.state.snapshot);
    if !found.states.insert(Version::of(state.as_bytes())) {
        return;
    }
    let refs = stage.state.snapshot.as_ref().map(|snapshot| stage.program.blob_refs(snapshot).unwrap());
    found.large += usize::from(refs.is_some_and(|refs| !refs.is_empty()));
    if stage.end.is_some() || stage.pending.is_empty() {
        stage.check();
        found.patches.extend(told.split(',').filter(|told| !told.is_empty()).map(str::to_owned));
        let (status, output, counter) = (outcome.status, &outcome.output, outcome.counter);
        found.ends.insert(format!("{status} {counts:?} {output} {counter} {told}"));
        return;
    }
    // A repeated delivery changes nothing, so every further step from it is explored below.
    for message in delivered {
        stage.send_again(message);
        found.repeats += 1;
    }
    // The start is first, because no other message reaches a run before it.
    let choices = if stage.history.is_empty() { vec![0] } else { stage.deliverable() };
    for place in choices {
        let mut next = stage.clone();
        let message = next.pending[place].1.clone();
        next.deliver(place);
        let mut delivered = delivered.to_vec();
        remember(&mut delivered, message);
        explore(next, &delivered, found);
    }
}

fn counts(outcome: &Outcome) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for node in &outcome.order {
        *counts.entry(node.as_str()).or_default() += 1;
    }
    counts
}

fn explored(name: &str, graph: &Value, script: Script) -> Explored {
    let mut found = Explored::default();
    explore(Stage::new(graph, script, Way::Reloaded), &[], &mut found);
    let (states, repeats, ends) = (found.states.len(), found.repeats, found.ends.len());
    eprintln!("{name}: {states} states, {repeats} repeated messages, {ends} different ends");
    found
}

fn cel(expression: &str) -> Value {
    json!({"type": "cel", "expression": expression})
}

/// Two branches, one of which may not reach the join, inside a loop.
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
    let found = explored("join, branches, loop", &graph(), answers());
    assert_eq!(found.ends.len(), 1, "{:#?}", found.ends);
    let end = found.ends.first().unwrap();
    assert!(end.starts_with(r#"completed {"a": 2, "b": 2, "c": 2, "d": 2, "e": 1, "x": 1}"#), "{end}");
    assert!(found.states.len() > 30, "{}", found.states.len());
}

/// Neither the value a join composes nor its parts fit into a snapshot.
#[test]
fn large_values_come_to_the_same_in_every_order() {
    let large = |n: u32, by: &str| json!({"n": n, "text": by.repeat(45_000)});
    let script = script()
        .with("b", [large(1, "b"), large(2, "B")])
        .with("c", [large(2, "c"), large(0, "C")])
        .with("d", [large(2, "d"), large(1, "D")]);
    let found = explored("join, branches, loop, large values", &graph(), script);
    assert_eq!(found.ends.len(), 1);
    let end = found.ends.first().unwrap();
    assert!(end.starts_with(r#"completed {"a": 2, "b": 2, "c": 2, "d": 2, "e": 1, "x": 1}"#), "{end}");
    assert!(found.large > 10, "only {} states refer to blobs", found.large);
}

/// Removes x and its edges. The patch is refused while x is active or the join needs it.
fn without_x() -> Value {
    json!([
        {"op": "replace", "path": "/nodes/1/branch/default", "value": []},
        {"op": "replace", "path": "/nodes/4/dependencies", "value": ["b", "c"]},
        {"op": "remove", "path": "/nodes/2"}])
}

#[test]
fn join_branch_loop_duplicates_and_a_patch_at_any_time_complete_in_every_order() {
    let script = answers().patched(0, "user:ann", without_x());
    let found = explored("join, branches, loop, patch", &graph(), script);
    let expected = ["adopted", "join_unreachable", "live_node_removed"].map(str::to_owned);
    assert_eq!(found.patches, BTreeSet::from(expected), "{:#?}", found.ends);
    assert!(found.ends.iter().all(|end| end.starts_with("completed")), "{:#?}", found.ends);
    assert!(found.states.len() > 150 && found.repeats > found.states.len(), "{}", found.states.len());
}

#[test]
fn two_patches_and_a_cancel_at_any_time_leave_one_outcome_in_every_order() {
    let y = json!([{"op": "add", "path": "/nodes/-", "value": {"id": "y", "type": "task"}},
        {"op": "replace", "path": "/nodes/4/loop/break_path", "value": ["y"]}]);
    let mut script = answers().patched(0, "user:ann", without_x()).patched(0, "user:bob", y);
    script.cancel_at = Some(0);
    let found = explored("join, branches, loop, two patches, cancel", &graph(), script);
    let whole = |end: &String| end.starts_with("completed") || end.starts_with("cancelled");
    assert!(found.ends.iter().all(whole), "{:#?}", found.ends);
    assert!(found.patches.iter().any(|told| told == "inapplicable_patch"), "{:?}", found.patches);
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
    let found = explored("question and join", &graph, script.clone());
    assert!(found.ends.len() == 2, "approved, or nobody in time: {:#?}", found.ends);
    let found = explored("question, join, failure, compensation", &graph, script.failing("b", "X"));
    assert!(
        found.ends.iter().all(|end| end.starts_with("failed") && end.contains(r#""undo a": 1"#)),
        "{:#?}",
        found.ends
    );
}
