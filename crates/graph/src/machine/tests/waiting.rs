//! Joins: which senders they wait for, when they stop waiting, and the handling of tokens from several
//! rounds.

use rhythm_core::message::{MessageBody, TaskCompleted};
use serde_json::{Value, json};

use super::stage::{Stage, Way, play, script, stage};

fn cel(expression: &str) -> Value {
    json!({"type": "cel", "expression": expression})
}

#[test]
fn a_join_waits_for_whoever_can_still_send() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["b", "c"]}, {"id": "b", "type": "task", "dependents": ["d"]},
        {"id": "c", "type": "task", "dependents": ["x"]}, {"id": "x", "type": "task", "dependents": ["d"]},
        {"id": "d", "type": "task", "dependencies": ["b", "x"]}]});
    let outcome = play(&graph, script().silent("c"));
    assert_eq!((outcome.status, outcome.counter, outcome.order.len()), ("waiting", 2, 3));
}

#[test]
fn an_open_question_and_a_running_delay_can_still_send() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["b", "m", "w"]}, {"id": "b", "type": "task", "dependents": ["d"]},
        {"id": "m", "type": "human", "dependents": ["d"]},
        {"id": "w", "type": "delay", "config": {"for": "1m"}, "dependents": ["d"]},
        {"id": "d", "type": "delay", "config": {"for": 0}, "dependencies": ["b", "m", "w"]}]});
    let outcome = play(&graph, script());
    assert_eq!((outcome.status, outcome.waiting, outcome.counter), ("waiting", vec!["m".to_owned()], 2));
    let outcome =
        play(&graph, script().decides("m", [json!({"decision": "reject", "by": "ann", "after": 5})]));
    assert_eq!((outcome.output, outcome.elapsed), (json!({"b": {}, "w": {}}), 60));
}

#[test]
fn a_token_from_somebody_else_runs_the_join_alone() {
    // m is rejected into the join without being one of its dependencies.
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["b", "c", "m"]}, {"id": "b", "type": "task", "dependents": ["d"]},
        {"id": "c", "type": "task", "dependents": ["d"]},
        {"id": "m", "type": "human", "rejection_path": ["d"], "dependents": []},
        {"id": "d", "type": "task", "dependencies": ["b", "c"]}]});
    let stage = stage(
        &graph,
        script()
            .with("b", [json!("B")])
            .with("c", [json!("C")])
            .decides("m", [json!({"decision": "reject", "by": "ann"})]),
    );
    let inputs: Vec<&Value> =
        stage.calls.iter().filter(|(task, _)| task == "d").map(|(_, call)| &call["input"]).collect();
    assert_eq!(inputs, [&json!({"b": "B", "c": "C"}), &json!({"decision": "reject", "decided_by": "ann"})]);
}

#[test]
fn a_loop_back_to_a_join_runs_it_alone_and_does_not_disturb_what_waits_there() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["b", "c"]}, {"id": "b", "type": "task", "dependents": ["d"]},
        {"id": "c", "type": "task", "dependents": ["d"]},
        {"id": "d", "type": "task", "dependencies": ["b", "c"], "loop": {"condition": cel("output.again"),
            "max_iterations": 9, "break_path": ["e"]}},
        {"id": "e", "type": "task"}]});
    let stage = stage(&graph, script().with("d", [json!({"again": true}), json!({"again": false})]));
    assert_eq!(stage.outcome().order, ["a", "b", "c", "d", "d", "e"]);
    assert_eq!(stage.calls[4].1["input"], json!({"again": true}));
}

#[test]
fn rounds_of_a_loop_meet_at_a_join_in_order() {
    // Each round sends both ways. The join takes the first token of each sender, then the next.
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["b", "c"]}, {"id": "b", "type": "task", "dependents": ["d"]},
        {"id": "c", "type": "task", "dependents": ["d"]},
        {"id": "d", "type": "task", "dependencies": ["b", "c"], "loop": {"condition": cel("output.again"),
            "max_iterations": 9, "loop_back_to": "a", "break_path": ["e"]}},
        {"id": "e", "type": "task"}]});
    let stage = stage(
        &graph,
        script()
            .with("b", [json!(1), json!(2), json!(3)])
            .with("c", [json!(10), json!(20), json!(30)])
            .with("d", [json!({"again": true}), json!({"again": true}), json!({"again": false})]),
    );
    let inputs: Vec<&Value> =
        stage.calls.iter().filter(|(task, _)| task == "d").map(|(_, call)| &call["input"]).collect();
    assert_eq!(inputs, [&json!({"b": 1, "c": 10}), &json!({"b": 2, "c": 20}), &json!({"b": 3, "c": 30})]);
    assert_eq!(stage.outcome().counter, 0);
}

