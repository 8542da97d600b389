//! Promise 5: a worker that finished a task may step its run in the same commit, unless something changed.

use rhythm_core::{CommandId, Message, Status, TaskId};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

/// Returns a run `r` that waits for its task 1, which this worker holds.
async fn ready_to_fuse(play: &Play<'_>) -> (ClaimedTask, RunRow) {
    play.waiting("r", |draft| draft.awaiting(&["go"]).task(1)).await;
    play.take_with_run().await
}

pub async fn a_fused_commit_finishes_steps_and_claims(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (task, row) = ready_to_fuse(&play).await;
    let draft = Draft::fused(&row, &task).own_task(2).task(3);
    let done = play.done(&draft).await;
    assert_eq!(done.revision, 2);
    assert_eq!(done.claimed, [TaskClaim { task: "r:2".into(), claim: 1 }]);

    let picture = play.picture(&row.id).await;
    assert_eq!((&picture.row.state, picture.summary.status), (&draft.item.state, Status::Waiting));
    assert_eq!((picture.inbox.len(), picture.ready_since), (0, None));
    assert_eq!(play.history(&row.id).await[1..], draft.item.events);
    assert_eq!(play.find_task(&task.id).await, None, "a finished task of a run goes away");
    let next = play.task(&"r:2".into()).await;
    assert_eq!((next.state, next.attempt, next.delivery), (TaskState::Running, 1, 1));
    assert_eq!(next.worker.as_deref(), Some("w1"));
    // No other worker can claim it, and its claim is like any other.
    assert_eq!(play.take().await.id.as_str(), "r:3");
    play.nothing_to_take().await;
    let done = FinishedTask {
        task: "r:2".into(),
        claim: 1,
        outcome: TaskOutcome::Completed { output: json("2") },
        message: None,
    };
    assert_eq!(play.finish_all(vec![done]).await, [Finish::Done]);
}

pub async fn a_fused_commit_is_refused_when_the_run_is_claimed(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (task, _) = ready_to_fuse(&play).await;
    play.deliver(&"r".into(), signal("s1", "go")).await;
    let claimed = play.another("w2").await.claim().await;
    // The rest of the fence holds: `arrived` and the revision are current.
    play.refused(&Draft::fused(&claimed.run, &task)).await;
    assert_eq!(play.complete(&task).await, Finish::Done);
}

/// This includes the worker that holds the run: it can commit under its claim.
pub async fn a_fused_commit_is_refused_when_its_own_worker_claims_the_run(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (task, _) = ready_to_fuse(&play).await;
    play.deliver(&"r".into(), signal("s1", "go")).await;
    let claimed = play.claim().await;
    play.refused(&Draft::fused(&claimed.run, &task)).await;
}

pub async fn a_fused_commit_is_refused_after_a_delivery(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (task, row) = ready_to_fuse(&play).await;
    // A signal the run does not await counts too: the step might await it.
    play.deliver(&row.id, signal("s1", "not yet")).await;
    play.refused(&Draft::fused(&row, &task).own_task(2)).await;
    // The fallback: finish without a step; the process that claims the run gets both messages.
    assert_eq!(play.complete(&task).await, Finish::Done);
    assert_eq!(ids(&play.claim().await.messages), ["s1", "task:1"]);
}

pub async fn a_fused_commit_that_saw_the_delivery_is_written(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.waiting("r", |draft| draft.task(1)).await;
    play.deliver(&"r".into(), signal("s1", "not yet")).await;
    let (task, row) = play.take_with_run().await;
    assert_eq!(row.arrived, 1);
    play.done(&Draft::fused(&row, &task)).await;
    assert_eq!(ids(&play.picture(&row.id).await.inbox), ["s1"]);
}

pub async fn a_fused_commit_needs_a_current_task_claim(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    let (task, row) = ready_to_fuse(&play).await;
    other.refused(&Draft::fused(&row, &task)).await;
    for claim in [0, 2] {
        play.refused(&Draft::fused(&row, &ClaimedTask { claim, ..task.clone() })).await;
    }
    let unknown = TaskId::new("r:9");
    play.refused(&Draft::fused(&row, &task).with(|item| item.finished[0].task = unknown)).await;

    // A freed claim is not current, and neither is one that was taken over.
    play.pass(secs(31)).await;
    play.refused(&Draft::fused(&row, &task)).await;
    let taken = other.take().await;
    play.refused(&Draft::fused(&row, &task)).await;
    other.done(&Draft::fused(&row, &taken)).await;
    play.refused(&Draft::fused(&row, &task)).await;
}

pub async fn an_expired_task_claim_nobody_took_still_fuses(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (task, row) = ready_to_fuse(&play).await;
    stage.clock().advance(secs(3600));
    play.done(&Draft::fused(&row, &task)).await;
}

