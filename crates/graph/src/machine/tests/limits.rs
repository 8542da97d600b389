//! Limits of a run, each with its code.

use serde_json::{Value, json};

use super::stage::{code, play, script};

fn chain(limits: Value) -> Value {
    json!({"limits": limits, "nodes": [
        {"id": "a", "type": "task", "dependents": ["b"]}, {"id": "b", "type": "task", "dependents": ["c"]},
        {"id": "c", "type": "task"}]})
}

#[test]
fn a_path_has_at_most_so_many_hops() {
    assert_eq!(play(&chain(json!({"max_hops": 2})), script()).status, "completed");
    let outcome = play(&chain(json!({"max_hops": 1})), script());
    assert_eq!((code(&outcome), outcome.order.len()), ("exceeded_max_hops", 2));
}

#[test]
fn a_loop_takes_hops_too() {
    let graph = json!({"limits": {"max_hops": 10}, "nodes": [
        {"id": "a", "type": "task", "loop": {"max_iterations": 1000, "timeout_path": ["b"]}}, {"id": "b", "type": "task"}]});
    let outcome = play(&graph, script());
    assert_eq!((code(&outcome), outcome.order.len()), ("exceeded_max_hops", 11));
}

#[test]
fn a_node_may_be_nearer_than_the_run_allows() {
    let mut graph = chain(json!({}));
    graph["nodes"][2]["limits"] = json!({"max_hops": 1});
    assert_eq!(code(&play(&graph, script())), "exceeded_max_hops");
}

#[test]
fn one_result_emits_at_most_so_many_tokens() {
    let graph = json!({"limits": {"max_fanout": 2}, "nodes": [
        {"id": "a", "type": "agent", "branch": {"type": "agent_driven", "available_next_nodes": ["b"]}},
        {"id": "b", "type": "task"}]});
    let outcome = play(&graph, script().with("a", [json!({"next_nodes": ["b", "b"]})]));
    assert_eq!(outcome.order, ["a", "b"], "whom it names twice it means once");
    let graph = json!({"limits": {"max_fanout": 2}, "nodes": [
        {"id": "a", "type": "agent", "branch": {"type": "agent_driven", "available_next_nodes": ["b", "c", "d"]}},
        {"id": "b", "type": "task"}, {"id": "c", "type": "task"}, {"id": "d", "type": "task"}]});
    let outcome = play(&graph, script().with("a", [json!({"next_nodes": ["b", "c", "d"]})]));
    assert_eq!((code(&outcome), outcome.order.len()), ("exceeded_max_fanout", 1));
}

#[test]
fn a_run_takes_at_most_so_long() {
    let graph = json!({"limits": {"wall_time": "10s"}, "nodes": [
        {"id": "a", "type": "delay", "config": {"for": "8s"}, "dependents": ["b"]},
        {"id": "b", "type": "delay", "config": {"for": "8s"}}]});
    let outcome = play(&graph, script());
    assert_eq!((code(&outcome), outcome.elapsed), ("deadline_exceeded", 10));
    let outcome = play(&chain(json!({"wall_time": "10s"})), script());
    assert_eq!((outcome.status, outcome.elapsed), ("completed", 0));
}

#[test]
fn no_payload_is_larger_than_allowed() {
    let large = json!("x".repeat(100));
    let outcome = play(&chain(json!({"max_bytes": 50})), script().with("b", [large.clone()]));
    assert_eq!((code(&outcome), outcome.order.len()), ("exceeded_max_bytes", 2));
    let outcome = play(&chain(json!({"max_bytes": 50})), script().inputs(large));
    assert_eq!((code(&outcome), outcome.order.len()), ("exceeded_max_bytes", 0));
}

#[test]
fn inline_nodes_go_on_in_the_next_step_when_there_are_many() {
    let graph = json!({"limits": {"max_hops": 5000}, "nodes": [
        {"id": "a", "type": "loop", "loop": {"max_iterations": 1200, "timeout_path": ["b"]}},
        {"id": "b", "type": "delay", "config": {"for": 0}}]});
    let outcome = play(&graph, script().inputs(json!({"x": 1})));
    assert_eq!((outcome.status, outcome.output, outcome.elapsed), ("completed", json!({"x": 1}), 0));
}
