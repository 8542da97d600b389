//! A failed run becomes live again, with fresh attempts and the message that failed it.

use rhythm_core::message::{ChildFailed, Compensate, MessageBody, Start, TaskFailed};
use rhythm_core::{CommandId, MessageId, Payload, RunId, Status};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

fn reopen(run: &RunId, revision: u64) -> Control {
    Control::Reopen {
        run: run.clone(),
        revision,
        reason: "fixed".to_owned(),
        requeue: vec![],
        redeliver: vec![],
        fresh: None,
    }
}

/// Task 1 of run `r` runs out of attempts, and its failure is delivered.
async fn die(play: &Play<'_>) {
    let task = play.take().await;
    let body = TaskFailed { task: CommandId(1), failure: failure("BROKEN") };
    let finished = FinishedTask {
        task: task.id,
        claim: task.claim,
        outcome: TaskOutcome::Exhausted { failure: failure("BROKEN"), hold: false },
        message: Some(message("task:1", MessageBody::TaskFailed(body))),
    };
    assert_eq!(play.finish_all(vec![finished]).await, [Finish::Done]);
}

/// A run `r` that failed because task 1 ran out of attempts.
async fn failed_of_its_task(play: &Play<'_>) -> RunId {
    let run = play.waiting("r", |draft| draft.task(1)).await;
    die(play).await;
    play.done(&Draft::of(&play.claim().await).failed()).await;
    run
}

pub async fn a_reopened_run_waits_again(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"]).failed()).await;
    let before = play.picture(&run).await;
    assert_eq!(before.summary.revision, 1);
    play.order(reopen(&run, 1)).await;
    let after = play.picture(&run).await;
    assert_eq!(
        (after.summary.status, after.summary.revision, after.summary.ended_at),
        (Status::Waiting, 2, None)
    );
    assert_eq!((after.failure, after.failed_by), (None, None));
    assert_eq!(after.row.state.snapshot, before.row.state.snapshot);
    let rows = play.history(&run).await;
    let last = rows.last().unwrap();
    assert_eq!((last.data.kind(), last.seq), ("reopened", before.summary.seq + 1));
    assert_eq!((after.summary.seq, last.actor.0.as_str()), (last.seq, "user:ann"));
    play.nothing_to_claim().await;
    play.deliver(&run, signal("s1", "go")).await;
    play.done(&Draft::of(&play.claim().await).completed()).await;
}

/// The run's deadline passed before its delayed start.
pub async fn a_run_that_failed_before_its_start_begins_when_it_is_opened_again(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let late = NewRun { delay: secs(60), deadline: Some(secs(10)), ..new_run("late") };
    let run = play.start_as(late).await;
    play.pass(secs(10)).await;
    play.done(&Draft::of(&play.claim().await).failed()).await;
    play.pass(secs(60)).await;
    play.nothing_to_claim().await;
    let Control::Reopen { revision, reason, requeue, .. } = reopen(&run, 1) else { unreachable!() };
    let again = message("start#1", MessageBody::Start(Start { input: Payload::null() }));
    let redeliver = vec![again];
    play.order(Control::Reopen { run: run.clone(), revision, reason, requeue, redeliver, fresh: None }).await;
    assert_eq!(ids(&play.claim().await.messages), ["start#1"]);
}

pub async fn a_reopened_run_gets_its_task_again(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = failed_of_its_task(&play).await;
    let Control::Reopen { revision, reason, redeliver, .. } = reopen(&run, 2) else { unreachable!() };
    let requeue = vec!["r:1".into()];
    play.order(Control::Reopen { run: run.clone(), revision, reason, requeue, redeliver, fresh: None }).await;
    assert_eq!(play.dead().await, []);
    play.nothing_to_claim().await;
    let task = play.take().await;
    assert_eq!((task.id.as_str(), task.attempt, task.delivery), ("r:1", 1, 1));
    assert!(task.claim > 1);
    assert_eq!(play.complete(&task).await, Finish::Done);
    assert_eq!(ids(&play.claim().await.messages), ["task:1"]);
}

