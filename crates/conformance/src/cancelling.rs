//! Cancellation: queued tasks are removed and answered, running attempts get a cancel flag.

use rhythm_core::message::{MessageBody, TaskFailed};
use rhythm_core::{BlockedCode, CommandId, TaskId};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

/// A run `r` whose step cancels these tasks when it consumes a cancel message.
async fn cancel_tasks(play: &Play<'_>, tasks: &[&str]) -> Done {
    cancel_tasks_of(play, "r", tasks).await
}

async fn cancel_tasks_of(play: &Play<'_>, run: &str, tasks: &[&str]) -> Done {
    play.deliver(&run.into(), cancel("c1")).await;
    let tasks = tasks.iter().map(|&task| TaskId::new(task)).collect();
    play.done(&Draft::of(&play.claim().await).with(|item| item.cancel_tasks = tasks)).await
}

fn code_of(body: &MessageBody) -> (CommandId, &str) {
    match body {
        MessageBody::TaskFailed(TaskFailed { task, failure }) => (*task, &failure.code),
        other => panic!("not a failed task: {other:?}"),
    }
}

pub async fn a_queued_task_is_removed_and_answers_cancelled(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let later = |task| NewTask { options: delayed(secs(5)), ..task };
    play.waiting("r", |draft| draft.task(1).task_as(2, later).task(3)).await;
    // An unknown id is no error: the task may have just ended.
    let done = cancel_tasks(&play, &["r:1", "r:2", "r:99"]).await;
    assert_eq!(done.arrived, 3, "the cancel message and two answers");
    let claimed = play.claim().await;
    assert_eq!(ids(&claimed.messages), ["task:1", "task:2"]);
    assert_eq!(code_of(&claimed.messages[0].body), (CommandId(1), "CANCELLED"));
    assert_eq!(code_of(&claimed.messages[1].body), (CommandId(2), "CANCELLED"));
    play.pass(secs(5)).await;
    assert_eq!(play.take().await.id.as_str(), "r:3");
    play.nothing_to_take().await;
    assert_eq!(play.dead().await, []);
}

pub async fn a_running_task_is_asked_to_stop(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.waiting("r", |draft| draft.task(1)).await;
    let task = play.take().await;
    assert_eq!(play.beat_for(&task, None).await.cancelled, []);
    cancel_tasks(&play, &["r:1"]).await;
    play.nothing_to_claim().await;
    let summary = play.task(&task.id).await;
    assert_eq!((summary.state, summary.cancel_requested), (TaskState::Running, true));
    let told = play.beat_for(&task, None).await;
    assert_eq!((told.cancelled, told.lost), (vec![task.id.clone()], vec![]));
    // The attempt stopped. Its holder sends the only final message.
    let failure = rhythm_core::Failure::cancelled("stopped");
    let body = MessageBody::TaskFailed(TaskFailed { task: CommandId(1), failure: failure.clone() });
    let message = Some(message("task:1", body));
    let outcome = TaskOutcome::Cancelled { failure };
    let finished = FinishedTask { task: task.id.clone(), claim: task.claim, outcome, message };
    assert_eq!(play.finish_all(vec![finished]).await, [Finish::Done]);
    assert_eq!(ids(&play.claim().await.messages), ["task:1"]);
    assert_eq!((play.find_task(&task.id).await, play.dead().await), (None, vec![]));
}

/// A cancel request is kept when the attempt ends otherwise first: there is no further attempt.
pub async fn a_cancelled_task_is_not_tried_again(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let outcomes = [
        TaskOutcome::Retry { failure: failure("X"), delay: secs(3600) },
        TaskOutcome::Exhausted { failure: failure("X"), hold: true },
        TaskOutcome::Released,
    ];
    for (place, outcome) in outcomes.into_iter().enumerate() {
        let id = format!("r{place}");
        let run = play.waiting(&id, |draft| draft.task(1)).await;
        let task = play.take().await;
        cancel_tasks_of(&play, &id, &[task.id.as_str()]).await;
        assert_eq!(play.finish(&task, outcome).await, Finish::Done);
        let claimed = play.claim().await;
        assert_eq!(code_of(&claimed.messages[0].body), (CommandId(1), "CANCELLED"), "{id}");
        assert_eq!((play.find_task(&task.id).await, play.dead().await), (None, vec![]), "{id}");
        assert_eq!(play.picture(&run).await.summary.blocked, None, "{id}");
        play.done(&Draft::of(&claimed)).await;
    }
}

/// The same when the worker dies with the attempt.
pub async fn a_cancelled_task_whose_worker_is_gone_is_cancelled(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.waiting("r", |draft| draft.task(1)).await;
    play.take().await;
    cancel_tasks(&play, &["r:1"]).await;
    play.pass(secs(31)).await;
    play.nothing_to_take().await;
    assert_eq!(code_of(&play.claim().await.messages[0].body), (CommandId(1), "CANCELLED"));
}

