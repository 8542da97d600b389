//! Beginnings of runs: definitions, creation, the start message.

use std::collections::BTreeMap;

use rhythm_core::message::{ApprovalDecided, MessageBody, Start};
use rhythm_core::{CommandId, MessageId, Status, Version, WorkflowKind};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

pub async fn a_new_run_is_pending_and_begins_with_its_start(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let labels = BTreeMap::from([("team".to_owned(), "blue".to_owned())]);
    let new = NewRun { priority: 3, labels: labels.clone(), ..new_run("r") };
    let run = play.start_as(new.clone()).await;
    let created_at = play.now().await;
    let picture = play.picture(&run).await;
    assert_eq!(picture.summary.status, Status::Pending);
    assert_eq!((picture.summary.priority, &picture.summary.labels), (3, &labels));
    assert_eq!((picture.row.revision, picture.row.arrived, picture.row.state.seq), (0, 0, 0));
    assert_eq!(picture.input, new.input);

    stage.clock().advance(secs(5));
    let claimed = play.claim().await;
    assert_eq!((claimed.claim, claimed.deliveries, claimed.more), (1, 1, false));
    assert_eq!((claimed.run.workflow.as_str(), &claimed.run.version), ("drill", &new.version));
    assert_eq!(claimed.run.created_at, created_at);
    let [start] = &claimed.messages[..] else { panic!("one message: {:?}", claimed.messages) };
    assert_eq!((&start.id, start.at), (&MessageId::start(), created_at));
    assert_eq!((&start.actor, &start.trace), (&new.actor, &new.trace));
    assert_eq!(start.body, MessageBody::Start(Start { input: new.input }));
}

/// `r.1` is the id of the first child of `r`, `r:1` of its first task.
pub async fn a_chosen_run_id_cannot_be_that_of_a_child_or_task(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    for id in ["r.1", "r:1", ".", "a:b.c"] {
        let (tenant, runs) = (play.tenant.clone(), vec![new_run("fine"), new_run(id)]);
        let refused = play.world.create_runs(CreateRuns { tenant, runs }).await.unwrap_err();
        assert_eq!(refused.code(), "WORLD008", "{id}: {refused}");
        assert_eq!((play.find(&id.into()).await, play.find(&"fine".into()).await), (None, None));
    }
    let child = Some(Parent { run: "r".into(), child: CommandId(1) });
    play.start_as(NewRun { parent: child, ..new_run("r.1") }).await;
}

/// For example a cancelled start: the program sees both, the start first.
pub async fn the_start_comes_before_messages_that_overtook_it(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    assert_eq!(play.deliver(&run, cancel("c1")).await, Delivered::Accepted);
    let claimed = play.claim().await;
    assert_eq!(ids(&claimed.messages), ["start", "c1"]);
    // The first commit consumes the start; it is not listed again.
    play.done(&Draft::of(&claimed).only(&claimed.messages[..1]).with(|item| item.more = true)).await;
    assert_eq!(ids(&play.claim().await.messages), ["c1"]);
}

pub async fn the_same_run_again_exists(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.start("r").await;
    assert_eq!(play.create(vec![new_run("r")]).await, [Creation::Exists]);
    // Other fields of the request do not matter: the key stands for workflow and input.
    let other_wish = NewRun { priority: 9, delay: secs(1), ..new_run("r") };
    assert_eq!(play.create(vec![other_wish]).await, [Creation::Exists]);
    play.done(&Draft::of(&play.claim().await).completed()).await;
    assert_eq!(play.create(vec![new_run("r")]).await, [Creation::Exists]);
    play.nothing_to_claim().await;
}

pub async fn another_input_under_the_same_id_conflicts(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    let input = NewRun { input: json("[]"), ..new_run("r") };
    let workflow = NewRun { workflow: "other".to_owned(), ..new_run("r") };
    assert_eq!(play.create(vec![input.clone(), workflow.clone()]).await, [Creation::Conflict; 2]);
    assert_eq!(play.picture(&run).await.input, new_run("r").input);
    play.done(&Draft::of(&play.claim().await).completed()).await;
    assert_eq!(play.create(vec![input, workflow]).await, [Creation::Conflict; 2]);
}

pub async fn runs_of_one_request_are_created_alone(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.start("old").await;
    let conflicting = NewRun { input: json("2"), ..new_run("old") };
    let answers =
        play.create(vec![new_run("a"), new_run("old"), conflicting, new_run("b"), new_run("a")]).await;
    use Creation::{Conflict, Created, Exists};
    assert_eq!(answers, [Created, Exists, Conflict, Created, Exists]);
    assert_eq!(play.claims(9).await.len(), 3);
}

