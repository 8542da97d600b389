//! Compensation of graph runs on the reference world.

mod rig;

use rhythm_core::{Compensation, Millis, RunId, Status, WorkflowKind};
use rhythm_engine::client::StartRun;
use rhythm_engine::explain::explain;
use rig::{Rig, failing, permanent};
use serde_json::{Value, json};

async fn started(rig: &Rig, graph: Value) -> RunId {
    rig.client.register("g", WorkflowKind::Graph, &graph.to_string()).await.unwrap();
    rig.start_named("g").await
}

/// `pay` has a compensator; after it `ship` runs the task `bad`.
fn shop() -> Value {
    json!({"nodes": [
        {"id": "pay", "type": "task", "config": {"task": "a"}, "compensator": {"action": "undo"}, "dependents": ["ship"]},
        {"id": "ship", "type": "task", "config": {"task": "bad"}},
    ]})
}

async fn compensation(rig: &Rig, run: &RunId) -> Compensation {
    rig.picture(run).await.summary.compensation
}

#[tokio::test]
async fn a_run_says_that_it_takes_back_what_it_did() {
    let rig = Rig::new();
    rig.stage.on("bad", permanent("BROKEN"));
    rig.stage.on("undo", failing("BUSY"));
    let run = started(&rig, shop()).await;
    rig.settle().await;
    let picture = rig.picture(&run).await;
    assert_eq!(
        (picture.summary.status, picture.summary.compensation),
        (Status::Waiting, Compensation::Running)
    );
    assert!(picture.row.awaiting().contains(Compensation::UNDER_WAY));
    let why = explain(&rig.client, &run).await.unwrap();
    assert!(why.summary.contains("to be undone"), "{why:?}");

    rig.stage.on("undo", |_, input| Ok(input));
    rig.run_for(Millis::from_secs(5)).await;
    assert_eq!(rig.failure(&run).await, "node_failed:ship");
    assert_eq!(compensation(&rig, &run).await, Compensation::Done);
}

#[tokio::test]
async fn a_cancel_lets_a_failed_run_finish_taking_back() {
    let rig = Rig::new();
    rig.stage.on("bad", permanent("BROKEN"));
    rig.stage.on("undo", failing("BUSY"));
    let run = started(&rig, shop()).await;
    rig.settle().await;
    rig.client.cancel(&run, "enough").await.unwrap();
    rig.settle().await;
    assert_eq!(compensation(&rig, &run).await, Compensation::Running, "the compensator is tried again");

    rig.stage.on("undo", |_, input| Ok(input));
    rig.run_for(Millis::from_secs(5)).await;
    let picture = rig.picture(&run).await;
    assert_eq!(
        (picture.summary.status, picture.summary.compensation),
        (Status::Cancelled, Compensation::Done)
    );
    assert_eq!(picture.failure.unwrap().message, "cancelled; node_failed:ship: BROKEN: never");
    rig.verify(&run).await;
}

#[tokio::test]
async fn a_cancelled_run_explains_what_is_left() {
    let rig = Rig::new();
    rig.stage.on("bad", failing("BUSY"));
    rig.stage.on("undo", permanent("LOCKED"));
    let run = started(&rig, shop()).await;
    rig.settle().await;
    rig.client.cancel(&run, "enough").await.unwrap();
    rig.settle().await;
    let picture = rig.picture(&run).await;
    assert_eq!(
        (picture.summary.status, picture.summary.compensation),
        (Status::Cancelled, Compensation::Failed)
    );
    let why = explain(&rig.client, &run).await.unwrap();
    assert!(why.summary.contains("still to be undone: pay (undo: LOCKED"), "{why:?}");
    rig.verify(&run).await;
    // Only the run itself requests its compensator, so that it does not run twice.
    let letter = rig.picture(&run).await.dead.pop().expect("the compensator's");
    let refused = rig.client.requeue_dead(&letter.task).await.unwrap_err();
    assert_eq!(refused.code(), "COMPENSATION001");
}

