//! Joins inside loops, also with nodes that may not send: a held node, a sandbox question, a failure.

use rhythm_core::id::MessageId;
use rhythm_core::message::{MessageBody, Patched, Replay};
use serde_json::{Value, json};

use super::stage::{Stage, WAYS, code, payload, play, script, stage};
use crate::machine::WaitingFor;

fn cel(expression: &str) -> Value {
    json!({"type": "cel", "expression": expression})
}

fn inputs_of<'a>(stage: &'a Stage, task: &str) -> Vec<&'a Value> {
    stage.calls.iter().filter(|(name, _)| name == task).map(|(_, call)| &call["input"]).collect()
}

/// Changes the graph, then begins the held or failed node again.
fn begins_anew(stage: &mut Stage, node: &str, operations: &Value) {
    let waiting = stage.program.waiting(stage.state.snapshot.as_ref().unwrap()).unwrap();
    let command = waiting.iter().find(|waiting| waiting.node == node).unwrap().command.unwrap();
    let patch = Patched { operations: payload(operations), reason: "mend".into() };
    stage.expect(stage.now, MessageId::new("mend"), MessageBody::Patch(patch));
    let replay = Replay { node: node.into(), command, reason: "mended".into() };
    stage.expect(stage.now, MessageId::new("again"), MessageBody::Replay(replay));
    stage.play();
    stage.check();
}

#[test]
fn a_loop_keeps_its_count_while_its_only_token_waits_at_a_join() {
    // In the second pass only the join has a token of the loop. The other sender is outside the loop, and so
    // is the node that emits in between.
    let graph = json!({"nodes": [
        {"id": "s", "type": "task", "dependents": ["a", "p", "q", "w"]},
        {"id": "a", "type": "task", "dependents": ["j"]},
        {"id": "p", "type": "delay", "config": {"for": "1s"}, "dependents": ["o"]},
        {"id": "q", "type": "delay", "config": {"for": "60s"}, "dependents": ["o"]},
        {"id": "o", "type": "task", "dependencies": ["p", "q"], "wait_for_all": false, "dependents": ["j"]},
        {"id": "w", "type": "delay", "config": {"for": "30s"}, "dependents": ["v"]},
        {"id": "v", "type": "task", "dependents": []},
        {"id": "j", "type": "task", "dependencies": ["a", "o"],
            "loop": {"max_iterations": 2, "loop_back_to": "a", "timeout_path": ["t"]}},
        {"id": "t", "type": "task"}]});
    assert_eq!(play(&graph, script()).order, ["s", "a", "o", "j", "a", "v", "o", "j", "t"]);
}

#[test]
fn a_join_behind_a_loop_waits_until_the_loop_is_left() {
    let graph = json!({"nodes": [
        {"id": "s", "type": "task", "dependents": ["l", "x"]},
        {"id": "l", "type": "task", "loop": {"condition": cel("output.again"), "max_iterations": 3,
            "break_path": ["j"], "timeout_path": ["t"]}},
        {"id": "x", "type": "task", "dependents": ["j"]},
        {"id": "t", "type": "task"},
        {"id": "j", "type": "task", "dependencies": ["l", "x"]}]});
    let (again, enough) = (json!({"again": true}), json!({"again": false}));
    let left = stage(&graph, script().with("l", [again.clone(), enough.clone()]).with("x", [json!(1)]));
    assert_eq!(left.outcome().order, ["s", "l", "x", "l", "j"]);
    assert_eq!(inputs_of(&left, "j"), [&json!({"l": enough, "x": 1})]);
    let tired = stage(&graph, script().with("l", [again]).with("x", [json!(1)]));
    assert_eq!(tired.outcome().order, ["s", "l", "x", "l", "l", "t", "j"]);
    assert_eq!(inputs_of(&tired, "j"), [&json!({"x": 1})]);
}

#[test]
fn a_loop_keeps_its_count_while_a_node_of_it_is_held() {
    let graph = json!({"nodes": [
        {"id": "s", "type": "task", "dependents": ["a", "w"]},
        {"id": "a", "type": "task", "dependents": ["f"]},
        {"id": "f", "type": "filter", "on_exhausted": "hold", "dependents": ["l"],
            "config": {"items": "$nodes.a.items", "condition": "true"}},
        {"id": "l", "type": "loop", "loop": {"max_iterations": 3, "loop_back_to": "a", "timeout_path": ["t"]}},
        {"id": "w", "type": "delay", "config": {"for": "30s"}, "dependents": ["v"]},
        {"id": "v", "type": "task", "dependents": []},
        {"id": "t", "type": "task"}]});
    for way in WAYS {
        let script = script().with("a", [json!({"items": [1]}), json!({"items": 5})]);
        let mut stage = Stage::new(&graph, script, way);
        stage.play();
        assert_eq!(
            (stage.outcome().order, stage.outcome().waiting),
            (vec!["s".into(), "a".into(), "a".into(), "v".into()], vec!["f".into()])
        );
        begins_anew(
            &mut stage,
            "f",
            &json!([{"op": "replace", "path": "/nodes/2/config/items", "value": [2]}]),
        );
        assert_eq!(stage.outcome().order, ["s", "a", "a", "v", "a", "t"]);
    }
}

