//! Messages between runs: children, and messages that are sent with a commit.

use rhythm_core::message::{ChildCompleted, MessageBody};
use rhythm_core::{CommandId, Message, MessageId, Status};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

fn child_completed(number: u64) -> Message {
    let body = ChildCompleted { child: CommandId(number), output: json("7") };
    let id = MessageId::child(CommandId(number));
    Message { id, ..message("", MessageBody::ChildCompleted(body)) }
}

pub async fn a_child_begins_with_its_parents_commit(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.child(1).child(2)).await;
    let claimed = play.claims(9).await;
    assert_eq!(claimed.len(), 2);
    assert_eq!(claimed[0].run.id, run.child(CommandId(1)));
    assert_eq!(claimed[0].run.parent, Some(Parent { run: run.clone(), child: CommandId(1) }));
    assert_eq!(ids(&claimed[0].messages), ["start"]);

    let query =
        RunQuery { tenant: play.tenant.clone(), parent: Some(run.clone()), limit: 9, ..RunQuery::default() };
    let mut listed: Vec<_> =
        play.world.list_runs(query).await.unwrap().rows.into_iter().map(|row| row.id.0).collect();
    listed.sort();
    assert_eq!(listed, ["r.1", "r.2"]);
    assert_eq!(play.picture(&run).await.children.len(), 2);
}

pub async fn a_delayed_child_starts_in_time(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let late = |item: &mut CommitItem| (item.children[0].delay, item.children[0].priority) = (secs(9), 4);
    play.waiting("r", |draft| draft.child(1).with(late)).await;
    play.nothing_to_claim().await;
    play.pass(secs(9)).await;
    assert_eq!(play.claim().await.run.priority, 4);
}

pub async fn a_child_tells_its_parent_in_its_last_commit(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.child(1)).await;
    let child = play.claim().await;
    stage.clock().advance(secs(5));
    play.done(&Draft::of(&child).completed().tell(&run, child_completed(1))).await;
    let claimed = play.claim().await;
    assert_eq!((&claimed.run.id, claimed.run.arrived), (&run, 1));
    assert_eq!(claimed.messages, [Message { at: play.now().await, ..child_completed(1) }]);
    let picture = play.picture(&run).await;
    assert_eq!(picture.children[0].status, Status::Completed, "ended children are listed too");
}

pub async fn a_message_for_a_run_that_is_gone_is_dropped(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.completed()).await;
    let before = play.stored(&run).await;
    play.waiting("sender", |draft| draft.tell(&run, cancel("c1")).tell(&"nobody".into(), cancel("c1"))).await;
    assert_eq!(play.stored(&run).await, before);
    play.nothing_to_claim().await;
}

pub async fn a_message_for_a_failed_run_waits_for_its_reopening(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.failed()).await;
    play.waiting("sender", |draft| draft.tell(&run, child_completed(1))).await;
    play.nothing_to_claim().await;
    assert_eq!(ids(&play.picture(&run).await.inbox), ["child:1"]);
}

pub async fn a_signal_between_runs_waits_until_asked_for(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"])).await;
    play.waiting("s1", |draft| draft.tell(&run, signal("a", "not yet"))).await;
    play.nothing_to_claim().await;
    play.waiting("s2", |draft| draft.tell(&run, signal("b", "go"))).await;
    assert_eq!(ids(&play.claim().await.messages), ["a", "b"]);
}

pub async fn a_run_may_write_to_itself(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    let done = play.done(&Draft::of(&play.claim().await).tell(&run, cancel("later"))).await;
    assert_eq!(done.arrived, 1);
    assert_eq!(ids(&play.claim().await.messages), ["later"]);
}

/// Two runs of one batch send to each other; each gets its message, in whichever order they are written.
pub async fn runs_of_one_batch_may_write_to_each_other(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (a, b) = (play.start("a").await, play.start("b").await);
    let claimed = play.claims(2).await;
    let to_b = Draft::of(&claimed[0]).tell(&b, cancel("from a"));
    let to_a = Draft::of(&claimed[1]).tell(&a, cancel("from b"));
    let outcomes = play.commit(&[&to_b, &to_a]).await;
    assert!(outcomes.iter().all(|outcome| matches!(outcome, CommitOutcome::Done(_))), "{outcomes:?}");
    assert_eq!(ids(&play.picture(&a).await.inbox), ["from b"]);
    assert_eq!(ids(&play.picture(&b).await.inbox), ["from a"]);
    assert_eq!(play.claims(2).await.len(), 2);
}

/// Transactions that lock the two runs in opposite orders must not deadlock.
pub async fn runs_writing_to_each_other_at_once_do_not_block(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    for round in 0..20 {
        let (a, b) = (play.start(&format!("a{round}")).await, play.start(&format!("b{round}")).await);
        let (mine, theirs) = (play.claim().await, other.claim().await);
        let to_b = Draft::of(&mine).tell(&b, cancel("from a"));
        let to_a = Draft::of(&theirs).tell(&a, cancel("from b"));
        tokio::join!(play.done(&to_b), other.done(&to_a));
        let claimed = play.claims(2).await;
        assert_eq!(claimed.len(), 2, "round {round}");
        for claimed in claimed {
            play.done(&Draft::of(&claimed).completed()).await;
        }
    }
}
