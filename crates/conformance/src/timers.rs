//! Promise 6: timers are never early and fire once; delayed starts and deadlines are timers too.

use rhythm_core::message::{MessageBody, TimerFired};
use rhythm_core::{Actor, CommandId, Message, MessageId, Status, Timestamp};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

pub async fn a_timer_is_never_early_and_fires_once(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let due = play.now().await.plus(secs(10));
    let run = play.waiting("r", |draft| draft.timer(3, due)).await;
    play.pass(rhythm_core::Millis(9_999)).await;
    play.nothing_to_claim().await;
    assert_eq!(play.picture(&run).await.timers[0].due_at, due);

    play.pass(rhythm_core::Millis(1)).await;
    play.sweep().await;
    let claimed = play.claim().await;
    let body = MessageBody::TimerFired(TimerFired { timer: CommandId(3) });
    let (id, actor) = (MessageId::timer(CommandId(3)), Actor::system());
    assert_eq!(claimed.messages, [Message { id, at: due, actor, trace: None, body }]);
    assert_eq!(claimed.run.arrived, 1);
    assert_eq!(play.picture(&run).await.timers, []);
    play.done(&Draft::of(&claimed)).await;
    play.pass(days(1)).await;
    play.nothing_to_claim().await;
}

/// Two concurrent sweeps fire a timer once.
pub async fn sweeping_processes_fire_a_timer_once(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    let due = play.now().await.plus(secs(1));
    let run = play.waiting("r", |draft| (1..=40).fold(draft, |draft, n| draft.timer(n, due))).await;
    stage.clock().advance(secs(1));
    tokio::join!(play.sweep(), other.sweep());
    play.sweep().await;
    let claimed = play.claim().await;
    assert_eq!((claimed.messages.len(), claimed.run.arrived), (40, 40));
    assert_eq!(play.picture(&run).await.timers, []);
}

pub async fn time_never_goes_back(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let start = play.now().await;
    stage.clock().advance(secs(60));
    let later = play.now().await;
    assert_eq!(later, start.plus(secs(60)));
    play.start("r").await;
    stage.clock().set(start);
    assert!(play.now().await >= later, "the clock was set back and the world went with it");
    assert!(play.claim().await.run.created_at >= later);
}

pub async fn answers_carry_the_worlds_time(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.start("r").await;
    stage.clock().advance(secs(5));
    let now = play.now().await;
    assert_eq!(play.world.claim_runs(play.claim_request(0)).await.unwrap().at, now);
    assert_eq!(play.world.claim_tasks(play.take_request(1)).await.unwrap().at, now);
    assert_eq!((play.beat(vec![]).await.at, play.sweep().await.at), (now, now));
}

pub async fn a_cancelled_timer_never_fires(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let due = play.now().await.plus(secs(10));
    let run = play.waiting("r", |draft| draft.timer(1, due).timer(2, due).awaiting(&["go"])).await;
    play.deliver(&run, signal("s1", "go")).await;
    // An unknown number is no error: the timer may have been consumed before.
    let cancelled = vec![CommandId(1), CommandId(77)];
    play.done(&Draft::of(&play.claim().await).with(|item| item.cancel_timers = cancelled)).await;
    play.pass(secs(20)).await;
    assert_eq!(ids(&play.claim().await.messages), ["timer:2"]);
}

/// The timer fired while its run was claimed: the step that cancels it has not seen it, and no later step
/// may.
pub async fn a_timer_that_fired_unseen_is_cancelled_too(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let due = play.now().await.plus(secs(10));
    let run = play.waiting("r", |draft| draft.timer(1, due).awaiting(&["go"])).await;
    play.deliver(&run, signal("s1", "go")).await;
    let claimed = play.claim().await;
    play.pass(secs(10)).await;
    assert_eq!(ids(&play.picture(&run).await.inbox), ["s1", "timer:1"]);
    play.done(&Draft::of(&claimed).with(|item| item.cancel_timers = vec![CommandId(1)])).await;
    assert_eq!(play.picture(&run).await.inbox, []);
    for claimed in play.claims(1).await {
        assert_eq!(claimed.messages, []);
    }
}

