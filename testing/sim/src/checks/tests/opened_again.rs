//! Runs that operators reopen after their end, to compensate them or to retry a node with another config.

use rhythm_core::event::ChildStarted;
use rhythm_core::message::{ChildCompleted, Compensate, Patched};

use super::*;

fn wish() -> Message {
    let body = Compensate { reason: "not wanted".into(), failure: None };
    message(MessageId::new("compensate:2"), MessageBody::Compensate(body))
}

fn take_back(run: RunId) -> Control {
    Control::TakeBack { run, revision: 2, reason: "not wanted".into(), message: Box::new(wish()) }
}

fn taken_back(check: &mut dyn Check) {
    controlled(check, take_back(run()), NOW).unwrap();
}

fn child_told(seq: u64) -> Event {
    let done = ChildCompleted { child: CommandId(1), output: Payload::null() };
    event(seq, Some(MessageId::child(CommandId(1))), EventData::ChildCompleted(done))
}

#[test]
fn gaps_objects_to_a_second_answer_of_a_child_unless_it_took_back_what_it_did() {
    let twice = |opened: bool| {
        let mut check = gaps::Gaps::default();
        committed(&mut check, CommitItem { events: vec![child_told(1)], ..item("c1", 1) }).unwrap();
        if opened {
            controlled(&mut check, take_back(run().child(CommandId(1))), NOW).unwrap();
        }
        committed(&mut check, CommitItem { events: vec![child_told(2)], ..item("c2", 1) })
    };
    twice(true).unwrap();
    twice(false).unwrap_err();
}

#[test]
fn commands_objects_to_a_second_answer_of_a_child_unless_it_took_back_what_it_did() {
    let child = ChildStarted {
        child: CommandId(1),
        run: run().child(CommandId(1)),
        workflow: "flow".into(),
        label: None,
        item: None,
        version: None,
        input: Payload::null(),
    };
    let mut scene = Scene::new(Status::Completed);
    scene.history = vec![event(1, None, EventData::ChildStarted(child)), child_told(2), child_told(3)];
    let mut check = commands::Commands::default();
    check.ended(&scene.view()).unwrap_err();
    controlled(&mut check, take_back(run().child(CommandId(1))), NOW).unwrap();
    check.ended(&scene.view()).unwrap();
}

#[test]
fn redeliveries_begins_anew_with_a_run_that_takes_back_what_it_did() {
    let mut check = redeliveries::Redeliveries::default();
    runs_claimed(&mut check, 1, Vec::new()).unwrap();
    taken_back(&mut check);
    runs_claimed(&mut check, 2, Vec::new()).unwrap();
    runs_claimed(&mut check, 3, Vec::new()).unwrap_err();
}

#[test]
fn inboxes_objects_to_a_run_that_is_not_shown_the_wish_to_take_back() {
    let completed = || {
        let mut check = inboxes::Inboxes::default();
        run_created(&mut check);
        let end = Some(End::Completed(Payload::null()));
        committed(&mut check, CommitItem { end, ..item("c1", 1) }).unwrap();
        taken_back(&mut check);
        check
    };
    runs_claimed(&mut completed(), 2, vec![wish()]).unwrap();
    runs_claimed(&mut completed(), 2, Vec::new()).unwrap_err();
    let mut check = completed();
    delivered(&mut check, signal("later")).unwrap();
    runs_claimed(&mut check, 2, vec![wish()]).unwrap_err();
}

#[test]
fn inboxes_knows_that_a_run_opened_for_one_wish_drops_what_waited_for_it() {
    let mut check = inboxes::Inboxes::default();
    run_created(&mut check);
    delivered(&mut check, signal("before")).unwrap();
    taken_back(&mut check);
    runs_claimed(&mut check, 2, vec![wish()]).unwrap();
}

#[test]
fn acknowledged_excuses_only_what_came_before_a_run_took_back_what_it_did() {
    let scene = Scene::new(Status::Failed);
    scene.client.acknowledged().push(Told::Delivered(run(), signal("x").id));
    let mut check = acknowledged::Acknowledged::default();
    delivered(&mut check, signal("x")).unwrap();
    taken_back(&mut check);
    check.ended(&scene.view()).unwrap();

    let mut check = acknowledged::Acknowledged::default();
    taken_back(&mut check);
    delivered(&mut check, signal("x")).unwrap();
    check.ended(&scene.view()).unwrap_err();
}

fn graph() -> BTreeMap<String, Sketch> {
    let graph = r#"{"nodes": [{"id": "a", "type": "task", "config": {"task": "work", "ms": 5}}]}"#;
    BTreeMap::from([("flow".to_owned(), Sketch::of(graph).unwrap())])
}

#[test]
fn asked_knows_the_config_a_node_is_tried_again_with() {
    let asks = |tried_again: bool| {
        let mut check = asked::Asked::new(graph());
        run_created(&mut check);
        if tried_again {
            let operations =
                r#"[{"op": "add", "path": "/nodes/0/config", "value": {"task": "work", "ms": 6}}]"#;
            let operations = Payload::parse(operations.to_owned()).unwrap();
            let patch = Patched { operations, reason: "once more".into() };
            let redeliver = vec![message(MessageId::new("patch:1"), MessageBody::Patch(patch))];
            let (reason, requeue) = ("once more".to_owned(), Vec::new());
            let reopen = Control::Reopen { run: run(), revision: 2, reason, requeue, redeliver, fresh: None };
            controlled(&mut check, reopen, NOW).unwrap();
        }
        runs_claimed(&mut check, 1, Vec::new()).unwrap();
        let mut item = with_task(TaskOptions::default());
        item.tasks[0].input = Payload::parse(r#"{"config": {"task": "work", "ms": 6}}"#.into()).unwrap();
        committed(&mut check, item)
    };
    asks(true).unwrap();
    asks(false).unwrap_err();
}

#[test]
fn causes_objects_to_what_is_left_undone_though_nobody_asked_or_no_compensator_failed() {
    let fails = |asked: bool, told: &str| {
        let wanted = Compensate { reason: "not wanted".into(), failure: None };
        let failed = TaskFailed { task: CommandId(2), failure: Failure::new("FLAKY", told) };
        let left = Failure::permanent("compensation_failed", "still to be undone: a (FLAKY: no luck)");
        let mut scene = Scene::new(Status::Failed);
        scene.history = vec![started()];
        if asked {
            let id = Some(MessageId::new("compensate:2"));
            scene.history.push(event(2, id, EventData::CompensationRequested(wanted)));
        }
        scene.history.push(event(3, Some(MessageId::task(CommandId(2))), EventData::StepFailed(failed)));
        let failed = EventData::WorkflowFailed(Failed { failure: left });
        scene.history.push(event(4, None, failed));
        causes::Causes::new(graph()).ended(&scene.view())
    };
    fails(true, "no luck").unwrap();
    fails(true, "another thing").unwrap_err();
    fails(false, "no luck").unwrap_err();
}