/// The cause was in the program: it gets the same message again.
pub async fn a_reopened_run_gets_its_message_again(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"])).await;
    play.deliver(&run, signal("s1", "go")).await;
    play.done(&Draft::of(&play.claim().await).failed()).await;
    let redeliver = vec![play.picture(&run).await.failed_by.expect("the cause was kept")];
    let (revision, reason, requeue) = (2, String::new(), vec![]);
    play.order(Control::Reopen { run: run.clone(), revision, reason, requeue, redeliver, fresh: None }).await;
    let claimed = play.claim().await;
    assert_eq!(ids(&claimed.messages), ["s1"]);
    play.done(&Draft::of(&claimed)).await;
}

/// In the given order, and after messages that were there before.
pub async fn a_reopened_run_gets_several_messages_in_order(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"]).failed()).await;
    play.deliver(&run, signal("s5", "go")).await;
    let redeliver = ["s9", "s1", "s7", "s3"].map(|id| signal(id, "go")).to_vec();
    let (revision, reason, requeue) = (1, String::new(), vec![]);
    play.order(Control::Reopen { run: run.clone(), revision, reason, requeue, redeliver, fresh: None }).await;
    assert_eq!(ids(&play.claim().await.messages), ["s5", "s9", "s1", "s7", "s3"]);
}

pub async fn a_reopened_run_sees_what_arrived_meanwhile(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let due = play.now().await.plus(secs(10));
    let run = play.waiting("r", |draft| draft.timer(1, due).awaiting(&["go"]).failed()).await;
    play.deliver_all(&run, vec![signal("s1", "not yet"), signal("s2", "go")]).await;
    play.order(reopen(&run, 1)).await;
    let claimed = play.claim().await;
    assert_eq!(ids(&claimed.messages), ["s1", "s2"]);
    play.done(&Draft::of(&claimed)).await;
    play.pass(secs(10)).await;
    assert_eq!(ids(&play.claim().await.messages), ["timer:1"], "its timers are alive again");
}

pub async fn only_a_failed_run_is_reopened(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let live = play.waiting("live", |draft| draft).await;
    let completed = play.waiting("completed", Draft::completed).await;
    let cancelled = play.waiting("cancelled", Draft::cancelled).await;
    for run in [live, completed, cancelled] {
        let before = play.stored(&run).await;
        let answer = play.control(reopen(&run, 1)).await;
        assert!(matches!(answer, Err(WorldError::Conflict(_))), "{answer:?}");
        assert_eq!(play.stored(&run).await, before);
    }
    let answer = play.control(reopen(&"nobody".into(), 1)).await;
    assert!(matches!(answer, Err(WorldError::NotFound(_))), "{answer:?}");
}

fn take_back(run: &RunId, revision: u64) -> Control {
    let body = Compensate { reason: String::new(), failure: Some(failure("BROKEN")) };
    let message = Box::new(message("compensate:1", MessageBody::Compensate(body)));
    Control::TakeBack { run: run.clone(), revision, reason: "not wanted".to_owned(), message }
}

pub async fn an_ended_run_is_opened_to_take_back_what_it_did(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let due = play.now().await.plus(secs(10));
    let completed = play.waiting("completed", Draft::completed).await;
    let cancelled = play.waiting("cancelled", Draft::cancelled).await;
    let failed = play.waiting("failed", |draft| draft.timer(1, due).awaiting(&["go"]).failed()).await;
    play.deliver(&failed, signal("s1", "go")).await;
    for run in [completed, cancelled, failed] {
        let before = play.picture(&run).await;
        play.order(take_back(&run, 1)).await;
        let after = play.picture(&run).await;
        assert_eq!((after.summary.status, after.summary.revision), (Status::Waiting, 2));
        assert_eq!((after.output, after.failure, after.timers), (None, None, vec![]));
        assert_eq!(after.row.state.snapshot, before.row.state.snapshot);
        assert_eq!(play.history(&run).await.last().unwrap().data.kind(), "reopened");
        let claimed = play.claim().await;
        assert_eq!((&claimed.run.id, ids(&claimed.messages)), (&run, vec!["compensate:1"]));
        play.done(&Draft::of(&claimed).completed()).await;
        assert_eq!(play.picture(&run).await.summary.status, Status::Completed);
    }
    play.pass(secs(10)).await;
    play.nothing_to_claim().await;
}

