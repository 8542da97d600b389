//! F4: PostgreSQL is restarted under load, gracefully and like a crash, and stays down for a while. No
//! process exits.

use std::time::Duration;

use crate::cluster::Mode;
use crate::lab::{LabResult, Launch, On, Scale};
use crate::load_processes::Crowd;
use crate::report::Report;
use crate::rig::{Rig, next_beginning};
use crate::wait::{PATIENCE, wall_millis};

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("restarts", on);
    let rig = Rig::open().await?;
    // A hand-out whose answer was lost waits for its lease to end; the short form uses short leases.
    let launch = Launch { pause: 50, fast: scale == Scale::Short, ..Launch::default() };
    let crowd =
        Crowd::start(&rig.lab, &[launch.clone(), launch.clone(), launch.clone()], &[launch.clone(), launch])?;
    for worker in &crowd.workers {
        let began = next_beginning(&rig.lab, 0, Some(worker.id()), PATIENCE).await;
        report.hold(began.is_some(), || format!("{} began nothing", worker.name()));
    }
    let restarts = scale.pick(3, 52);
    for number in 0..restarts {
        tokio::time::sleep(Duration::from_millis(fastrand::u64(300..1_500))).await;
        let mode = if number % 2 == 0 { Mode::Immediate } else { Mode::Fast };
        rig.cluster.stop(mode).await?;
        tokio::time::sleep(Duration::from_millis(fastrand::u64(0..2_000))).await;
        rig.cluster.resume().await?;
        let accepts = wall_millis();
        report.fault(if mode == Mode::Fast { "fast restarts" } else { "immediate restarts" }, 1);
        match next_beginning(&rig.lab, accepts, None, PATIENCE).await {
            Some(began) => report.beginnings.push(began - accepts),
            None => report.violations.push(format!("nothing began again after restart {number}")),
        }
        if number % 10 == 9 {
            report.say(format_args!("{} of {restarts} restarts", number + 1));
        }
    }
    crowd.finish(&rig.lab, &mut report, scale.pick(20, 500)).await?;
    report.floor("restarts", scale.pick(3, 50), report.faults.values().sum());
    Ok(report)
}
