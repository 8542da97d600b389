//! Compensation before a failed or cancelled run ends: what is undone, in which order, and how the rest is
//! reported.

use rhythm_core::event::EventData;
use rhythm_core::failure::Failure;
use rhythm_core::fold::End;
use rhythm_core::id::MessageId;
use rhythm_core::message::{Cancel, Compensate, MessageBody, TaskCompleted};
use rhythm_core::payload::Payload;
use rhythm_core::run::{Compensation, Status};
use serde_json::{Value, json};

use super::stage::{Script, Stage, WAYS, Way, code, script};

fn undoable(id: &str, dependents: &[&str]) -> Value {
    json!({"id": id, "type": "task", "dependents": dependents, "compensator": {"action": format!("undo_{id}"), "timeout_sec": 60, "retry": 3}})
}

fn order_graph() -> Value {
    json!({"nodes": [undoable("a", &["b", "c"]), undoable("b", &["d"]), undoable("c", &["d"]),
        {"id": "d", "type": "task", "dependencies": ["b", "c"]}]})
}

/// A second cancel ends a run at once, so messages are not doubled here.
fn played(graph: &Value, script: Script) -> Stage {
    let mut stage = Stage::new(graph, script, Way::Reloaded);
    stage.play();
    stage
}

#[test]
fn a_failed_run_takes_back_what_it_did_the_last_thing_first() {
    let stage =
        super::stage::stage(&order_graph(), script().with("b", [json!({"paid": 5})]).failing("d", "X"));
    let outcome = stage.outcome();
    assert_eq!((outcome.status, code(&outcome)), ("failed", "node_failed:d"));
    let names: Vec<&str> = stage.calls[4..].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["undo_c", "undo_b", "undo_a"]);
    assert_eq!(stage.calls[5].1, json!({"config": {}, "input": {"paid": 5}, "node": "b"}));
    assert!(stage.state.awaiting.contains(Compensation::DONE), "it is not to be opened again");
}

#[test]
fn a_run_whose_nodes_did_nothing_that_can_be_undone_just_fails() {
    let stage = played(&order_graph(), script().failing("a", "X"));
    assert_eq!((code(&stage.outcome()), stage.calls.len()), ("node_failed:a", 1));
    assert!(stage.state.awaiting.is_empty());
}

#[test]
fn what_is_under_way_is_stopped_first() {
    let graph = json!({"nodes": [undoable("a", &["b", "w", "m", "k"]), {"id": "b", "type": "task"},
        {"id": "w", "type": "delay", "config": {"for": "1h"}}, {"id": "m", "type": "human", "human_config": {"timeout": "2h"}},
        {"id": "k", "type": "child", "config": {"workflow": "kid"}}]});
    let stage = played(&graph, script().failing("b", "X").silent("k"));
    let outcome = stage.outcome();
    assert_eq!((code(&outcome), outcome.elapsed), ("node_failed:b", 0));
    let cancelled = stage.history.iter().any(
        |event| matches!(&event.data, EventData::ApprovalDecided(decided) if decided.decision == "cancelled"),
    );
    assert!(cancelled);
}

#[test]
fn one_that_cannot_be_undone_does_not_keep_the_others_and_is_named() {
    let script = script().failing("d", "X").failing("undo b", "REFUND");
    let stage = super::stage::stage(&order_graph(), script);
    let failure = stage.outcome().failure.unwrap();
    assert_eq!(failure.code, "node_failed:d");
    assert!(failure.message.contains("still to be undone: b (undo_b: REFUND: it broke)"), "{failure}");
    assert_eq!(stage.calls.len(), 7);
    assert!(stage.kinds().contains(&"warning"));
}

#[test]
fn every_pass_of_a_loop_is_taken_back() {
    let mut node = undoable("a", &[]);
    node["loop"] = json!({"max_iterations": 3, "timeout_path": ["b"]});
    let graph = json!({"nodes": [node, {"id": "b", "type": "task"}]});
    let stage = played(&graph, script().with("a", [json!(1), json!(2), json!(3)]).failing("b", "X"));
    let taken: Vec<&Value> = stage.calls[4..].iter().map(|(_, call)| &call["input"]).collect();
    assert_eq!(taken, [&json!(3), &json!(2), &json!(1)]);
}

#[test]
fn a_cancelled_run_takes_back_what_it_did_and_ends_cancelled() {
    let mut script = script().silent("d");
    script.cancel_at = Some(10);
    let stage = played(&order_graph(), script);
    let outcome = stage.outcome();
    assert_eq!((outcome.status, outcome.elapsed), ("cancelled", 10));
    let names: Vec<&str> = stage.calls[4..].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["undo_c", "undo_b", "undo_a"]);
}