pub async fn a_held_task_is_cancelled_with_its_letter(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1)).await;
    let task = play.take().await;
    play.finish(&task, TaskOutcome::Exhausted { failure: failure("X"), hold: true }).await;
    assert_eq!(play.picture(&run).await.summary.blocked.map(|why| why.code), Some(BlockedCode::DeadLetter));
    cancel_tasks(&play, &["r:1"]).await;
    let claimed = play.claim().await;
    assert_eq!(code_of(&claimed.messages[0].body), (CommandId(1), "CANCELLED"));
    assert_eq!((play.find_task(&task.id).await, play.dead().await), (None, vec![]));
}

pub async fn cancelling_all_reaches_open_tasks_and_live_children(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1).task(2).child(3).child(4)).await;
    let running = play.take().await;
    assert_eq!(running.id.as_str(), "r:1");
    // One child has ended already.
    let child = play.claim().await;
    assert_eq!(child.run.id.as_str(), "r.3");
    play.done(&Draft::of(&child).completed()).await;
    play.done(&Draft::of(&play.claim().await)).await;

    play.deliver(&run, cancel("c1")).await;
    let all = Some(cancel("cancel:r"));
    play.done(&Draft::of(&play.claim().await).with(|item| item.cancel_open = all)).await;
    assert!(play.task(&running.id).await.cancel_requested);
    assert_eq!(play.find_task(&"r:2".into()).await, None);
    assert_eq!(ids(&play.picture(&run).await.inbox), ["task:2"]);
    assert_eq!(ids(&play.picture(&"r.4".into()).await.inbox), ["cancel:r"]);
    assert_eq!(play.picture(&"r.3".into()).await.inbox, []);
    let mut ready: Vec<_> = play.claims(9).await.into_iter().map(|claimed| claimed.run.id.0).collect();
    ready.sort();
    assert_eq!(ready, ["r", "r.4"]);
}

/// `cancel_open` is applied before the new work of the same commit: clean-up work is not cancelled with the
/// rest.
pub async fn cancelling_all_spares_what_the_same_commit_starts(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1).child(2)).await;
    play.deliver(&run, cancel("c1")).await;
    let claimed = play.claims(9).await.into_iter().find(|claimed| claimed.run.id == run).unwrap();
    let all = Some(cancel("cancel:r"));
    play.done(&Draft::of(&claimed).task(3).child(4).with(|item| item.cancel_open = all)).await;
    assert_eq!(play.take().await.id.as_str(), "r:3");
    play.nothing_to_take().await;
    assert_eq!(play.picture(&"r.4".into()).await.inbox, []);
}

pub async fn a_queued_standalone_task_is_removed(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let ready = play.queue(new_task("ready")).await;
    let sleeping = play.queue(NewTask { options: delayed(secs(5)), ..new_task("sleeping") }).await;
    for task in [ready, sleeping] {
        play.order(Control::CancelTask { task: task.clone() }).await;
        let left = play.find_task(&task).await.map(|task| task.state);
        assert!(matches!(left, None | Some(TaskState::Cancelled)), "{left:?}");
    }
    play.pass(secs(5)).await;
    play.nothing_to_take().await;
}

pub async fn a_running_standalone_task_is_asked_to_stop(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let id = play.queue(new_task("t")).await;
    let task = play.take().await;
    play.order(Control::CancelTask { task: id.clone() }).await;
    assert_eq!(play.beat_for(&task, None).await.cancelled, std::slice::from_ref(&id));
    play.finish(&task, TaskOutcome::Cancelled { failure: rhythm_core::Failure::cancelled("stopped") }).await;
    let ended = play.task(&id).await;
    assert_eq!(ended.state, TaskState::Cancelled);
    assert_eq!(ended.failure.map(|failure| failure.code).as_deref(), Some("CANCELLED"));
    assert_eq!(play.dead().await, []);
}

/// A failed run may be reopened: it must not wait for a task that does not exist.
pub async fn a_task_cancelled_after_its_run_failed_still_answers(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"]).task(1)).await;
    play.deliver(&run, signal("s1", "go")).await;
    play.done(&Draft::of(&play.claim().await).failed()).await;
    play.order(Control::CancelTask { task: "r:1".into() }).await;
    let (revision, reason) = (play.picture(&run).await.row.revision, String::new());
    let reopen = Control::Reopen {
        run: run.clone(),
        revision,
        reason,
        requeue: vec![],
        redeliver: vec![],
        fresh: None,
    };
    play.order(reopen).await;
    assert_eq!(ids(&play.claim().await.messages), ["task:1"]);
}

/// The same order in every world, so that the same run has the same history everywhere.
pub async fn cancelled_tasks_answer_in_one_order(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| (1..=15).fold(draft.awaiting(&["go"]), Draft::task)).await;
    play.deliver(&run, signal("s1", "go")).await;
    let draft = Draft::of(&play.claim().await);
    play.done(&draft.with(|item| item.cancel_tasks = vec!["r:14".into(), "r:2".into(), "r:15".into()])).await;
    let claimed = play.claim().await;
    assert_eq!(ids(&claimed.messages), ["task:14", "task:2", "task:15"]);
    play.done(&Draft::of(&claimed).with(|item| item.cancel_open = Some(cancel("c1")))).await;
    let created = [1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13].map(|number| format!("task:{number}"));
    assert_eq!(ids(&play.claim().await.messages), created);
}
