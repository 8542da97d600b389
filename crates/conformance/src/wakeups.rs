//! Promise 7: wake-ups are hints; polling alone suffices.

use std::time::Duration;

use rhythm_core::TaskId;
use rhythm_engine::world::*;
use tokio::sync::watch;

use super::Stage;
use super::play::*;

/// Time limit for a hint; usually it takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

async fn hears(receiver: &mut watch::Receiver<u64>, what: &str) {
    let heard = tokio::time::timeout(PATIENCE, receiver.changed()).await;
    heard.unwrap_or_else(|_| panic!("no hint about {what}")).expect("the world is there");
}

pub async fn work_wakes_up_other_handles(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    let mut wakeups = other.world.wakeups();
    wakeups.runs.mark_unchanged();
    play.start("r").await;
    hears(&mut wakeups.runs, "a new run").await;
    wakeups.tasks.mark_unchanged();
    play.queue(new_task("t")).await;
    hears(&mut wakeups.tasks, "a new task").await;
}

pub async fn work_wakes_up_its_own_handle(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let mut wakeups = play.world.wakeups();
    wakeups.runs.mark_unchanged();
    let run = play.start("r").await;
    hears(&mut wakeups.runs, "a new run").await;

    let claimed = play.claim().await;
    wakeups.tasks.mark_unchanged();
    play.done(&Draft::of(&claimed).awaiting(&["go"]).task(1)).await;
    hears(&mut wakeups.tasks, "a task of a commit").await;
    wakeups.runs.mark_unchanged();
    play.deliver(&run, signal("s1", "go")).await;
    hears(&mut wakeups.runs, "a signal").await;

    let claimed = play.claim().await;
    play.done(&Draft::of(&claimed)).await;
    let task = play.take().await;
    wakeups.runs.mark_unchanged();
    play.complete(&task).await;
    hears(&mut wakeups.runs, "a finished task").await;
}

pub async fn what_becomes_due_wakes_up(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let due = play.now().await.plus(secs(1));
    play.waiting("r", |draft| draft.timer(1, due)).await;
    play.queue(NewTask { options: delayed(secs(1)), ..new_task("t") }).await;
    let mut wakeups = play.world.wakeups();
    wakeups.runs.mark_unchanged();
    wakeups.tasks.mark_unchanged();
    play.pass(secs(1)).await;
    hears(&mut wakeups.runs, "a timer").await;
    hears(&mut wakeups.tasks, "a delayed task").await;
}

pub async fn a_cancelled_task_wakes_up_its_holder(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    play.waiting("r", |draft| draft.task(1)).await;
    other.take().await;
    let mut wakeups = other.world.wakeups();
    wakeups.cancels.mark_unchanged();
    play.deliver(&"r".into(), cancel("c1")).await;
    let stop = vec![TaskId::new("r:1")];
    play.done(&Draft::of(&play.claim().await).with(|item| item.cancel_tasks = stop)).await;
    hears(&mut wakeups.cancels, "a cancelled task").await;
}

/// No process listens to hints here, and still all work is found and done.
pub async fn polling_alone_finds_all_work(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let poller = play.another("w2").await;
    play.create((0..20).map(|n| new_run(&format!("r{n}"))).collect()).await;
    let due = play.now().await.plus(secs(5));
    for claimed in poller.claims(50).await {
        poller.done(&Draft::of(&claimed).task(1).timer(2, due)).await;
    }
    for task in poller.takes(50).await {
        assert_eq!(poller.complete(&task).await, Finish::Done);
    }
    for claimed in poller.claims(50).await {
        assert_eq!(ids(&claimed.messages), ["task:1"]);
        poller.done(&Draft::of(&claimed)).await;
    }
    poller.pass(secs(5)).await;
    let mut ended = 0;
    for claimed in poller.claims(50).await {
        assert_eq!(ids(&claimed.messages), ["timer:2"]);
        poller.done(&Draft::of(&claimed).completed()).await;
        ended += 1;
    }
    assert_eq!(ended, 20);
    let report = poller.sweep().await;
    assert_eq!((report.runs_ready, report.tasks_ready, report.next_due), (false, false, None));
}
