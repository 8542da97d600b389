//! F19: every sync takes 200 ms longer, in the processes on SQLite and in the server on PostgreSQL. Work is
//! slow, but no worker is taken for dead: no attempt is handed out twice.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::cluster::{Cluster, open_folder};
use crate::faulty_disk::FaultyDisk;
use crate::lab::{Lab, LabResult, Launch, On, Scale, Setup};
use crate::ledger::What;
use crate::oracle::examine;
use crate::report::Report;
use crate::rig::Rig;
use crate::tracer;
use crate::wait::PATIENCE;

/// Extra duration of a sync.
const DELAY: Duration = Duration::from_millis(200);

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("disk_slow", on);
    let scripts = scale.pick(5, 120);
    match on {
        On::Sqlite => {
            let lab = Lab::new(on).await?;
            let traces = [0, 1, 2].map(|place| lab.folder().join(format!("{place}.trace")));
            let delay = format!("delay_enter={}", DELAY.as_micros());
            let under = |place: usize| tracer::inject("fsync", &delay, &traces[place]);
            let launches = [0, 1, 2].map(|place| Launch { under: under(place), ..Launch::default() });
            work(&mut report, &lab, launches, scripts).await?;
            for trace in &traces {
                report.fault("slow syncs", std::fs::read_to_string(trace)?.lines().count() as u64);
            }
        }
        On::Postgres => {
            let folder = open_folder()?;
            let disk = FaultyDisk::new(folder.path())?;
            let cluster = Cluster::start_with(disk.environment(), "").await?;
            let rig = Rig::on(cluster, Setup::new(on)).await?;
            disk.delay(DELAY)?;
            work(&mut report, &rig.lab, [0; 3].map(|_| Launch::default()), scripts).await?;
            report.fault("slow syncs", disk.slowed()?);
        }
    }
    report.floor("slow syncs", scripts, report.faults["slow syncs"]);
    report.floor("runs ended", scripts * 7 / 8, report.figures["runs ended"]);
    Ok(report)
}

/// Runs two workers and a client through its scripts.
async fn work(report: &mut Report, lab: &Lab, launches: [Launch; 3], scripts: u64) -> LabResult<()> {
    let [first, second, client] = launches;
    let mut workers = [lab.worker(&first)?, lab.worker(&second)?];
    let mut client = lab.client_process("client", &Launch { scripts, ..client })?;
    let ended = client.ends_within(PATIENCE * 5).await;
    report.hold(ended.is_some_and(|status| status.success()), || client.messages());
    let rested = lab.comes_to_rest(PATIENCE * 3).await;
    report.hold(rested, || "work was still open after a long time".into());
    for worker in &mut workers {
        worker.kill();
    }
    let mut begun: BTreeMap<(String, u32), u32> = BTreeMap::new();
    for line in lab.ledger()?.into_iter().filter(|line| line.entry.what == What::Began) {
        *begun.entry((line.entry.task, line.entry.attempt)).or_default() += 1;
    }
    for ((task, attempt), times) in begun.iter().filter(|(_, times)| **times > 1) {
        report.violations.push(format!("attempt {attempt} of {task} was handed out {times} times"));
    }
    let findings = examine(lab).await?;
    report.judge(lab, findings);
    Ok(())
}
