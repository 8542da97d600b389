//! Graphs on the reference world: content they refer to, their inputs, and the audit trail of their tokens.

mod rig;

use rhythm_core::{BlobRef, EventData, Payload, Status, WorkflowKind};
use rhythm_engine::client::StartRun;
use rhythm_engine::error::EngineError;
use rhythm_engine::explain::explain;
use rhythm_engine::tokens::{WaitsFor, path, standing};
use rhythm_graph::NodeType;
use rhythm_graph::codes::UNRESOLVED;
use serde_json::{Value, json};

use rig::{Rig, permanent};

async fn register(rig: &Rig, graph: Value) -> Result<rhythm_core::Version, EngineError> {
    rig.client.register("g", WorkflowKind::Graph, &graph.to_string()).await
}

fn start(input: Value) -> StartRun {
    StartRun { workflow: "g".into(), input: Payload::of(&input).unwrap(), ..StartRun::default() }
}

#[tokio::test]
async fn content_is_looked_up_among_the_blobs_of_the_tenant() {
    let rig = Rig::new();
    let content = br#"{"size": 3}"#;
    let blob = BlobRef::of(content);
    let graph = json!({"nodes": [{"id": "a", "type": "task", "config_ref": format!("cas://{}", blob.hash)}]});
    let text = graph.to_string();
    let without = rig.client.define("g", WorkflowKind::Graph, &text).await.unwrap().unwrap();
    assert_eq!(without.remarks.iter().map(|found| found.code).collect::<Vec<_>>(), [UNRESOLVED.id]);
    rig.client.world().put_blob(rig.client.tenant(), &blob, content).await.unwrap();
    let with = rig.client.define("g", WorkflowKind::Graph, &text).await.unwrap().unwrap();
    assert!(with.remarks.is_empty());
    assert_ne!(with.definition.version, without.definition.version, "a version never changes");

    rig.client.register_defined(with).await.unwrap();
    let run = rig.client.start_run(start(json!({}))).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.output(&run).await, json!({"config": {"size": 3}, "input": {}}));
    rig.verify(&run).await;
}

#[tokio::test]
async fn a_node_whose_content_is_not_there_fails_and_names_it() {
    let rig = Rig::new();
    let graph = json!({"nodes": [{"id": "a", "type": "task", "config_ref": "sha256:nowhere"}]});
    register(&rig, graph).await.unwrap();
    let run = rig.client.start_run(start(json!({}))).await.unwrap();
    rig.settle().await;
    assert!(rig.failure(&run).await.contains("node_failed:a"));
    assert!(rig.picture(&run).await.failure.unwrap().message.contains("cas://sha256:nowhere"));
}

#[tokio::test]
async fn a_graph_that_is_wrong_is_refused_with_everything_that_is() {
    let rig = Rig::new();
    let graph = json!({"nodes": [{"id": "a", "type": "tsk", "dependents": ["b"]}]});
    match register(&rig, graph).await {
        Err(EngineError::Refused { problems, .. }) => {
            assert!(problems.contains("GRAPH012") && problems.contains("GRAPH018"), "{problems}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_registered_type_is_used_like_those_built_in() {
    let rig = Rig::new();
    let kind = |queue: &str| -> NodeType {
        let schema = json!({"type": "object", "required": ["model"]});
        serde_json::from_value(json!({"name": "scorer", "queue": queue, "config_schema": schema})).unwrap()
    };
    let graph = json!({"nodes": [{"id": "a", "type": "scorer", "config": {"model": "small"}}]});
    assert!(matches!(register(&rig, graph.clone()).await, Err(EngineError::Refused { .. })));
    let task = serde_json::from_value(json!({"name": "task"})).unwrap();
    assert!(matches!(rig.client.put_node_type(task).await, Err(EngineError::Invalid(_))), "it is built in");

    rig.client.put_node_type(kind("models")).await.unwrap();
    let first = register(&rig, graph.clone()).await.unwrap();
    let misfit = json!({"nodes": [{"id": "a", "type": "scorer"}]});
    match register(&rig, misfit).await {
        Err(EngineError::Refused { problems, .. }) => assert!(problems.contains("GRAPH020"), "{problems}"),
        other => panic!("{other:?}"),
    }
    let run = rig.client.start_run(start(json!({}))).await.unwrap();
    rig.settle().await;
    let tasks = rig.picture(&run).await.tasks;
    assert_eq!((tasks[0].name.as_str(), tasks[0].options.queue.as_str()), ("scorer", "models"));

    assert_eq!(register(&rig, graph.clone()).await.unwrap(), first);
    rig.client.put_node_type(kind("gpu")).await.unwrap();
    assert_ne!(register(&rig, graph.clone()).await.unwrap(), first, "a version never changes");
}

#[tokio::test]
async fn inputs_are_checked_when_a_run_starts() {
    let rig = Rig::new();
    let inputs = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "number"}}});
    let nodes = json!([{"id": "a", "type": "transform", "config": {"jq": ".n"}}]);
    register(&rig, json!({"inputs": inputs, "nodes": nodes})).await.unwrap();
    assert!(matches!(rig.client.start_run(start(json!({}))).await, Err(EngineError::Misfit { .. })));
    rig.client.start_run(start(json!({"n": 2.5}))).await.unwrap();
}

