//! Tenants never see each other's rows, in any method.

use rhythm_core::{BlobRef, Millis, RunId};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

/// Gives a tenant one of everything.
async fn furnish(play: &Play<'_>) {
    let definitions = vec![definition("drill", play.tenant.as_str())];
    play.world.register(Register { tenant: play.tenant.clone(), definitions }).await.unwrap();
    play.waiting("waiting", |draft| draft.awaiting(&["go"]).task(1)).await;
    play.waiting("ended", Draft::failed).await;
    play.take().await;
    play.queue(NewTask { input: json(&format!("{:?}", play.tenant.as_str())), ..new_task("t") }).await;
    play.queue(new_task("dead")).await;
    let tasks = play.takes(2).await;
    play.finish(&tasks[0], TaskOutcome::Released).await;
    play.finish(&tasks[1], TaskOutcome::Exhausted { failure: failure("X"), hold: false }).await;
    play.start("ready").await;
    play.order(Control::PutSchedule(schedule("nightly", play.now().await))).await;
}

pub async fn a_tenant_lists_only_its_own(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    furnish(&play.tenant("acme").await).await;
    let stranger = Play { tenant: "stranger".into(), ..play.another("w2").await };
    let (world, tenant) = (&stranger.world, &stranger.tenant);
    let runs = RunQuery { tenant: tenant.clone(), limit: 9, ..RunQuery::default() };
    assert_eq!(world.list_runs(runs).await.unwrap().rows, []);
    let tasks = TaskQuery { tenant: tenant.clone(), limit: 9, ..TaskQuery::default() };
    assert_eq!(world.list_tasks(tasks).await.unwrap().rows, []);
    assert_eq!(stranger.dead().await, []);
    assert_eq!(world.workers(tenant).await.unwrap(), []);
    assert_eq!(world.queues(tenant).await.unwrap(), []);
    assert_eq!(world.schedules(tenant).await.unwrap(), []);
    assert_eq!(world.workflows(tenant).await.unwrap(), []);
    let query = DefinitionQuery { tenant: tenant.clone(), workflow: "drill".to_owned(), version: None };
    assert_eq!(world.definition(query).await.unwrap(), None);
    for run in ["waiting", "ended", "ready"] {
        assert_eq!(stranger.stored(&run.into()).await, (None, vec![]));
        assert_eq!(world.attempts(tenant, &run.into()).await.unwrap(), []);
    }
    assert_eq!(stranger.find_task(&"t".into()).await, None);
}

pub async fn a_tenant_claims_and_moves_only_its_own(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let acme = play.tenant("acme").await;
    let run = acme.waiting("r", |draft| draft.awaiting(&["go"]).task(1)).await;
    let task = acme.take().await;
    acme.deliver(&run, signal("s1", "go")).await;
    let claimed = acme.claim().await;
    acme.start("ready").await;
    acme.queue(new_task("t")).await;

    // The same worker with current claims of another tenant: they do not count here.
    let stranger = play.tenant("stranger").await;
    stranger.nothing_to_claim().await;
    stranger.nothing_to_take().await;
    let before = acme.stored(&run).await;
    assert_eq!(stranger.commit(&[&Draft::of(&claimed)]).await, [CommitOutcome::Stale]);
    assert_eq!(stranger.complete(&task).await, Finish::Stale);
    assert_eq!(stranger.beat_for(&task, Some(json("1"))).await.lost, std::slice::from_ref(&task.id));
    assert_eq!(stranger.deliver(&run, signal("s2", "go")).await, Delivered::NotFound);
    stranger.release(&claimed, ReleaseOutcome::Idle { arrived: 9 }).await;
    assert_eq!(acme.stored(&run).await, before);
    acme.done(&Draft::of(&claimed)).await;
    assert_eq!(acme.complete(&task).await, Finish::Done);
}