/// A letter was requeued after the run went on without it: the run has no use for the answer.
pub async fn nothing_is_taken_back_while_a_task_is_under_way(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1).awaiting(&["go"])).await;
    let task = play.take().await;
    play.deliver(&run, signal("s1", "go")).await;
    play.done(&Draft::of(&play.claim().await).completed()).await;
    let before = play.stored(&run).await;
    let answer = play.control(take_back(&run, 2)).await;
    assert!(matches!(answer, Err(WorldError::Conflict(_))), "{answer:?}");
    assert_eq!(play.stored(&run).await, before);
    play.complete(&task).await;
    play.order(take_back(&run, 2)).await;
    assert_eq!(ids(&play.claim().await.messages), ["compensate:1"]);
}

pub async fn taking_back_on_a_moved_revision_is_refused(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", Draft::completed).await;
    let live = play.waiting("live", |draft| draft).await;
    let before = play.stored(&run).await;
    for wish in [take_back(&run, 0), take_back(&run, 2), take_back(&live, 1)] {
        let answer = play.control(wish).await;
        assert!(matches!(answer, Err(WorldError::Conflict(_))), "{answer:?}");
    }
    assert_eq!(play.stored(&run).await, before);
    let answer = play.control(take_back(&"nobody".into(), 1)).await;
    assert!(matches!(answer, Err(WorldError::NotFound(_))), "{answer:?}");
}

pub async fn reopening_on_a_moved_revision_is_refused(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", Draft::failed).await;
    for revision in [0, 2] {
        let answer = play.control(reopen(&run, revision)).await;
        assert!(matches!(answer, Err(WorldError::Conflict(_))), "{answer:?}");
    }
    play.order(reopen(&run, 1)).await;
    let answer = play.control(reopen(&run, 1)).await;
    assert!(matches!(answer, Err(WorldError::Conflict(_))), "twice is once too often: {answer:?}");
}

pub async fn reopening_with_a_missing_letter_changes_nothing(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = failed_of_its_task(&play).await;
    let before = (play.stored(&run).await, play.dead().await);
    let requeue = vec!["r:1".into(), "r:2".into()];
    let (revision, reason, redeliver) = (2, String::new(), vec![]);
    let answer = play
        .control(Control::Reopen { run: run.clone(), revision, reason, requeue, redeliver, fresh: None })
        .await;
    assert!(matches!(answer, Err(WorldError::NotFound(_))), "{answer:?}");
    assert_eq!((play.stored(&run).await, play.dead().await), before);
    play.nothing_to_take().await;
}

/// A run may fail, be reopened and fail again any number of times.
pub async fn a_reopened_run_may_fail_again(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"]).failed()).await;
    for round in 0..3_u64 {
        play.order(reopen(&run, 1 + 2 * round)).await;
        play.deliver(&run, signal(&format!("s{round}"), "go")).await;
        play.done(&Draft::of(&play.claim().await).failed()).await;
        assert_eq!(play.picture(&run).await.summary.status, Status::Failed);
    }
    assert!(play.history(&run).await.iter().map(|event| event.seq).eq(1..=11));
}

/// The run failed in its first step: the start is redelivered like any message, and not created again.
pub async fn a_run_that_failed_at_its_start_starts_once_again(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    let claimed = play.claim().await;
    play.done(&Draft::of(&claimed).failed().with(|item| item.state.snapshot = None)).await;
    let redeliver = vec![play.picture(&run).await.failed_by.expect("the cause was kept")];
    let (revision, reason, requeue) = (1, String::new(), vec![]);
    play.order(Control::Reopen { run: run.clone(), revision, reason, requeue, redeliver, fresh: None }).await;
    let again = play.claim().await;
    assert_eq!(ids(&again.messages), ["start"]);
    assert_eq!(again.messages[0].body, claimed.messages[0].body);
    play.done(&Draft::of(&again)).await;
    play.nothing_to_claim().await;
}

fn child_failed() -> rhythm_core::Message {
    let body = ChildFailed { child: CommandId(1), failure: failure("BROKEN") };
    message(MessageId::child(CommandId(1)).as_str(), MessageBody::ChildFailed(body))
}

/// A failed child is reopened before its parent read the failure: the parent waits for the new answer.
pub async fn a_reopened_child_takes_its_failure_back(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.child(1)).await;
    let child = play.claim().await;
    play.done(&Draft::of(&child).failed().tell(&run, child_failed())).await;
    assert_eq!(ids(&play.picture(&run).await.inbox), ["child:1"]);
    play.order(reopen(&child.run.id, 1)).await;
    assert_eq!(play.picture(&run).await.inbox, []);
}

