//! A server is down for longer than any lease. The first process that connects must not expire the leases of
//! all others.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use rhythm::Rhythm;
use rhythm_core::{Actor, Millis, Payload, TaskId, TaskOptions, TenantId, WorkerId};
use rhythm_crash::cluster::{Cluster, Mode};
use rhythm_engine::world::*;

const HOLD: Millis = Millis(300);

fn card(id: &str) -> WorkerRegistration {
    WorkerRegistration {
        id: WorkerId::new(id),
        host: "here".into(),
        pid: 1,
        version: String::new(),
        queues: vec!["default".into()],
        tasks: vec!["work".into()],
        kinds: Vec::new(),
        workflows: Vec::new(),
        concurrency: 1,
        silence: HOLD,
    }
}

/// Sends a heartbeat with one claim and returns the lost claims.
async fn beat(world: &dyn World, claim: &TaskClaim) -> WorldResult<Vec<TaskId>> {
    let tasks = vec![Beat { claim: claim.clone(), progress: None }];
    let (tenant, hold, card) = (TenantId::default(), HOLD, card("worker"));
    Ok(world.extend(Extend { tenant, card, running: 1, hold, tasks, leaving: false }).await?.lost)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_long_outage_everybody_may_come_back_before_anybody_is_taken_for_dead() {
    let cluster = Cluster::start().await.unwrap();
    let url = cluster.url(&cluster.database().await.unwrap());
    let open = || async { Rhythm::open(&url).await.unwrap().world().clone() };
    let (worker, other) = (open().await, open().await);
    let tenant = TenantId::default();
    let (id, name, options) = (TaskId::new("t"), "work".to_owned(), TaskOptions::default());
    let (input, actor) = (Payload::null(), Actor("test".into()));
    let task = NewTask { id, run: None, name, input, options, actor, trace: None, claim: false };
    worker.enqueue_tasks(EnqueueTasks { tenant: tenant.clone(), tasks: vec![task] }).await.unwrap();
    let request = ClaimTasks {
        tenant,
        worker: WorkerId::new("worker"),
        queues: vec![("default".into(), 1)],
        names: Vec::new(),
        of: None,
        hold: HOLD,
        with_runs: false,
        overdue: false,
        ask: Default::default(),
    };
    let claimed = worker.claim_tasks(request).await.unwrap().tasks.remove(0);
    let claim = TaskClaim { task: claimed.id, claim: claimed.claim };
    assert_eq!(beat(&*worker, &claim).await.unwrap(), []);

    cluster.stop(Mode::Fast).await.unwrap();
    tokio::time::sleep(Duration::from_millis(HOLD.0 * 3)).await;
    cluster.resume().await.unwrap();

    let sweep = || other.upkeep(Upkeep::sweep(10));
    let first = loop {
        match sweep().await {
            Ok(report) => break report,
            Err(error) => assert!(error.is_passing(), "{error}"),
        }
    };
    assert_eq!(first.changed, 0, "the claim ran out while nobody could have renewed it");
    let lost = loop {
        match beat(&*worker, &claim).await {
            Ok(lost) => break lost,
            Err(error) => assert!(error.is_passing(), "{error}"),
        }
    };
    assert_eq!(lost, []);
}
