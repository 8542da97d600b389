//! F17: the disk with the database file, or with the server's tables, is full for a while. No process exits,
//! no data is damaged, and work goes on without help once there is space again.

use crate::client_log;
use crate::cluster::Cluster;
use crate::lab::{Lab, LabResult, Launch, On, Scale, Setup};
use crate::load_processes::Crowd;
use crate::report::Report;
use crate::rig::Rig;
use crate::small_disk::SmallDisk;
use crate::wait::{PATIENCE, until, wall_millis};

/// Number of client calls that must have failed before space is freed.
const IN_VAIN: u64 = 5;

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("disk_full", on);
    let disk = SmallDisk::mount(scale.pick(64, 256))?;
    match on {
        On::Sqlite => {
            let world = Some(format!("sqlite:{}", disk.path().join("rhythm.db").display()));
            let lab = Lab::open(Setup { world, ..Setup::new(on) }).await?;
            fill_again_and_again(&mut report, &lab, &disk, scale).await?;
        }
        On::Postgres => {
            let cluster = Cluster::start().await?;
            let database = cluster.database_in(disk.path()).await?;
            let rig = Rig::on_database(cluster, database, Setup::new(on)).await?;
            fill_again_and_again(&mut report, &rig.lab, &disk, scale).await?;
        }
    }
    Ok(report)
}

async fn fill_again_and_again(
    report: &mut Report,
    lab: &Lab,
    disk: &SmallDisk,
    scale: Scale,
) -> LabResult<()> {
    let launch = Launch { fast: true, pause: 10, ..Launch::default() };
    let crowd = Crowd::start(lab, &[launch.clone(), launch.clone()], &[launch])?;
    let times = scale.pick(2, 25);
    for time in 1..=times {
        let lines = lab.count(|_| true)?;
        let moved = || std::future::ready(lab.count(|_| true).is_ok_and(|now| now > lines + 50));
        report.hold(until(PATIENCE, moved).await, || format!("nothing moved before time {time}"));
        let before = in_vain(lab);
        disk.fill()?;
        let felt = until(PATIENCE, || std::future::ready(in_vain(lab) >= before + IN_VAIN)).await;
        report.hold(felt, || "nobody noticed that the disk was full".into());
        report.fault("full disks met", u64::from(felt));
        report.figure("calls in vain", in_vain(lab) - before);
        let lines = lab.count(|_| true)?;
        disk.free()?;
        let freed_at = wall_millis();
        let moved = || std::future::ready(lab.count(|_| true).is_ok_and(|now| now > lines + 20));
        report.hold(until(PATIENCE, moved).await, || "nothing moved after there was room again".into());
        report.beginnings.push(wall_millis().saturating_sub(freed_at));
    }
    report.floor("full disks met", times, report.faults["full disks met"]);
    crowd.finish(lab, report, scale.pick(20, 500)).await
}

/// Counts the client calls that were answered with a retryable error.
fn in_vain(lab: &Lab) -> u64 {
    let text = std::fs::read_to_string(lab.client_log("client0")).unwrap_or_default();
    let vain = |line: &&str| {
        let line = serde_json::from_str::<client_log::Line>(line);
        line.is_ok_and(|line| matches!(line.answered, Some((_, client_log::Answer::Unknown(_)))))
    };
    text.lines().filter(vain).count() as u64
}