/// A process that claimed the parent has read the failure already; its commit must be refused.
pub async fn a_reopened_child_takes_its_failure_back_from_who_holds_its_parent(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.child(1)).await;
    let child = play.claim().await;
    play.done(&Draft::of(&child).failed().tell(&run, child_failed())).await;
    let held = play.claim().await;
    assert_eq!(ids(&held.messages), ["child:1"]);
    play.order(reopen(&child.run.id, 1)).await;
    play.refused(&Draft::of(&held)).await;
    // The child answers again, and its parent gets that answer.
    let (parent, nothing) = (play.claim().await, ReleaseOutcome::Idle { arrived: 1 });
    assert_eq!((parent.run.id.clone(), parent.messages.len(), parent.deliveries), (run.clone(), 0, 1));
    play.release(&parent, nothing).await;
    play.nothing_to_claim().await;
}

/// The same when the parent failed for another reason in the meantime.
pub async fn a_reopened_child_takes_its_failure_back_from_a_failed_parent(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.child(1)).await;
    let child = play.claim().await;
    play.deliver(&run, cancel("c1")).await;
    play.done(&Draft::of(&play.claim().await).failed()).await;
    play.done(&Draft::of(&child).failed().tell(&run, child_failed())).await;
    assert_eq!(ids(&play.picture(&run).await.inbox), ["child:1"]);
    play.order(reopen(&child.run.id, 1)).await;
    assert_eq!(play.picture(&run).await.inbox, []);
    play.order(reopen(&run, 2)).await;
    play.nothing_to_claim().await;
}

/// The task ran again detached and failed again: after the next requeue, that failure is not the answer.
pub async fn a_requeued_task_takes_its_failure_back(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = failed_of_its_task(&play).await;
    play.order(Control::RequeueDead { task: "r:1".into() }).await;
    die(&play).await;
    assert_eq!(ids(&play.picture(&run).await.inbox), ["task:1"]);
    let (revision, reason, redeliver) = (2, String::new(), vec![]);
    let requeue = vec!["r:1".into()];
    play.order(Control::Reopen { run: run.clone(), revision, reason, requeue, redeliver, fresh: None }).await;
    assert_eq!(play.picture(&run).await.inbox, []);
    play.nothing_to_claim().await;
    let task = play.take().await;
    assert_eq!(play.complete(&task).await, Finish::Done);
    assert_eq!(ids(&play.claim().await.messages), ["task:1"]);
}

/// A redelivered start is consumed like any message.
pub async fn a_start_delivered_again_is_consumed_once(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    play.done(&Draft::of(&play.claim().await).failed()).await;
    let redeliver = vec![play.picture(&run).await.failed_by.expect("the cause was kept")];
    let (revision, reason, requeue) = (1, String::new(), vec![]);
    play.order(Control::Reopen { run: run.clone(), revision, reason, requeue, redeliver, fresh: None }).await;
    let again = play.claim().await;
    assert_eq!(ids(&again.messages), ["start"]);
    play.done(&Draft::of(&again).awaiting(&["go"])).await;
    assert_eq!(play.picture(&run).await.inbox, []);
    play.deliver(&run, signal("s1", "go")).await;
    assert_eq!(ids(&play.claim().await.messages), ["s1"]);
}

pub async fn a_reopened_run_is_not_blocked_by_letters_that_are_gone(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"]).task(1).task(2)).await;
    for task in play.takes(2).await {
        play.finish(&task, TaskOutcome::Exhausted { failure: failure("X"), hold: true }).await;
    }
    play.deliver(&run, signal("s1", "go")).await;
    play.done(&Draft::of(&play.claim().await).failed()).await;
    play.order(Control::RequeueDead { task: "r:1".into() }).await;
    let reopen = async || {
        let revision = play.picture(&run).await.row.revision;
        let (reason, requeue, redeliver) = (String::new(), vec![], vec![signal("s1", "go")]);
        play.order(Control::Reopen { run: run.clone(), revision, reason, requeue, redeliver, fresh: None })
            .await;
        play.picture(&run).await.summary.blocked.map(|blocked| blocked.code)
    };
    assert_eq!(reopen().await, Some(rhythm_core::BlockedCode::DeadLetter), "one letter is left");
    play.done(&Draft::of(&play.claim().await).failed()).await;
    play.order(Control::RequeueDead { task: "r:2".into() }).await;
    assert_eq!(reopen().await, None);
}

