//! Operator requests for runs, workflows and queues.

use rhythm_core::event::{EventData, Marker};
use rhythm_core::{BlockedCode, Payload, RunId};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

fn pause(run: &RunId) -> Control {
    Control::PauseRun { run: run.clone(), reason: "look first".to_owned() }
}

fn resume(run: &RunId) -> Control {
    Control::ResumeRun { run: run.clone(), reason: "seen".to_owned() }
}

pub async fn a_paused_run_is_not_claimed(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.with(|item| item.more = true)).await;
    play.order(pause(&run)).await;
    play.nothing_to_claim().await;
    let picture = play.picture(&run).await;
    assert!(picture.summary.paused && picture.row.paused);
    assert_eq!(picture.ready_since, None);
    assert_eq!(play.deliver(&run, cancel("c1")).await, Delivered::Accepted);
    play.nothing_to_claim().await;
    play.order(resume(&run)).await;
    let claimed = play.claim().await;
    assert_eq!((ids(&claimed.messages), claimed.run.paused), (vec!["c1"], false));
}

pub async fn pausing_and_resuming_are_written_down(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft).await;
    play.order(pause(&run)).await;
    assert_eq!(play.control(pause(&run)).await, Ok(Controlled::Unchanged));
    play.order(resume(&run)).await;
    assert_eq!(play.control(resume(&run)).await, Ok(Controlled::Unchanged));
    let rows = play.history(&run).await;
    let kinds: Vec<_> = rows.iter().map(|row| (row.seq, row.data.kind())).collect();
    assert_eq!(kinds, [(1, "workflow_started"), (2, "paused"), (3, "resumed")]);
    assert_eq!((rows[1].actor.0.as_str(), &rows[1].message, rows[1].cause), ("user:ann", &None, None));
    assert!(rows[1].data.to_json().contains("look first"));
    let summary = play.picture(&run).await.summary;
    assert_eq!((summary.revision, summary.seq), (3, 3));
}

/// A resumed run is stepped from the state the pause left: its next row follows the operator's.
pub async fn a_resumed_run_goes_on_after_the_operators_rows(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"])).await;
    play.order(pause(&run)).await;
    play.order(resume(&run)).await;
    play.deliver(&run, signal("s1", "go")).await;
    let claimed = play.claim().await;
    assert_eq!((claimed.run.revision, claimed.run.state.seq), (3, 3));
    play.done(&Draft::of(&claimed)).await;
    assert!(play.history(&run).await.iter().map(|row| row.seq).eq(1..=4));
}

pub async fn pausing_stops_a_transition_under_way(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"])).await;
    play.deliver(&run, signal("s1", "go")).await;
    let claimed = play.claim().await;
    play.order(pause(&run)).await;
    play.refused(&Draft::of(&claimed).task(9)).await;
    play.order(resume(&run)).await;
    let again = play.claim().await;
    assert!(again.claim > claimed.claim);
    assert_eq!(ids(&again.messages), ["s1"]);
}

pub async fn a_task_finished_while_its_run_is_paused_is_not_lost(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1)).await;
    let task = play.take().await;
    play.order(pause(&run)).await;
    assert_eq!(play.complete(&task).await, Finish::Done);
    play.nothing_to_claim().await;
    play.order(resume(&run)).await;
    assert_eq!(ids(&play.claim().await.messages), ["task:1"]);
}

pub async fn an_unknown_run_is_not_found(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = RunId::new("nobody");
    let event = EventData::Marker(Marker { name: "m".to_owned(), data: Payload::null() });
    let orders =
        [pause(&run), resume(&run), Control::Unblock { run: run.clone() }, Control::Annotate { run, event }];
    for order in orders {
        let answer = play.control(order.clone()).await;
        assert!(matches!(answer, Err(WorldError::NotFound(_))), "{order:?}: {answer:?}");
    }
}

pub async fn runs_of_a_paused_workflow_wait(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    let pause = Control::PauseWorkflow { workflow: "drill".to_owned() };
    play.order(pause.clone()).await;
    assert_eq!(play.control(pause).await, Ok(Controlled::Unchanged));
    play.nothing_to_claim().await;
    let picture = play.picture(&run).await;
    assert_eq!((picture.workflow_paused, picture.summary.paused), (true, false));
    play.start_as(NewRun { workflow: "other".to_owned(), ..new_run("o") }).await;
    assert_eq!(play.claim().await.run.id.as_str(), "o", "others go on");
    play.order(Control::ResumeWorkflow { workflow: "drill".to_owned() }).await;
    assert_eq!(play.claim().await.run.id, run);
}

