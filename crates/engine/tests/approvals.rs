//! Approvals on the reference world, with graphs: which actions are allowed, and their answers.

mod rig;

use rhythm_core::message::ApprovalDecided;
use rhythm_core::{Actor, CommandId, Millis, Payload, RunId, Status, WorkflowKind};
use rhythm_engine::client::{Client, Decide, Decision, Identity, StartRun};
use rhythm_engine::error::EngineError;
use rhythm_engine::explain::explain;
use rhythm_engine::world::{ApprovalQuery, ApprovalRow, ApprovalState};
use rig::Rig;
use serde_json::{Value, json};

/// `ask` creates an approval; approving leads to task `a`, rejecting to task `b`.
fn graph(human: Value) -> Value {
    json!({"nodes": [
        {"id": "ask", "type": "human", "human_config": human, "dependents": ["yes"], "rejection_path": ["no"]},
        {"id": "yes", "type": "task", "config": {"task": "a"}},
        {"id": "no", "type": "task", "config": {"task": "b"}},
    ]})
}

async fn start(rig: &Rig, graph: Value) -> RunId {
    rig.client.register("g", WorkflowKind::Graph, &graph.to_string()).await.unwrap();
    let input = Payload::of(&json!({"sum": 12})).unwrap();
    let start = StartRun { workflow: "g".into(), input, ..StartRun::default() };
    let run = rig.client.start_run(start).await.unwrap();
    rig.settle().await;
    run
}

fn as_user(rig: &Rig, name: &str) -> Client {
    let actor = Actor(format!("user:{name}"));
    Client::new(rig.client.world().clone(), rig.client.tenant().clone(), actor)
}

async fn ask(rig: &Rig, run: &RunId) -> ApprovalRow {
    rig.client.find_approval(run, "ask").await.unwrap()
}

async fn decision(rig: &Rig, run: &RunId, decision: Decision) -> Decide {
    Decide::new(run.clone(), ask(rig, run).await.approval, decision)
}

