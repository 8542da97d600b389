//! Ends of runs: which of their rows stay and which are removed.

use rhythm_core::fold::End;
use rhythm_core::{Failure, Status};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

pub async fn a_completed_run_leaves_nothing_waiting(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let due = play.now().await.plus(secs(10));
    let deadline = NewRun { deadline: Some(secs(20)), ..new_run("r") };
    let run = play.start_as(deadline).await;
    play.done(&Draft::of(&play.claim().await).timer(1, due).awaiting(&["go"])).await;
    play.deliver_all(&run, vec![signal("s1", "not yet"), signal("s2", "go")]).await;
    let claimed = play.claim().await;
    play.done(&Draft::of(&claimed).only(&claimed.messages[1..]).completed()).await;

    let picture = play.picture(&run).await;
    assert_eq!(
        (picture.summary.status, picture.summary.ended_at),
        (Status::Completed, Some(play.now().await))
    );
    assert_eq!((picture.output, picture.failure), (Some(json("\"the end\"")), None));
    assert_eq!((picture.inbox, picture.timers), (vec![], vec![]));
    assert_eq!((picture.ready_since, picture.claimed_by), (None, None));
    play.pass(secs(60)).await;
    play.nothing_to_claim().await;
    assert_eq!(play.picture(&run).await.inbox, []);
}

pub async fn a_cancelled_run_leaves_nothing_waiting(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let due = play.now().await.plus(secs(10));
    let run = play.waiting("r", |draft| draft.timer(1, due)).await;
    play.deliver_all(&run, vec![cancel("c1"), signal("s1", "not yet")]).await;
    let claimed = play.claim().await;
    play.done(&Draft::of(&claimed).only(&claimed.messages[..1]).cancelled()).await;
    let picture = play.picture(&run).await;
    assert_eq!((picture.summary.status, picture.output), (Status::Cancelled, None));
    assert_eq!(picture.failure, Some(Failure::cancelled("enough")), "the reason is kept");
    assert_eq!((picture.inbox, picture.timers), (vec![], vec![]));
    play.pass(secs(60)).await;
    play.nothing_to_claim().await;
}

pub async fn a_failed_run_keeps_what_reopening_needs(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let due = play.now().await.plus(secs(10));
    let run = play.waiting("r", |draft| draft.timer(1, due).awaiting(&["go"])).await;
    play.deliver_all(&run, vec![signal("s1", "go"), signal("s2", "not yet")]).await;
    let claimed = play.claim().await;
    let draft = Draft::of(&claimed).only(&claimed.messages[..1]).failed();
    play.done(&draft).await;

    let picture = play.picture(&run).await;
    assert_eq!((picture.summary.status, picture.output), (Status::Failed, None));
    assert_eq!(picture.failure, Some(failure("BROKEN")));
    assert_eq!(picture.summary.failure, picture.failure, "listings say why");
    assert_eq!(picture.failed_by.as_ref(), Some(&claimed.messages[0]));
    assert_eq!(picture.row.state, draft.item.state);
    assert_eq!((ids(&picture.inbox), picture.timers.len()), (vec!["s2"], 1));
    play.nothing_to_claim().await;
}

pub async fn an_ended_run_takes_no_messages_unless_it_failed(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let completed = play.waiting("completed", Draft::completed).await;
    let cancelled = play.waiting("cancelled", Draft::cancelled).await;
    let failed = play.waiting("failed", Draft::failed).await;
    assert_eq!(play.deliver(&completed, cancel("c1")).await, Delivered::Ended);
    assert_eq!(play.deliver(&cancelled, cancel("c1")).await, Delivered::Ended);
    assert_eq!(play.deliver(&failed, cancel("c1")).await, Delivered::Accepted);
    assert_eq!(play.deliver(&failed, cancel("c1")).await, Delivered::Duplicate);
    play.nothing_to_claim().await;
    assert_eq!(ids(&play.picture(&failed).await.inbox), ["c1"]);
}