#[tokio::test]
async fn tokens_can_be_followed_and_counted_again() {
    let rig = Rig::new();
    let nodes = json!([
        {"id": "a", "type": "task", "dependents": ["b", "c"]},
        {"id": "b", "type": "task", "dependents": ["d"]},
        {"id": "c", "type": "signal", "config": {"name": "go"}, "dependents": ["d"]},
        {"id": "d", "type": "task", "config": {"task": "c"}},
    ]);
    register(&rig, json!({"nodes": nodes})).await.unwrap();
    let run = rig.client.start_run(start(json!(1))).await.unwrap();
    rig.settle().await;
    let row = rig.picture(&run).await.row;
    let stands = standing(&rig.client, &row).await.unwrap().unwrap();
    assert_eq!(stands.counter, 2);
    let waits: Vec<(&str, &WaitsFor)> =
        stands.places.iter().map(|place| (place.node.as_str(), &place.waits_for)).collect();
    let join = WaitsFor::Join { here: vec!["b".into()], missing: vec!["c".into()] };
    assert_eq!(waits, [("c", &WaitsFor::Signal("go".into())), ("d", &join)]);
    rig.verify(&run).await;

    rig.client.signal(&run, "go", Payload::null(), None).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.status(&run).await, Status::Completed);
    let hops = path(&rig.client, &run).await.unwrap();
    let ways: Vec<(Option<&str>, &str, u32)> =
        hops.iter().map(|hop| (hop.from.as_deref(), hop.to.as_str(), hop.hop)).collect();
    let expected =
        [(None, "a", 0), (Some("a"), "b", 1), (Some("a"), "c", 1), (Some("b"), "d", 2), (Some("c"), "d", 2)];
    assert_eq!(ways, expected);
    assert!(hops.iter().all(|hop| hop.consumed_at.is_some()));
    let history = rig.client.history(&run).await.unwrap();
    let moved = history.iter().filter(|row| matches!(row.data, EventData::NodeConsumed(_))).count();
    assert_eq!(moved, hops.len());
    rig.verify(&run).await;
}

#[tokio::test]
async fn a_run_that_took_back_what_it_did_is_not_opened_again() {
    let rig = Rig::new();
    rig.stage.on("bad", permanent("BROKEN"));
    rig.stage.on("undo", permanent("LOCKED"));
    let graph = json!({"nodes": [
        {"id": "pay", "type": "task", "config": {"task": "a"}, "compensator": {"action": "undo"}, "dependents": ["ship"]},
        {"id": "ship", "type": "task", "config": {"task": "bad"}},
    ]});
    register(&rig, graph).await.unwrap();
    let run = rig.client.start_run(start(json!({}))).await.unwrap();
    while !rig.stage.calls().contains(&"bad".to_owned()) {
        assert!(rig.one.round().await);
    }
    let waiting = explain(&rig.client, &run).await.unwrap();
    assert!(waiting.reasons.iter().all(|reason| reason.code != "signal"), "{waiting:?}");
    rig.settle().await;
    assert_eq!(rig.failure(&run).await, "node_failed:ship");
    let refused = rig.client.retry_run(&run, "again").await.unwrap_err();
    assert_eq!(refused.code(), "COMPENSATION001");
    assert_eq!(rig.status(&run).await, Status::Failed);
    let explained = explain(&rig.client, &run).await.unwrap();
    let command = Some(format!("rhythm runs compensate {run}"));
    assert_eq!((explained.reasons[0].code, &explained.reasons[0].command), ("compensated", &command));
    assert!(explained.summary.contains("still to be undone: pay"), "{}", explained.summary);

    // One that had nothing to take back is opened as ever.
    let graph = json!({"nodes": [{"id": "ship", "type": "task", "config": {"task": "bad"}}]});
    register(&rig, graph).await.unwrap();
    let run = rig.client.start_run(start(json!({}))).await.unwrap();
    rig.settle().await;
    rig.stage.on("bad", |_, input| Ok(input));
    rig.client.retry_run(&run, "mended").await.unwrap();
    rig.settle().await;
    assert_eq!(rig.status(&run).await, Status::Completed);
}
