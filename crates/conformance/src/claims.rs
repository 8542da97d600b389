//! Promise 2 for runs: which worker may step a run, and in which order runs are claimed.

use std::collections::BTreeSet;

use rhythm_core::{BlockedCode, Status, WorkflowKind};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

pub async fn a_stale_claim_cannot_commit(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    play.start("r").await;
    let old = play.claim().await;
    play.pass(secs(31)).await;
    let new = other.claim().await;
    assert_eq!((old.claim, new.claim), (1, 2));
    play.refused(&Draft::of(&old).task(1)).await;
    other.done(&Draft::of(&new)).await;
    play.refused(&Draft::of(&old).task(1)).await;
}

/// Both the number and the worker of a claim are checked.
pub async fn a_claim_is_its_number_and_its_worker(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    play.start("r").await;
    let claimed = play.claim().await;
    other.refused(&Draft::of(&claimed)).await;
    play.refused(&Draft::of(&claimed).with(|item| item.fence = Fence::Claim(0))).await;
    play.refused(&Draft::of(&claimed).with(|item| item.fence = Fence::Claim(2))).await;
    play.done(&Draft::of(&claimed)).await;
}

/// The call is repeated because its answer was lost: nothing more is claimed, and it is not counted twice.
pub async fn a_repeated_claim_gets_the_runs_it_took(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    for id in ["a", "b", "c"] {
        play.start(id).await;
    }
    let ask = |number, again| ClaimRuns { ask: Ask { number, again }, ..play.claim_request(2) };
    let first = play.world.claim_runs(ask(7, false)).await.unwrap().runs;
    assert_eq!(first.len(), 2);
    stage.clock().advance(secs(20));
    assert_eq!(play.world.claim_runs(ask(7, true)).await.unwrap().runs, first);
    play.pass(secs(20)).await;
    play.done(&Draft::of(&first[0])).await;
    let left = play.world.claim_runs(ask(7, true)).await.unwrap().runs;
    assert_eq!(left, first[1..], "the claim was renewed, and only what is still held is given again");
    let elsewhere = ClaimRuns { worker: other.worker.clone(), ..ask(7, true) };
    let found = other.world.claim_runs(elsewhere).await.unwrap().runs;
    assert_eq!((found.len(), found[0].claim), (1, 1), "another worker's calls are its own");
    let nothing = play.world.claim_runs(ask(8, true)).await.unwrap().runs;
    assert!(nothing.is_empty(), "what never was is a first call, and nothing is ready");
}

pub async fn a_claim_may_be_for_one_run_and_those_below_it(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.start("r").await;
    play.start_as(run_below("r", 1)).await;
    play.start_as(run_below("r.1", 2)).await;
    for id in ["r2", "q", "r-1", "r/1"] {
        play.start(id).await;
    }
    let of = |root: &str, limit| ClaimRuns { of: Some(root.into()), ..play.claim_request(limit) };
    let nothing = play.world.claim_runs(of("s", 9)).await.unwrap().runs;
    assert!(nothing.is_empty(), "{nothing:?}");
    let other_kind = ClaimRuns { kinds: vec![], ..of("r", 9) };
    assert!(play.world.claim_runs(other_kind).await.unwrap().runs.is_empty());
    let first = play.world.claim_runs(of("r", 2)).await.unwrap().runs;
    let rest = play.world.claim_runs(of("r", 9)).await.unwrap().runs;
    let ids =
        |runs: &[ClaimedRun]| -> Vec<String> { runs.iter().map(|run| run.run.id.to_string()).collect() };
    assert_eq!((ids(&first), ids(&rest)), (vec!["r".to_owned(), "r.1".to_owned()], vec!["r.1.2".to_owned()]));
    play.done(&Draft::of(&first[0])).await;
    play.order(Control::PauseWorkflow { workflow: new_run("q").workflow }).await;
    assert!(play.world.claim_runs(of("q", 9)).await.unwrap().runs.is_empty(), "its workflow is paused");
}

pub async fn a_claim_may_be_for_tasks_of_one_run_and_those_below_it(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    for run in [new_run("r"), run_below("r", 1), new_run("r2")] {
        play.start_as(run).await;
        play.done(&Draft::of(&play.claim().await).task(1).task(2)).await;
    }
    play.queue(new_task("alone")).await;
    let of = |root: &str, limit| ClaimTasks { of: Some(root.into()), ..play.take_request(limit) };
    let ids = async |request| -> Vec<String> {
        let claimed = play.world.claim_tasks(request).await.unwrap();
        claimed.tasks.iter().map(|task| task.id.to_string()).collect()
    };
    assert_eq!(ids(of("s", 9)).await, Vec::<String>::new());
    assert_eq!(ids(ClaimTasks { names: vec!["unknown".into()], ..of("r", 9) }).await, Vec::<String>::new());
    assert_eq!(ids(of("r", 3)).await, ["r:1", "r:2", "r.1:1"]);
    assert_eq!(ids(of("r", 9)).await, ["r.1:2"]);
    assert_eq!(ids(play.take_request(9)).await.len(), 3, "the others are still there");
}