#[test]
fn a_cancelled_run_with_nothing_to_undo_ends_at_once() {
    let graph = json!({"nodes": [{"id": "m", "type": "human", "human_config": {"timeout": "2h"}}]});
    let mut script = script();
    script.cancel_at = Some(10);
    let stage = played(&graph, script);
    assert_eq!((stage.outcome().status, stage.outcome().elapsed), ("cancelled", 10));
    assert!(stage.kinds().contains(&"approval_decided"));
}

#[test]
fn a_cancelled_run_says_what_it_could_not_take_back() {
    let mut script = script().silent("d").failing("undo b", "REFUND");
    script.cancel_at = Some(10);
    let stage = played(&order_graph(), script);
    let Some(End::Cancelled(reason)) = &stage.end else { panic!("{:?}", stage.end) };
    assert_eq!(reason, "cancelled; compensation_failed: still to be undone: b (undo_b: REFUND: it broke)");
    assert_eq!(stage.calls.len(), 7);
    assert!(stage.state.awaiting.contains(Compensation::FAILED));
}

#[test]
fn a_cancel_does_not_call_off_what_a_failed_run_takes_back() {
    let mut script = script().failing("d", "X").silent("undo b");
    script.cancel_at = Some(10);
    let mut stage = played(&order_graph(), script);
    let last = stage.last.clone().unwrap();
    assert!(last.state.cancelling && !last.cancel_open && last.end.is_none(), "{last:?}");
    assert!(stage.state.awaiting.contains(Compensation::UNDER_WAY));
    let task = stage.program.waiting(stage.state.snapshot.as_ref().unwrap()).unwrap()[0].command.unwrap();
    let done = TaskCompleted { task, attempt: 1, output: Payload::null() };
    stage.expect(11_000, MessageId::task(task), MessageBody::TaskCompleted(done));
    stage.play();
    assert_eq!(stage.calls.last().unwrap().0, "undo_a");
    let Some(End::Cancelled(reason)) = &stage.end else { panic!("{:?}", stage.end) };
    assert_eq!(reason, "cancelled; node_failed:d: X: it broke");
    assert!(stage.state.awaiting.contains(Compensation::DONE));
}

#[test]
fn a_second_cancel_ends_a_run_at_once_and_it_says_that_something_is_left() {
    let mut script = script().silent("d").silent("undo b");
    script.cancel_at = Some(10);
    let mut stage = played(&order_graph(), script);
    let again = MessageBody::Cancel(Cancel::because("now"));
    stage.expect(20_000, MessageId::new("again"), again);
    stage.play();
    assert_eq!(stage.end, Some(End::Cancelled("now".into())));
    assert!(stage.last.as_ref().unwrap().cancel_open);
    assert_eq!(Compensation::of(Status::Cancelled, &stage.state.awaiting), Compensation::Failed);
}

/// Reopens an ended run for compensation.
fn taken_back(stage: &mut Stage, failure: Option<Failure>) {
    stage.end = None;
    let asked = Compensate { reason: "not wanted".into(), failure };
    stage.expect(
        stage.now,
        MessageId::new(format!("compensate:{}", stage.calls.len())),
        MessageBody::Compensate(asked),
    );
    stage.play();
}

#[test]
fn a_completed_run_takes_back_what_it_did_when_it_is_asked_to() {
    for way in WAYS {
        let mut stage = Stage::new(&order_graph(), script().with("d", [json!("all of it")]), way);
        stage.play();
        assert_eq!(stage.outcome().status, "completed");
        taken_back(&mut stage, None);
        let outcome = stage.outcome();
        assert_eq!((outcome.status, outcome.output), ("completed", json!("all of it")));
        let names: Vec<&str> = stage.calls[4..].iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["undo_c", "undo_b", "undo_a"]);
        assert!(stage.state.awaiting.contains(Compensation::DONE));
        assert_eq!(stage.program.undoable(stage.state.snapshot.as_ref().unwrap()).unwrap(), [""; 0]);
    }
}

#[test]
fn a_completed_run_that_cannot_take_everything_back_fails_and_says_what_is_left() {
    let mut stage = played(&order_graph(), script().failing("undo b", "REFUND"));
    taken_back(&mut stage, None);
    let failure = stage.outcome().failure.unwrap();
    assert_eq!(failure.to_string(), "compensation_failed: still to be undone: b (undo_b: REFUND: it broke)");
    assert!(stage.state.awaiting.contains(Compensation::FAILED));
}

