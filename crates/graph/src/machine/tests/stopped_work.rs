//! Work stopped by a failure beside it or by a deadline: children, many tasks at once, sandbox questions,
//! held nodes. Work finished by then is undone.

use rhythm_core::command::Command;
use rhythm_core::id::{CommandId, MessageId};
use rhythm_core::message::MessageBody;
use serde_json::{Value, json};

use super::stage::{Stage, WAYS, code, script};

fn played(graph: &Value, script: super::stage::Script, way: super::stage::Way) -> Stage {
    let mut stage = Stage::new(graph, script, way);
    stage.play();
    stage.check();
    stage
}

fn undone(stage: &Stage) -> Vec<(&str, &Value)> {
    let calls = stage.calls.iter().filter(|(name, _)| name.starts_with("undo"));
    calls.map(|(name, call)| (name.as_str(), &call["input"])).collect()
}

#[test]
fn what_children_did_is_taken_back_with_what_they_gave() {
    let graph = json!({"nodes": [
        {"id": "k", "type": "child", "config": {"workflow": "kid"}, "dependents": ["p"], "compensator": {"action": "undo_k"}},
        {"id": "p", "type": "parallel", "config": {"items": [1, 2], "workflow": "kid"}, "dependents": ["b"],
            "compensator": {"action": "undo_p"}},
        {"id": "b", "type": "task"}]});
    for way in WAYS {
        let script =
            script().with("k", [json!("K")]).with("p", [json!("one"), json!("two")]).failing("b", "X");
        let stage = played(&graph, script, way);
        assert_eq!(code(&stage.outcome()), "node_failed:b");
        assert_eq!(undone(&stage), [("undo_p", &json!(["one", "two"])), ("undo_k", &json!("K"))]);
    }
}

#[test]
fn children_under_way_beside_a_failure_are_called_off_before_anything_is_taken_back() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["k", "p", "w"], "compensator": {"action": "undo_a"}},
        {"id": "k", "type": "child", "config": {"workflow": "kid"}},
        {"id": "p", "type": "parallel", "config": {"items": [1, 2, 3], "workflow": "kid", "concurrency": 2}},
        {"id": "w", "type": "delay", "config": {"for": "5s"}, "dependents": ["b"]}, {"id": "b", "type": "task"}]});
    for way in WAYS {
        let script = script().silent("k").silent("p").silent("undo a").failing("b", "X");
        let stage = played(&graph, script, way);
        assert_eq!(stage.outcome().status, "waiting", "for what takes back");
        assert_eq!(stage.called_off, [2, 3, 4].map(|number| Command::CancelChild(CommandId(number))));
        assert_eq!(stage.order.iter().filter(|node| *node == "p").count(), 2, "the third never began");
    }
}

#[test]
fn a_deadline_calls_off_every_item_under_way_and_begins_no_other() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["p"], "compensator": {"action": "undo_a"}},
        {"id": "p", "type": "parallel", "config": {"items": [1, 2, 3, 4, 5], "task": "each", "concurrency": 3},
            "compensator": {"action": "undo_p"}}]});
    for way in WAYS {
        let mut stage = Stage::new(&graph, script().silent("p").silent("undo a"), way);
        stage.expect(50_000, MessageId::deadline(), MessageBody::DeadlineReached);
        stage.play();
        assert_eq!(undone(&stage).iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["undo_a"]);
        assert_eq!(stage.order.iter().filter(|node| *node == "p").count(), 3);
        assert_eq!(stage.called_off, [2, 3, 4].map(|number| Command::CancelTask(CommandId(number))));
    }
}

#[test]
fn a_result_that_waits_for_its_condition_is_taken_back_too() {
    let ask = json!({"type": "python_sandbox", "code": "def evaluate(output, context):\n    return True"});
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["c", "w"]},
        {"id": "c", "type": "task", "compensator": {"action": "undo_c"},
            "branch": {"rules": [{"condition": ask, "next_nodes": ["d"]}], "default": []}},
        {"id": "d", "type": "task"}, {"id": "w", "type": "delay", "config": {"for": "5s"}, "dependents": ["b"]},
        {"id": "b", "type": "task"}]});
    for way in WAYS {
        let script = script().with("c", [json!("paid")]).silent("rhythm.sandbox").failing("b", "X");
        let stage = played(&graph, script, way);
        assert_eq!(
            (code(&stage.outcome()), undone(&stage)),
            ("node_failed:b", vec![("undo_c", &json!("paid"))])
        );
    }
}