pub async fn a_claim_number_only_grows(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    for number in 1..=4 {
        let claimed = play.claim().await;
        assert_eq!((claimed.claim, claimed.deliveries), (number, number as u32));
        play.pass(secs(31)).await;
    }
    let claimed = play.claim().await;
    play.done(&Draft::of(&claimed)).await;
    // A commit resets the number of deliveries, never the claim number.
    play.deliver(&run, cancel("c1")).await;
    let claimed = play.claim().await;
    assert_eq!((claimed.claim, claimed.deliveries), (6, 1));
}

pub async fn an_expired_claim_nobody_took_over_still_commits(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    let claimed = play.claim().await;
    stage.clock().advance(secs(3600));
    play.done(&Draft::of(&claimed)).await;
    assert_eq!(play.picture(&run).await.summary.revision, 1);
}

pub async fn a_claimed_run_is_not_claimed_again(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    let run = play.start("r").await;
    play.claim().await;
    other.nothing_to_claim().await;
    play.nothing_to_claim().await;
    let picture = play.picture(&run).await;
    assert_eq!(picture.claimed_by.as_deref(), Some("w1"));
    assert_eq!(picture.summary.status, Status::Running);
    // A message for a claimed run waits until the claim is given back.
    play.deliver(&run, cancel("c1")).await;
    other.nothing_to_claim().await;
}

pub async fn two_claimers_never_share_a_run(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    for round in 0..15 {
        let runs = (0..8).map(|n| new_run(&format!("r{round}-{n}"))).collect();
        play.create(runs).await;
        let mut seen = BTreeSet::new();
        while seen.len() < 8 {
            let (one, two) = tokio::join!(play.claims(3), other.claims(3));
            assert!(!one.is_empty() || !two.is_empty(), "a ready run was not found");
            for claimed in one.into_iter().chain(two) {
                assert!(seen.insert(claimed.run.id.clone()), "{} was claimed twice", claimed.run.id);
            }
        }
    }
}

pub async fn runs_come_by_priority_then_age(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    for (id, priority) in [("a", 0), ("b", 5), ("c", -5), ("d", 5), ("e", 0)] {
        play.start_as(NewRun { priority, ..new_run(id) }).await;
        stage.clock().advance(secs(1));
    }
    let mut order = vec![];
    for _ in 0..5 {
        order.push(play.claim().await.run.id.0);
    }
    assert_eq!(order, ["b", "d", "a", "e", "c"]);
}

pub async fn only_runs_this_process_can_step_are_claimed(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let code = |id: &str, workflow: &str| NewRun {
        kind: WorkflowKind::Code,
        workflow: workflow.to_owned(),
        ..new_run(id)
    };
    play.create(vec![new_run("drill"), code("known", "orders"), code("unknown", "bills")]).await;
    let claim = async |kinds: Vec<WorkflowKind>, workflows: Vec<String>| {
        let request = ClaimRuns { kinds, workflows, ..play.claim_request(9) };
        let runs = play.world.claim_runs(request).await.unwrap().runs;
        runs.into_iter().map(|claimed| claimed.run.id.0).collect::<Vec<_>>()
    };
    assert_eq!(claim(vec![], vec![]).await, [""; 0]);
    assert_eq!(claim(vec![WorkflowKind::Flow], vec!["orders".to_owned()]).await, ["known"]);
    assert_eq!(claim(vec![WorkflowKind::Drill], vec![]).await, ["drill"]);
    assert_eq!(claim(vec![WorkflowKind::Drill, WorkflowKind::Code], vec![]).await, ["unknown"]);
}

pub async fn a_run_follows_its_claim_through_its_states(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    let status = async || play.picture(&run).await.summary.status;
    assert_eq!(status().await, Status::Pending);
    let claimed = play.claim().await;
    assert_eq!(status().await, Status::Running);
    play.release(&claimed, ReleaseOutcome::Later { after: secs(0), blocked: None }).await;
    assert_eq!(status().await, Status::Pending);
    play.done(&Draft::of(&play.claim().await).with(|item| item.more = true)).await;
    assert_eq!(status().await, Status::Waiting);
    play.claim().await;
    assert_eq!(status().await, Status::Running);
}

