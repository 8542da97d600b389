//! F26 (thundering herd): many workers lose the database at the same moment and reconnect at the same moment.

use std::time::Duration;

use crate::cluster::Mode;
use crate::lab::{Lab, LabResult, Launch, On, Scale};
use crate::load_processes::Crowd;
use crate::process::Process;
use crate::report::Report;
use crate::rig::{Rig, next_beginning};
use crate::wait::{PATIENCE, until, wall_millis};

/// Time limit in milliseconds for a heartbeat of every worker.
const LIMIT: u64 = 10_000;

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("thundering_herd", on);
    let rig = Rig::open().await?;
    let size = scale.pick(12, 100);
    let worker = Launch { concurrency: 2, ..Launch::default() };
    let client = Launch { pause: 50, ..Launch::default() };
    let crowd = Crowd::start(&rig.lab, &vec![worker; size], &[client])?;
    let there = until(PATIENCE, || async { beaten_since(&rig.lab, 0).await == size }).await;
    report.hold(there, || "the herd did not come up".into());
    // The client must have connected before the server is stopped: it cannot start without a database.
    let works = next_beginning(&rig.lab, 0, None, PATIENCE).await;
    report.hold(works.is_some(), || "the herd had nothing to do".into());
    for round in 0..scale.pick(1, 5) {
        let complaints: Vec<usize> = crowd.workers.iter().map(complaints_of).collect();
        let thrown_out = || {
            let now = crowd.workers.iter().map(complaints_of);
            now.zip(&complaints).filter(|(now, before)| now > before).count()
        };
        rig.cluster.stop(Mode::Immediate).await?;
        tokio::time::sleep(Duration::from_millis(1_000)).await;
        // Waits until every worker has noticed the loss.
        until(PATIENCE, || std::future::ready(thrown_out() == size)).await;
        report.fault("workers thrown out", thrown_out() as u64);
        rig.cluster.resume().await?;
        let accepts = wall_millis();
        let back = until(PATIENCE, || async { beaten_since(&rig.lab, accepts).await == size }).await;
        let steady = wall_millis() - accepts;
        report.recoveries.push(steady);
        report
            .hold(back && steady <= LIMIT, || format!("round {round}: the herd was back after {steady} ms"));
        let works = next_beginning(&rig.lab, accepts, None, PATIENCE).await;
        report.hold(works.is_some(), || format!("round {round}: nothing began again"));
        report.say(format_args!("all {size} are back after {steady} ms"));
    }
    crowd.finish(&rig.lab, &mut report, scale.pick(5, 20)).await?;
    report.figure("workers", size as u64);
    report.floor("workers thrown out", scale.pick(12, 500), report.faults.values().sum());
    Ok(report)
}

/// Counts how often a worker logged that it lost the database.
fn complaints_of(worker: &Process) -> usize {
    worker.messages().matches("trying again").count()
}

/// Counts the workers with a heartbeat at or after a moment. Database and laboratory share one clock here.
async fn beaten_since(lab: &Lab, since: u64) -> usize {
    let workers = lab.client.world().workers(lab.client.tenant()).await.unwrap_or_default();
    workers.iter().filter(|worker| worker.beat_at.millis() >= since as i64).count()
}