pub async fn a_fused_commit_is_refused_on_a_moved_revision(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (task, row) = ready_to_fuse(&play).await;
    for revision in [0, 2] {
        play.refused(&Draft::fused(&row, &task).with(|item| item.revision = revision)).await;
    }
}

pub async fn a_fused_commit_is_refused_while_its_run_is_paused(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (task, row) = ready_to_fuse(&play).await;
    play.order(Control::PauseRun { run: row.id.clone(), reason: "look".to_owned() }).await;
    // Pausing changed the revision; even with the new one the commit is refused.
    let paused = play.picture(&row.id).await.row;
    play.refused(&Draft::fused(&paused, &task)).await;
    assert_eq!(play.complete(&task).await, Finish::Done);
    play.nothing_to_claim().await;
    play.order(Control::ResumeRun { run: row.id.clone(), reason: "seen".to_owned() }).await;
    assert_eq!(ids(&play.claim().await.messages), ["task:1"]);
}

pub async fn a_fused_commit_is_refused_while_its_workflow_is_paused(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (task, row) = ready_to_fuse(&play).await;
    play.order(Control::PauseWorkflow { workflow: "drill".to_owned() }).await;
    play.refused(&Draft::fused(&row, &task)).await;
    play.order(Control::ResumeWorkflow { workflow: "drill".to_owned() }).await;
    play.done(&Draft::fused(&row, &task)).await;
}

pub async fn a_fused_commit_may_finish_several_tasks(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1).task(2).task(3)).await;
    let tasks = play.takes(3).await;
    let row = play.picture(&run).await.row;
    let all = Draft::fused(&row, &tasks[0]).finishing(&tasks[1]).finishing(&tasks[2]).own_task(4);
    // One claim that is not current refuses all.
    play.refused(&all.clone().with(|item| item.finished[1].claim = 7)).await;
    assert_eq!(play.done(&all).await.claimed.len(), 1);
    assert_eq!(play.picture(&run).await.tasks.len(), 1);
    let history = play.history(&run).await;
    assert!(history[1..].iter().all(|event| event.data.kind() == "step_completed"));
    assert_eq!(history.len(), 4);
}

pub async fn a_new_task_of_a_paused_queue_is_not_claimed(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (task, row) = ready_to_fuse(&play).await;
    play.order(Control::PauseQueue { queue: "slow".to_owned() }).await;
    let slow = |task| NewTask { claim: true, options: in_queue("slow"), ..task };
    let done = play.done(&Draft::fused(&row, &task).task_as(2, slow).own_task(3)).await;
    assert_eq!(done.claimed, [TaskClaim { task: "r:3".into(), claim: 1 }]);
    assert_eq!(play.task(&"r:2".into()).await.state, TaskState::Ready);
}

pub async fn a_delayed_new_task_is_not_claimed(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (task, row) = ready_to_fuse(&play).await;
    let later = |task| NewTask { claim: true, options: delayed(secs(5)), ..task };
    assert_eq!(play.done(&Draft::fused(&row, &task).task_as(2, later)).await.claimed, []);
    assert_eq!(play.task(&"r:2".into()).await.state, TaskState::Delayed);
}

pub async fn a_repeated_fused_commit_gets_its_claims_again(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (task, row) = ready_to_fuse(&play).await;
    let draft = Draft::fused(&row, &task).own_task(2);
    let first = play.done(&draft).await;
    // The run changed since; the answer is the same.
    play.deliver(&row.id, signal("s1", "not yet")).await;
    let before = play.stored(&row.id).await;
    let again = play.done(&draft).await;
    assert_eq!((again.revision, again.claimed), (first.revision, first.claimed));
    assert_eq!(play.stored(&row.id).await, before);
}

pub async fn a_fused_commit_may_end_its_run(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (task, row) = ready_to_fuse(&play).await;
    let draft = Draft::fused(&row, &task).completed();
    let first = play.done(&draft).await;
    assert_eq!(play.picture(&row.id).await.summary.status, Status::Completed);
    assert_eq!(play.done(&draft).await, first);
}