pub async fn timers_fire_in_order_of_their_time(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let now = play.now().await;
    play.waiting("r", |draft| {
        draft.timer(1, now.plus(secs(30))).timer(2, now.plus(secs(10))).timer(3, now.plus(secs(20)))
    })
    .await;
    play.pass(secs(60)).await;
    assert_eq!(ids(&play.claim().await.messages), ["timer:2", "timer:3", "timer:1"]);
}

/// One sweep does a bounded amount of work, so that other work does not starve.
pub async fn thousands_of_due_timers_move_in_bounded_batches(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let due = play.now().await.plus(secs(1));
    let run = play.waiting("r", |draft| (1..=5_000).fold(draft, |draft, n| draft.timer(n, due))).await;
    stage.clock().advance(secs(1));
    let mut fired = 0;
    for _ in 0..10 {
        play.sweep().await;
        let arrived = play.picture(&run).await.row.arrived;
        assert!(arrived - fired <= 1_000, "one sweep moved {}", arrived - fired);
        fired = arrived;
    }
    assert_eq!(fired, 5_000);
    assert!(play.claim().await.more);
}

pub async fn a_delayed_run_starts_in_time(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let created_at = play.now().await;
    let run = play.start_as(NewRun { delay: secs(60), ..new_run("r") }).await;
    play.pass(secs(59)).await;
    play.nothing_to_claim().await;
    let picture = play.picture(&run).await;
    assert_eq!((picture.summary.status, picture.ready_since), (Status::Pending, None));
    assert_eq!((picture.timers.len(), picture.timers[0].timer), (1, None));
    assert_eq!(picture.timers[0].due_at, created_at.plus(secs(60)));
    play.pass(secs(1)).await;
    let claimed = play.claim().await;
    assert_eq!(ids(&claimed.messages), ["start"]);
    assert_eq!((claimed.messages[0].at, claimed.run.arrived), (created_at, 0));
}

pub async fn a_deadline_arrives_as_a_message(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let created_at = play.now().await;
    let run = play.start_as(NewRun { deadline: Some(secs(60)), ..new_run("r") }).await;
    play.done(&Draft::of(&play.claim().await)).await;
    assert_eq!(play.picture(&run).await.summary.deadline_at, Some(created_at.plus(secs(60))));
    play.pass(secs(59)).await;
    play.nothing_to_claim().await;
    play.pass(secs(2)).await;
    let claimed = play.claim().await;
    assert_eq!(claimed.messages[0].id, MessageId::deadline());
    assert_eq!(claimed.messages[0].body, MessageBody::DeadlineReached);
}

pub async fn a_timer_of_a_paused_run_waits_in_its_inbox(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let due = play.now().await.plus(secs(10));
    let run = play.waiting("r", |draft| draft.timer(1, due)).await;
    play.order(Control::PauseRun { run: run.clone(), reason: String::new() }).await;
    play.pass(secs(10)).await;
    play.nothing_to_claim().await;
    assert_eq!(ids(&play.picture(&run).await.inbox), ["timer:1"]);
    play.order(Control::ResumeRun { run, reason: String::new() }).await;
    assert_eq!(ids(&play.claim().await.messages), ["timer:1"]);
}

/// A fired timer counts as arrived, so a step that has not seen it cannot be fused.
pub async fn a_fired_timer_refuses_a_fused_commit(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let due = play.now().await.plus(secs(10));
    play.waiting("r", |draft| draft.task(1).timer(2, due)).await;
    let (task, row) = play.take_with_run().await;
    play.pass(secs(10)).await;
    play.refused(&Draft::fused(&row, &task)).await;
}

pub async fn the_next_due_time_is_told(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let now = play.now().await;
    assert_eq!(play.sweep().await.next_due, None);
    let told = async || play.sweep().await.next_due;
    play.waiting("r", |draft| draft.timer(1, now.plus(secs(90)))).await;
    assert_eq!(told().await, Some(now.plus(secs(90))));
    play.queue(NewTask { options: delayed(secs(60)), ..new_task("t") }).await;
    assert_eq!(told().await, Some(now.plus(secs(60))));
    play.start_as(NewRun { delay: secs(30), ..new_run("later") }).await;
    let first: Timestamp = now.plus(secs(30));
    assert_eq!(told().await, Some(first));
    stage.clock().set(first);
    assert_eq!(told().await, Some(now.plus(secs(60))));
}