fn closed(answer: Result<(), EngineError>) -> ApprovalRow {
    match answer {
        Err(EngineError::ApprovalClosed(row)) => *row,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn whoever_decides_is_recorded_and_a_second_answer_is_told_so() {
    let rig = Rig::new();
    let run = start(&rig, graph(json!({"approvers": ["ann", "user:bob"]}))).await;
    let reason = &explain(&rig.client, &run).await.unwrap().reasons[0];
    assert_eq!(reason.command.as_deref(), Some(&*format!("rhythm approvals approve {run}/1 --as ann")));
    let yes = Decide {
        comments: "fine".into(),
        data: Payload::of(&json!({"limit": 5})).unwrap(),
        ..decision(&rig, &run, Decision::Approve).await
    };
    let no = decision(&rig, &run, Decision::Reject).await;
    let (ann, bob) = (as_user(&rig, "ann"), as_user(&rig, "bob"));
    ann.decide(&yes).await.unwrap();
    assert_eq!(ann.verdict(&yes).await.unwrap(), None, "nobody has taken it yet");
    // Both while the answer waits and after it was consumed.
    for _ in 0..2 {
        let row = closed(bob.decide(&no).await);
        assert_eq!((row.state, row.decided_by.as_deref()), (ApprovalState::Decided, Some("ann")));
        closed(ann.decide(&no).await);
        closed(bob.decide(&yes).await);
        ann.decide(&yes).await.unwrap();
        rig.settle().await;
    }
    let row = ann.verdict(&yes).await.unwrap().unwrap();
    assert_eq!((row.decision.as_deref(), row.via), (Some("approve"), Some(Actor("user:ann".into()))));
    let told = bob.decide(&no).await.unwrap_err().to_string();
    assert!(told.contains("decided already: approve by ann at 1970-01-01T00:16:40"), "{told}");
    let output = rig.output(&run).await;
    let expected = json!({"sum": 12, "decision": "approve", "decided_by": "ann", "comments": "fine",
        "data": {"limit": 5}});
    assert_eq!(output["input"], expected);
}

#[tokio::test]
async fn only_approvers_decide_and_those_it_was_handed_on_to_from_then_on() {
    let rig = Rig::new();
    let human = json!({"approvers": ["ann"], "timeout": "10h", "escalation_policy": "escalate",
        "escalation": [{"after": "1h", "approvers": ["chief"]}]});
    let run = start(&rig, graph(human)).await;
    let yes = decision(&rig, &run, Decision::Approve).await;
    let chief = as_user(&rig, "chief");
    match chief.decide(&yes).await {
        Err(EngineError::NotAnApprover { who, approvers, .. }) => {
            assert_eq!((who.as_str(), approvers), ("chief", vec!["ann".to_owned()]));
        }
        other => panic!("{other:?}"),
    }
    // A prefix does not change the name.
    assert_eq!(as_user(&rig, "user:ann").decide(&yes).await.unwrap_err().code(), "APPROVAL003");
    rig.pass(Millis::from_secs(3_600));
    rig.settle().await;
    assert_eq!(ask(&rig, &run).await.approvers, ["ann", "chief"]);
    chief.decide(&yes).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.output(&run).await["input"]["decided_by"], "chief");
}

#[tokio::test]
async fn a_delegate_decides_for_an_approver_and_both_are_remembered() {
    let rig = Rig::new();
    let run = start(&rig, graph(json!({"approvers": ["ann"]}))).await;
    let desk = as_user(&rig, "desk");
    let yes = decision(&rig, &run, Decision::Approve).await;
    assert_eq!(desk.decide(&yes).await.unwrap_err().code(), "APPROVAL003");
    let for_bob = Decide { identity: Identity::Delegate("bob".into()), ..yes.clone() };
    assert_eq!(desk.decide(&for_bob).await.unwrap_err().code(), "APPROVAL003");
    let for_ann = Decide { identity: Identity::Delegate("user:ann".into()), ..yes };
    desk.decide(&for_ann).await.unwrap();
    rig.settle().await;
    let row = desk.verdict(&for_ann).await.unwrap().unwrap();
    assert_eq!((row.decided_by.as_deref(), row.via), (Some("ann"), Some(Actor("user:desk".into()))));
}

#[tokio::test]
async fn nobody_decides_without_a_name_or_as_the_run_itself() {
    let rig = Rig::new();
    let run = start(&rig, graph(json!({}))).await;
    let yes = decision(&rig, &run, Decision::Approve).await;
    for name in ["", "user:", "system", "a\nb"] {
        let request = Decide { identity: Identity::Delegate(name.into()), ..yes.clone() };
        assert_eq!(rig.client.decide(&request).await.unwrap_err().code(), "ENGINE010", "{name:?}");
    }
    let endless = Decide { comments: "x".repeat(10_001), ..yes.clone() };
    assert_eq!(rig.client.decide(&endless).await.unwrap_err().code(), "ENGINE010");
    rig.client.decide(&yes).await.unwrap();
}

#[tokio::test]
async fn a_decision_that_comes_too_late_is_told_so() {
    let rig = Rig::new();
    let run = start(&rig, graph(json!({"timeout": "1h"}))).await;
    let yes = decision(&rig, &run, Decision::Approve).await;
    // The timer is in the inbox before the answer.
    rig.pass(Millis::from_secs(3_600));
    rig.one.upkeep.tick(false).await.unwrap();
    rig.client.decide(&yes).await.unwrap();
    rig.settle().await;
    let late = rig.client.verdict(&yes).await.unwrap_err();
    assert!(late.to_string().contains("nobody had decided in time"), "{late}");
    assert_eq!(closed(rig.client.decide(&yes).await).state, ApprovalState::Timeout);
    assert_eq!(rig.output(&run).await["input"]["decision"], "timeout");
}

#[tokio::test]
async fn a_timeout_that_fails_its_run_is_a_timeout() {
    let rig = Rig::new();
    let run = start(&rig, graph(json!({"timeout": "1h", "escalation_policy": "fail"}))).await;
    rig.pass(Millis::from_secs(3_600));
    rig.settle().await;
    assert_eq!(rig.failure(&run).await, "node_failed:ask");
    let row = ask(&rig, &run).await;
    assert_eq!((row.state, row.decided_by.as_deref()), (ApprovalState::Timeout, Some("system")));
}

#[tokio::test]
async fn an_approval_of_a_cancelled_or_failed_run_takes_no_answer() {
    let rig = Rig::new();
    let run = start(&rig, graph(json!({}))).await;
    let yes = decision(&rig, &run, Decision::Approve).await;
    rig.client.cancel(&run, "enough").await.unwrap();
    rig.settle().await;
    assert_eq!(rig.status(&run).await, Status::Cancelled);
    assert_eq!(closed(rig.client.decide(&yes).await).state, ApprovalState::Cancelled);

    // A failed run would keep the answer for later; the caller is not told that it counts.
    rig.stage.on("bad", rig::permanent("BROKEN"));
    let mut both = graph(json!({}));
    let bad = json!({"id": "bad", "type": "task", "config": {"task": "bad"}});
    both["nodes"].as_array_mut().unwrap().push(bad);
    let run = start(&rig, both).await;
    assert_eq!(rig.status(&run).await, Status::Failed);
    let yes = decision(&rig, &run, Decision::Approve).await;
    assert_eq!(closed(rig.client.decide(&yes).await).state, ApprovalState::Cancelled);
    rig.stage.on("bad", |_, input| Ok(input));
    rig.client.retry_run(&run, "fixed").await.unwrap();
    rig.settle().await;
    rig.client.decide(&yes).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.status(&run).await, Status::Completed);
}

