//! Repairs a bug in the live runs of a workflow: another version for a run, and forks that continue with one.

mod rig;

use rhythm_core::event::EventData;
use rhythm_core::{Payload, RunId, Status, Version, WorkflowKind};
use rhythm_engine::client::StartRun;
use rhythm_engine::error::EngineError;
use rhythm_engine::programs::Programs;
use rhythm_engine::travel::{ForkRun, at, fork, repeated};
use rhythm_engine::versions::{Change, ChangeVersion, change_version_of, preview_change};
use rig::{Rig, failing, permanent};
use serde_json::{Value, json};

const WRONG: &str = "const paid = await Task.run(\"a\", { n: inputs.n })\nreturn paid.amout";
const RIGHT: &str = "// repaired\nconst paid = await Task.run(\"a\", { n: inputs.n })\nreturn paid.amount";

async fn register(rig: &Rig, source: &str) -> Version {
    rig.client.register("w", WorkflowKind::Flow, source).await.unwrap()
}

async fn start(rig: &Rig, input: Value) -> RunId {
    let input = Payload::of(&input).unwrap();
    let run =
        rig.client.start_run(StartRun { workflow: "w".into(), input, ..StartRun::default() }).await.unwrap();
    rig.settle().await;
    run
}

fn to(version: &Version) -> ChangeVersion {
    ChangeVersion { to: version.clone(), line: None, reason: "a bug".into(), id: None }
}

async fn change(rig: &Rig, run: &RunId, wish: &ChangeVersion) -> Result<Change, EngineError> {
    change_version_of(&rig.client, &Programs::default(), run, wish).await
}

fn at_event(at: u64) -> ForkRun {
    ForkRun { at, ..ForkRun::default() }
}

async fn forked(rig: &Rig, run: &RunId, wish: ForkRun) -> RunId {
    fork(&rig.client, &Programs::default(), run, wish).await.unwrap()
}

/// Records the stable key of each task, in order.
fn keys(rig: &Rig, name: &str) -> std::sync::Arc<std::sync::Mutex<Vec<String>>> {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let (keep, name) = (seen.clone(), name.to_owned());
    rig.stage.on(&name, move |context, _| {
        keep.lock().unwrap().push(context.stable_key().to_owned());
        Ok(json!({"amount": 5}))
    });
    seen
}

#[tokio::test]
async fn a_failed_run_goes_on_with_a_repaired_version() {
    let rig = Rig::new();
    rig.stage.on("a", |_, _| Ok(json!({"amount": 5})));
    let wrong = register(&rig, WRONG).await;
    let run = start(&rig, json!({"n": 1})).await;
    assert_eq!(rig.failure(&run).await, "PROPERTY_NOT_FOUND");
    let right = register(&rig, RIGHT).await;
    let preview = preview_change(&rig.client, &Programs::default(), &run, &to(&right)).await.unwrap();
    assert_eq!((preview.from_line, preview.to_line, preview.reopens), (Some(1), Some(2), true));
    assert_eq!(rig.status(&run).await, Status::Failed, "a preview changes nothing");
    assert_eq!(change(&rig, &run, &to(&right)).await.unwrap(), preview);
    rig.settle().await;
    assert_eq!(rig.output(&run).await, json!(5));
    assert_eq!(rig.stage.calls().len(), 1, "what was done is not done again");
    let kinds = rig.kinds(&run).await;
    assert_eq!(kinds[4..], ["version_changed", "reopened", "step_completed", "workflow_completed"]);
    let history = rig.client.history(&run).await.unwrap();
    let EventData::VersionChanged(changed) = &history[4].data else { panic!("{history:?}") };
    assert_eq!((&changed.from, &changed.to, changed.reason.as_str()), (&wrong, &right, "a bug"));
    assert_eq!(history[4].actor.0, "user:test");
    // Time travel uses the program of that time.
    for (event, text) in [(2, "const paid = await"), (5, "const paid = await"), (8, "return paid.amount")] {
        let moment = at(&rig.client, &Programs::default(), &run, event).await.unwrap();
        assert!(moment.place.unwrap().text.starts_with(text), "{event}");
    }
}

