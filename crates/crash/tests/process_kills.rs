//! Real worker processes, killed and stopped for real, on SQLite and on PostgreSQL.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod lab;

use std::collections::BTreeSet;
use std::time::Instant;

use lab::{Lab, On, eventually};
use rhythm::{EnqueueTask, Payload, Status, TaskId, WorkflowKind};
use rhythm_engine::world::{TaskQuery, TaskState};

const TASKS: usize = 1_000;

async fn in_state(lab: &Lab, state: TaskState) -> BTreeSet<TaskId> {
    let mut found = BTreeSet::new();
    let tenant = lab.client.tenant().clone();
    let mut query = TaskQuery { tenant, state: Some(state), limit: 500, ..TaskQuery::default() };
    loop {
        let page = lab.client.world().list_tasks(query.clone()).await.unwrap();
        found.extend(page.rows.into_iter().map(|task| task.id));
        match page.next {
            Some(next) => query.cursor = Some(next),
            None => return found,
        }
    }
}

/// SIGKILL in the middle of a thousand tasks: a new worker goes on, nothing acknowledged is lost or repeated.
async fn a_killed_worker_loses_nothing(on: On) {
    let lab = Lab::new(on).await;
    let task = || EnqueueTask {
        name: "work".into(),
        input: Payload::parse(r#"{"millis":5}"#.into()).unwrap(),
        ..EnqueueTask::default()
    };
    let all: BTreeSet<TaskId> =
        lab.client.enqueue_tasks((0..TASKS).map(|_| task()).collect()).await.unwrap().into_iter().collect();
    let mut first = lab.worker(&[]);
    eventually("a third is done", || async { in_state(&lab, TaskState::Completed).await.len() >= TASKS / 3 })
        .await;
    first.kill();
    let killed = Instant::now();
    let acknowledged = in_state(&lab, TaskState::Completed).await;
    let orphans = in_state(&lab, TaskState::Running).await;
    assert!(acknowledged.len() < TASKS, "the kill came too late to mean anything");
    let second = lab.worker(&[]);
    eventually("the orphans are done", || async {
        orphans.is_disjoint(&in_state(&lab, TaskState::Running).await)
            && orphans.is_subset(&in_state(&lab, TaskState::Completed).await)
    })
    .await;
    let recovered = killed.elapsed();
    eventually("all is done", || async { in_state(&lab, TaskState::Completed).await.len() == TASKS }).await;
    assert_eq!(in_state(&lab, TaskState::Completed).await, all);
    let again: Vec<String> = lab
        .ledger_keys("began", second.id())
        .into_iter()
        .filter(|key| acknowledged.iter().any(|task| task.attempt_key(1) == *key))
        .collect();
    assert_eq!(again, Vec::<String>::new(), "acknowledged tasks were begun again");
    // Recovery by an expired claim would take 30 s; the death itself must be noticed.
    assert!(recovered.as_secs() < 20, "orphans were done only {recovered:?} after the kill");
    eprintln!(
        "{on:?}: killed after {} of {TASKS}, {} in flight; orphans done {:.2} s after the kill",
        acknowledged.len(),
        orphans.len(),
        recovered.as_secs_f64()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_killed_in_the_middle_loses_nothing_on_sqlite() {
    a_killed_worker_loses_nothing(On::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_killed_in_the_middle_loses_nothing_on_postgres() {
    a_killed_worker_loses_nothing(On::Postgres).await;
}

/// SIGSTOP in the middle of a step, SIGCONT after somebody else did it: the sleeper's commit is refused.
async fn a_stopped_worker_that_wakes_up_cannot_commit(on: On) {
    let lab = Lab::new(on).await;
    let plan = r#"{"steps":[{"task":{"name":"work","input":{"millis":2000}}},{"signal":{"name":"end"}}]}"#;
    lab.client.register("one-step", WorkflowKind::Drill, plan).await.unwrap();
    let run = lab.client.start("one-step", &()).await.unwrap();
    let sleeper = lab.worker(&["fast"]);
    eventually("the sleeper began", || async { !lab.ledger_keys("began", sleeper.id()).is_empty() }).await;
    sleeper.signal("STOP");
    let other = lab.worker(&["fast"]);
    eventually("the other did it", || async {
        let picture = lab.client.picture(&run).await.unwrap();
        picture.row.awaiting().contains("end")
    })
    .await;
    assert_eq!(lab.ledger_keys("did", sleeper.id()).len(), 0, "the sleeper was not stopped in time");
    let before = lab.client.picture(&run).await.unwrap();
    sleeper.signal("CONT");
    eventually("the sleeper woke up and finished its attempt", || async {
        // Its handler may also be told that the claim is lost before it gets there.
        let workers = lab.client.world().workers(lab.client.tenant()).await.unwrap();
        workers.iter().filter(|worker| worker.card.pid == sleeper.id()).any(|worker| worker.running == 0)
    })
    .await;
    let after = lab.client.picture(&run).await.unwrap();
    assert_eq!((after.summary.revision, after.summary.seq), (before.summary.revision, before.summary.seq));
    assert_eq!(after.row.state, before.row.state);
    // The result in the run is the other worker's.
    lab.client.signal(&run, "end", Payload::null(), None).await.unwrap();
    let kept: (u32, ()) = lab.client.result(&run).await.unwrap();
    assert_eq!(kept.0, other.id());
    assert_eq!(lab.client.picture(&run).await.unwrap().summary.status, Status::Completed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_worker_that_wakes_up_cannot_commit_on_sqlite() {
    a_stopped_worker_that_wakes_up_cannot_commit(On::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_worker_that_wakes_up_cannot_commit_on_postgres() {
    a_stopped_worker_that_wakes_up_cannot_commit(On::Postgres).await;
}