/// Pausing a queue does not pause the workflow of the same name, and the reverse.
pub async fn a_queue_and_a_workflow_of_one_name_are_two_things(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let name = || "drill".to_owned();
    let in_queue = NewTask { options: in_queue("drill"), ..new_task("t") };
    play.queue(in_queue).await;
    let run = play.start("r").await;
    let request = || {
        let queues = vec![(name(), 1)];
        ClaimTasks { queues, ..play.take_request(1) }
    };
    play.order(Control::PauseWorkflow { workflow: name() }).await;
    play.order(Control::PauseQueue { queue: name() }).await;
    play.order(Control::ResumeQueue { queue: name() }).await;
    assert!(play.picture(&run).await.workflow_paused);
    play.nothing_to_claim().await;
    play.order(Control::PauseQueue { queue: name() }).await;
    play.order(Control::ResumeWorkflow { workflow: name() }).await;
    assert!(play.world.claim_tasks(request()).await.unwrap().tasks.is_empty());
    assert_eq!(play.claim().await.run.id, run);
    play.order(Control::ResumeQueue { queue: name() }).await;
    assert_eq!(play.world.claim_tasks(request()).await.unwrap().tasks.len(), 1);
}

/// Pausing one run refuses the transition under way. Pausing its workflow lets that transition commit.
pub async fn a_claim_from_before_a_workflows_pause_still_commits(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.start("r").await;
    let claimed = play.claim().await;
    play.order(Control::PauseWorkflow { workflow: "drill".to_owned() }).await;
    play.done(&Draft::of(&claimed).task(1)).await;
}

/// An operator can pause a workflow before it is deployed.
pub async fn names_may_be_paused_before_they_exist(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.order(Control::PauseWorkflow { workflow: "drill".to_owned() }).await;
    play.order(Control::PauseQueue { queue: "default".to_owned() }).await;
    play.start("r").await;
    play.queue(new_task("t")).await;
    play.nothing_to_claim().await;
    play.nothing_to_take().await;
}

pub async fn an_annotation_is_one_row_of_history(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"])).await;
    play.deliver(&run, signal("s1", "go")).await;
    let claimed = play.claim().await;
    let event = EventData::Marker(Marker { name: "seen".to_owned(), data: json("{\"$a\":1}") });
    play.order(Control::Annotate { run: run.clone(), event: event.clone() }).await;
    let rows = play.history(&run).await;
    assert_eq!((rows.len(), rows[1].seq, &rows[1].data), (2, 2, &event));
    assert_eq!(rows[1].at, play.now().await);
    let summary = play.picture(&run).await.summary;
    assert_eq!((summary.seq, summary.revision), (2, 2));
    // The transition under way would write a row with the same number.
    play.refused(&Draft::of(&claimed)).await;
}

pub async fn an_unblocked_run_is_tried_again(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    for code in [BlockedCode::Quarantined, BlockedCode::NoVersion] {
        play.release(&play.claim().await, ReleaseOutcome::Aside(blocked(code))).await;
        play.nothing_to_claim().await;
        play.order(Control::Unblock { run: run.clone() }).await;
        assert_eq!(play.picture(&run).await.summary.blocked, None);
    }
    assert_eq!(play.claim().await.run.id, run);
}

/// The commit would end the run although it is in the queue now.
pub async fn an_unblocked_run_refuses_a_fused_commit_that_did_not_see_it(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"]).task(1)).await;
    let task = play.take().await;
    play.deliver(&run, signal("s1", "go")).await;
    play.release(&play.claim().await, ReleaseOutcome::Aside(blocked(BlockedCode::Quarantined))).await;
    let before = play.picture(&run).await.row;
    play.order(Control::Unblock { run: run.clone() }).await;
    play.refused(&Draft::fused(&before, &task).completed()).await;
    let seen = play.picture(&run).await.row;
    assert_eq!((seen.arrived, seen.revision), (before.arrived + 1, before.revision));
    play.done(&Draft::fused(&seen, &task).completed()).await;
    let picture = play.picture(&run).await;
    assert_eq!((picture.ready_since, picture.inbox), (None, vec![]));
    play.nothing_to_claim().await;
}

/// Only a commit or an orderly release resets the count of claims: a run that crashes its holders stays
/// suspect.
pub async fn pausing_does_not_hide_lost_claims(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    assert_eq!(play.claim().await.deliveries, 1);
    play.order(Control::PauseRun { run: run.clone(), reason: String::new() }).await;
    play.order(Control::ResumeRun { run, reason: String::new() }).await;
    assert_eq!(play.claim().await.deliveries, 2);
}

/// The transition under way has not seen the operator's row and must be folded again.
pub async fn an_annotation_refuses_the_transition_under_way(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    let claimed = play.claim().await;
    let event = EventData::Marker(Marker { name: "noted".to_owned(), data: json("1") });
    play.order(Control::Annotate { run: run.clone(), event }).await;
    play.refused(&Draft::of(&claimed)).await;
    assert!(play.history(&run).await.iter().map(|row| row.seq).eq(1..=1));
}
