//! F27: a forgotten open transaction pins its snapshot, so no newer dead tuple can be vacuumed. The queues
//! must not slow down: throughput is compared with that just before, in the same process and on the same
//! database.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rhythm::{Rhythm, RunningWorker, StartRun, TaskContext, TaskError};
use serde_json::Value;
use tokio_postgres::Client as Session;

use crate::lab::{LabResult, On, Scale};
use crate::oracle::examine_some;
use crate::report::Report;
use crate::rig::Rig;
use crate::wait::PATIENCE;

/// Number of runs started ahead of those that ended: enough to keep the workers busy, few enough to end soon.
const AHEAD: u64 = 200;
/// Steps of a run of the load's first workflow.
const STEPS: u64 = 5;

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("pinned_snapshot", on);
    let rig = Rig::open().await?;
    let done = Arc::new(AtomicU64::new(0));
    // Workers run in this process: a recorder that syncs every line would be the bottleneck.
    let mut workers = Vec::new();
    for _ in 0..2 {
        workers.push(worker(&rig.lab.world, &done).await?);
    }
    let feeding = tokio::spawn(feed(rig.lab.client.clone(), done.clone()));
    let length = scale.pick(Duration::from_secs(2), Duration::from_secs(60));
    measure(&done, length / 2).await;
    let baseline = measure(&done, length).await;
    report.say(format_args!("{baseline:.0} steps/s before"));
    let forgotten = pin(&rig).await?;
    report.fault("snapshots pinned", 1);
    measure(&done, length / 2).await;
    let pinned = measure(&done, length).await;
    report.say(format_args!("{pinned:.0} steps/s with a pinned snapshot"));
    let held: i64 = forgotten.query_one("SELECT count(*) FROM rhythm.live_run", &[]).await?.get(0);
    report.say(format_args!("the snapshot still sees {held} runs"));
    drop(forgotten);
    feeding.abort();
    let rested = rig.lab.comes_to_rest(PATIENCE).await;
    report.hold(rested, || "work was still open long after".into());
    for worker in workers {
        worker.stop().await?;
    }
    // Examines one run in sixteen fully.
    let findings = examine_some(&rig.lab, |run| run.id.as_str().ends_with('7')).await?;
    report.judge(&rig.lab, findings);
    let percent = (100.0 * pinned / baseline) as u64;
    report.figure("steps per second before", baseline as u64);
    report.figure("steps per second pinned", pinned as u64);
    report.figure("percent of the throughput before", percent);
    // Two short measurements on a busy machine cannot be compared.
    match scale {
        Scale::Short => report.floor("steps per second pinned", 1, pinned as u64),
        Scale::Long => report.floor("percent of the throughput before", 70, percent),
    }
    report.floor("steps", scale.pick(200, 5_000), done.load(Ordering::Acquire));
    Ok(report)
}

async fn worker(world: &str, done: &Arc<AtomicU64>) -> LabResult<RunningWorker> {
    let rhythm = Rhythm::open(world).await?;
    let done = done.clone();
    let work = move |_: TaskContext, _: Value| {
        done.fetch_add(1, Ordering::AcqRel);
        std::future::ready(Ok::<_, TaskError>(()))
    };
    Ok(rhythm.worker().concurrency(50).task("work", work).start().await?)
}

/// Starts runs while fewer than `AHEAD` are open.
async fn feed(client: rhythm::Client, done: Arc<AtomicU64>) {
    let mut begun = 0;
    loop {
        let start = || StartRun { workflow: "steps".into(), ..StartRun::default() };
        if begun < done.load(Ordering::Acquire) / STEPS + AHEAD
            && client.start_runs((0..20).map(|_| start()).collect()).await.is_ok()
        {
            begun += 20;
        } else {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Opens a transaction that reads once and stays open.
async fn pin(rig: &Rig) -> LabResult<Session> {
    let session = rig.connect().await?;
    session
        .batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM rhythm.live_run")
        .await?;
    Ok(session)
}

/// Measures steps per second.
async fn measure(done: &AtomicU64, length: Duration) -> f64 {
    let (before, began) = (done.load(Ordering::Acquire), Instant::now());
    tokio::time::sleep(length).await;
    (done.load(Ordering::Acquire) - before) as f64 / began.elapsed().as_secs_f64()
}