pub async fn an_idle_run_waits_for_the_next_delivery(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.with(|item| item.more = true)).await;
    let claimed = play.claim().await;
    play.release(&claimed, ReleaseOutcome::Idle { arrived: claimed.run.arrived }).await;
    play.nothing_to_claim().await;
    play.deliver(&run, cancel("c1")).await;

    // A message between the claim and its release keeps the run ready.
    let claimed = play.claim().await;
    play.deliver(&run, cancel("c2")).await;
    play.release(&claimed, ReleaseOutcome::Idle { arrived: claimed.run.arrived }).await;
    assert_eq!(ids(&play.claim().await.messages), ["c1", "c2"]);
}

pub async fn a_run_released_for_later_comes_back_in_time(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    let claimed = play.claim().await;
    let why = Some(blocked(BlockedCode::NoVersion));
    play.release(&claimed, ReleaseOutcome::Later { after: secs(10), blocked: why.clone() }).await;
    assert_eq!(play.picture(&run).await.summary.blocked, why);
    play.pass(secs(9)).await;
    play.nothing_to_claim().await;
    play.pass(secs(1)).await;
    let claimed = play.claim().await;
    assert_eq!(claimed.deliveries, 1, "whoever gives a claim back has not crashed over it");
    // A worker that commits has the version, so the mark is cleared.
    play.done(&Draft::of(&claimed)).await;
    assert_eq!(play.picture(&run).await.summary.blocked, None);
}

pub async fn a_run_set_aside_stays_there(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    let why = blocked(BlockedCode::Quarantined);
    play.release(&play.claim().await, ReleaseOutcome::Aside(why.clone())).await;
    assert_eq!(play.picture(&run).await.summary.blocked, Some(why));
    assert_eq!(play.deliver(&run, signal("s1", "go")).await, Delivered::Accepted);
    play.pass(secs(3600)).await;
    play.nothing_to_claim().await;

    play.order(Control::Unblock { run: run.clone() }).await;
    assert_eq!(play.picture(&run).await.summary.blocked, None);
    assert_eq!(ids(&play.claim().await.messages), ["start", "s1"]);
}

/// A quarantined run can be ended without repairing it first.
pub async fn a_run_set_aside_can_be_ended(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"])).await;
    play.deliver(&run, signal("s1", "go")).await;
    play.release(&play.claim().await, ReleaseOutcome::Aside(blocked(BlockedCode::Quarantined))).await;
    play.nothing_to_claim().await;
    play.deliver(&run, cancel("c1")).await;
    assert_eq!(ids(&play.claim().await.messages), ["s1", "c1"]);
}

/// A successful step proves that a worker and a version exist; only an operator lifts a quarantine.
pub async fn a_commit_does_not_lift_a_quarantine(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"]).task(1)).await;
    play.deliver(&run, signal("s1", "go")).await;
    let why = blocked(BlockedCode::Quarantined);
    play.release(&play.claim().await, ReleaseOutcome::Aside(why.clone())).await;
    let (task, row) = play.take_with_run().await;
    play.done(&Draft::fused(&row, &task).with(|item| item.more = true)).await;
    assert_eq!(play.picture(&run).await.summary.blocked, Some(why));
    play.nothing_to_claim().await;
}

pub async fn a_release_by_a_former_holder_is_ignored(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    let run = play.start("r").await;
    let old = play.claim().await;
    play.pass(secs(31)).await;
    let new = other.claim().await;
    let before = play.stored(&run).await;
    play.release(&old, ReleaseOutcome::Aside(blocked(BlockedCode::Quarantined))).await;
    play.release(&old, ReleaseOutcome::Idle { arrived: 0 }).await;
    assert_eq!(play.stored(&run).await, before);
    other.done(&Draft::of(&new).with(|item| item.more = true)).await;

    // The claim's number decides even if the worker is the same.
    let mine = play.claim().await;
    let before = play.stored(&run).await;
    play.release(&old, ReleaseOutcome::Aside(blocked(BlockedCode::Quarantined))).await;
    assert_eq!(play.stored(&run).await, before);
    play.done(&Draft::of(&mine)).await;
}

pub async fn a_commit_may_keep_its_run_ready(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft).await;
    play.deliver_all(&run, vec![cancel("c1"), cancel("c2")]).await;
    let claimed = play.claim().await;
    let one = Draft::of(&claimed).only(&claimed.messages[..1]);
    play.done(&one.with(|item| item.more = true)).await;
    let claimed = play.claim().await;
    assert_eq!(ids(&claimed.messages), ["c2"]);
    play.done(&Draft::of(&claimed)).await;
    play.nothing_to_claim().await;
}