#[tokio::test]
async fn a_run_that_waits_goes_on_with_another_version() {
    let rig = Rig::new();
    register(&rig, "let n = 1\nawait Signal.next(\"go\")\nreturn n").await;
    let run = start(&rig, json!({})).await;
    let next = register(&rig, "let n = 1\nawait Signal.next(\"go\")\nreturn [n, ctx.version]").await;
    let wish = ChangeVersion { id: Some("k".into()), ..to(&next) };
    let done = change(&rig, &run, &wish).await.unwrap();
    assert!(!done.reopens);
    assert_eq!(change(&rig, &run, &wish).await.unwrap().to, next, "one id is one change");
    assert_eq!(rig.kinds(&run).await.iter().filter(|kind| *kind == "version_changed").count(), 1);
    rig.client.signal(&run, "go", Payload::null(), None).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.output(&run).await, json!([1, next.as_str()]));
    assert!(matches!(change(&rig, &run, &to(&next)).await, Err(EngineError::Ended(_))));
}

#[tokio::test]
async fn a_run_that_fits_nowhere_is_refused_with_both_sources() {
    let rig = Rig::new();
    register(&rig, "await Signal.next(\"go\")\nreturn 1").await;
    let run = start(&rig, json!({})).await;
    let next = register(&rig, "let m = 2\nawait Signal.next(\"stop\")\nreturn m").await;
    let before = rig.picture(&run).await;
    let refused = change(&rig, &run, &to(&next)).await.unwrap_err();
    assert_eq!(refused.code(), "VERSION001");
    let text = refused.to_string();
    assert!(text.contains("has no `await Signal.next(\"go\")`"), "{text}");
    assert!(text.contains(">   1 await Signal.next(\"go\")") && text.contains("let m = 2"), "{text}");
    // The line can be named, but not variables the run does not have.
    let named = ChangeVersion { line: Some(2), ..to(&next) };
    assert!(change(&rig, &run, &named).await.unwrap_err().to_string().contains("reads `m`"));
    assert_eq!(rig.picture(&run).await, before);
    let other = ChangeVersion { to: Version::of(b"nowhere"), ..to(&next) };
    assert_eq!(change(&rig, &run, &other).await.unwrap_err().code(), "ENGINE013");
}

#[tokio::test]
async fn a_failed_child_goes_on_with_another_version_and_its_parent_with_it() {
    let rig = Rig::new();
    rig.client.register("kid", WorkflowKind::Flow, "return inputs.x.y").await.unwrap();
    register(&rig, "const got = await Workflow.run(\"kid\", { x: null })\nreturn got").await;
    let run = start(&rig, json!({})).await;
    assert_eq!(rig.failure(&run).await, "TYPE_ERROR");
    let kid = run.child(rhythm_core::CommandId(1));
    let right = rig.client.register("kid", WorkflowKind::Flow, "return inputs.x?.y ?? 3").await.unwrap();
    change(&rig, &kid, &to(&right)).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.output(&kid).await, json!(3));
    rig.client.retry_run(&run, "").await.unwrap();
    rig.settle().await;
    assert_eq!(rig.output(&run).await, json!(3));
}