pub async fn a_tenant_controls_only_its_own(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let acme = play.tenant("acme").await;
    furnish(&acme).await;
    let stranger = play.tenant("stranger").await;
    let run = || RunId::new("waiting");
    let reopen = Control::Reopen {
        run: "ended".into(),
        revision: 1,
        reason: String::new(),
        requeue: vec![],
        redeliver: vec![],
        fresh: None,
    };
    let orders = [
        Control::PauseRun { run: run(), reason: String::new() },
        Control::Unblock { run: run() },
        reopen,
        Control::RequeueDead { task: "dead".into() },
        Control::DiscardDead { task: "dead".into(), message: None },
        Control::RemoveSchedule { name: "nightly".to_owned() },
        Control::PauseSchedule { name: "nightly".to_owned() },
    ];
    for order in orders {
        let answer = stranger.control(order.clone()).await;
        assert!(matches!(answer, Err(WorldError::NotFound(_))), "{order:?}: {answer:?}");
    }
    assert_eq!(acme.dead().await.len(), 1);
    // Names belong to their tenant.
    stranger.order(Control::PauseWorkflow { workflow: "drill".to_owned() }).await;
    stranger.order(Control::PauseQueue { queue: "default".to_owned() }).await;
    assert_eq!((acme.claim().await.run.id.as_str(), acme.take().await.id.as_str()), ("ready", "t"));
}

pub async fn a_blob_is_read_by_its_tenant_only(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (acme, stranger) = (play.tenant("acme").await, play.tenant("stranger").await);
    let blob = BlobRef::of(b"secret");
    acme.world.put_blob(&acme.tenant, &blob, b"secret").await.unwrap();
    let answer = stranger.world.read_blob(&stranger.tenant, &blob).await;
    assert!(matches!(answer, Err(WorldError::NotFound(_))), "{answer:?}");
    stranger.world.put_blob(&stranger.tenant, &blob, b"secret").await.unwrap();
    assert_eq!(&stranger.world.read_blob(&stranger.tenant, &blob).await.unwrap()[..], b"secret");
}

/// Equal ids do not collide, so a tenant cannot learn which ids another one has.
pub async fn the_same_ids_in_two_tenants_are_two_things(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (acme, other) = (play.tenant("acme").await, play.tenant("other").await);
    furnish(&acme).await;
    furnish(&other).await;
    let tenants = [&acme, &other];
    for play in tenants {
        let claimed = play.claim().await;
        assert_eq!((claimed.run.id.as_str(), &claimed.run.tenant), ("ready", &play.tenant));
        play.done(&Draft::of(&claimed).completed()).await;
        let task = play.take().await;
        assert_eq!(task.input, json(&format!("{:?}", play.tenant.as_str())));
        assert_eq!(play.deliver(&"waiting".into(), signal("s1", "go")).await, Delivered::Accepted);
    }
    for play in tenants {
        assert_eq!(ids(&play.claim().await.messages), ["s1"]);
        assert_eq!((play.dead().await.len(), play.history(&"ready".into()).await.len()), (1, 2));
    }
}

pub async fn upkeep_serves_every_tenant(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (acme, other) = (play.tenant("acme").await, play.tenant("other").await);
    let due = play.now().await.plus(secs(1));
    for play in [&acme, &other] {
        play.waiting("r", |draft| draft.timer(1, due)).await;
        play.order(Control::PutSchedule(schedule("nightly", due))).await;
    }
    play.pass(secs(1)).await;
    let report = play.upkeep(Upkeep::DueSchedules { limit: 9 }).await;
    let mut tenants: Vec<_> = report.schedules.into_iter().map(|(tenant, _)| tenant.0).collect();
    tenants.sort();
    assert_eq!(tenants, ["acme", "other"]);
    for play in [&acme, &other] {
        let claimed = play.claim().await;
        assert_eq!(ids(&claimed.messages), ["timer:1"]);
        play.done(&Draft::of(&claimed)).await;
    }
    stage.clock().advance(secs(3600));
    let report = play.upkeep(Upkeep::FindStuck { idle: Millis(1), limit: 9 }).await;
    assert_eq!(report.stuck.len(), 2);
}

/// A sweep cancels tasks by tenant and id, not by id alone.
pub async fn cancelled_tasks_of_one_name_end_for_each_tenant(stage: &dyn Stage) {
    let ours = Play::on(stage).await;
    let theirs = ours.tenant("other").await;
    for play in [&ours, &theirs] {
        let task = play.queue(new_task("t")).await;
        play.take().await;
        play.order(Control::CancelTask { task }).await;
    }
    ours.pass(secs(31)).await;
    for play in [&ours, &theirs] {
        assert_eq!(play.task(&"t".into()).await.state, TaskState::Cancelled);
    }
}
