//! Promises 1 and 3: a commit is atomic, fenced by the revision, and safe to repeat.

use std::collections::BTreeSet;
use std::sync::Arc;

use rhythm_core::fold::RunState;
use rhythm_core::{CommandId, Snapshot, Status};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

pub async fn a_commit_writes_all_of_a_transition(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let friend = play.waiting("friend", |draft| draft.awaiting(&["hello"])).await;
    let run = play.start("r").await;
    let due = play.now().await.plus(secs(60));
    let draft = Draft::of(&play.claim().await)
        .marker("first")
        .task(1)
        .task_as(2, |task| NewTask { options: delayed(secs(9)), ..task })
        .timer(3, due)
        .child(4)
        .tell(&friend, signal("s1", "hello"));
    let done = play.done(&draft).await;
    assert_eq!(done, Done { revision: 1, arrived: 0, claimed: vec![] });

    let picture = play.picture(&run).await;
    assert_eq!(picture.row.state, draft.item.state);
    assert_eq!(
        (picture.summary.status, picture.summary.revision, picture.summary.seq),
        (Status::Waiting, 1, 2)
    );
    assert_eq!((picture.claimed_by, picture.ready_since), (None, None));
    let mut states: Vec<_> = picture.tasks.iter().map(|task| (task.id.as_str(), task.state)).collect();
    states.sort();
    assert_eq!(states, [("r:1", TaskState::Ready), ("r:2", TaskState::Delayed)]);
    assert_eq!(picture.timers.len(), 1);
    assert_eq!((picture.timers[0].timer, picture.timers[0].due_at), (Some(CommandId(3)), due));
    assert_eq!(picture.children.len(), 1);
    assert_eq!(picture.children[0].id.as_str(), "r.4");
    assert_eq!(play.history(&run).await, draft.item.events);
    assert_eq!(ids(&play.picture(&friend).await.inbox), ["s1"]);
}

pub async fn a_commit_on_a_moved_revision_is_stale(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.start("r").await;
    let claimed = play.claim().await;
    let later = Draft::of(&claimed).task(1).timer(2, play.now().await).with(|item| item.revision = 1);
    play.refused(&later).await;
    play.done(&Draft::of(&claimed)).await;
    // The commit released the claim, so even the right number is stale now.
    play.refused(&Draft::of(&claimed).task(1)).await;
}

pub async fn items_of_a_batch_fail_alone(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    for id in ["a", "b", "c", "d"] {
        play.start(id).await;
    }
    let mut drafts: Vec<Draft> = play.claims(4).await.iter().map(|run| Draft::of(run).task(1)).collect();
    drafts[1].item.revision = 9;
    drafts[2].item.fence = Fence::Claim(9);
    let before = (play.stored(&drafts[1].item.run).await, play.stored(&drafts[2].item.run).await);
    let outcomes = play.commit(&drafts.iter().collect::<Vec<_>>()).await;
    assert!(matches!(outcomes[0], CommitOutcome::Done(_)), "{outcomes:?}");
    assert_eq!(outcomes[1..3], [CommitOutcome::Stale, CommitOutcome::Stale]);
    assert!(matches!(outcomes[3], CommitOutcome::Done(_)), "{outcomes:?}");
    let after = (play.stored(&drafts[1].item.run).await, play.stored(&drafts[2].item.run).await);
    assert_eq!(after, before);
    assert_eq!(play.takes(9).await.len(), 2);
}

pub async fn a_fold_of_many_messages_is_one_commit(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"])).await;
    let count = MESSAGES_PER_COMMIT + 200;
    let signals = (0..count).map(|n| signal(&format!("s{n:04}"), "go")).collect();
    assert!(play.deliver_all(&run, signals).await.iter().all(|answer| *answer == Delivered::Accepted));

    let claimed = play.claim().await;
    assert_eq!((claimed.messages.len(), claimed.more), (MESSAGES_PER_COMMIT, true));
    let done = play.done(&Draft::of(&claimed).with(|item| item.more = true)).await;
    assert_eq!((done.revision, done.arrived), (2, count as u64));

    let rest = play.claim().await;
    assert_eq!((rest.messages.len(), rest.more), (200, false));
    assert_eq!(rest.messages[0].id.as_str(), "s1000");
    play.done(&Draft::of(&rest)).await;
    let history = play.history(&run).await;
    assert!(history.iter().map(|event| event.seq).eq(1..=count as u64 + 1), "one row for each message");
    let messages = history.iter().skip(1).map(|event| event.message.clone().unwrap().0);
    assert!(messages.eq((0..count).map(|n| format!("s{n:04}"))));
}

pub async fn a_repeated_commit_gets_the_original_answer(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let friend = play.waiting("friend", |draft| draft.awaiting(&["hello"])).await;
    let run = play.start("r").await;
    let draft = Draft::of(&play.claim().await)
        .own_task(1)
        .own_task(2)
        .timer(3, play.now().await)
        .child(4)
        .tell(&friend, signal("s1", "hello"));
    let first = play.done(&draft).await;
    assert_eq!(first.claimed.len(), 2);
    let before = (play.stored(&run).await, play.stored(&friend).await);
    assert_eq!(play.done(&draft).await, first);
    assert_eq!(
        (play.stored(&run).await, play.stored(&friend).await),
        before,
        "a repeat has no second effect"
    );
}