#[tokio::test]
async fn a_completed_run_takes_back_what_it_did_by_hand() {
    let rig = Rig::new();
    let run = started(&rig, shop()).await;
    rig.settle().await;
    let output = rig.output(&run).await;
    let taking = rig.client.compensate(&run, "sent twice").await.unwrap();
    assert_eq!((taking.nodes, taking.cancelled), (vec!["pay".to_owned()], false));
    let again = rig.client.compensate(&run, "sent twice").await.unwrap_err();
    assert_eq!(again.code(), "COMPENSATION002");
    rig.settle().await;
    assert_eq!(rig.stage.calls(), ["a", "bad", "undo"]);
    assert_eq!(rig.output(&run).await, output);
    assert_eq!(compensation(&rig, &run).await, Compensation::Done);
    let kinds = rig.kinds(&run).await;
    assert!(kinds.contains(&"compensation_requested".to_owned()), "{kinds:?}");
    let again = rig.client.compensate(&run, "once more").await.unwrap_err();
    assert_eq!(again.code(), "COMPENSATION001");
}

#[tokio::test]
async fn what_cannot_be_taken_back_by_hand_is_left_and_said() {
    let rig = Rig::new();
    rig.stage.on("undo", permanent("LOCKED"));
    let run = started(&rig, shop()).await;
    rig.settle().await;
    rig.client.compensate(&run, "").await.unwrap();
    rig.settle().await;
    assert_eq!(rig.failure(&run).await, "compensation_failed");
    let why = explain(&rig.client, &run).await.unwrap();
    assert!(why.summary.contains("still to be undone: pay (undo: LOCKED"), "{why:?}");
    assert_eq!(why.reasons[0].command, Some(format!("rhythm runs compensate {run}")));
    assert_eq!(rig.client.retry_run(&run, "").await.unwrap_err().code(), "COMPENSATION001");

    rig.stage.on("undo", |_, input| Ok(input));
    assert_eq!(rig.client.compensate(&run, "unlocked").await.unwrap().nodes, ["pay"]);
    rig.settle().await;
    let summary = rig.picture(&run).await.summary;
    assert_eq!((summary.status, summary.compensation), (Status::Completed, Compensation::Done));
    assert_eq!(rig.client.compensate(&run, "").await.unwrap_err().code(), "COMPENSATION001");
    rig.verify(&run).await;
}

#[tokio::test]
async fn a_run_that_has_not_ended_is_cancelled_to_take_back() {
    let rig = Rig::new();
    rig.stage.on("bad", failing("BUSY"));
    let run = started(&rig, shop()).await;
    rig.settle().await;
    assert!(rig.client.compensate(&run, "enough").await.unwrap().cancelled);
    rig.settle().await;
    let summary = rig.picture(&run).await.summary;
    assert_eq!((summary.status, summary.compensation), (Status::Cancelled, Compensation::Done));
    assert_eq!(rig.stage.calls(), ["a", "bad", "undo"]);
}

#[tokio::test]
async fn a_run_past_its_deadline_takes_back_what_it_did() {
    let rig = Rig::new();
    rig.stage.on("bad", failing("BUSY"));
    rig.client.register("g", WorkflowKind::Graph, &shop().to_string()).await.unwrap();
    let deadline = Some(Millis::from_secs(1));
    let start = StartRun { workflow: "g".into(), deadline, ..StartRun::default() };
    let run = rig.client.start_run(start).await.unwrap();
    rig.run_for(Millis::from_secs(2)).await;
    assert_eq!(rig.failure(&run).await, "DEADLINE_EXCEEDED");
    assert_eq!(compensation(&rig, &run).await, Compensation::Done);
    assert_eq!(rig.stage.calls().last().unwrap(), "undo");
    assert_eq!(rig.client.compensate(&run, "").await.unwrap_err().code(), "COMPENSATION001");
}

#[tokio::test]
async fn a_run_that_did_nothing_undoable_is_refused() {
    let rig = Rig::new();
    let run = started(&rig, json!({"nodes": [{"id": "a", "type": "task"}]})).await;
    let flow = rig.start(json!({"steps": [{"task": {"name": "b"}}]})).await;
    for run in [&run, &flow] {
        assert_eq!(rig.client.compensate(run, "").await.unwrap_err().code(), "COMPENSATION003");
    }
    rig.settle().await;
    for run in [&run, &flow] {
        assert_eq!(rig.client.compensate(run, "").await.unwrap_err().code(), "COMPENSATION003");
    }
    assert_eq!(rig.status(&run).await, Status::Completed);
    assert_eq!(rig.client.compensate(&"nobody".into(), "").await.unwrap_err().code(), "ENGINE002");
}
