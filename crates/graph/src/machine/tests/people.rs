//! Approvals: what people see, the effect of their decisions, and timeouts.

use rhythm_core::event::EventData;
use serde_json::{Value, json};

use super::stage::{code, play, script, stage};

fn asking(human_config: Value) -> Value {
    json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["m"]},
        {"id": "m", "type": "human", "dependents": ["yes"], "rejection_path": ["no"], "human_config": human_config},
        {"id": "yes", "type": "delay", "config": {"for": 0}}, {"id": "no", "type": "delay", "config": {"for": 0}}]})
}

#[test]
fn a_question_consumes_its_token_and_keeps_the_run_open() {
    let stage = stage(&asking(json!({"approvers": ["ann"]})), script().with("a", [json!({"amount": 5})]));
    let outcome = stage.outcome();
    assert_eq!((outcome.status, outcome.counter, outcome.waiting), ("waiting", 0, vec!["m".to_owned()]));
    let asked = stage.history.iter().find_map(|event| match &event.data {
        EventData::ApprovalCreated(asked) => Some(asked),
        _ => None,
    });
    let asked = asked.unwrap();
    assert_eq!((asked.node.as_str(), asked.approvers.as_slice()), ("m", ["ann".to_owned()].as_slice()));
    assert_eq!((asked.payload.text().unwrap(), asked.visit), (r#"{"amount":5}"#, Some(1)));
    assert_eq!(stage.state.awaiting.iter().collect::<Vec<_>>(), ["@approval:2"]);
}

#[test]
fn the_answer_goes_along_with_what_was_asked_about() {
    let script = |decision: &str| {
        let answer =
            json!({"decision": decision, "by": "ann", "comments": "fine", "data": {"limit": 9}, "after": 60});
        script().with("a", [json!({"amount": 5})]).decides("m", [answer])
    };
    for decision in ["approve", "reject"] {
        let outcome = play(&asking(json!({})), script(decision));
        let expected = json!({"amount": 5, "decision": decision, "decided_by": "ann", "comments": "fine", "data": {"limit": 9}});
        assert_eq!((outcome.output, outcome.elapsed, outcome.counter), (expected, 60, 0));
        let stage = stage(&asking(json!({})), script(decision));
        let last = if decision == "approve" { "m>yes" } else { "m>no" };
        assert_eq!(stage.path().last().unwrap(), last);
    }
}

#[test]
fn nobody_answering_is_an_answer_by_policy() {
    for (policy, last) in [
        (None, "m>no"),
        (Some("reject"), "m>no"),
        (Some("auto_reject"), "m>no"),
        (Some("auto_approve"), "m>yes"),
        (Some("auto_approve_after_timeout"), "m>yes"),
    ] {
        let mut config = json!({"timeout_hours": 48});
        if let Some(policy) = policy {
            config["escalation_policy"] = json!(policy);
        }
        let stage = stage(&asking(config), script());
        let outcome = stage.outcome();
        assert_eq!((stage.path().last().unwrap().as_str(), outcome.elapsed), (last, 48 * 3600), "{policy:?}");
        let recorded = match policy.is_some_and(|policy: &str| policy.starts_with("auto_approve")) {
            true => json!({"decision": "approve", "decided_by": "system", "reason": "timeout"}),
            false => json!({"decision": "timeout", "decided_by": "system"}),
        };
        assert_eq!(outcome.output, recorded);
        assert!(stage.kinds().contains(&"approval_decided"));
    }
    let outcome = play(&asking(json!({"timeout": "1h", "escalation_policy": "fail"})), script());
    assert_eq!(code(&outcome), "node_failed:m");
    assert_eq!(outcome.failure.unwrap().kind, "approval_timeout");
}

#[test]
fn an_answer_in_time_stops_the_clock() {
    let config = json!({"timeout": "1h", "escalation": [{"after": "30m", "approvers": ["boss"]}]});
    let outcome = play(
        &asking(config),
        script().decides("m", [json!({"decision": "approve", "by": "ann", "after": 60})]),
    );
    assert_eq!((outcome.status, outcome.elapsed), ("completed", 60));
}

#[test]
fn others_are_asked_in_time_and_nothing_is_restarted() {
    let config = json!({"timeout": "3h", "escalation_policy": "escalate", "approvers": ["ann"], "escalation": [
        {"after": "1h", "approvers": ["boss"]}, {"after": "2h", "approvers": ["director"]}]});
    let stage = stage(&asking(config), script());
    let told: Vec<_> = stage
        .history
        .iter()
        .filter_map(|event| match &event.data {
            EventData::ApprovalEscalated(told) => Some((event.at.0 / 3_600_000, told.approvers[0].clone())),
            _ => None,
        })
        .collect();
    assert_eq!(told, [(1, "boss".to_owned()), (2, "director".to_owned())]);
    assert_eq!((stage.outcome().elapsed, stage.path().last().unwrap().as_str()), (3 * 3600, "m>no"));
    assert_eq!(stage.kinds().iter().filter(|kind| **kind == "approval_created").count(), 1);
}

#[test]
fn a_second_visit_is_a_second_question() {
    let graph = json!({"nodes": [
        {"id": "m", "type": "human", "dependents": ["b"], "rejection_path": ["c"]},
        {"id": "b", "type": "task", "loop": {"condition": {"type": "cel", "expression": "output.again"},
            "max_iterations": 5, "loop_back_to": "m"}},
        {"id": "c", "type": "task"}]});
    let script = script().with("b", [json!({"again": true})]).decides(
        "m",
        [json!({"decision": "approve", "by": "ann"}), json!({"decision": "reject", "by": "bob"})],
    );
    let stage = stage(&graph, script);
    let visits: Vec<_> = stage
        .history
        .iter()
        .filter_map(|event| match &event.data {
            EventData::ApprovalCreated(asked) => asked.visit,
            _ => None,
        })
        .collect();
    assert_eq!(
        (visits, stage.outcome().order),
        (vec![1, 2], vec!["m".into(), "b".into(), "m".into(), "c".into()])
    );
}

#[test]
fn a_decision_is_in_the_context_of_later_conditions() {
    let graph = json!({"nodes": [
        {"id": "m", "type": "human", "dependents": ["a"]},
        {"id": "a", "type": "task", "branch": {"rules": [{"condition": {"type": "cel",
            "expression": "ctx.m.output.decision == 'approve' && ctx.m.output.decided_by == 'ann'"}, "next_nodes": ["b"]}],
            "default": ["c"]}},
        {"id": "b", "type": "task"}, {"id": "c", "type": "task"}]});
    let outcome = play(&graph, script().decides("m", [json!({"decision": "approve", "by": "ann"})]));
    assert_eq!(outcome.order, ["m", "a", "b"]);
}