#[tokio::test]
async fn a_graph_changes_its_version_under_the_rules_of_patches() {
    let rig = Rig::new();
    rig.stage.on("a", permanent("NO"));
    let graph = |nodes: Value| json!({ "nodes": nodes }).to_string();
    let register = |text: String| {
        let client = &rig.client;
        async move { client.register("w", WorkflowKind::Graph, &text).await.unwrap() }
    };
    register(graph(json!([{"id": "a", "type": "task", "dependents": ["b"]}, {"id": "b", "type": "task"}])))
        .await;
    let run = start(&rig, json!({})).await;
    assert_eq!(rig.failure(&run).await, "node_failed:a");
    let gone = register(graph(json!([{"id": "b", "type": "task"}]))).await;
    let refused = change(&rig, &run, &to(&gone)).await.unwrap_err();
    assert!(refused.to_string().contains("live_node_removed"), "{refused}");
    assert_eq!(rig.status(&run).await, Status::Failed);
    let next = register(graph(json!([
        {"id": "a", "type": "task", "dependents": ["c"]},
        {"id": "c", "type": "task", "config": {"task": "b"}}
    ])))
    .await;
    rig.stage.on("a", |_, _| Ok(json!("done")));
    rig.stage.on("b", |_, _| Ok(json!("new")));
    change(&rig, &run, &to(&next)).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.output(&run).await, json!("new"));
}

#[tokio::test]
async fn a_fork_goes_on_with_another_version() {
    let rig = Rig::new();
    rig.stage.on("a", |_, _| Ok(json!({"amount": 5})));
    register(&rig, WRONG).await;
    let run = start(&rig, json!({"n": 1})).await;
    let right = register(&rig, RIGHT).await;
    let wish = ForkRun { version: Some(right.clone()), ..at_event(2) };
    // The start is one transition: a fork of it with another version starts over.
    let over = forked(&rig, &run, wish).await;
    rig.settle().await;
    assert_eq!(rig.output(&over).await, json!(5));
    assert!(!rig.kinds(&over).await.contains(&"version_changed".to_owned()));

    let two = "await Signal.next(\"go\")\nconst paid = await Task.run(\"a\", {})\nreturn paid.amout";
    register(&rig, two).await;
    let run = start(&rig, json!({})).await;
    rig.client.signal(&run, "go", Payload::null(), None).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.failure(&run).await, "PROPERTY_NOT_FOUND");
    let right = register(&rig, &format!("let z = 1\n{}", two.replace("amout", "amount"))).await;
    let asked = rig.client.history(&run).await.unwrap();
    let asked = asked.iter().find(|row| row.data.kind() == "step_scheduled").unwrap().seq;
    let fork = forked(&rig, &run, ForkRun { version: Some(right.clone()), ..at_event(asked) }).await;
    assert_eq!(rig.picture(&fork).await.summary.version, right);
    rig.settle().await;
    assert_eq!(rig.output(&fork).await, json!(5));
    let kinds = rig.kinds(&fork).await;
    let place = kinds.iter().position(|kind| kind == "forked").unwrap();
    assert_eq!(kinds[place + 1], "version_changed");
    // A fork of the fork, before and after its change, uses the program of that time.
    let late = forked(&rig, &fork, at_event(place as u64 + 2)).await;
    let early = forked(&rig, &fork, at_event(asked)).await;
    rig.settle().await;
    assert_eq!(rig.output(&late).await, json!(5));
    assert_eq!(rig.failure(&early).await, "PROPERTY_NOT_FOUND");
}

#[tokio::test]
async fn work_a_fork_asks_for_again_has_the_key_of_its_origin() {
    let rig = Rig::new();
    let (a, b) = (keys(&rig, "a"), keys(&rig, "b"));
    register(&rig, "await Signal.next(\"go\")\nawait Task.run(\"a\", { n: 1 })\nawait Task.run(\"b\", { n: ctx.executionId })\nawait Task.run(\"a\", { n: 2 }, { key: \"mine\" })").await;
    let run = start(&rig, json!({})).await;
    rig.client.signal(&run, "go", Payload::null(), None).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.status(&run).await, Status::Completed);
    let programs = Programs::default();
    let done = repeated(&rig.client, &programs, &run, &at_event(2)).await.unwrap();
    let told: Vec<_> = done
        .iter()
        .map(|one| (one.task.as_str().rsplit(':').next().unwrap(), one.name.as_str(), one.state))
        .collect();
    assert_eq!(told, [("2", "a", "completed"), ("3", "b", "completed"), ("4", "a", "completed")]);
    let first = forked(&rig, &run, at_event(2)).await;
    let second = forked(&rig, &first, at_event(2)).await;
    for fork in [&first, &second] {
        rig.client.signal(fork, "go", Payload::null(), None).await.unwrap();
        rig.settle().await;
        assert_eq!(rig.status(fork).await, Status::Completed);
    }
    let (one, three) =
        (run.task(rhythm_core::CommandId(2)).0, |run: &RunId| run.task(rhythm_core::CommandId(3)).0);
    assert_eq!(*a.lock().unwrap(), [&*one, "mine", &*one, "mine", &*one, "mine"]);
    // Different input is different work.
    assert_eq!(*b.lock().unwrap(), [three(&run), three(&first), three(&second)]);
}

