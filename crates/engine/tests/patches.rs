//! Patches of runs and workflows on the reference world: long chains, undoing, and races that have one
//! outcome each.

mod rig;

use rhythm_core::{Actor, Payload, RunId, Status, Version, WorkflowKind};
use rhythm_engine::client::{Client, StartRun};
use rhythm_engine::error::EngineError;
use rhythm_engine::patches::{Change, PatchOutcome, PatchRun, PatchWorkflow, preview, undo};
use rhythm_engine::tags::MoveTag;
use rhythm_engine::world::{Controlled, DefinitionQuery, TagTarget};
use rig::Rig;
use serde_json::{Value, json};

fn chain() -> Value {
    json!({
        "metadata": {"name": "g"},
        "nodes": [
            {"id": "wait", "type": "signal", "config": {"name": "go"}, "dependents": ["tell"]},
            {"id": "tell", "type": "task", "config": {"task": "a"}, "dependents": []}
        ]
    })
}

async fn register(rig: &Rig) -> Version {
    let text = serde_json::to_string_pretty(&chain()).unwrap() + "\n";
    rig.client.register("g", WorkflowKind::Graph, &text).await.unwrap()
}

async fn waiting(rig: &Rig) -> RunId {
    let start = StartRun { workflow: "g".into(), ..StartRun::default() };
    let run = rig.client.start_run(start).await.unwrap();
    rig.settle().await;
    run
}

fn patch(operations: &Value, reason: &str) -> PatchRun {
    let operations = Payload::of(operations).unwrap();
    PatchRun { operations, reason: reason.to_owned(), id: Some(reason.to_owned()) }
}

fn outcome(patch: &rhythm_engine::patches::RunPatch) -> &str {
    match &patch.outcome {
        PatchOutcome::Adopted { .. } => "adopted",
        PatchOutcome::Refused { code, .. } => code,
    }
}

async fn source(client: &Client) -> (Version, String) {
    let (tenant, workflow) = (client.tenant().clone(), "g".to_owned());
    let query = DefinitionQuery { tenant, workflow, version: None };
    let found = client.world().definition(query).await.unwrap().unwrap();
    (found.version, found.source)
}

fn patching(change: Change, reason: &str) -> PatchWorkflow {
    let (workflow, reason) = ("g".to_owned(), reason.to_owned());
    PatchWorkflow { workflow, tag: None, expected: None, change, reason }
}

/// Adds one node that runs begin with.
fn add(name: &str) -> Value {
    json!([{"op": "add", "path": "/nodes/-", "value": {"id": name, "type": "task", "config": {"task": "a"}}}])
}

fn describe(text: &str) -> Value {
    json!([{"op": "add", "path": "/metadata/description", "value": text}])
}

#[tokio::test]
async fn of_two_patches_that_exclude_each_other_the_first_wins_and_the_other_is_told() {
    let rig = Rig::new();
    register(&rig).await;
    let run = waiting(&rig).await;
    let remove = json!([
        {"op": "test", "path": "/nodes/1/id", "value": "tell"}, {"op": "remove", "path": "/nodes/1"},
        {"op": "replace", "path": "/nodes/0/dependents", "value": []}]);
    for reason in ["mine", "yours"] {
        rig.client.patch(&run, patch(&remove, reason)).await.unwrap();
    }
    // The same patch again is not a new one.
    rig.client.patch(&run, patch(&remove, "mine")).await.unwrap();
    rig.settle().await;
    let patches = rig.client.patches(&run).await.unwrap();
    let told: Vec<(usize, &str, &str)> =
        patches.iter().map(|patch| (patch.number, patch.reason.as_str(), outcome(patch))).collect();
    assert_eq!(told, [(1, "mine", "adopted"), (2, "yours", "inapplicable_patch")]);
    let dry = preview(&rig.client, &run, Payload::of(&remove).unwrap()).await.unwrap();
    assert_eq!(dry.refused.unwrap().code, "inapplicable_patch");
    let back = undo(&rig.client, &run, 1).await.unwrap();
    rig.client.patch(&run, PatchRun { operations: back, ..PatchRun::default() }).await.unwrap();
    rig.client.signal(&run, "go", Payload::null(), None).await.unwrap();
    rig.settle().await;
    assert_eq!((rig.status(&run).await, rig.stage.calls().len()), (Status::Completed, 1));
    rig.verify(&run).await;
}

