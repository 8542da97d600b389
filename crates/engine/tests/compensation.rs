//! What runs of graphs take back, on the reference world.

mod rig;

use rhythm_core::{Compensation, Millis, RunId, Status, WorkflowKind};
use rhythm_engine::explain::explain;
use rig::{Rig, failing, permanent};
use serde_json::{Value, json};

async fn started(rig: &Rig, graph: Value) -> RunId {
    rig.client.register("g", WorkflowKind::Graph, &graph.to_string()).await.unwrap();
    rig.start_named("g").await
}

/// What `pay` does can be undone; after it `ship` runs the task `bad`.
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
    assert!(why.summary.contains("still to be undone: pay (LOCKED"), "{why:?}");
    rig.verify(&run).await;
}