/// However the run ended, the stored result is the same.
pub async fn a_run_that_ends_with_a_fused_commit_is_kept_like_any_other(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let due = play.now().await.plus(secs(90));
    let labels = std::collections::BTreeMap::from([("team".to_owned(), "blue".to_owned())]);
    let mut tasks = Vec::new();
    for id in ["claimed", "fused"] {
        let new = NewRun { labels: labels.clone(), priority: 2, deadline: Some(secs(99)), ..new_run(id) };
        play.start_as(new).await;
        let draft = Draft::of(&play.claim().await).timer(2, due).awaiting(&["go"]).task(1);
        play.done(&draft).await;
        play.deliver(&id.into(), signal("s1", "not yet")).await;
        tasks.push(play.take().await);
    }
    stage.clock().advance(secs(5));
    assert_eq!(play.complete(&tasks[0]).await, Finish::Done);
    let claimed = play.claim().await;
    let answer: Vec<Message> =
        claimed.messages.iter().filter(|message| message.id.0 == "task:1").cloned().collect();
    play.done(&Draft::of(&claimed).only(&answer).completed()).await;
    let row = play.picture(&"fused".into()).await.row;
    let draft = Draft::fused(&row, &tasks[1]).completed();
    play.done(&draft).await;

    let (ordinary, mut fused) = (play.picture(&"claimed".into()).await, play.picture(&"fused".into()).await);
    let history = play.history(&"fused".into()).await;
    assert_eq!(history.len(), play.history(&"claimed".into()).await.len());
    assert_eq!((fused.inbox.len(), fused.timers.len()), (0, 0));
    assert_eq!(fused.row.state, draft.item.state);
    fused.row.state = ordinary.row.state.clone();
    // An answer inside the commit was never delivered.
    assert_eq!(fused.row.arrived + 1, ordinary.row.arrived);
    fused.row.arrived = ordinary.row.arrived;
    (fused.summary.id, fused.row.id) = (ordinary.summary.id.clone(), ordinary.row.id.clone());
    assert_eq!(fused, ordinary);
    play.pass(secs(100)).await;
    play.nothing_to_claim().await;
}

/// The rows are removed together, and the fence is just as strict.
pub async fn a_fused_commit_that_ends_its_run_is_refused_when_anything_moved(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (task, row) = ready_to_fuse(&play).await;
    let ending = |row: &RunRow, task: &ClaimedTask| Draft::fused(row, task).completed();
    play.refused(&ending(&row, &ClaimedTask { claim: 2, ..task.clone() })).await;
    play.another("w2").await.refused(&ending(&row, &task)).await;
    play.refused(&ending(&row, &task).with(|item| item.revision = 2)).await;
    play.order(Control::PauseWorkflow { workflow: "drill".to_owned() }).await;
    play.refused(&ending(&row, &task)).await;
    play.order(Control::ResumeWorkflow { workflow: "drill".to_owned() }).await;
    play.order(Control::PauseRun { run: row.id.clone(), reason: "look".to_owned() }).await;
    let paused = play.picture(&row.id).await.row;
    play.refused(&ending(&paused, &task)).await;
    play.order(Control::ResumeRun { run: row.id.clone(), reason: "seen".to_owned() }).await;
    let row = play.picture(&row.id).await.row;
    play.deliver(&row.id, signal("s1", "go")).await;
    play.refused(&ending(&row, &task)).await;
    let claimed = play.another("w2").await.claim().await;
    play.refused(&ending(&claimed.run, &task)).await;
    assert_eq!(play.complete(&task).await, Finish::Done);
}

pub async fn of_runs_that_end_together_each_ends_or_is_refused_alone(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let due = play.now().await.plus(secs(10));
    let mut drafts = Vec::new();
    for id in ["a", "b", "c", "d"] {
        play.waiting(id, |draft| draft.awaiting(&["go"]).timer(2, due).task(1)).await;
        let (task, row) = play.take_with_run().await;
        drafts.push(Draft::fused(&row, &task).completed());
    }
    drafts[3].item.finished[0].claim = 7;
    play.deliver(&"b".into(), signal("s1", "go")).await;
    let all: Vec<&Draft> = drafts.iter().collect();
    let first = play.commit(&all).await;
    assert!(matches!(
        first[..],
        [CommitOutcome::Done(_), CommitOutcome::Stale, CommitOutcome::Done(_), CommitOutcome::Stale]
    ));
    assert_eq!(play.commit(&all).await, first, "also when it is asked again");
    for (id, status) in [("a", Status::Completed), ("b", Status::Waiting), ("c", Status::Completed)] {
        let picture = play.picture(&id.into()).await;
        let over = status == Status::Completed;
        assert_eq!((picture.summary.status, picture.timers.is_empty()), (status, over), "{id}");
        assert_eq!(play.history(&id.into()).await.len(), if over { 3 } else { 1 }, "{id}");
    }
    assert_eq!(ids(&play.claim().await.messages), ["s1"]);
    play.pass(secs(10)).await;
    assert_eq!(ids(&play.claim().await.messages), ["timer:2"], "only of d");
}

pub async fn a_fused_commit_may_finish_a_task_for_good(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (task, row) = ready_to_fuse(&play).await;
    let exhausted = TaskOutcome::Exhausted { failure: failure("BROKEN"), hold: false };
    play.done(&Draft::fused(&row, &task).with(|item| item.finished[0].outcome = exhausted)).await;
    assert_eq!(play.find_task(&task.id).await, None);
    let letters = play.dead().await;
    assert_eq!((letters.len(), &letters[0].task), (1, &task.id));
    assert_eq!(play.picture(&row.id).await.inbox, [], "its message was consumed by this very commit");
}

