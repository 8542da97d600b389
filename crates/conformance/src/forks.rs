//! Runs that begin with a history: created and committed in one request.

use rhythm_core::event::{EventData, Forked};
use rhythm_core::message::{MessageBody, Start};
use rhythm_core::{CommandId, RunId, Status};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

/// A fork of run `r` after its start, which had created a task, a timer and a child.
async fn forked(play: &Play<'_>, id: &str) -> (NewRun, Draft) {
    let new = new_run(id);
    let row = new.row(&play.tenant, play.now().await);
    let start = message("start", MessageBody::Start(Start { input: new.input.clone() }));
    let later = play.now().await.plus(secs(60));
    let draft =
        Draft::to_begin(&row, &[start]).marker("here").task(1).timer(2, later).child(3).awaiting(&["go"]);
    let origin = EventData::Forked(Forked { from: RunId::new("r"), at_seq: 2 });
    (new, draft.operator(origin))
}

fn fork(new: &NewRun, draft: &Draft) -> Control {
    Control::Fork { run: Box::new(new.clone()), item: Box::new(draft.item.clone()) }
}

pub async fn a_fork_begins_where_its_history_ends(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (new, draft) = forked(&play, "f").await;
    play.order(fork(&new, &draft)).await;
    let picture = play.picture(&new.id).await;
    assert_eq!(picture.row.state, draft.item.state);
    assert_eq!((picture.summary.status, picture.summary.seq), (Status::Waiting, 3));
    assert_eq!((&picture.input, &picture.summary.labels), (&new.input, &new.labels));
    assert_eq!(play.history(&new.id).await, draft.item.events);
    assert_eq!(
        picture.tasks.iter().map(|task| task.id.clone()).collect::<Vec<_>>(),
        [new.id.task(CommandId(1))]
    );
    assert_eq!(picture.timers.iter().filter_map(|timer| timer.timer).collect::<Vec<_>>(), [CommandId(2)]);
    assert_eq!(
        picture.children.iter().map(|child| child.id.clone()).collect::<Vec<_>>(),
        [new.id.child(CommandId(3))]
    );
}

/// The work it started answers, signals it awaits reach it, and it never gets a start.
pub async fn a_fork_does_not_start_but_goes_on(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (new, draft) = forked(&play, "f").await;
    let told = draft.tell(&new.id, signal("s1", "go"));
    play.order(fork(&new, &told)).await;
    let task = play.take().await;
    assert_eq!(play.complete(&task).await, Finish::Done);
    play.pass(secs(60)).await;
    let claimed = play.claims(10).await;
    let mine = claimed.iter().find(|claimed| claimed.run.id == new.id).expect("it is ready");
    assert_eq!(ids(&mine.messages), ["s1", "task:1", "timer:2"]);
    play.done(&Draft::of(mine).completed()).await;
    assert!(play.history(&new.id).await.iter().map(|row| row.seq).eq(1..=7));
}

pub async fn a_repeated_fork_changes_nothing(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (new, draft) = forked(&play, "f").await;
    play.order(fork(&new, &draft)).await;
    let before = play.picture(&new.id).await;
    assert_eq!(play.control(fork(&new, &draft)).await, Ok(Controlled::Unchanged));
    assert_eq!(play.picture(&new.id).await, before);
    assert_eq!(play.history(&new.id).await, draft.item.events);
    let other = NewRun { input: json("[2]"), ..new.clone() };
    let refused = play.control(fork(&other, &draft)).await;
    assert!(matches!(refused, Err(WorldError::Conflict(_))), "{refused:?}");
    assert_eq!(play.picture(&new.id).await, before);
}

pub async fn a_fork_of_a_paused_workflow_is_refused_whole(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (new, draft) = forked(&play, "f").await;
    play.order(Control::PauseWorkflow { workflow: new.workflow.clone() }).await;
    let refused = play.control(fork(&new, &draft)).await;
    assert!(matches!(refused, Err(WorldError::Conflict(_))), "{refused:?}");
    assert_eq!(play.world.picture(&play.tenant, &new.id).await.unwrap(), None);
    play.order(Control::ResumeWorkflow { workflow: new.workflow.clone() }).await;
    play.order(fork(&new, &draft)).await;
}