#[test]
fn several_tokens_of_one_sender_queue_up() {
    // b runs twice because it does not join, c once. The second token of b goes on alone when no more can
    // come.
    let graph = json!({"nodes": [
        {"id": "s", "type": "task", "dependents": ["x", "y", "c"]}, {"id": "x", "type": "task", "dependents": ["b"]},
        {"id": "y", "type": "task", "dependents": ["b"]},
        {"id": "b", "type": "task", "dependencies": ["x", "y"], "wait_for_all": false, "dependents": ["d"]},
        {"id": "c", "type": "task", "dependents": ["d"]},
        {"id": "d", "type": "task", "dependencies": ["b", "c"]}]});
    let stage = stage(&graph, script().with("b", [json!(1), json!(2)]).with("c", [json!(10)]));
    let inputs: Vec<&Value> =
        stage.calls.iter().filter(|(task, _)| task == "d").map(|(_, call)| &call["input"]).collect();
    assert_eq!(inputs, [&json!({"b": 1, "c": 10}), &json!({"b": 2})]);
}

#[test]
fn a_join_takes_one_of_each_sender_however_many_of_one_came_first() {
    let graph = json!({"nodes": [
        {"id": "s", "type": "task", "dependents": ["x", "y", "c"]}, {"id": "x", "type": "task", "dependents": ["b"]},
        {"id": "y", "type": "task", "dependents": ["b"]},
        {"id": "b", "type": "task", "dependencies": ["x", "y"], "wait_for_all": false, "dependents": ["d"]},
        {"id": "c", "type": "delay", "config": {"for": "1m"}, "dependents": ["d"]},
        {"id": "d", "type": "task", "dependencies": ["b", "c"]}]});
    let stage = stage(&graph, script().with("s", [json!(0)]).with("b", [json!(1), json!(2)]));
    let inputs: Vec<&Value> =
        stage.calls.iter().filter(|(task, _)| task == "d").map(|(_, call)| &call["input"]).collect();
    assert_eq!(inputs, [&json!({"b": 1, "c": 0}), &json!({"b": 2})]);
}

#[test]
fn a_join_waits_for_the_one_who_can_send_when_another_cannot() {
    // q is not chosen. w is under way and leads to y.
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["b", "x", "w"]}, {"id": "b", "type": "task", "dependents": ["d"]},
        {"id": "x", "type": "task", "branch": {"rules": [{"condition": "false", "next_nodes": ["q"]}], "default": []}},
        {"id": "q", "type": "task", "dependents": ["d"]},
        {"id": "w", "type": "delay", "config": {"for": "1m"}, "dependents": ["y"]},
        {"id": "y", "type": "task", "dependents": ["d"]},
        {"id": "d", "type": "delay", "config": {"for": 0}, "dependencies": ["b", "q", "y"]}]});
    let outcome = play(&graph, script().with("b", [json!(1)]).with("y", [json!(2)]));
    assert_eq!((outcome.output, outcome.elapsed), (json!({"b": 1, "y": 2}), 60));
}

#[test]
fn when_nothing_is_under_way_the_first_join_of_the_order_goes_on() {
    // j and k wait for each other's paths: only k leads to j's other dependency, and only j to k's. Only the
    // loop leads to q. The names must not matter.
    for (j, k) in [("j", "k"), ("k", "j")] {
        let graph = json!({"nodes": [
            {"id": "a", "type": "task", "dependents": [j, k]},
            {"id": j, "type": "task", "dependencies": ["a", "q"], "dependents": ["p"]},
            {"id": "p", "type": "task", "dependents": [k]},
            {"id": k, "type": "task", "dependencies": ["a", "p"], "dependents": ["r"],
                "loop": {"condition": cel("output.again"), "max_iterations": 3, "loop_back_to": "q", "break_path": ["r"]}},
            {"id": "q", "type": "task", "dependencies": ["a"], "dependents": [j]},
            {"id": "r", "type": "task"}]});
        let outcome = play(&graph, script());
        assert_eq!((outcome.status, outcome.counter), ("completed", 0), "{outcome:?}");
        assert_eq!(outcome.order, ["a", j, "p", k, "r"]);
    }
}