#[tokio::test]
async fn work_that_was_under_way_keeps_its_key_in_children_too() {
    let rig = Rig::new();
    let a = keys(&rig, "a");
    rig.client.register("kid", WorkflowKind::Flow, "await Task.run(\"a\", { n: 1 })").await.unwrap();
    register(
        &rig,
        "await Promise.all([Task.run(\"a\", {}), Workflow.run(\"kid\", {})])\nawait Signal.next(\"go\")",
    )
    .await;
    let run = start(&rig, json!({})).await;
    let programs = Programs::default();
    let done = repeated(&rig.client, &programs, &run, &at_event(1)).await.unwrap();
    assert_eq!(done.len(), 2, "{done:?}");
    assert!(done.iter().any(|one| one.task.as_str() == format!("{run}.2:1")), "{done:?}");
    let fork = forked(&rig, &run, at_event(1)).await;
    rig.settle().await;
    let mut keys = a.lock().unwrap().clone();
    keys.sort();
    assert_eq!(keys, [format!("{run}.2:1"), format!("{run}.2:1"), format!("{run}:1"), format!("{run}:1")]);
    assert_eq!(rig.status(&fork).await, Status::Waiting);
    let last = rhythm_engine::travel::latest(&rig.client, &run).await.unwrap();
    assert_eq!(repeated(&rig.client, &programs, &run, &at_event(last)).await.unwrap(), []);
}

#[tokio::test]
async fn work_that_no_worker_had_is_not_told_as_done() {
    let rig = Rig::new();
    rig.stage.on("a", failing("LATER"));
    register(&rig, "Task.run(\"b\", {}, { delay: 3600 })\nawait Task.run(\"a\", {}, { retries: 5 })").await;
    let run = start(&rig, json!({})).await;
    let done = repeated(&rig.client, &Programs::default(), &run, &at_event(1)).await.unwrap();
    assert_eq!(
        done.iter().map(|one| (one.name.as_str(), one.state)).collect::<Vec<_>>(),
        [("a", "under way")]
    );
}

#[tokio::test]
async fn a_failure_by_a_bug_names_the_version_that_may_repair_it() {
    let rig = Rig::new();
    rig.stage.on("a", |_, _| Ok(json!({"amount": 5})));
    register(&rig, WRONG).await;
    let run = start(&rig, json!({"n": 1})).await;
    let told = rhythm_engine::explain::explain(&rig.client, &run).await.unwrap();
    assert!(told.reasons[0].moves_when.contains(&format!("runs retry {run} --version VERSION")), "{told:?}");
    let right = register(&rig, RIGHT).await;
    let told = rhythm_engine::explain::explain(&rig.client, &run).await.unwrap();
    let hash = &right.as_str()["sha256:".len()..][..12];
    assert_eq!(
        told.reasons[0].command.as_deref(),
        Some(&*format!("rhythm runs retry {run} --version {hash}"))
    );
    // Another failure is not a bug of the flow.
    rig.stage.on("a", permanent("NO"));
    let run = start(&rig, json!({"n": 1})).await;
    register(&rig, WRONG).await;
    let told = rhythm_engine::explain::explain(&rig.client, &run).await.unwrap();
    assert_eq!(told.reasons[0].command.as_deref(), Some(&*format!("rhythm runs retry {run}")));
}