pub async fn definitions_are_kept_by_version(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (one, two) = (definition("drill", "one"), definition("drill", "two"));
    let register = async |definitions: Vec<Definition>| {
        play.world.register(Register { tenant: play.tenant.clone(), definitions }).await.unwrap();
    };
    let find = async |workflow: &str, version: Option<Version>| {
        let query = DefinitionQuery { tenant: play.tenant.clone(), workflow: workflow.to_owned(), version };
        play.world.definition(query).await.unwrap()
    };
    assert_eq!(find("drill", None).await, None);
    register(vec![one.clone()]).await;
    register(vec![two.clone()]).await;
    assert_eq!(find("drill", None).await, Some(two.clone()));
    assert_eq!(find("drill", Some(one.version.clone())).await, Some(one.clone()));
    assert_eq!(find("drill", Some(Version::of(b"three"))).await, None);
    assert_eq!(find("other", Some(one.version.clone())).await, None);
    // A rollback registers the older version again.
    register(vec![one.clone()]).await;
    register(vec![one.clone()]).await;
    assert_eq!(find("drill", None).await, Some(one.clone()));
    let rows = play.world.workflows(&play.tenant).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].workflow.as_str(), rows[0].kind), ("drill", WorkflowKind::Drill));
    assert_eq!((&rows[0].version, rows[0].versions, rows[0].paused), (&one.version, 2, false));
}

pub async fn two_processes_creating_one_run_create_it_once(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    for round in 0..20 {
        let run = new_run(&format!("r{round}"));
        let (one, two) = tokio::join!(play.create(vec![run.clone()]), other.create(vec![run.clone()]));
        let mut answers = [one[0], two[0]];
        answers.sort_by_key(|answer| *answer != Creation::Created);
        assert_eq!(answers, [Creation::Created, Creation::Exists], "round {round}");
    }
    assert_eq!(play.claims(100).await.len(), 20);
}

/// Operators' rows change the revision, but while nothing was committed the start is still to come.
pub async fn a_run_paused_before_its_start_still_starts(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    play.order(Control::PauseRun { run: run.clone(), reason: String::new() }).await;
    assert_eq!(play.picture(&run).await.summary.status, Status::Pending);
    play.nothing_to_claim().await;
    play.order(Control::ResumeRun { run: run.clone(), reason: String::new() }).await;
    let claimed = play.claim().await;
    assert_eq!((ids(&claimed.messages), claimed.run.revision, claimed.run.state.seq), (vec!["start"], 2, 2));
    play.done(&Draft::of(&claimed)).await;
    assert!(play.history(&run).await.iter().map(|row| row.seq).eq(1..=3));
}

/// A claim lost before the first commit gives the start again to the next claimer.
pub async fn a_lost_start_is_given_again(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.start("r").await;
    let first = play.claim().await;
    play.pass(secs(31)).await;
    let second = play.claim().await;
    assert_eq!(second.messages, first.messages);
    play.done(&Draft::of(&second).with(|item| item.more = true)).await;
    assert_eq!(play.claim().await.messages, []);
}

/// Neither messages nor pausing and resuming bring a delayed start forward.
pub async fn nothing_brings_a_delayed_start_forward(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start_as(NewRun { delay: secs(60), ..new_run("r") }).await;
    let answer = MessageBody::ApprovalDecided(ApprovalDecided {
        approval: CommandId(1),
        decision: "approve".into(),
        by: "ann".into(),
        comments: String::new(),
        data: json("null"),
    });
    assert_eq!(play.deliver(&run, message("d1", answer)).await, Delivered::Accepted);
    play.order(Control::PauseRun { run: run.clone(), reason: String::new() }).await;
    play.order(Control::ResumeRun { run: run.clone(), reason: String::new() }).await;
    play.pass(secs(59)).await;
    play.nothing_to_claim().await;
    play.pass(secs(1)).await;
    assert_eq!(ids(&play.claim().await.messages), ["start", "d1"]);
}

pub async fn a_delayed_run_can_be_ended_before_its_start(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start_as(NewRun { delay: secs(60), ..new_run("r") }).await;
    play.deliver(&run, cancel("c1")).await;
    assert_eq!(ids(&play.claim().await.messages), ["start", "c1"]);
    play.start_as(NewRun { delay: secs(60), deadline: Some(secs(10)), ..new_run("late") }).await;
    play.pass(secs(10)).await;
    assert_eq!(ids(&play.claim().await.messages), ["start", "deadline"]);
}

/// No worker here could end it: it is tried again after the delay, not kept until its start.
pub async fn a_delayed_run_released_for_later_can_still_be_ended(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start_as(NewRun { delay: days(1), ..new_run("r") }).await;
    play.deliver(&run, cancel("c1")).await;
    let claimed = play.claim().await;
    play.release(&claimed, ReleaseOutcome::Later { after: secs(60), blocked: None }).await;
    play.pass(secs(60)).await;
    let claimed = play.claim().await;
    assert_eq!(ids(&claimed.messages), ["start", "c1"]);
    play.deliver(&run, cancel("c2")).await;
    let seen = claimed.run.arrived;
    play.release(&claimed, ReleaseOutcome::Idle { arrived: seen }).await;
    assert_eq!(ids(&play.claim().await.messages), ["start", "c1", "c2"]);
}