#[test]
fn items_of_one_node_share_its_deadline_and_are_not_tried_again_behind_it() {
    let graph = |deadline: u32| {
        json!({"nodes": [
        {"id": "p", "type": "parallel", "config": {"items": [1, 2], "workflow": "kid", "concurrency": 1},
            "retry": {"max_attempts": 3, "backoff_ms": 2000, "backoff_multiplier": 1, "jitter": 0},
            "limits": {"deadline_s": deadline}}]})
    };
    // Each item fails once and is retried after two seconds.
    let failing = || {
        let mut script = script();
        let failure = rhythm_core::failure::Failure::new("X", "it broke");
        let answers = [Err(failure.clone()), Ok(json!(1)), Err(failure), Ok(json!(2))];
        script.answers.insert("p".to_owned(), answers.to_vec());
        script
    };
    for way in WAYS {
        let outcome = played(&graph(5), failing(), way).outcome();
        assert_eq!((outcome.output, outcome.elapsed), (json!([1, 2]), 4));
        let outcome = played(&graph(3), failing(), way).outcome();
        assert_eq!((code(&outcome), outcome.elapsed), ("node_failed:p", 2));
        let failure = outcome.failure.unwrap();
        assert_eq!((failure.kind.as_str(), failure.attempts), ("deadline_exceeded", 1));
    }
}

#[test]
fn a_task_of_many_that_had_no_time_for_another_attempt_says_so() {
    let graph = json!({"nodes": [
        {"id": "p", "type": "parallel", "config": {"items": [1, 2], "task": "each", "settle": true},
            "retry": {"max_attempts": 3, "backoff_ms": 9000, "jitter": 0}, "limits": {"deadline_s": 5}}]});
    for way in WAYS {
        let mut script = script();
        let failure = rhythm_core::failure::Failure::new("X", "it broke").with_attempts(1);
        script.answers.insert("p".to_owned(), vec![Err(failure), Ok(json!(2))]);
        let output = played(&graph, script, way).outcome().output;
        let kinds: Vec<&Value> =
            output.as_array().unwrap().iter().map(|item| &item["error"]["type"]).collect();
        assert_eq!(kinds, [&json!("deadline_exceeded"), &json!(null)]);
    }
}

#[test]
fn a_run_that_may_take_so_long_does_not_outlast_it_because_a_node_is_held() {
    let graph = json!({"limits": {"wall_time": "1m"}, "nodes": [
        {"id": "a", "type": "task", "dependents": ["f"], "compensator": {"action": "undo_a"}},
        {"id": "f", "type": "filter", "on_exhausted": "hold", "config": {"items": "$nodes.a.items", "condition": "true"}}]});
    for way in WAYS {
        let stage = played(&graph, script().with("a", [json!({"items": 5})]), way);
        let outcome = stage.outcome();
        assert_eq!((code(&outcome), outcome.elapsed, undone(&stage).len()), ("deadline_exceeded", 60, 1));
    }
}

#[test]
fn a_held_node_of_many_children_begins_all_of_them_anew() {
    let graph = json!({"nodes": [{"id": "p", "type": "parallel", "on_exhausted": "hold", "retry": 1,
        "config": {"items": [1, 2, 3], "workflow": "kid", "concurrency": 2}}]});
    for way in WAYS {
        let mut failing = script();
        let failure = rhythm_core::failure::Failure::permanent("X", "it broke");
        failing.answers.insert("p".to_owned(), vec![Ok(json!(1)), Err(failure), Ok(json!(7))]);
        let mut stage = played(&graph, failing, way);
        let held = stage.program.waiting(stage.state.snapshot.as_ref().unwrap()).unwrap();
        assert_eq!(held.len(), 1, "none of its children is waited for: {held:?}");
        let (node, command, reason) = ("p".to_owned(), held[0].command.unwrap(), "again".to_owned());
        let replay = rhythm_core::message::Replay { node, command, reason };
        stage.expect(stage.now, MessageId::new("again"), MessageBody::Replay(replay));
        stage.play();
        assert_eq!(stage.outcome().output, json!([7, 7, 7]));
    }
}