#[test]
fn a_join_waits_for_a_node_that_is_held_and_takes_what_it_gives_in_the_end() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["b", "f"]}, {"id": "b", "type": "task", "dependents": ["d"]},
        {"id": "f", "type": "filter", "on_exhausted": "hold", "dependents": ["d"],
            "config": {"items": "$nodes.a.items", "condition": "true"}},
        {"id": "d", "type": "task", "dependencies": ["b", "f"]}]});
    for way in WAYS {
        let mut stage = Stage::new(&graph, script().with("b", [json!(1)]), way);
        stage.play();
        assert_eq!((stage.outcome().counter, stage.outcome().waiting), (2, vec!["f".to_owned()]));
        begins_anew(
            &mut stage,
            "f",
            &json!([{"op": "replace", "path": "/nodes/2/config/items", "value": [2]}]),
        );
        assert_eq!(inputs_of(&stage, "d"), [&json!({"b": 1, "f": [2]})]);
    }
}

#[test]
fn a_join_waits_for_a_result_whose_condition_is_asked_outside() {
    let ask = json!({"type": "python_sandbox", "code": "def evaluate(output, context):\n    return True"});
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["b", "c"]}, {"id": "b", "type": "task", "dependents": ["d"]},
        {"id": "c", "type": "task", "branch": {"rules": [{"condition": ask, "next_nodes": ["d"]}], "default": []}},
        {"id": "d", "type": "task", "dependencies": ["b", "c"]}]});
    let sandbox = "rhythm.sandbox";
    let open = play(&graph, script().silent(sandbox));
    assert_eq!((open.counter, open.waiting), (2, vec!["c".to_owned()]));
    for (says, expected) in [(true, json!({"b": 1, "c": 2})), (false, json!({"b": 1}))] {
        let answers = script().with("b", [json!(1)]).with("c", [json!(2)]).with(sandbox, [json!(says)]);
        assert_eq!(inputs_of(&stage(&graph, answers), "d"), [&expected]);
    }
}

#[test]
fn a_join_is_as_far_as_the_longest_way_to_it() {
    let graph = |most: u32| {
        json!({"limits": {"max_hops": most}, "nodes": [
        {"id": "a", "type": "task", "dependents": ["d", "b"]}, {"id": "b", "type": "task", "dependents": ["c"]},
        {"id": "c", "type": "task", "dependents": ["d"]},
        {"id": "d", "type": "task", "dependencies": ["a", "c"], "dependents": ["e"]}, {"id": "e", "type": "task"}]})
    };
    assert_eq!(play(&graph(4), script()).status, "completed");
    assert_eq!(code(&play(&graph(3), script())), "exceeded_max_hops");
}

#[test]
fn a_pass_whose_condition_could_not_be_evaluated_is_counted_when_it_is_repeated_only() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "on_exhausted": "hold", "on_condition_error": "fail", "loop": {
            "condition": cel("output.risk.score > 1"), "max_iterations": 2, "break_path": ["b"], "timeout_path": ["t"]}},
        {"id": "b", "type": "task"}, {"id": "t", "type": "task"}]});
    for way in WAYS {
        let mut stage =
            Stage::new(&graph, script().with("a", [json!({}), json!({"risk": {"score": 0}})]), way);
        stage.play();
        let waiting = stage.program.waiting(stage.state.snapshot.as_ref().unwrap()).unwrap();
        assert!(matches!(&waiting[0].what, WaitingFor::Held(_)), "{waiting:?}");
        begins_anew(&mut stage, "a", &json!([{"op": "test", "path": "/nodes/0/id", "value": "a"}]));
        assert_eq!(stage.outcome().order, ["a", "a", "b"]);
    }
}

#[test]
fn a_failed_run_that_goes_on_still_has_what_waits_at_its_joins() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["b", "w"]}, {"id": "b", "type": "task", "dependents": ["d"]},
        {"id": "w", "type": "delay", "config": {"for": "5s"}, "dependents": ["c"]},
        {"id": "c", "type": "task", "retry": 1, "dependents": ["d"]},
        {"id": "d", "type": "task", "dependencies": ["b", "c"]}]});
    for way in WAYS {
        let mut stage = Stage::new(&graph, script().with("b", [json!(1)]).failing("c", "X"), way);
        stage.play();
        assert_eq!((code(&stage.outcome()), stage.outcome().counter), ("node_failed:c", 2));
        stage.answers("c");
        stage.reopen();
        begins_anew(&mut stage, "c", &json!([{"op": "test", "path": "/nodes/3/id", "value": "c"}]));
        assert_eq!(inputs_of(&stage, "d"), [&json!({"b": 1, "c": {}})]);
    }
}