/// Messages a commit sends to its own run count as arrived, so the run becomes ready.
pub async fn a_fused_commit_that_cancels_a_task_is_ready_for_the_answer(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.waiting("r", |draft| draft.task(1).task(2)).await;
    let (task, row) = play.take_with_run().await;
    let done =
        play.done(&Draft::fused(&row, &task).with(|item| item.cancel_tasks = vec!["r:2".into()])).await;
    assert_eq!(done.arrived, row.arrived + 1);
    assert_eq!(ids(&play.claim().await.messages), ["task:2"]);
}

/// Either the commit is refused, or the message waits for the next claim.
pub async fn a_fused_commit_racing_a_delivery_loses_nothing(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    for round in 0..25 {
        let run = play.waiting(&format!("r{round}"), |draft| draft.awaiting(&["go"]).task(1)).await;
        let (task, row) = play.take_with_run().await;
        let draft = [&Draft::fused(&row, &task)];
        let (outcomes, delivered) =
            tokio::join!(play.commit(&draft), other.deliver(&run, signal("s1", "go")));
        assert_eq!(delivered, Delivered::Accepted);
        let expected = match &outcomes[0] {
            CommitOutcome::Done(_) => vec!["s1"],
            CommitOutcome::Stale => {
                assert_eq!(play.complete(&task).await, Finish::Done);
                vec!["s1", "task:1"]
            }
            missing @ CommitOutcome::Missing(_) => panic!("{missing:?}"),
        };
        let claimed = play.claim().await;
        assert_eq!((&claimed.run.id, ids(&claimed.messages)), (&run, expected), "round {round}");
        play.done(&Draft::of(&claimed).completed()).await;
    }
}

/// A fence that checks without locking was once caught letting both through.
pub async fn a_fused_commit_racing_a_take_over_has_one_winner(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    for round in 0..25 {
        let run = play.waiting(&format!("r{round}"), |draft| draft.task(1)).await;
        let (task, row) = play.take_with_run().await;
        stage.clock().advance(secs(31));
        let draft = [&Draft::fused(&row, &task)];
        let (outcomes, taken) = tokio::join!(play.commit(&draft), async {
            other.sweep().await;
            other.takes(1).await
        });
        let committed = matches!(outcomes[0], CommitOutcome::Done(_));
        assert_ne!(committed, !taken.is_empty(), "round {round}: {outcomes:?} {taken:?}");
        if let Some(taken) = taken.first() {
            assert_eq!((&taken.run, taken.claim), (&Some((run.clone(), CommandId(1))), 2));
            other.done(&Draft::fused(&row, taken)).await;
        }
        assert_eq!(play.history(&run).await.len(), 2, "round {round}");
    }
}

/// A fused commit has not read the inbox: messages there must still make the run ready.
pub async fn a_fused_commit_leaves_a_ready_run_ready(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1).task(2)).await;
    let first = play.take().await;
    assert_eq!(play.complete(&first).await, Finish::Done);
    let (second, row) = play.take_with_run().await;
    assert_eq!(row.arrived, 1, "the first answer is known to have arrived");
    play.done(&Draft::fused(&row, &second)).await;
    assert!(play.picture(&run).await.ready_since.is_some());
    assert_eq!(ids(&play.claim().await.messages), ["task:1"]);
}

/// A run with many fused commits must not lose its place in the queue again and again.
pub async fn a_fused_commit_keeps_the_place_of_a_ready_run(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (task, row) = ready_to_fuse(&play).await;
    play.deliver(&row.id, signal("s1", "go")).await;
    let since = play.picture(&row.id).await.ready_since;
    let row = play.picture(&row.id).await.row;
    stage.clock().advance(secs(5));
    play.start("younger").await;
    play.done(&Draft::fused(&row, &task)).await;
    assert_eq!(play.picture(&row.id).await.ready_since, since);
    assert_eq!(play.claim().await.run.id, row.id);
}

/// A fused commit does not bring a postponed run forward.
pub async fn a_fused_commit_leaves_a_run_put_off(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (task, row) = ready_to_fuse(&play).await;
    play.deliver(&row.id, signal("s1", "go")).await;
    let claimed = play.claim().await;
    play.release(&claimed, ReleaseOutcome::Later { after: secs(60), blocked: None }).await;
    let row = play.picture(&row.id).await.row;
    play.done(&Draft::fused(&row, &task)).await;
    play.pass(secs(59)).await;
    play.nothing_to_claim().await;
    play.pass(secs(1)).await;
    assert_eq!(play.claim().await.run.id, row.id);
}