/// A reopened run is tried again, whatever quarantined it before it failed.
pub async fn a_reopened_run_is_no_longer_set_aside(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"]).task(1)).await;
    let task = play.take().await;
    play.deliver(&run, signal("s1", "go")).await;
    let aside = ReleaseOutcome::Aside(blocked(rhythm_core::BlockedCode::Quarantined));
    play.release(&play.claim().await, aside).await;
    let row = play.picture(&run).await.row;
    play.done(&Draft::fused(&row, &task).failed()).await;
    let (revision, reason) = (row.revision + 1, String::new());
    let reopen = Control::Reopen {
        run: run.clone(),
        revision,
        reason,
        requeue: vec![],
        redeliver: vec![],
        fresh: None,
    };
    play.order(reopen).await;
    assert_eq!(play.picture(&run).await.summary.blocked, None);
    assert_eq!(ids(&play.claim().await.messages), ["s1"]);
}

/// A run ended by its deadline with two open tasks: one not started, one claimed.
async fn ended_by_its_deadline(play: &Play<'_>) -> (RunId, ClaimedTask) {
    let run = play.start_as(NewRun { deadline: Some(secs(20)), ..new_run("r") }).await;
    play.done(&Draft::of(&play.claim().await).task(1).task(2)).await;
    let held = play.take().await;
    play.pass(secs(20)).await;
    let stop = cancel("cancel:r:9");
    play.done(&Draft::of(&play.claim().await).with(|item| item.cancel_open = Some(stop)).failed()).await;
    (run, held)
}

fn anew(run: &RunId, revision: u64, tasks: &[u64]) -> Control {
    let tasks = tasks.iter().map(|number| task_of(run, *number)).collect();
    let Control::Reopen { reason, requeue, redeliver, .. } = reopen(run, revision) else { unreachable!() };
    let fresh = Some(Box::new(FreshTime { deadline: secs(30), tasks }));
    Control::Reopen { run: run.clone(), revision, reason, requeue, redeliver, fresh }
}

/// Answers and claims of the tasks' earlier life do not count after the reopening.
pub async fn a_reopened_run_may_have_time_and_its_tasks_anew(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (run, held) = ended_by_its_deadline(&play).await;
    let stopped = TaskOutcome::Cancelled { failure: failure("CANCELLED") };
    let answer = MessageBody::TaskFailed(TaskFailed { task: CommandId(1), failure: failure("CANCELLED") });
    let finished = FinishedTask {
        task: held.id.clone(),
        claim: held.claim,
        outcome: stopped,
        message: Some(message("task:1", answer)),
    };
    assert_eq!(play.finish_all(vec![finished.clone()]).await, [Finish::Done]);
    assert_eq!(ids(&play.picture(&run).await.inbox), ["task:2", "task:1"]);
    let revision = play.picture(&run).await.summary.revision;
    play.order(anew(&run, revision, &[1, 2])).await;
    let picture = play.picture(&run).await;
    assert_eq!((picture.inbox, picture.tasks.len()), (vec![], 2));
    assert_eq!(picture.summary.deadline_at, Some(play.now().await.plus(secs(30))));
    let last = play.history(&run).await.pop().unwrap();
    assert!(last.data.to_json().contains("30000"), "{}", last.data.to_json());
    play.nothing_to_claim().await;
    let again = play.take().await;
    assert_eq!((&again.id, again.attempt, again.delivery), (&held.id, 1, 1));
    assert!(again.claim > held.claim);
    assert_eq!(play.finish_all(vec![finished]).await, [Finish::Stale], "the first life is over");
    assert_eq!(play.complete(&again).await, Finish::Done);
    play.pass(secs(30)).await;
    assert_eq!(ids(&play.claim().await.messages), ["task:1", "deadline"]);
}

pub async fn tasks_that_are_still_open_are_not_begun_anew(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (run, _held) = ended_by_its_deadline(&play).await;
    let before = play.stored(&run).await;
    let revision = play.picture(&run).await.summary.revision;
    let refused = play.control(anew(&run, revision, &[2, 1])).await;
    assert!(matches!(refused, Err(WorldError::Conflict(_))), "{refused:?}");
    assert_eq!(play.stored(&run).await, before);
    play.order(anew(&run, revision, &[2])).await;
}
