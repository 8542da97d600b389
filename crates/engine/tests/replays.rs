//! Retrying a failed node of a graph, on the reference world.

mod rig;

use rhythm_core::{BlockedCode, Failure, Millis, Payload, RunId, Status, WorkflowKind};
use rhythm_engine::client::RetryNode;
use rhythm_engine::error::EngineError;
use rhythm_engine::explain::explain;
use rhythm_engine::patches::PatchOutcome;
use rhythm_engine::world::{DeadQuery, RunQuery};
use rig::{Rig, permanent};
use serde_json::{Value, json};

async fn started(rig: &Rig, nodes: Value) -> RunId {
    rig.client.register("g", WorkflowKind::Graph, &json!({"nodes": nodes}).to_string()).await.unwrap();
    let run = rig.start_named("g").await;
    rig.settle().await;
    run
}

/// `ship` fails unless the size in its config is 2.
fn shop(more: Value) -> Value {
    let mut ship =
        json!({"id": "ship", "type": "task", "config": {"task": "bad", "size": 1}, "dependents": ["tell"]});
    ship.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!([{"id": "pack", "type": "task", "config": {"task": "a"}, "dependents": ["ship"]}, ship,
        {"id": "tell", "type": "task", "config": {"task": "b"}}])
}

fn only_size_two(rig: &Rig) {
    rig.stage.on("bad", |_, input| match input["config"]["size"].as_i64() {
        Some(2) => Ok(json!({"shipped": input["input"]})),
        _ => Err(Failure::permanent("WRONG_SIZE", "too small")),
    });
}

fn wish(node: &str, config: Option<Value>) -> RetryNode {
    RetryNode { node: node.into(), config, reason: "larger".into() }
}

async fn refused(rig: &Rig, run: &RunId, node: &str, config: Option<Value>) -> EngineError {
    let before = rig.picture(run).await;
    let error = rig.client.retry_node(run, wish(node, config)).await.unwrap_err();
    assert_eq!(rig.picture(run).await, before, "nothing has changed");
    error
}

async fn letters(rig: &Rig) -> usize {
    let query = DeadQuery { tenant: rig.client.tenant().clone(), limit: 10, ..DeadQuery::default() };
    rig.client.world().list_dead(query).await.unwrap().rows.len()
}

#[tokio::test]
async fn a_failed_node_is_tried_again_with_another_config() {
    let rig = Rig::new();
    only_size_two(&rig);
    let run = started(&rig, shop(json!({}))).await;
    assert_eq!(rig.failure(&run).await, "node_failed:ship");
    assert_eq!(letters(&rig).await, 1);
    let config = json!({"task": "bad", "size": 2});
    rig.client.retry_node(&run, wish("ship", Some(config.clone()))).await.unwrap();
    rig.settle().await;
    rig.output(&run).await;
    assert_eq!(rig.stage.calls(), ["a", "bad", "bad", "b"], "what was done before is not done again");
    assert_eq!(letters(&rig).await, 0);

    let patches = rig.client.patches(&run).await.unwrap();
    assert_eq!(
        (patches.len(), patches[0].author.as_str(), patches[0].reason.as_str()),
        (1, "user:test", "larger")
    );
    assert!(matches!(patches[0].outcome, PatchOutcome::Adopted { .. }));
    let operations = json!([{"op": "add", "path": "/nodes/1/config", "value": config}]);
    assert_eq!(patches[0].operations, Payload::of(&operations).unwrap());
    assert!(rig.kinds(&run).await.contains(&"replay_requested".to_owned()));
}

#[tokio::test]
async fn a_failed_node_is_tried_again_as_it_was() {
    let rig = Rig::new();
    only_size_two(&rig);
    let run = started(&rig, shop(json!({}))).await;
    rig.stage.on("bad", |_, _| Ok(json!({})));
    rig.client.retry_node(&run, wish("ship", None)).await.unwrap();
    rig.settle().await;
    rig.output(&run).await;
    assert!(rig.client.patches(&run).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_node_that_fails_again_can_be_tried_again() {
    let rig = Rig::new();
    only_size_two(&rig);
    let run = started(&rig, shop(json!({}))).await;
    for size in [7, 8] {
        let config = json!({"task": "bad", "size": size});
        rig.client.retry_node(&run, wish("ship", Some(config))).await.unwrap();
        rig.settle().await;
        assert_eq!(rig.failure(&run).await, "node_failed:ship");
    }
    // A node that fails as soon as it begins has no task.
    let unresolvable = json!({"task": "bad", "size": "$nodes.tell.size"});
    rig.client.retry_node(&run, wish("ship", Some(unresolvable))).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.failure(&run).await, "node_failed:ship");
    rig.client.retry_node(&run, wish("ship", Some(json!({"task": "bad", "size": 2})))).await.unwrap();
    rig.settle().await;
    rig.output(&run).await;
    assert_eq!(rig.stage.calls(), ["a", "bad", "bad", "bad", "bad", "b"]);
}

#[tokio::test]
async fn a_node_that_failed_as_it_began_is_tried_again_with_another_config() {
    let rig = Rig::new();
    let nodes = json!([{"id": "a", "type": "task", "dependents": ["b"]},
        {"id": "b", "type": "task", "config": {"size": "$nodes.a.nothing"}}]);
    let run = started(&rig, nodes).await;
    assert_eq!(rig.failure(&run).await, "node_failed:b");
    rig.client.retry_node(&run, wish("b", Some(json!({"size": 3})))).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.output(&run).await["config"], json!({"size": 3}));
    assert_eq!(rig.stage.calls(), ["a", "b"]);
}

