//! Routing decisions, and their record in the history.

use rhythm_core::event::EventData;
use serde_json::json;

use super::stage::{Stage, Way, code, play, script, stage};

#[test]
fn an_agent_that_names_somebody_else_fails_the_run_before_anything_is_emitted() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "agent", "error_path": ["b"], "branch": {"type": "agent_driven", "available_next_nodes": ["b"]}},
        {"id": "b", "type": "task"}, {"id": "c", "type": "task", "dependencies": ["b"]}]});
    for chosen in [json!(["b", "c"]), json!(["ghost"]), json!([7]), json!("c")] {
        let stage = stage(&graph, script().with("a", [json!({"next_nodes": chosen})]));
        let outcome = stage.outcome();
        assert_eq!((outcome.status, code(&outcome)), ("failed", "unauthorized_route"), "{chosen}");
        assert_eq!((outcome.order, stage.path()), (vec!["a".to_owned()], vec![">a".to_owned()]));
    }
}

#[test]
fn nobody_emits_to_whom_it_may_not() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "agent", "can_emit_to": ["b"],
            "branch": {"type": "agent_driven", "available_next_nodes": ["b", "c"]}},
        {"id": "b", "type": "task"}, {"id": "c", "type": "task"}]});
    let outcome = play(&graph, script().with("a", [json!({"next_nodes": ["b"]})]));
    assert_eq!(outcome.status, "completed");
    let outcome = play(&graph, script().with("a", [json!({"next_nodes": ["b", "c"]})]));
    assert_eq!((code(&outcome), outcome.order.len()), ("unauthorized_route", 1));
}

#[test]
fn conditions_see_outputs_inputs_and_how_nodes_ended() {
    let cel = "output.n + ctx.a.output.n == inputs.sum && ctx.a.metadata.attempt == 1 && ctx.a.metadata.duration_ms == 0";
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["b"]},
        {"id": "b", "type": "task", "branch": {"rules": [
            {"condition": {"type": "cel", "expression": cel}, "next_nodes": ["c"]}], "default": ["d"]}},
        {"id": "c", "type": "task"}, {"id": "d", "type": "task"}]});
    for (sum, last) in [(7, "c"), (8, "d")] {
        let script =
            script().inputs(json!({"sum": sum})).with("a", [json!({"n": 3})]).with("b", [json!({"n": 4})]);
        assert_eq!(play(&graph, script).order, ["a", "b", last]);
    }
}

#[test]
fn every_condition_leaves_its_verdict_and_one_that_cannot_be_evaluated_the_reason() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "branch": {"rules": [
            {"condition": {"type": "cel", "expression": "output.x.y > 1"}, "next_nodes": ["b"]},
            {"condition": {"type": "cel", "expression": "output.n > 1"}, "next_nodes": ["b"]}]}},
        {"id": "b", "type": "task"}]});
    let stage = stage(&graph, script().with("a", [json!({"n": 2})]));
    let told: Vec<_> = stage
        .history
        .iter()
        .filter_map(|event| match &event.data {
            EventData::ConditionEvaluated(told) => {
                Some((told.condition.as_str(), told.result, !told.reason.is_empty()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(told, [("rule 1", false, true), ("rule 2", true, false)]);
}

/// Covers the setting on the node and in the metadata, for a branch and a loop. Without it the condition
/// counts as not met.
#[test]
fn a_node_may_fail_when_its_condition_cannot_be_evaluated() {
    let rule =
        json!({"rules": [{"condition": "output.risk.score > 1", "next_nodes": ["b"]}], "default": ["c"]});
    let looping = json!({"condition": "output.risk.score > 1", "max_iterations": 3, "break_path": ["b"], "timeout_path": ["c"]});
    let with = |key: &str, block: &serde_json::Value, of: (Option<&str>, Option<&str>)| {
        json!({"metadata": {"on_condition_error": of.0}, "nodes": [
            {"id": "a", "type": "task", key: block, "on_condition_error": of.1},
            {"id": "b", "type": "task"}, {"id": "c", "type": "task"}]})
    };
    for (key, block, name) in [("branch", &rule, "rule 1"), ("loop", &looping, "the loop")] {
        for of in [(None, Some("fail")), (Some("fail"), None), (Some("false"), Some("fail"))] {
            let graph = with(key, block, of);
            let outcome = play(&graph, script().with("a", [json!({"risk": {"n": 1}})]));
            assert_eq!((outcome.status, code(&outcome)), ("failed", "condition_error:a"), "{key} {of:?}");
            assert_eq!(outcome.order, ["a"]);
            let failure = outcome.failure.unwrap();
            assert_eq!(failure.kind, "condition_error");
            let said = format!("{name} of a cannot be evaluated: output.risk.score > 1: ");
            assert!(failure.message.starts_with(&said), "{}", failure.message);
            let there = "`output.risk.score` is not there, `output.risk` is {\"n\":1}";
            assert!(failure.message.ends_with(there), "{}", failure.message);
        }
        for of in [(None, None), (Some("fail"), Some("false"))] {
            let outcome = play(&with(key, block, of), script().with("a", [json!({"risk": {"n": 1}})]));
            assert_eq!(outcome.status, "completed", "{key} {of:?}");
        }
    }
}

#[test]
fn a_condition_error_goes_down_the_error_path_and_names_values_of_the_wrong_kind() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "on_condition_error": "fail", "error_path": ["c"],
            "branch": {"rules": [{"condition": "output.n > inputs.most", "next_nodes": ["b"]}]}},
        {"id": "b", "type": "task"}, {"id": "c", "type": "task"}]});
    let stage = stage(&graph, script().inputs(json!({"most": 5})).with("a", [json!({"n": "many"})]));
    assert_eq!(stage.outcome().order, ["a", "c"]);
    let error = &stage.calls[1].1["input"]["error"];
    assert_eq!(error["code"], "condition_error:a");
    let message = error["message"].as_str().unwrap();
    assert!(message.ends_with("`output.n` is \"many\"; `inputs.most` is 5"), "{message}");
}