#[tokio::test]
async fn a_run_that_failed_at_once_starts_anew_with_what_its_patch_made() {
    let rig = Rig::new();
    let graph = json!({"nodes": [{"id": "a", "type": "delay", "config": {"for": "$inputs.length"}}]});
    rig.client.register("g", WorkflowKind::Graph, &graph.to_string()).await.unwrap();
    let run = waiting(&rig).await;
    assert_eq!(rig.status(&run).await, Status::Failed);
    let fixed = json!([{"op": "replace", "path": "/nodes/0/config/for", "value": 0}]);
    rig.client.patch(&run, patch(&fixed, "there is no length")).await.unwrap();
    rig.client.retry_run(&run, "patched").await.unwrap();
    rig.settle().await;
    assert_eq!(rig.status(&run).await, Status::Completed);
    rig.verify(&run).await;
}

#[tokio::test]
async fn five_hundred_patches_in_a_row_are_one_document_and_undone_the_first_one_again() {
    let rig = Rig::new();
    let first = register(&rig).await;
    let (_, before) = source(&rig.client).await;
    let client = &rig.client;
    for number in 1..=500 {
        let operations = match number % 10 {
            0 => add(&format!("n{number}")),
            _ => describe(&format!("the {number}th")),
        };
        let wish = patching(Change::Operations(operations), &format!("patch {number}"));
        let proposal = client.propose_version(wish).await.unwrap();
        client.adopt_version(proposal).await.unwrap();
    }
    let (_, grown) = source(client).await;
    let grown: Value = serde_json::from_str(&grown).unwrap();
    assert_eq!(grown["nodes"].as_array().unwrap().len(), 52);
    assert_eq!(grown["metadata"]["description"], "the 499th");
    for number in (1..=500).rev() {
        let proposal = client.propose_version(patching(Change::Undo(number), "undo")).await.unwrap();
        client.adopt_version(proposal).await.unwrap();
    }
    assert_eq!(source(client).await, (first, before), "byte for byte, and so the same version");
    assert_eq!(client.workflow_patches("g").await.unwrap().len(), 1_000);
}

#[tokio::test]
async fn of_two_patches_of_one_version_the_other_is_told_which_won() {
    let rig = Rig::new();
    let base = register(&rig).await;
    let client = &rig.client;
    let one = client.propose_version(patching(Change::Operations(add("x")), "one")).await.unwrap();
    let two = client.propose_version(patching(Change::Operations(add("y")), "two")).await.unwrap();
    let won = one.version.clone();
    client.adopt_version(one).await.unwrap();
    match client.adopt_version(two).await {
        Err(EngineError::Moved { what, now }) => {
            assert_eq!((what.as_str(), now), ("workflow g", won.to_string()))
        }
        other => panic!("{other:?}"),
    }
    let late = PatchWorkflow { expected: Some(base), ..patching(Change::Operations(add("z")), "late") };
    assert!(matches!(client.propose_version(late).await, Err(EngineError::Moved { .. })));
}

/// Rounds of each race in one world, more than 10,000 in all; every round must have exactly one outcome.
const ROUNDS: u64 = 100;
/// Number of worlds for each race. Each begins empty, so that no round is slower than the first.
const WORLDS: u64 = 35;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tags_moved_at_once_go_one_way_and_tell_the_other() {
    for _ in 0..WORLDS {
        race_for_tags().await;
    }
}

