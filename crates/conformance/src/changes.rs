//! Runs that change to another version of their workflow.

use rhythm_core::message::{MessageBody, VersionChanged};
use rhythm_core::{Message, RunId, Status, Version};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

fn other() -> Version {
    Version::of(b"another version")
}

/// Returns the version change of a run in its current state. The change also creates task 9.
async fn change(play: &Play<'_>, run: &RunId) -> Draft {
    let row = play.picture(run).await.row;
    let (from, to) = (row.version.clone(), other());
    let changed = VersionChanged { from, to, reason: "a bug".to_owned(), position: None };
    let message = message("version:1", MessageBody::VersionChanged(changed));
    Draft::to_begin(&row, &[message]).task(9).awaiting(&["go"])
}

fn control(draft: &Draft, reopen: Option<Opening>) -> Control {
    let (run, version) = (draft.item.run.clone(), other());
    Control::ChangeVersion { run, version, item: Box::new(draft.item.clone()), reopen }
}

pub async fn a_version_is_changed_with_the_message_that_says_so(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1).awaiting(&["old"])).await;
    let draft = change(&play, &run).await;
    play.order(control(&draft, None)).await;
    let picture = play.picture(&run).await;
    assert_eq!((&picture.row.version, &picture.summary.version), (&other(), &other()));
    assert_eq!(picture.row.state, draft.item.state);
    assert_eq!((picture.summary.status, picture.row.revision), (Status::Waiting, draft.item.revision + 1));
    assert_eq!(play.history(&run).await[1..], draft.item.events[..]);
    assert_eq!(picture.tasks.len(), 2);
    // The run goes on as usual: it gets an answer and a signal that it awaits now.
    assert_eq!(play.complete(&play.take().await).await, Finish::Done);
    assert_eq!(play.deliver(&run, signal("s1", "go")).await, Delivered::Accepted);
    let claimed = play.claim().await;
    assert_eq!((&claimed.run.version, ids(&claimed.messages)), (&other(), vec!["task:1", "s1"]));
    play.done(&Draft::of(&claimed).completed()).await;
    assert_eq!(play.picture(&run).await.summary.version, other());
}

pub async fn a_change_of_a_moved_run_is_refused(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"])).await;
    let draft = change(&play, &run).await;
    play.deliver(&run, signal("s1", "go")).await;
    play.done(&Draft::of(&play.claim().await)).await;
    let before = play.picture(&run).await;
    let refused = play.control(control(&draft, None)).await;
    assert!(matches!(refused, Err(WorldError::Conflict(_))), "{refused:?}");
    assert_eq!(play.picture(&run).await, before);
    // A live run cannot be opened, and an ended run cannot be changed without opening it.
    let draft = change(&play, &run).await;
    let refused = play.control(control(&draft, Some(Opening::default()))).await;
    assert!(matches!(refused, Err(WorldError::Conflict(_))), "{refused:?}");
    play.deliver(&run, cancel("c1")).await;
    play.done(&Draft::of(&play.claim().await).completed()).await;
    let refused = play.control(control(&change(&play, &run).await, None)).await;
    assert!(matches!(refused, Err(WorldError::Conflict(_))), "{refused:?}");
    assert_ne!(play.picture(&run).await.row.version, other());
}

pub async fn a_repeated_change_is_one(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft).await;
    let draft = change(&play, &run).await;
    play.order(control(&draft, None)).await;
    let before = play.picture(&run).await;
    assert_eq!(play.control(control(&draft, None)).await, Ok(Controlled::Unchanged));
    assert_eq!(play.picture(&run).await, before);
    assert_eq!(play.history(&run).await.len(), 2);
}

pub async fn a_late_holder_of_a_changed_run_is_refused(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"])).await;
    play.deliver(&run, signal("s1", "go")).await;
    let held = play.claim().await;
    let late = Draft::of(&held);
    play.order(control(&change(&play, &run).await, None)).await;
    assert_eq!(play.commit(&[&late]).await, [CommitOutcome::Stale]);
    // The run is claimable at once, without waiting for the stale claim to expire.
    let claimed = play.claim().await;
    assert_eq!((&claimed.run.version, ids(&claimed.messages)), (&other(), vec!["s1"]));
    assert!(claimed.claim > held.claim);
}

pub async fn a_paused_run_stays_paused_with_another_version(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"])).await;
    play.deliver(&run, signal("s1", "go")).await;
    play.order(Control::PauseRun { run: run.clone(), reason: String::new() }).await;
    play.order(control(&change(&play, &run).await, None)).await;
    assert!(play.picture(&run).await.summary.paused);
    play.nothing_to_claim().await;
    play.order(Control::ResumeRun { run: run.clone(), reason: String::new() }).await;
    assert_eq!(ids(&play.claim().await.messages), ["s1"]);
}

pub async fn a_run_that_has_not_begun_keeps_its_version(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    let refused = play.control(control(&change(&play, &run).await, None)).await;
    assert!(matches!(refused, Err(WorldError::Conflict(_))), "{refused:?}");
    assert_eq!(ids(&play.claim().await.messages), ["start"]);
}

pub async fn a_failed_run_is_opened_with_another_version(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1)).await;
    assert_eq!(play.complete(&play.take().await).await, Finish::Done);
    let claimed = play.claim().await;
    play.done(&Draft::of(&claimed).failed()).await;
    let again = Message { id: "task:1#again".into(), ..claimed.messages[0].clone() };
    let opening =
        Opening { reason: "repaired".to_owned(), requeue: vec![], redeliver: vec![again], fresh: None };
    let draft = change(&play, &run).await;
    play.order(control(&draft, Some(opening.clone()))).await;
    let history = play.history(&run).await;
    let kinds: Vec<&str> = history.iter().map(|row| row.data.kind()).collect();
    assert_eq!(kinds[kinds.len() - 3..], ["workflow_failed", "version_changed", "reopened"]);
    assert!(history.iter().map(|row| row.seq).eq(1..=history.len() as u64));
    assert!(history.windows(2).all(|rows| rows[0].at <= rows[1].at));
    let claimed = play.claim().await;
    assert_eq!((&claimed.run.version, ids(&claimed.messages)), (&other(), vec!["task:1#again"]));
    play.done(&Draft::of(&claimed).completed()).await;
    assert!(play.control(control(&draft, Some(opening))).await.is_err(), "it has moved on");
}

/// A change may end the run, also when it opens a failed one.
pub async fn a_change_may_end_its_run(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let live = play.waiting("live", |draft| draft).await;
    let failed = play.waiting("failed", Draft::failed).await;
    for (run, reopen) in [(live, None), (failed, Some(Opening::default()))] {
        let draft = change(&play, &run).await.completed();
        play.order(control(&draft, reopen)).await;
        let summary = play.picture(&run).await.summary;
        assert_eq!((summary.status, summary.version), (Status::Completed, other()));
        assert!(play.history(&run).await.iter().map(|row| row.seq).eq(1..=summary.seq));
    }
    play.take().await;
    play.take().await;
    play.nothing_to_claim().await;
}