#[tokio::test]
async fn whoever_answers_as_the_run_fails_is_told_that_the_answer_is_kept() {
    let rig = Rig::new();
    rig.stage.on("bad", rig::permanent("BROKEN"));
    let mut both = graph(json!({}));
    let bad = json!({"id": "bad", "type": "task", "config": {"task": "bad"}});
    both["nodes"].as_array_mut().unwrap().push(bad);
    let run = start(&rig, both).await;
    let (yes, no) = (Decision::Approve, Decision::Reject);
    let (yes, no) = (decision(&rig, &run, yes).await, decision(&rig, &run, no).await);
    // It was sent when the run failed.
    let answer = ApprovalDecided {
        approval: yes.approval,
        decision: "approve".into(),
        by: "test".into(),
        comments: String::new(),
        data: Payload::null(),
    };
    rig.client.answer_unasked(&run, answer).await.unwrap();
    assert_eq!(rig.client.verdict(&yes).await.unwrap_err().code(), "APPROVAL007");
    assert_eq!(
        rig.client.decide(&yes).await.unwrap_err().code(),
        "APPROVAL007",
        "nor is a repeated one lost"
    );
    closed(rig.client.decide(&no).await);
    closed(as_user(&rig, "ann").decide(&yes).await);

    rig.stage.on("bad", |_, input| Ok(input));
    rig.client.retry_run(&run, "fixed").await.unwrap();
    rig.settle().await;
    assert_eq!(rig.status(&run).await, Status::Completed);
    let row = rig.client.verdict(&yes).await.unwrap().unwrap();
    assert_eq!((row.state, row.decided_by.as_deref()), (ApprovalState::Decided, Some("test")));
}

#[tokio::test]
async fn a_second_visit_is_a_second_approval() {
    let rig = Rig::new();
    let run = start(
        &rig,
        json!({"nodes": [
            {"id": "ask", "type": "human", "dependents": ["yes"], "rejection_path": ["again"]},
            {"id": "again", "type": "loop", "loop": {"loop_back_to": "ask", "max_iterations": 3}},
            {"id": "yes", "type": "task", "config": {"task": "a"}},
        ]}),
    )
    .await;
    let first = decision(&rig, &run, Decision::Reject).await;
    rig.client.decide(&first).await.unwrap();
    rig.settle().await;
    let second = ask(&rig, &run).await;
    assert_eq!((second.visit, second.state), (2, ApprovalState::Pending));
    assert_ne!(second.approval, first.approval);
    let query = ApprovalQuery { run: Some(run.clone()), limit: 10, ..ApprovalQuery::default() };
    let rows = rig.client.world().list_approvals(query).await.unwrap().rows;
    let states: Vec<_> = rows.iter().map(|row| (row.visit, row.state)).collect();
    assert_eq!(states, [(2, ApprovalState::Pending), (1, ApprovalState::Decided)]);
    let yes = decision(&rig, &run, Decision::Approve).await;
    rig.client.decide(&yes).await.unwrap();
    rig.settle().await;
    rig.output(&run).await;
    assert_eq!(ask(&rig, &run).await.state, ApprovalState::Decided);
}

#[tokio::test]
async fn an_approval_nobody_asked_for_is_unknown() {
    let rig = Rig::new();
    let run = start(&rig, graph(json!({}))).await;
    let none = Decide::new(run.clone(), CommandId(77), Decision::Approve);
    assert_eq!(rig.client.decide(&none).await.unwrap_err().code(), "APPROVAL001");
    assert_eq!(rig.client.find_approval(&run, "yes").await.unwrap_err().code(), "APPROVAL001");
    let nowhere = Decide::new(RunId::new("nowhere"), CommandId(1), Decision::Approve);
    assert_eq!(rig.client.decide(&nowhere).await.unwrap_err().code(), "ENGINE002");
}