#[test]
fn what_could_not_be_taken_back_is_asked_for_again_by_asking_again() {
    for (first, left) in [("undo b", vec!["b"]), ("undo c", vec!["c"]), ("undo a", vec!["a"])] {
        let script = script().with("d", [json!("all of it")]).failing(first, "REFUND");
        let mut stage = played(&order_graph(), script);
        taken_back(&mut stage, None);
        let failure = stage.outcome().failure.unwrap();
        assert_eq!(stage.program.undoable(stage.state.snapshot.as_ref().unwrap()).unwrap(), left);
        let asked = stage.calls.len();
        stage.answers(first);
        taken_back(&mut stage, Some(failure));
        assert_eq!((stage.outcome().status, stage.outcome().output), ("completed", json!("all of it")));
        let names: Vec<&str> = stage.calls[asked..].iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, [first.replace(' ', "_")], "the others are not asked again");
        assert!(stage.state.awaiting.contains(Compensation::DONE));
    }
}

#[test]
fn a_failed_run_that_takes_back_the_rest_fails_as_it_had() {
    let mut stage = played(
        &order_graph(),
        script().failing("d", "BROKEN").failing("undo b", "REFUND").failing("undo a", "REFUND"),
    );
    let failure = stage.outcome().failure.unwrap();
    assert!(failure.message.contains("still to be undone: b (undo_b: REFUND"), "{failure}");
    stage.answers("undo b");
    taken_back(&mut stage, Some(failure.clone()));
    assert_eq!(stage.program.undoable(stage.state.snapshot.as_ref().unwrap()).unwrap(), ["a"]);
    stage.answers("undo a");
    taken_back(&mut stage, Some(failure));
    assert!(stage.state.awaiting.contains(Compensation::DONE));
    let failure = stage.outcome().failure.unwrap();
    assert_eq!(failure.to_string(), "node_failed:d: BROKEN: it broke");
    let names: Vec<&str> = stage.calls[4..].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["undo_c", "undo_b", "undo_a", "undo_b", "undo_a", "undo_a"]);
}

#[test]
fn what_a_second_cancel_called_off_can_be_taken_back_later() {
    let mut script = script().silent("d").silent("undo b");
    script.cancel_at = Some(10);
    let mut stage = played(&order_graph(), script);
    stage.expect(20_000, MessageId::new("again"), MessageBody::Cancel(Cancel::because("now")));
    stage.play();
    assert_eq!(stage.program.undoable(stage.state.snapshot.as_ref().unwrap()).unwrap(), ["b", "a"]);
    stage.answers("undo b");
    taken_back(&mut stage, None);
    assert_eq!(stage.end, Some(End::Cancelled("cancelled".into())));
    let names: Vec<&str> = stage.calls[4..].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["undo_c", "undo_b", "undo_b", "undo_a"]);
    assert!(stage.state.awaiting.contains(Compensation::DONE));
}

/// Four nodes in sequence that can be undone, then one that cannot.
fn chain() -> Value {
    json!({"nodes": [undoable("a", &["b"]), undoable("b", &["c"]), undoable("c", &["d"]), undoable("d", &["z"]),
        {"id": "z", "type": "task", "dependents": []}]})
}