#[test]
fn a_filter_may_fail_at_an_item_it_cannot_judge() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "filter", "on_condition_error": "fail", "config": {"items": "$inputs.items", "condition": "output.n > 1"}}]});
    let items = json!({"items": [{"n": 2}, {"m": 2}]});
    let outcome = play(&graph, script().inputs(items.clone()));
    assert_eq!((outcome.status, code(&outcome)), ("failed", "condition_error:a"));
    assert!(outcome.failure.unwrap().message.starts_with("item 2 of a cannot be evaluated: output.n > 1: "));
    let mut lenient = graph;
    lenient["nodes"][0]["on_condition_error"] = json!(false);
    assert_eq!(play(&lenient, script().inputs(items)).status, "completed");
}

fn sandboxed() -> serde_json::Value {
    let ask = json!({"type": "python_sandbox", "code": "def evaluate(output, context):\n    return output['n'] > 1"});
    json!({"nodes": [
        {"id": "a", "type": "task", "branch": {"rules": [
            {"condition": {"type": "composite", "operator": "AND", "conditions": [
                {"type": "cel", "expression": "output.n > 0"}, ask]}, "next_nodes": ["b"]},
            {"condition": ask, "next_nodes": ["c"]}], "default": ["d"]}},
        {"id": "b", "type": "task"}, {"id": "c", "type": "task"}, {"id": "d", "type": "task"}]})
}

#[test]
fn a_condition_that_is_asked_outside_keeps_the_token_counted_until_it_is_answered() {
    let graph = sandboxed();
    let mut stage =
        Stage::new(&graph, script().with("a", [json!({"n": 2})]).silent("rhythm.sandbox"), Way::Reloaded);
    stage.play();
    stage.check();
    let outcome = stage.outcome();
    assert_eq!((outcome.status, outcome.counter, outcome.waiting), ("waiting", 1, vec!["a".to_owned()]));
    assert_eq!(stage.calls[1].1["output"], json!({"n": 2}));
}

#[test]
fn the_recorded_answer_routes() {
    let sandbox = "rhythm.sandbox";
    for (answers, order) in [
        (vec![json!(true)], vec!["a", sandbox, "b"]),
        (vec![json!(false), json!(true)], vec!["a", sandbox, sandbox, "c"]),
        (vec![json!(7), json!(false)], vec!["a", sandbox, sandbox, "d"]),
    ] {
        let outcome = play(&sandboxed(), script().with("a", [json!({"n": 2})]).with(sandbox, answers));
        assert_eq!((outcome.order, outcome.counter), (order.iter().map(|s| s.to_string()).collect(), 0));
    }
    let outcome = play(&sandboxed(), script().with("a", [json!({"n": 2})]).failing(sandbox, "LIMIT"));
    assert_eq!((outcome.status, outcome.order.last().unwrap().as_str()), ("completed", "d"));
}