#[tokio::test]
async fn a_node_that_nobody_signalled_in_time_waits_again() {
    let rig = Rig::new();
    let run =
        started(&rig, json!([{"id": "w", "type": "signal", "config": {"name": "go", "timeout": "1s"}}]))
            .await;
    rig.run_for(Millis::from_secs(2)).await;
    assert_eq!(rig.failure(&run).await, "node_failed:w");
    let bad = refused(&rig, &run, "w", Some(json!({"timeout": "1h"}))).await;
    assert!(bad.code() == "ENGINE017" && bad.to_string().contains("GRAPH020"), "{bad}");
    rig.client.retry_node(&run, wish("w", Some(json!({"name": "go", "timeout": "1h"})))).await.unwrap();
    rig.run_for(Millis::from_secs(60)).await;
    rig.client.signal(&run, "go", Payload::null(), None).await.unwrap();
    rig.settle().await;
    rig.output(&run).await;
}

#[tokio::test]
async fn a_node_a_run_is_held_for_is_tried_again() {
    let rig = Rig::new();
    for config in [None, Some(json!({"task": "bad", "size": 2}))] {
        only_size_two(&rig);
        let run = started(&rig, shop(json!({"on_exhausted": "hold"}))).await;
        assert!(rig.picture(&run).await.summary.blocked.is_some());
        assert_eq!(refused(&rig, &run, "pack", None).await.code(), "ENGINE024");
        if config.is_none() {
            rig.stage.on("bad", |_, _| Ok(json!({})));
        }
        rig.client.retry_node(&run, wish("ship", config)).await.unwrap();
        rig.settle().await;
        rig.output(&run).await;
        assert_eq!(letters(&rig).await, 0);
    }
}

/// A node that is no task leaves no letter: the run itself shows that it is held, and why.
#[tokio::test]
async fn a_run_is_blocked_while_a_node_of_it_is_held() {
    for whole_run in [false, true] {
        let rig = Rig::new();
        let signal = json!({"name": "go", "timeout": "1s"});
        let nodes = json!([{"id": "w", "type": "signal", "on_exhausted": "hold", "config": signal},
            {"id": "d", "type": "delay", "config": {"for": "10m"}}]);
        let run = started(&rig, nodes).await;
        rig.run_for(Millis::from_secs(2)).await;
        let since = rig.picture(&run).await.summary.updated_at;
        rig.run_for(Millis::from_secs(1200)).await;
        let picture = rig.picture(&run).await;
        let blocked = picture.summary.blocked.unwrap();
        assert_eq!((blocked.code, blocked.since), (BlockedCode::DeadLetter, since));
        assert_eq!(blocked.detail, "node w has failed and is held");
        let query = RunQuery { tenant: rig.client.tenant().clone(), blocked: true, ..RunQuery::default() };
        let listed = rig.client.world().list_runs(RunQuery { limit: 9, ..query.clone() }).await.unwrap();
        assert_eq!(listed.rows.len(), 1);
        let explanation = explain(&rig.client, &run).await.unwrap();
        assert!(explanation.summary.starts_with("node w is held after "), "{}", explanation.summary);
        let retry = format!("rhythm runs retry {run} --node w --reason WHY");
        let commands: Vec<_> = explanation.reasons.iter().map(|reason| reason.command.clone()).collect();
        assert_eq!(commands, [Some(retry)], "told once");
        assert!(explanation.reasons[0].what.contains("no signal \"go\" came in time"));
        assert_eq!(refused(&rig, &run, "d", None).await.code(), "ENGINE024");

        match whole_run {
            false => rig.client.retry_node(&run, wish("w", None)).await.unwrap(),
            true => rig.client.retry_run(&run, "again").await.unwrap(),
        }
        rig.settle().await;
        assert_eq!(rig.picture(&run).await.summary.blocked, None);
        rig.client.signal(&run, "go", Payload::null(), None).await.unwrap();
        rig.settle().await;
        rig.output(&run).await;
    }
}

#[tokio::test]
async fn what_cannot_be_tried_again_is_refused_with_a_code() {
    let rig = Rig::new();
    only_size_two(&rig);
    let run = started(&rig, shop(json!({}))).await;
    assert_eq!(refused(&rig, &run, "ghost", None).await.code(), "ENGINE023");
    let other = refused(&rig, &run, "pack", Some(json!({}))).await;
    assert_eq!(other.to_string(), format!("node pack of run {run} is not what failed: ship is"));
    assert_eq!(other.code(), "ENGINE024");

    let waiting = started(&rig, json!([{"id": "w", "type": "signal", "config": {"name": "go"}}])).await;
    assert_eq!(refused(&rig, &waiting, "w", None).await.code(), "ENGINE025");
    rig.client.signal(&waiting, "go", Payload::null(), None).await.unwrap();
    rig.settle().await;
    assert_eq!(refused(&rig, &waiting, "w", None).await.code(), "ENGINE006");

    let drill = rig.start(json!({"steps": [{"task": {"name": "a"}}]})).await;
    assert_eq!(refused(&rig, &drill, "w", None).await.code(), "ENGINE016");

    rig.stage.on("undo", permanent("LOCKED"));
    let mut nodes = shop(json!({}));
    nodes[0]["compensator"] = json!({"action": "undo"});
    let taken_back = started(&rig, nodes).await;
    assert_eq!(rig.status(&taken_back).await, Status::Failed);
    assert_eq!(refused(&rig, &taken_back, "ship", None).await.code(), "COMPENSATION001");
}
