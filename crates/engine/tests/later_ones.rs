//! What comes after the first page, the first visit and the first failure: on the reference world.

mod rig;

use rhythm_core::{Failure, Millis, RunId, WorkflowKind};
use rhythm_engine::client::{Decide, Decision, StartRun};
use rhythm_engine::explain::explain;
use rhythm_engine::programs::Programs;
use rhythm_engine::travel::{ForkRun, at, fork};
use rhythm_engine::world::ApprovalState;
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

/// RUN/NODE means the question that waits, else the last one.
#[tokio::test]
async fn a_node_that_asked_twice_is_known_by_its_last_question() {
    let rig = Rig::new();
    rig.stage.on("a", |_, _| Ok(json!({})));
    let again = json!({"type": "cel", "expression": "true"});
    let graph = json!({"nodes": [
        {"id": "draft", "type": "task", "config": {"task": "a"}, "dependents": ["ask"]},
        {"id": "ask", "type": "human", "dependents": ["judge"]},
        {"id": "judge", "type": "loop", "loop": {"condition": again,
            "loop_back_to": "draft", "max_iterations": 2, "break_path": ["end"], "timeout_path": ["end"]}},
        {"id": "end", "type": "task", "config": {"task": "a"}}]});
    let run = start(&rig, "g", WorkflowKind::Graph, &graph.to_string()).await;
    let first = rig.client.find_approval(&run, "ask").await.unwrap();
    let decide = |approval, decision| Decide::new(run.clone(), approval, decision);
    rig.client.decide(&decide(first.approval, Decision::Approve)).await.unwrap();
    rig.settle().await;
    let second = rig.client.find_approval(&run, "ask").await.unwrap();
    assert!(second.approval > first.approval && second.state == ApprovalState::Pending);
    rig.client.decide(&decide(second.approval, Decision::Approve)).await.unwrap();
    rig.settle().await;
    let last = rig.client.find_approval(&run, "ask").await.unwrap();
    assert_eq!((last.approval, last.state), (second.approval, ApprovalState::Decided));
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

/// A shortened id is looked for among the newest 10,000 runs, and only there.
#[tokio::test]
async fn the_end_of_an_id_names_one_of_the_newest_10_000_runs() {
    let rig = Rig::new();
    rig.register("main", json!({"steps": [{"signal": {"name": "go"}}]})).await;
    let start = async |id: String| {
        let wish = StartRun { workflow: "main".into(), id: Some(RunId(id)), ..StartRun::default() };
        rig.client.start_run(wish).await.unwrap()
    };
    let first = start("the-first-one".into()).await;
    for number in 1..10_000 {
        start(format!("run-{number:05}")).await;
    }
    assert_eq!(rig.client.find_run("first-one").await.unwrap(), first);
    assert_eq!(rig.client.find_run("first-one.3").await.unwrap().as_str(), "first-one.3");
    let several = rig.client.find_run("-00001").await.unwrap();
    assert_eq!(several.as_str(), "run-00001");
    start("another-00001".into()).await;
    let refused = rig.client.find_run("-00001").await.unwrap_err();
    assert_eq!(refused.code(), "ENGINE027");
    assert!(refused.to_string().ends_with("-00001: another-00001, run-00001"), "{refused}");
    assert_eq!(rig.client.find_run("first-one").await.unwrap().as_str(), "first-one", "10,000 are newer");
    assert_eq!(rig.client.find_run("the-first-one").await.unwrap(), first);
}
