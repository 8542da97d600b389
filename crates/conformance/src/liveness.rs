//! Heartbeats, and the release of claims whose holders died, stopped sending heartbeats or took too long.

use std::time::Duration;

use rhythm_core::{Millis, TaskId};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

/// Sweeps until a task has no holder. The operating system or the database server needs real time to notice a
/// death, which the test clock does not move, so the loop pauses.
async fn until_freed(play: &Play<'_>, task: &TaskId) {
    for _ in 0..1_000 {
        play.pass(Millis(1_100)).await;
        if play.task(task).await.state != TaskState::Running {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("the claims of a dead process were never freed");
}

pub async fn a_heartbeat_renews_claims(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.enqueue(vec![new_task("kept"), new_task("lost")]).await;
    let tasks = play.takes(2).await;
    for _ in 0..3 {
        play.pass(secs(20)).await;
        let answer = play.beat_for(&tasks[0], None).await;
        assert_eq!((answer.lost, answer.cancelled), (vec![], vec![]));
    }
    assert_eq!(play.take().await.id.as_str(), "lost");
    play.nothing_to_take().await;
    play.pass(secs(31)).await;
    assert_eq!(play.takes(2).await.len(), 2);
}

pub async fn a_heartbeat_tells_which_claims_are_lost(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    play.enqueue(vec![new_task("a"), new_task("b")]).await;
    let tasks = play.takes(2).await;
    play.pass(secs(31)).await;
    let taken = other.takes(1).await;
    assert_eq!(taken[0].id.as_str(), "a");
    let gone = Beat { claim: TaskClaim { task: "nothing".into(), claim: 1 }, progress: None };
    let beats = tasks.iter().map(|task| Beat { claim: claim_of(task), progress: Some(json("9")) });
    let mut lost = play.beat(beats.chain([gone]).collect()).await.lost;
    lost.sort();
    // `b` was freed but not claimed again. Its former holder still loses it and cannot renew it.
    assert_eq!(lost, ["a".into(), "b".into(), "nothing".into()]);
    assert_eq!(play.task(&"a".into()).await.progress, None, "nothing a former holder says is kept");
    assert_eq!(other.beat_for(&taken[0], None).await.lost, []);
}

pub async fn progress_reaches_the_next_delivery(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let id = play.queue(new_task("t")).await;
    let task = play.take().await;
    play.beat_for(&task, Some(json(r#"{"page":3}"#))).await;
    // A heartbeat without progress keeps the last progress.
    play.beat_for(&task, None).await;
    assert_eq!(play.task(&id).await.progress, Some(json(r#"{"page":3}"#)));
    play.pass(secs(31)).await;
    let task = play.take().await;
    assert_eq!((task.delivery, &task.progress), (2, &Some(json(r#"{"page":3}"#))));
    // The next attempt keeps it too.
    play.finish(&task, TaskOutcome::Retry { failure: failure("X"), delay: secs(1) }).await;
    play.pass(secs(1)).await;
    assert_eq!(play.take().await.progress, Some(json(r#"{"page":3}"#)));
}

pub async fn expired_claims_are_freed(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    play.claim().await;
    let id = play.queue(new_task("t")).await;
    play.take().await;
    play.pass(secs(29)).await;
    play.nothing_to_claim().await;
    play.nothing_to_take().await;
    play.pass(secs(2)).await;
    let picture = play.picture(&run).await;
    assert_eq!((picture.claimed_by, picture.ready_since.is_some()), (None, true));
    let task = play.task(&id).await;
    assert_eq!((task.state, task.worker, task.delivery), (TaskState::Ready, None, 1));
    assert_eq!((play.claim().await.deliveries, play.take().await.delivery), (2, 2));
}

pub async fn a_dead_process_frees_its_claims(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let doomed = play.another("doomed").await;
    let run = play.start("r").await;
    let id = play.queue(new_task("t")).await;
    let hold = secs(100_000);
    doomed.world.claim_runs(ClaimRuns { hold, ..doomed.claim_request(1) }).await.unwrap();
    doomed.world.claim_tasks(ClaimTasks { hold, ..doomed.take_request(1) }).await.unwrap();
    drop(doomed);
    // Nothing is freed within the first second: the process may only have lost its connection.
    play.sweep().await;
    play.sweep().await;
    assert_eq!(play.task(&id).await.state, TaskState::Running);

    until_freed(&play, &id).await;
    assert_eq!(play.picture(&run).await.claimed_by, None);
    assert_eq!((play.claim().await.run.id, play.take().await.id), (run, id));
    let workers = play.world.workers(&play.tenant).await.unwrap();
    assert!(workers.iter().all(|row| row.card.id.as_str() != "doomed"), "{workers:?}");
}

pub async fn a_live_process_keeps_its_claims(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    let run = play.start("r").await;
    let id = play.queue(new_task("t")).await;
    let hold = secs(100_000);
    other.world.claim_runs(ClaimRuns { hold, ..other.claim_request(1) }).await.unwrap();
    other.world.claim_tasks(ClaimTasks { hold, ..other.take_request(1) }).await.unwrap();
    for _ in 0..20 {
        play.pass(Millis(1_100)).await;
    }
    assert_eq!(play.task(&id).await.worker.as_deref(), Some("w2"));
    assert_eq!(play.picture(&run).await.claimed_by.as_deref(), Some("w2"));
}

/// A hung process keeps its liveness mark but sends no heartbeats.
pub async fn a_silent_worker_is_given_up(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let silent = play.another("silent").await;
    let promise = WorkerCard { silence: secs(30), ..card("silent") };
    silent.world.extend(Extend { card: promise, ..silent.beat_request(vec![]) }).await.unwrap();
    let run = play.start("r").await;
    let id = play.queue(new_task("t")).await;
    let hold = secs(100_000);
    silent.world.claim_runs(ClaimRuns { hold, ..silent.claim_request(1) }).await.unwrap();
    silent.world.claim_tasks(ClaimTasks { hold, ..silent.take_request(1) }).await.unwrap();
    stage.clock().advance(secs(29));
    play.sweep().await;
    assert_eq!(play.task(&id).await.state, TaskState::Running);

    // The other worker has been silent as long, but its heartbeat timeout is longer.
    stage.clock().advance(secs(2));
    play.sweep().await;
    assert_eq!((play.claim().await.run.id, play.take().await.id), (run, id));
    let workers = async || {
        let rows = play.world.workers(&play.tenant).await.unwrap();
        rows.into_iter().map(|row| row.card.id.0).collect::<Vec<_>>()
    };
    assert_eq!(workers().await, ["w1"]);
    // The worker was only slow: its next heartbeat registers it again.
    silent.beat(vec![]).await;
    let mut back = workers().await;
    back.sort();
    assert_eq!(back, ["silent", "w1"]);
}

/// The last worker of a world is killed, so no process sweeps. Readers must still see that it is gone.
pub async fn a_reader_sees_that_a_process_is_gone(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let doomed = play.another("doomed").await;
    let live = async || {
        let rows = play.world.workers(&play.tenant).await.unwrap();
        let names = rows.into_iter().filter(|row| row.live).map(|row| row.card.id.0);
        let queues = play.world.queues(&play.tenant).await.unwrap();
        (names.collect::<Vec<_>>(), queues.iter().map(|queue| queue.workers).sum::<u64>())
    };
    assert_eq!(live().await, (vec!["doomed".to_owned(), "w1".to_owned()], 2));
    drop(doomed);
    for _ in 0..1_000 {
        if live().await.0.len() == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(live().await, (vec!["w1".to_owned()], 1));
    let rows = play.world.workers(&play.tenant).await.unwrap();
    assert_eq!(rows.len(), 2, "the row stays for whoever looks after the world");
}

pub async fn a_reader_sees_that_a_worker_is_silent(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let promise = WorkerCard { silence: secs(30), ..card("w1") };
    play.world.extend(Extend { card: promise, ..play.beat_request(vec![]) }).await.unwrap();
    let live = async || play.world.workers(&play.tenant).await.unwrap()[0].live;
    stage.clock().advance(secs(30));
    assert!(live().await);
    stage.clock().advance(secs(1));
    assert!(!live().await);
    assert!(play.world.queues(&play.tenant).await.unwrap().iter().all(|queue| queue.workers == 0));
}

pub async fn a_worker_is_listed_while_it_is_there(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let started_at = play.now().await;
    stage.clock().advance(secs(7));
    let grown = WorkerCard { queues: vec!["mail".to_owned()], concurrency: 9, ..card("w1") };
    let request = Extend { card: grown.clone(), running: 3, ..play.beat_request(vec![]) };
    play.world.extend(request).await.unwrap();
    let workers = play.world.workers(&play.tenant).await.unwrap();
    assert_eq!(workers.len(), 1);
    assert_eq!((&workers[0].card, workers[0].running), (&grown, 3));
    assert_eq!((workers[0].started_at, workers[0].beat_at), (started_at, play.now().await));
    play.leave().await;
    assert_eq!(play.world.workers(&play.tenant).await.unwrap(), []);
}

/// A leaving process does not remove the row of its successor with the same name.
pub async fn whoever_leaves_takes_only_itself_off_the_list(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let successor = play.another("w1").await;
    play.leave().await;
    let workers = play.world.workers(&play.tenant).await.unwrap();
    assert_eq!(workers.iter().map(|worker| worker.card.id.as_str()).collect::<Vec<_>>(), ["w1"]);
    successor.leave().await;
    assert_eq!(play.world.workers(&play.tenant).await.unwrap(), []);
}

/// A handle that closes cleanly releases no claims of other processes.
pub async fn a_death_frees_only_its_own_claims(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let survivor = play.another("survivor").await;
    let doomed = play.another("doomed").await;
    play.enqueue(vec![new_task("mine"), new_task("theirs")]).await;
    let hold = secs(100_000);
    survivor.world.claim_tasks(ClaimTasks { hold, ..survivor.take_request(1) }).await.unwrap();
    doomed.world.claim_tasks(ClaimTasks { hold, ..doomed.take_request(1) }).await.unwrap();
    drop(doomed);
    until_freed(&play, &"theirs".into()).await;
    assert_eq!(play.task(&"mine".into()).await.worker.as_deref(), Some("survivor"));
}
