//! F18: the disk reports once that it could not keep written data (EIO on fsync). The worker must end with a
//! clear error and must not repeat the sync: a second one may report success for data the first one lost. A
//! PostgreSQL server does the same with its own syncs: it crashes and recovers, and its clients survive that.

use rhythm_engine::world::{TaskState, TaskSummary};

use crate::cluster::{Cluster, open_folder};
use crate::faulty_disk::FaultyDisk;
use crate::lab::{Lab, LabResult, Launch, On, Scale, Setup};
use crate::listing;
use crate::load_processes::{Crowd, close};
use crate::report::Report;
use crate::rig::{Rig, next_beginning};
use crate::tracer;
use crate::wait::{PATIENCE, until, wall_millis};

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("disk_error", on);
    let times = scale.pick(3, 30);
    match on {
        On::Sqlite => of_the_file(&mut report, scale, times).await?,
        On::Postgres => of_the_server(&mut report, scale, times).await?,
    }
    report.floor("syncs failed", times, report.faults["syncs failed"]);
    Ok(report)
}

async fn of_the_server(report: &mut Report, scale: Scale, times: u64) -> LabResult<()> {
    let folder = open_folder()?;
    let disk = FaultyDisk::new(folder.path())?;
    let cluster = Cluster::start_with(disk.environment(), "").await?;
    let rig = Rig::on(cluster, Setup::new(On::Postgres)).await?;
    let launch = Launch { fast: true, pause: 10, ..Launch::default() };
    let crowd = Crowd::start(&rig.lab, &[launch.clone(), launch.clone()], &[launch])?;
    for time in 1..=times {
        let before = wall_millis();
        let moved = next_beginning(&rig.lab, before, None, PATIENCE).await;
        report.hold(moved.is_some(), || format!("nothing moved before time {time}"));
        disk.fail_once()?;
        let failed = until(PATIENCE, || std::future::ready(disk.failed().is_ok_and(|failed| failed == time)));
        report.hold(failed.await, || "nothing was synced".into());
        report.fault("syncs failed", 1);
        let failed_at = wall_millis();
        match next_beginning(&rig.lab, failed_at + 100, None, PATIENCE).await {
            Some(began) => report.beginnings.push(began - failed_at),
            None => report.violations.push("nothing began after the disk came back".into()),
        }
    }
    let crashes = rig.cluster.log()?.matches("PANIC").count() as u64;
    report.hold(crashes >= times, || format!("the server crashed {crashes} times only"));
    crowd.finish(&rig.lab, report, scale.pick(20, 300)).await
}

async fn of_the_file(report: &mut Report, scale: Scale, times: u64) -> LabResult<()> {
    let lab = Lab::new(On::Sqlite).await?;
    let launch = Launch { fast: true, pause: 10, ..Launch::default() };
    let mut clients = [lab.client_process("client", &launch)?];
    let mut worker = None;
    for time in 1..=times {
        let trace = lab.folder().join(format!("{time}.trace"));
        // Fails a later sync each time: first at the start, then deeper in the load.
        let fault = format!("error=EIO:when={}", 3 * time);
        let mut failing =
            lab.worker(&Launch { under: tracer::inject("fsync", &fault, &trace), ..launch.clone() })?;
        let ended = failing.ends_within(PATIENCE).await;
        let failed_at = wall_millis();
        let text = failing.messages();
        let clear = text.contains("WORLD014");
        report.hold(ended.is_some_and(|status| status.code().is_some_and(|code| code != 0)) && clear, || {
            format!("after its disk failed the worker ended with {ended:?}: {text}")
        });
        let calls = std::fs::read_to_string(&trace)?;
        let failed = calls.lines().position(|line| line.contains("EIO") && line.contains("INJECTED"));
        report.fault("syncs failed", u64::from(failed.is_some()));
        let after =
            failed.map_or(0, |place| calls.lines().skip(place + 1).filter(|l| l.contains("fsync(")).count());
        report.hold(after == 0, || format!("{after} syncs followed the one that failed"));
        // A worker that survived this error would survive it every time, so more rounds are useless.
        if ended.is_none() {
            return Ok(());
        }
        // The failed worker must not keep a new one from working.
        let lines = lab.count(|_| true)?;
        let next = worker.insert(lab.worker(&launch)?);
        let moved = || std::future::ready(lab.count(|_| true).is_ok_and(|now| now > lines + 20));
        report.hold(until(PATIENCE, moved).await, || "nothing moved after the disk came back".into());
        report.beginnings.push(wall_millis().saturating_sub(failed_at));
        // A task handed to five workers that die in a row would become poison, so wait until no task is close
        // to that.
        let calm = until(PATIENCE, || async {
            listing::tasks(&lab.client).await.is_ok_and(|tasks| !tasks.iter().any(has_outlived_two))
        });
        report.hold(calm.await, || "what others left was not done".into());
        if time < times {
            next.kill();
        }
    }
    let findings = close(&lab, report, &mut clients, scale.pick(20, 300)).await?;
    report.judge(&lab, findings);
    report.floor("runs ended", scale.pick(20, 300), report.figures["runs ended"]);
    Ok(())
}

fn has_outlived_two(task: &TaskSummary) -> bool {
    matches!(task.state, TaskState::Ready | TaskState::Running) && task.delivery > 2
}