pub async fn tasks_of_an_ended_run_finish_detached(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let later = |task| NewTask { options: delayed(secs(5)), ..task };
    let run = play.waiting("r", |draft| draft.task(1).task_as(2, later).task(3)).await;
    let running = play.take().await;
    play.deliver(&run, cancel("c1")).await;
    play.done(&Draft::of(&play.claim().await).completed()).await;
    let before = play.history(&run).await;
    // Its answer is dropped, which is no error.
    assert_eq!(play.complete(&running).await, Finish::Done);
    play.pass(secs(5)).await;
    for _ in 0..2 {
        let task = play.take().await;
        assert_eq!(task.run.as_ref().map(|(id, _)| id), Some(&run));
        assert_eq!(play.complete(&task).await, Finish::Done);
    }
    assert_eq!(play.history(&run).await, before);
    assert_eq!(play.picture(&run).await.inbox, []);
}

/// The final commit's commands are carried out even if the run fails; none of them affects the reopened run.
pub async fn a_failed_run_has_its_last_wishes(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.waiting("other", |draft| draft.awaiting(&["told"])).await;
    let tell = |draft: Draft| draft.task(1).child(2).tell(&other, signal("s1", "told")).failed();
    let run = play.waiting("r", tell).await;
    assert_eq!(play.picture(&run).await.summary.status, Status::Failed);
    let task = play.take().await;
    assert_eq!((task.id.as_str(), play.complete(&task).await), ("r:1", Finish::Done));
    let mut claimed = [play.claim().await, play.claim().await];
    claimed.sort_by_key(|claimed| claimed.run.id.clone());
    assert_eq!((claimed[0].run.id.as_str(), ids(&claimed[0].messages)), ("other", vec!["s1"]));
    assert_eq!(claimed[1].run.id, run.child(rhythm_core::CommandId(2)));
    play.nothing_to_claim().await;
}

/// Late failures become dead letters only.
pub async fn a_late_failure_of_an_ended_run_is_a_letter(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1).completed()).await;
    let task = play.take().await;
    let exhausted = TaskOutcome::Exhausted { failure: failure("LATE"), hold: false };
    assert_eq!(play.finish(&task, exhausted).await, Finish::Done);
    assert_eq!(play.dead().await[0].run, Some(run.clone()));
    assert_eq!(play.picture(&run).await.summary.status, Status::Completed);
}

/// Answers after a failure are kept in case the run is reopened.
pub async fn a_late_answer_to_a_failed_run_waits(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1).failed()).await;
    assert_eq!(play.complete(&play.take().await).await, Finish::Done);
    assert_eq!(ids(&play.picture(&run).await.inbox), ["task:1"]);
    play.nothing_to_claim().await;
}

pub async fn an_output_is_any_payload(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    for (n, text) in ["null", "{\"$blob\":1}", "\"\\u0000\""].into_iter().enumerate() {
        let end = End::Completed(json(text));
        let run =
            play.waiting(&format!("r{n}"), |draft| draft.completed().with(|item| item.end = Some(end))).await;
        assert_eq!(play.picture(&run).await.output, Some(json(text)));
    }
}

pub async fn an_ended_run_keeps_what_people_ask_for(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let labels = std::collections::BTreeMap::from([("team".to_owned(), "blue".to_owned())]);
    let created_at = play.now().await;
    let new = NewRun { labels: labels.clone(), priority: 2, deadline: Some(secs(99)), ..new_run("r") };
    let run = play.start_as(new.clone()).await;
    stage.clock().advance(secs(5));
    play.done(&Draft::of(&play.claim().await).completed()).await;
    let picture = play.picture(&run).await;
    let summary = picture.summary;
    assert_eq!((summary.labels, summary.priority, summary.created_at), (labels, 2, created_at));
    assert_eq!(summary.deadline_at, Some(created_at.plus(secs(99))));
    assert_eq!((summary.version, picture.input), (new.version, new.input));
    assert_eq!((summary.revision, summary.seq, summary.updated_at), (1, 2, play.now().await));
}

/// A reopened run must not fail at once because of its old deadline.
pub async fn a_failed_run_loses_its_deadline(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start_as(NewRun { deadline: Some(secs(20)), ..new_run("r") }).await;
    let due = play.now().await.plus(secs(10));
    play.done(&Draft::of(&play.claim().await).timer(1, due)).await;
    play.deliver(&run, cancel("c1")).await;
    play.done(&Draft::of(&play.claim().await).failed()).await;
    let timers = play.picture(&run).await.timers;
    assert_eq!(timers.iter().map(|timer| timer.what.as_str()).collect::<Vec<_>>(), ["timer:1"]);
    play.pass(secs(60)).await;
    assert_eq!(ids(&play.picture(&run).await.inbox), ["timer:1"]);
}
