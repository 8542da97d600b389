//! Promise 9: acknowledged writes survive the death of any process.

use rhythm_core::{BlobRef, Status};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

pub async fn acknowledged_work_survives_reopening(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let due = play.now().await.plus(secs(60));
    let waiting = play.waiting("waiting", |draft| draft.awaiting(&["go"]).timer(1, due).task(2)).await;
    let ended = play.waiting("ended", Draft::completed).await;
    let fresh = play.start("fresh").await;
    play.deliver(&waiting, signal("s1", "not yet")).await;
    let task = play.queue(new_task("t")).await;
    play.order(Control::PutSchedule(schedule("nightly", due))).await;
    play.order(Control::PauseQueue { queue: "slow".to_owned() }).await;
    let one = definition("drill", "one");
    play.world
        .register(Register { tenant: play.tenant.clone(), definitions: vec![one.clone()] })
        .await
        .unwrap();
    let blob = BlobRef::of(b"content");
    play.world.put_blob(&play.tenant, &blob, b"content").await.unwrap();
    let before = [play.stored(&waiting).await, play.stored(&ended).await, play.stored(&fresh).await];
    drop(play);

    let play = Play::on(stage).await;
    assert_eq!([play.stored(&waiting).await, play.stored(&ended).await, play.stored(&fresh).await], before);
    assert_eq!(play.task(&task).await.state, TaskState::Ready);
    assert_eq!(play.world.schedules(&play.tenant).await.unwrap(), [schedule("nightly", due)]);
    let query = DefinitionQuery { tenant: play.tenant.clone(), workflow: "drill".to_owned(), version: None };
    assert_eq!(play.world.definition(query).await.unwrap(), Some(one));
    assert_eq!(&play.world.read_blob(&play.tenant, &blob).await.unwrap()[..], b"content");
    let again = Control::PauseQueue { queue: "slow".to_owned() };
    assert_eq!(play.control(again).await, Ok(Controlled::Unchanged));
    assert_eq!(play.deliver(&waiting, signal("s1", "not yet")).await, Delivered::Duplicate);
    // Work continues from the stored state.
    let claimed = play.claim().await;
    assert_eq!((&claimed.run.id, play.takes(9).await.len()), (&fresh, 2));
    play.done(&Draft::of(&claimed).completed()).await;
    play.pass(secs(60)).await;
    assert_eq!(ids(&play.claim().await.messages), ["s1", "timer:1"]);
}

/// A worker that lost its connection keeps its claims.
pub async fn claims_survive_reopening(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.start("r").await;
    play.queue(new_task("t")).await;
    let (claimed, task) = (play.claim().await, play.take().await);
    drop(play);
    let play = Play::on(stage).await;
    play.nothing_to_claim().await;
    play.nothing_to_take().await;
    play.done(&Draft::of(&claimed)).await;
    assert_eq!(play.finish(&task, TaskOutcome::Completed { output: json("1") }).await, Finish::Done);
}

/// The process died before it got the response to its commit.
pub async fn a_commit_can_be_repeated_after_reopening(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    let draft = Draft::of(&play.claim().await).own_task(1);
    let first = play.done(&draft).await;
    drop(play);
    let play = Play::on(stage).await;
    assert_eq!(play.done(&draft).await, first);
    assert_eq!(play.picture(&run).await.summary.revision, 1);
}

pub async fn finished_runs_stay_readable_until_retention(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let old = play.waiting("old", Draft::completed).await;
    let before = play.stored(&old).await;
    play.upkeep(Upkeep::Retain { keep: days(30), keep_failed: days(30), limit: 1_000 }).await;
    assert_eq!(play.stored(&old).await, before);

    stage.clock().advance(days(100));
    play.upkeep(Upkeep::Prepare).await;
    let new = play.waiting("new", Draft::failed).await;
    play.upkeep(Upkeep::Retain { keep: days(30), keep_failed: days(30), limit: 1_000 }).await;
    assert_eq!(play.stored(&old).await, (None, vec![]));
    let picture = play.picture(&new).await;
    assert_eq!((picture.summary.status, play.history(&new).await.len()), (Status::Failed, 2));
}