fn names_from(stage: &Stage, place: usize) -> Vec<&str> {
    stage.calls[place..].iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn whatever_is_left_is_tried_again_the_last_thing_first_however_often() {
    let left = ["d", "c", "a"];
    let script = left
        .iter()
        .fold(script().failing("z", "X"), |script, node| script.failing(&format!("undo {node}"), "REFUND"));
    let mut stage = played(&chain(), script);
    let failure = stage.outcome().failure.unwrap();
    assert_eq!(names_from(&stage, 5), ["undo_d", "undo_c", "undo_b", "undo_a"]);
    for _ in 0..2 {
        assert_eq!(stage.program.undoable(stage.state.snapshot.as_ref().unwrap()).unwrap(), left);
        let asked = stage.calls.len();
        taken_back(&mut stage, Some(failure.clone()));
        assert_eq!(names_from(&stage, asked), ["undo_d", "undo_c", "undo_a"]);
    }
    left.iter().for_each(|node| stage.answers(&format!("undo {node}")));
    let asked = stage.calls.len();
    taken_back(&mut stage, Some(failure));
    assert_eq!(names_from(&stage, asked), ["undo_d", "undo_c", "undo_a"]);
    assert!(stage.state.awaiting.contains(Compensation::DONE));
}

#[test]
fn what_is_left_when_it_is_called_off_is_tried_again_the_last_thing_first() {
    let mut script =
        script().silent("z").failing("undo d", "REFUND").failing("undo c", "REFUND").silent("undo b");
    script.cancel_at = Some(10);
    let mut stage = played(&chain(), script);
    stage.expect(20_000, MessageId::new("again"), MessageBody::Cancel(Cancel::because("now")));
    stage.play();
    let undoable = |stage: &Stage| stage.program.undoable(stage.state.snapshot.as_ref().unwrap()).unwrap();
    assert_eq!(undoable(&stage), ["d", "c", "b", "a"]);
    ["undo d", "undo c", "undo b"].iter().for_each(|node| stage.answers(node));
    let asked = stage.calls.len();
    taken_back(&mut stage, None);
    assert_eq!(names_from(&stage, asked), ["undo_d", "undo_c", "undo_b", "undo_a"]);
    assert!(stage.state.awaiting.contains(Compensation::DONE));
}

#[test]
fn a_run_past_its_deadline_takes_back_what_it_did_before_it_fails() {
    let mut stage = played(&order_graph(), script().silent("d").silent("undo b"));
    stage.expect(50_000, MessageId::deadline(), MessageBody::DeadlineReached);
    stage.play();
    assert_eq!(stage.outcome().status, "waiting");
    // The next deadline does not end a compensation.
    stage.expect(60_000, MessageId::new("deadline again"), MessageBody::DeadlineReached);
    stage.play();
    let task = stage.program.waiting(stage.state.snapshot.as_ref().unwrap()).unwrap()[0].command.unwrap();
    let done = TaskCompleted { task, attempt: 1, output: Payload::null() };
    stage.expect(70_000, MessageId::task(task), MessageBody::TaskCompleted(done));
    stage.play();
    assert_eq!(code(&stage.outcome()), "DEADLINE_EXCEEDED");
    let names: Vec<&str> = stage.calls[4..].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["undo_c", "undo_b", "undo_a"]);
    assert!(stage.state.awaiting.contains(Compensation::DONE));
}

#[test]
fn a_run_past_its_deadline_that_did_nothing_to_take_back_fails_at_once() {
    let mut stage = played(&order_graph(), script().silent("a"));
    stage.expect(50_000, MessageId::deadline(), MessageBody::DeadlineReached);
    stage.play();
    assert_eq!((code(&stage.outcome()), stage.calls.len()), ("DEADLINE_EXCEEDED", 1));
    assert!(stage.last.unwrap().cancel_open);
}

#[test]
fn a_result_that_cannot_be_routed_is_taken_back_too() {
    let mut node = undoable("a", &[]);
    node["type"] = json!("agent");
    node["branch"] = json!({"type": "agent_driven", "available_next_nodes": ["b"]});
    node.as_object_mut().unwrap().remove("dependents");
    let graph = json!({"nodes": [node, {"id": "b", "type": "task"}]});
    let stage = played(&graph, script().with("a", [json!({"next_nodes": ["x"]})]));
    assert_eq!((code(&stage.outcome()), stage.calls[1].0.as_str()), ("unauthorized_route", "undo_a"));
    assert_eq!(stage.path(), [">a"]);
}

#[test]
fn each_pass_is_taken_back_with_the_config_it_had() {
    let node = json!({"id": "a", "type": "task", "config": {"order": "$nodes.p.id"}, "compensator": {"action": "refund"},
        "loop": {"loop_back_to": "p", "max_iterations": 2, "timeout_path": ["b"]}});
    let graph = json!({"nodes": [{"id": "p", "type": "task", "dependents": ["a"]}, node, {"id": "b", "type": "task"}]});
    let script = script()
        .with("p", [json!({"id": 1}), json!({"id": 2})])
        .with("a", [json!({"charge": "c1"}), json!({"charge": "c2"})])
        .failing("b", "X");
    let stage = super::stage::stage(&graph, script);
    let refunds: Vec<&Value> =
        stage.calls.iter().filter(|(name, _)| name == "refund").map(|(_, input)| input).collect();
    assert_eq!(
        refunds,
        [
            &json!({"config": {"order": 2}, "input": {"charge": "c2"}, "node": "a"}),
            &json!({"config": {"order": 1}, "input": {"charge": "c1"}, "node": "a"}),
        ]
    );
}