#[test]
fn of_two_joins_that_get_nothing_more_the_first_of_the_order_goes_on_first() {
    // No branch chooses x or y, so both joins go on with the tokens of a.
    for (first, second) in [("j", "k"), ("k", "j")] {
        let graph = json!({"nodes": [
            {"id": "a", "type": "task", "dependents": [first, second, "c"]},
            {"id": "c", "type": "task", "branch": {"rules": [{"condition": "false", "next_nodes": ["x", "y"]}], "default": []}},
            {"id": "x", "type": "task", "dependents": [first]}, {"id": "y", "type": "task", "dependents": [second]},
            {"id": first, "type": "task", "dependencies": ["a", "x"]},
            {"id": second, "type": "task", "dependencies": ["a", "y"]}]});
        assert_eq!(play(&graph, script()).order, ["a", "c", first, second]);
    }
}

#[test]
fn a_join_of_one_dependency_gets_it_by_name_when_it_says_so() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["b"]}, {"id": "b", "type": "delay", "config": {"for": 0}, "wait_for_all": true}]});
    assert_eq!(play(&graph, script().with("a", [json!(1)])).output, json!({"a": 1}));
}

#[test]
fn a_wide_fan_meets_once_and_answers_in_any_order_come_to_the_same() {
    let workers: Vec<String> = (0..100).map(|n| format!("w{n}")).collect();
    let mut nodes = vec![json!({"id": "a", "type": "task", "dependents": workers})];
    nodes.extend(workers.iter().map(|id| json!({"id": id, "type": "task", "dependents": ["z"]})));
    nodes.push(json!({"id": "z", "type": "task", "dependencies": workers}));
    let graph = json!({"limits": {"max_fanout": 100}, "nodes": nodes});
    let outcome = play(&graph, script());
    assert_eq!((outcome.order.len(), outcome.counter), (102, 0));
    let mut stage = Stage::new(&graph, script().silent("z"), Way::Reloaded);
    stage.play();
    let size = stage.state.snapshot.as_ref().unwrap().bytes.len();
    assert!(size < 40_000, "{size}");
}

#[test]
fn a_snapshot_does_not_grow_with_the_passes_of_a_loop() {
    let graph = json!({"limits": {"max_hops": 1000}, "nodes": [
        {"id": "a", "type": "task", "dependents": ["b"]},
        {"id": "b", "type": "task", "loop": {"max_iterations": 900, "loop_back_to": "a", "timeout_path": []}}]});
    let mut stage = Stage::new(&graph, script().with("a", [json!({"x": "y".repeat(100)})]), Way::Reloaded);
    let mut sizes = Vec::new();
    for _ in 0..400 {
        stage.deliver(0);
        sizes.push(stage.state.snapshot.as_ref().unwrap().bytes.len());
    }
    assert!(sizes[399] < sizes[10] + 60, "{} {}", sizes[10], sizes[399]);
}

#[test]
fn an_answer_to_what_has_ended_changes_nothing() {
    let graph =
        json!({"nodes": [{"id": "a", "type": "task", "dependents": ["b"]}, {"id": "b", "type": "task"}]});
    let mut stage = Stage::new(&graph, script().silent("b"), Way::Straight);
    stage.play();
    let before = stage.state.snapshot.clone();
    for task in [1, 7] {
        let output = super::stage::payload(&json!("late"));
        let body = MessageBody::TaskCompleted(TaskCompleted {
            task: rhythm_core::id::CommandId(task),
            attempt: 2,
            output,
        });
        stage.expect(9, rhythm_core::id::MessageId::new("late"), body);
        stage.play();
        assert_eq!(stage.state.snapshot, before);
    }
}
