//! What comes after the first page of a history and the first failure of a task: on the reference world.

mod rig;

use rhythm_core::{Failure, Millis, RunId, WorkflowKind};
use rhythm_engine::client::StartRun;
use rhythm_engine::explain::explain;
use rhythm_engine::programs::Programs;
use rhythm_engine::travel::{ForkRun, at, fork};
use rig::Rig;
use serde_json::json;

async fn start(rig: &Rig, name: &str, kind: WorkflowKind, source: &str) -> RunId {
    rig.client.register(name, kind, source).await.unwrap();
    let run = rig.start_named(name).await;
    rig.settle().await;
    run
}

/// A history has pages of 1,000 rows: whoever reads it reads all of them.
#[tokio::test]
async fn a_history_of_more_than_a_page_is_read_whole() {
    let rig = Rig::new();
    rig.stage.on("a", |_, input| Ok(input));
    let source = "let n = 0\nwhile (n < 600) { n = await Task.run(\"a\", n + 1) }\nreturn n";
    let run = start(&rig, "long", WorkflowKind::Flow, source).await;
    rig.run_for(Millis(5_000)).await;
    assert_eq!(rig.output(&run).await, json!(600), "and it verifies");
    let seq = rig.picture(&run).await.summary.seq;
    let history = rig.client.history(&run).await.unwrap();
    assert!(seq > 1_200 && history.len() as u64 == seq && history.last().unwrap().seq == seq);

    let programs = Programs::default();
    let late = history.iter().rfind(|row| row.data.kind() == "step_completed").unwrap().seq - 20;
    let then = at(&rig.client, &programs, &run, late).await.unwrap();
    assert!(then.event.seq > 1_000, "{:?}", then.event);
    let wish = ForkRun { at: late, ..ForkRun::default() };
    let forked = fork(&rig.client, &programs, &run, wish).await.unwrap();
    rig.run_for(Millis(5_000)).await;
    assert_eq!(rig.output(&forked).await, json!(600));
    // Only what came after that event is done again.
    let done = rig.stage.calls().len();
    assert!((601..=620).contains(&done), "{done}");
}

#[tokio::test]
async fn explain_tells_the_last_failure_of_a_task_that_is_tried_again() {
    let rig = Rig::new();
    let mut words = ["the first", "the second"].into_iter();
    rig.stage.on("a", move |_, _| Err(Failure::new("BUSY", words.next().unwrap_or("another"))));
    let options = json!({"name": "a", "options": {"retries": {"max_attempts": 5, "initial_delay": "10s", "jitter": 0}}});
    let run = rig.start(json!({"steps": [{"task": options}]})).await;
    rig.settle().await;
    rig.run_for(Millis(10_000)).await;
    assert_eq!(rig.stage.calls().len(), 2);
    let what = &explain(&rig.client, &run).await.unwrap().reasons[0].what;
    assert!(what.contains("the second") && !what.contains("the first"), "{what}");
}

#[tokio::test]
async fn a_fork_has_as_long_as_its_origin_had() {
    let rig = Rig::new();
    rig.register("main", json!({"steps": [{"signal": {"name": "go"}}]})).await;
    let wish = StartRun { workflow: "main".into(), deadline: Some(Millis(60_000)), ..StartRun::default() };
    let origin = rig.client.start_run(wish).await.unwrap();
    rig.settle().await;
    rig.run_for(Millis(40_000)).await;
    let wish = ForkRun { at: 1, ..ForkRun::default() };
    let forked = fork(&rig.client, &Programs::default(), &origin, wish).await.unwrap();
    rig.settle().await;
    let summary = rig.picture(&forked).await.summary;
    assert_eq!(summary.deadline_at.unwrap().since(summary.created_at), Millis(60_000));
    rig.run_for(Millis(61_000)).await;
    assert_eq!(rig.failure(&forked).await, "DEADLINE_EXCEEDED");
}