async fn race_for_tags() {
    let rig = Rig::new();
    let mut versions = vec![register(&rig).await];
    for text in ["second", "third"] {
        let wish = patching(Change::Operations(describe(text)), text);
        let proposal = rig.client.propose_version(wish).await.unwrap();
        versions.push(proposal.version.clone());
        rig.client.adopt_version(proposal).await.unwrap();
    }
    let other =
        Client::new(rig.client.world().clone(), rig.client.tenant().clone(), Actor("user:other".into()));
    let to = |place: usize, expected: Option<usize>| MoveTag {
        tag: "live".to_owned(),
        to: TagTarget { workflow: "g".to_owned(), version: versions[place % 3].clone() },
        reason: String::new(),
        expected: expected.map(|place| versions[place].clone()),
    };
    rig.client.move_tag(to(0, None)).await.unwrap();
    let mut at = 0;
    for round in 0..ROUNDS {
        let (first, second) = (rig.client.clone(), other.clone());
        let (mine, yours) = (to(at + 1, Some(at)), to(at + 2, Some(at)));
        let one = tokio::spawn(async move { first.move_tag(mine).await });
        let two = tokio::spawn(async move { second.move_tag(yours).await });
        let won = match [one.await.unwrap(), two.await.unwrap()] {
            [Ok(Controlled::Done), Err(EngineError::Moved { .. })] => 1,
            [Err(EngineError::Moved { .. }), Ok(Controlled::Done)] => 2,
            both => panic!("round {round}: {both:?}"),
        };
        let last = rig.client.tag_history("live").await.unwrap().remove(0);
        assert_eq!((last.number, last.from.unwrap().version), (round + 2, versions[at].clone()));
        at = (at + won) % 3;
        assert_eq!(last.to.unwrap().version, versions[at]);
        assert_eq!(last.actor.0, if won == 1 { "user:test" } else { "user:other" });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_patched_at_once_have_one_winner_each_round() {
    for _ in 0..WORLDS {
        race_for_versions().await;
    }
}

async fn race_for_versions() {
    let rig = Rig::new();
    register(&rig).await;
    let other =
        Client::new(rig.client.world().clone(), rig.client.tenant().clone(), Actor("user:other".into()));
    for round in 0..ROUNDS {
        let mine = patching(Change::Operations(describe(&format!("mine {round}"))), "mine");
        let yours = patching(Change::Operations(describe(&format!("yours {round}"))), "yours");
        let mine = rig.client.propose_version(mine).await.unwrap();
        let yours = other.propose_version(yours).await.unwrap();
        let versions = [mine.version.clone(), yours.version.clone()];
        let (first, second) = (rig.client.clone(), other.clone());
        let one = tokio::spawn(async move { first.adopt_version(mine).await });
        let two = tokio::spawn(async move { second.adopt_version(yours).await });
        let answers = [one.await.unwrap(), two.await.unwrap()];
        let won = match &answers {
            [Ok(_), Err(EngineError::Moved { now, .. })] if *now == versions[0].to_string() => 0,
            [Err(EngineError::Moved { now, .. }), Ok(_)] if *now == versions[1].to_string() => 1,
            both => panic!("round {round}: {both:?}"),
        };
        let (current, _) = source(&rig.client).await;
        assert_eq!(current, versions[won], "round {round}");
        let last = rig.client.workflow_patches("g").await.unwrap().pop().unwrap();
        assert_eq!((last.number, last.version), (round + 1, current));
    }
}

#[tokio::test]
async fn a_patch_against_the_end_of_its_run_is_told_what_became_of_it() {
    for _ in 0..WORLDS {
        race_with_ends().await;
    }
}

async fn race_with_ends() {
    let rig = Rig::new();
    register(&rig).await;
    let (mut adopted, mut late) = (0, 0);
    for round in 0..ROUNDS {
        let run = waiting(&rig).await;
        let grow = json!([
            {"op": "add", "path": "/nodes/-", "value": {"id": "more", "type": "task", "config": {"task": "b"}}},
            {"op": "add", "path": "/nodes/1/dependents/-", "value": "more"}]);
        let go = rig.client.signal(&run, "go", Payload::null(), None);
        let sent = rig.client.patch(&run, patch(&grow, "grow"));
        // One before the other, or with a few steps of the run between them.
        let sent = match round % 4 {
            0 => {
                go.await.unwrap();
                sent.await
            }
            1 => {
                let sent = sent.await;
                go.await.unwrap();
                sent
            }
            steps => {
                go.await.unwrap();
                for _ in 1..steps {
                    rig.one.round().await;
                }
                sent.await
            }
        };
        rig.settle().await;
        assert_eq!(rig.status(&run).await, Status::Completed);
        let patches = rig.client.patches(&run).await.unwrap();
        let more = rig.stage.calls.lock().unwrap().drain(..).filter(|name| name == "b").count();
        match (sent, patches.as_slice()) {
            (Ok(_), [patch]) if outcome(patch) == "adopted" => {
                adopted += 1;
                assert_eq!(more, 1, "round {round}: what was adopted has run");
            }
            (Err(EngineError::Ended(_)), []) => {
                late += 1;
                assert_eq!(more, 0, "round {round}");
            }
            (sent, told) => panic!("round {round}: {sent:?} {told:?}"),
        }
    }
    assert!(adopted > 0 && late > 0, "{adopted} {late}");
}