pub async fn a_repeated_final_commit_gets_the_original_answer(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    for (id, end) in
        [("c", Draft::completed as fn(Draft) -> Draft), ("f", Draft::failed), ("x", Draft::cancelled)]
    {
        let run = play.start(id).await;
        let draft = end(Draft::of(&play.claim().await));
        let first = play.done(&draft).await;
        let before = play.stored(&run).await;
        assert_eq!(play.done(&draft).await, first);
        assert_eq!(play.stored(&run).await, before);
    }
}

/// A repeated commit returns the claims that the worker holds now, not those it was given first.
pub async fn a_repeated_commit_lists_only_claims_still_held(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.start("r").await;
    let draft = Draft::of(&play.claim().await).own_task(1).own_task(2);
    let first = play.done(&draft).await;
    let lost = FinishedTask {
        task: first.claimed[0].task.clone(),
        claim: 1,
        outcome: TaskOutcome::Released,
        message: None,
    };
    assert_eq!(play.finish_all(vec![lost]).await, [Finish::Done]);
    assert_eq!(play.done(&draft).await.claimed, first.claimed[1..]);
    // Claimed again, the task has a new number, which this commit did not give.
    assert_eq!(play.take().await.claim, 2);
    assert_eq!(play.done(&draft).await.claimed, first.claimed[1..]);
}

pub async fn an_ended_or_unknown_run_takes_no_commit(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.start("r").await;
    let claimed = play.claim().await;
    play.done(&Draft::of(&claimed).completed()).await;
    play.refused(&Draft::of(&claimed)).await;
    play.refused(&Draft::of(&claimed).with(|item| item.revision = 1)).await;
    play.refused(&Draft::of(&claimed).with(|item| item.run = "nobody".into())).await;
}

pub async fn of_two_items_for_one_run_one_is_done(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    let claimed = play.claim().await;
    let (one, two) = (Draft::of(&claimed).task(1), Draft::of(&claimed).task(1));
    let outcomes = play.commit(&[&one, &two]).await;
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == CommitOutcome::Stale).count(), 1);
    assert_eq!(play.picture(&run).await.summary.revision, 1);
    assert_eq!(play.history(&run).await.len(), 1);
}

pub async fn racing_commits_of_one_claim_are_done_once(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    // Worst case: another handle sends for the same worker.
    let other = Play { worker: play.worker.clone(), ..play.another("w2").await };
    for round in 0..20 {
        let run = play.start(&format!("r{round}")).await;
        let claimed = play.claim().await;
        let (one, two) = ([&Draft::of(&claimed).marker("one")], [&Draft::of(&claimed).marker("two")]);
        let (first, second) = tokio::join!(play.commit(&one), other.commit(&two));
        let stale =
            [&first[0], &second[0]].into_iter().filter(|outcome| **outcome == CommitOutcome::Stale).count();
        assert_eq!(stale, 1, "round {round}");
        assert_eq!(play.history(&run).await.len(), 2);
    }
}

pub async fn history_is_kept_in_order_without_gaps(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"]).marker("a").marker("b")).await;
    for round in 0..5 {
        play.deliver(&run, signal(&format!("s{round}"), "go")).await;
        stage.clock().advance(secs(1));
        play.done(&Draft::of(&play.claim().await).marker("c")).await;
    }
    let all = play.history(&run).await;
    assert!(all.iter().map(|event| event.seq).eq(1..=13));
    assert!(all.is_sorted_by_key(|event| event.at));
    let query = HistoryQuery { tenant: play.tenant.clone(), run, after: 4, limit: 3 };
    assert_eq!(play.world.history(query).await.unwrap(), all[4..7]);
}

/// A world never reads a snapshot, and the rest of the state comes back unchanged.
pub async fn a_state_comes_back_as_it_was_committed(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    let bytes: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    let state = RunState {
        snapshot: Some(Snapshot { format: u32::MAX >> 1, bytes: Arc::from(bytes) }),
        seq: 1,
        at: play.now().await,
        awaiting: BTreeSet::from(["go".to_owned(), "@approval:3".to_owned(), "naïve \"name\"".to_owned()]),
        cancelling: true,
    };
    play.done(&Draft::of(&play.claim().await).with(|item| item.state = state.clone())).await;
    let picture = play.picture(&run).await;
    assert!(picture.summary.cancelling);
    assert_eq!(picture.row.state, state);
    play.deliver(&run, signal("s1", "naïve \"name\"")).await;
    assert_eq!(play.claim().await.run.state, state);
}

pub async fn an_empty_snapshot_is_not_a_missing_one(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    assert_eq!(play.picture(&run).await.row.state, RunState::default());
    let empty = Some(Snapshot { format: 1, bytes: Arc::from([]) });
    play.done(&Draft::of(&play.claim().await).with(|item| item.state.snapshot = empty.clone())).await;
    assert_eq!(play.picture(&run).await.row.state.snapshot, empty);
}
