//! F13: all connections of the workers turn half-open at once, as when a router drops its connection table:
//! no data arrives and no connection is closed. New connections work. The workers must detect it themselves.

use rhythm_proxy::Faults;

use crate::lab::{LabResult, Launch, On, Scale, Setup};
use crate::load_processes::Crowd;
use crate::report::Report;
use crate::rig::{Rig, next_beginning};
use crate::wait::{PATIENCE, until, wall_millis};

/// Time limit in milliseconds for detecting it.
const LIMIT: u64 = 15_000;

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("half_open", on);
    let rig =
        Rig::on(crate::cluster::Cluster::start().await?, Setup { step_millis: 50, ..Setup::new(on) }).await?;
    let proxy = rig.proxy().await?;
    let worker = rig.behind(&proxy, &Launch::fast());
    let client = Launch { pause: 30, ..Launch::fast() };
    // All workers are cut off, so that no other worker does the work.
    let crowd = Crowd::start(&rig.lab, &[worker.clone(), worker], &[client])?;
    let pids: Vec<u32> = crowd.workers.iter().map(crate::process::Process::id).collect();
    for number in 0..scale.pick(1, 10) {
        let before = wall_millis();
        for pid in &pids {
            next_beginning(&rig.lab, before, Some(*pid), PATIENCE).await;
        }
        let silenced = proxy.counts().silenced;
        proxy.set(Faults::half_open());
        // By then every connection in use has lost data. Idle connections have lost nothing and stay intact.
        until(PATIENCE, || std::future::ready(proxy.counts().silenced >= silenced + 6)).await;
        // Start of the recovery time, measured here because connections opened during the fault may have
        // turned half-open last.
        let cut = wall_millis();
        proxy.set(Faults::default());
        report.fault("connections turned half-open", proxy.counts().silenced - silenced);
        for pid in &pids {
            let since = wall_millis();
            match next_beginning(&rig.lab, since, Some(*pid), PATIENCE).await {
                Some(began) => report.recoveries.push(began - cut),
                None => report.violations.push(format!("process {pid} did nothing after silence {number}")),
            }
        }
        report.say(format_args!("silence {number} is over"));
    }
    crowd.finish(&rig.lab, &mut report, scale.pick(20, 200)).await?;
    for late in report.recoveries.clone().iter().filter(|time| **time > LIMIT) {
        report.violations.push(format!("work went on only after {late} ms"));
    }
    report.floor("connections", scale.pick(6, 60), report.faults.values().sum());
    Ok(report)
}
