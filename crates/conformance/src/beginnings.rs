//! Runs that are created by their first commit.

use rhythm_core::message::{MessageBody, Start};
use rhythm_core::{MessageId, Status};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

/// The first commit of a run that does not exist yet: consumes the start, creates tasks 1 and 2, and claims
/// task 1.
async fn beginning(play: &Play<'_>, new: NewRun) -> Draft {
    let created_at = play.now().await;
    let row = new.row(&play.tenant, created_at);
    let start = message("start", MessageBody::Start(Start { input: new.input.clone() }));
    Draft::to_begin(&row, &[start]).awaiting(&["go"]).own_task(1).task(2).with(|item| {
        item.created_at = Some(created_at);
        item.new = Some(Box::new(new));
    })
}

pub async fn a_run_begins_with_its_first_commit(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let new = NewRun { priority: 3, deadline: Some(secs(60)), ..new_run("r") };
    let draft = beginning(&play, new.clone()).await;
    let created_at = play.now().await;
    // The caller's creation time counts: it has folded with it.
    stage.clock().advance(secs(2));
    let done = play.done(&draft).await;
    assert_eq!((done.revision, done.arrived), (1, 0));
    assert_eq!(done.claimed, [TaskClaim { task: "r:1".into(), claim: 1 }]);
    let picture = play.picture(&new.id).await;
    assert_eq!((picture.summary.status, picture.row.created_at), (Status::Waiting, created_at));
    assert_eq!((&picture.row.state, &picture.input), (&draft.item.state, &new.input));
    assert_eq!((picture.summary.priority, picture.ready_since), (3, None));
    assert_eq!(play.history(&new.id).await, draft.item.events);
    play.nothing_to_claim().await;
    assert_eq!(play.take().await.id.as_str(), "r:2");

    // From now on it is an ordinary run.
    play.deliver(&new.id, signal("s1", "go")).await;
    let claimed = play.claim().await;
    assert_eq!((claimed.claim, ids(&claimed.messages)), (1, vec!["s1"]));
    play.done(&Draft::of(&claimed)).await;
    play.pass(secs(57)).await;
    play.nothing_to_claim().await;
    play.pass(secs(1)).await;
    assert_eq!(ids(&play.claim().await.messages), [MessageId::deadline().as_str()]);
}

pub async fn a_repeated_first_commit_gets_the_original_answer(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let draft = beginning(&play, new_run("r")).await;
    let done = play.done(&draft).await;
    let before = play.stored(&"r".into()).await;
    assert_eq!(play.done(&draft).await, done);
    assert_eq!(play.stored(&"r".into()).await, before);

    let ending = beginning(&play, new_run("ends")).await.with(|item| item.tasks.clear()).completed();
    let done = play.done(&ending).await;
    assert_eq!(play.done(&ending).await, done);
    assert_eq!(play.picture(&"ends".into()).await.summary.status, Status::Completed);
}

/// An existing run with that id is left unchanged: unclaimed, claimed or ended.
pub async fn a_first_commit_of_a_known_run_is_refused(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    let check = async |what: &str| {
        let before = play.stored(&run).await;
        for new in [new_run("r"), NewRun { input: json("[2]"), ..new_run("r") }] {
            play.refused(&beginning(&play, new).await).await;
        }
        assert_eq!(play.stored(&run).await, before, "{what}");
    };
    check("ready").await;
    let claimed = play.claim().await;
    check("claimed").await;
    play.done(&Draft::of(&claimed).awaiting(&["go"])).await;
    check("waiting").await;
    play.deliver(&run, signal("s1", "go")).await;
    play.done(&Draft::of(&play.claim().await).completed()).await;
    check("ended").await;
    play.nothing_to_take().await;
}

/// Other items of the same request are not affected.
pub async fn a_refused_first_commit_leaves_the_others_alone(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.start("known").await;
    let [known, a, b] = ["known", "a", "b"].map(new_run);
    let (known, a, b) = (beginning(&play, known).await, beginning(&play, a).await, beginning(&play, b).await);
    let outcomes = play.commit(&[&a, &known, &b]).await;
    assert!(matches!(&outcomes[..], [CommitOutcome::Done(_), CommitOutcome::Stale, CommitOutcome::Done(_)]));
    assert_eq!(play.picture(&"known".into()).await.summary.status, Status::Pending);
    assert_eq!(play.history(&"b".into()).await, b.item.events);
}

pub async fn nothing_begins_while_its_workflow_is_paused(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let draft = beginning(&play, new_run("r")).await;
    play.order(Control::PauseWorkflow { workflow: "drill".into() }).await;
    play.refused(&draft).await;
    assert_eq!(play.find(&"r".into()).await, None);
    play.order(Control::ResumeWorkflow { workflow: "drill".into() }).await;
    play.done(&draft).await;
}

pub async fn of_two_who_begin_a_run_one_does(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    for round in 0..20 {
        let id = format!("r{round}");
        let (mine, theirs) = (beginning(&play, new_run(&id)).await, beginning(&other, new_run(&id)).await);
        let (mine, theirs) = ([&mine], [&theirs]);
        let (mine, theirs) = tokio::join!(play.commit(&mine), other.commit(&theirs));
        let done = |outcomes: &[CommitOutcome]| matches!(outcomes, [CommitOutcome::Done(_)]);
        assert!(done(&mine) ^ done(&theirs), "{id}");
        assert_eq!(play.picture(&id.as_str().into()).await.row.revision, 1);
    }
}

/// A process that knows a workflow need not read it again: the commit checks the version.
pub async fn a_run_may_begin_with_the_current_version_only(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let [one, two] = ["one", "two"].map(|source| definition("drill", source));
    let register = async |definition: &Definition| {
        let (tenant, definitions) = (play.tenant.clone(), vec![definition.clone()]);
        play.world.register(Register { tenant, definitions }).await.unwrap();
    };
    let begin = async |id: &str, definition: &Definition| {
        let new = NewRun { version: definition.version.clone(), ..new_run(id) };
        beginning(&play, new).await.with(|item| item.if_current = true)
    };
    play.refused(&begin("nobody", &one).await).await;
    register(&one).await;
    play.done(&begin("first", &one).await).await;
    register(&two).await;
    play.refused(&begin("passed", &one).await).await;
    assert_eq!(play.find(&"passed".into()).await, None);
    play.done(&begin("second", &two).await).await;
    play.done(&begin("pinned", &one).await.with(|item| item.if_current = false)).await;
}