#[test]
fn a_failed_node_fails_the_run_and_says_which_it_was_and_why() {
    let graph =
        json!({"nodes": [{"id": "a", "type": "task", "dependents": ["b"]}, {"id": "b", "type": "task"}]});
    let stage = stage(&graph, script().failing("b", "OutOfStock"));
    let outcome = stage.outcome();
    let failure = outcome.failure.clone().unwrap();
    assert_eq!((failure.code.as_str(), failure.kind.as_str()), ("node_failed:b", "OutOfStock"));
    assert_eq!((failure.message.as_str(), failure.attempts), ("OutOfStock: it broke", 3));
    assert_eq!(outcome.counter, 1, "what failed is still to be done when the run is opened again");
}

#[test]
fn a_run_that_failed_goes_on_from_before_its_failure() {
    let graph =
        json!({"nodes": [{"id": "a", "type": "task", "dependents": ["b"]}, {"id": "b", "type": "task"}]});
    let mut stage = stage(&graph, script().failing("b", "OutOfStock"));
    let mut failed = stage.last.take().unwrap();
    failed.state.cancelling = false;
    let body = rhythm_core::message::MessageBody::TaskCompleted(rhythm_core::message::TaskCompleted {
        task: rhythm_core::id::CommandId(2),
        attempt: 1,
        output: super::stage::payload(&json!("at last")),
    });
    stage.end = None;
    stage.expect(0, rhythm_core::id::MessageId::new("task:2"), body);
    stage.play();
    assert_eq!(stage.outcome().output, json!("at last"));
    assert_eq!(stage.outcome().counter, 0);
}

#[test]
fn the_path_of_a_run_can_be_read_from_its_rows() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["b", "c"]}, {"id": "b", "type": "task", "dependents": ["d"]},
        {"id": "c", "type": "task", "dependents": ["d"]}, {"id": "d", "type": "task", "dependencies": ["b", "c"]}]});
    let stage = stage(&graph, script());
    assert_eq!(stage.path(), [">a", "a>b", "a>c", "b>d", "c>d"]);
    let rows: Vec<String> = stage
        .history
        .iter()
        .filter_map(|event| match &event.data {
            EventData::NodeEmitted(token) | EventData::NodeConsumed(token) => Some(format!(
                "{} {}->{} hop {}",
                token.op_key, token.counter_before, token.counter_after, token.hop
            )),
            _ => None,
        })
        .collect();
    assert_eq!(
        rows,
        [
            "emit:1 0->1 hop 0",
            "emit:2 1->2 hop 1",
            "emit:3 2->3 hop 1",
            "consume:1 3->2 hop 0",
            "emit:4 2->3 hop 2",
            "consume:2 3->2 hop 1",
            "emit:5 2->3 hop 2",
            "consume:3 3->2 hop 1",
            "consume:4 2->1 hop 2",
            "consume:5 1->0 hop 2",
        ]
    );
}

#[test]
fn a_loop_that_is_left_by_a_way_out_of_its_middle_begins_anew() {
    let graph = json!({"nodes": [
        {"id": "s", "type": "task", "dependents": ["a"]},
        {"id": "a", "type": "task", "dependents": ["b"]},
        {"id": "b", "type": "task", "branch": {"rules": [{"condition": "output.out", "next_nodes": ["o"]}], "default": ["l"]}},
        {"id": "l", "type": "task", "loop": {"loop_back_to": "a", "max_iterations": 3, "timeout_path": ["t"]}},
        {"id": "o", "type": "task", "loop": {"loop_back_to": "s", "max_iterations": 2, "timeout_path": ["t"]}},
        {"id": "t", "type": "task"}]});
    let (stay, out) = (json!({"out": false}), json!({"out": true}));
    let outcome = play(&graph, script().with("b", [stay.clone(), stay.clone(), out, stay]));
    assert_eq!(outcome.order.iter().filter(|node| *node == "l").count(), 5, "{:?}", outcome.order);
}
