//! F6: a commit is made and its answer is lost. On PostgreSQL the proxy drops the answer; on SQLite, where
//! there is no network, a wrapper of the world does.

use std::time::Duration;

use rhythm_proxy::{Cut, Faults, Proxy};

use crate::lab::{Lab, LabResult, Launch, On, Scale, Setup};
use crate::ledger::Manners;
use crate::load_processes::Crowd;
use crate::lost_ack_world;
use crate::lost_acks::{self, Losses, TRANSITIONS};
use crate::report::Report;
use crate::rig::Rig;
use crate::wait::until;

/// Probability of losing the answer to a write.
const CHANCE: f64 = 0.2;
/// Probabilities on PostgreSQL, where most answers belong to claims and heartbeats: one for transitions and
/// one for all others.
const CUT: Cut = Cut::OfKind { kind: TRANSITIONS, chance: 0.4, others: 0.1 };
/// Time limit for reaching the wanted number.
const PATIENCE: Duration = Duration::from_secs(1_800);

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("lost_commits", on);
    let wanted = (scale.pick(12, 1_020), scale.pick(10, 300));
    let lost = match on {
        On::Postgres => on_postgres(&mut report, wanted).await?,
        On::Sqlite => on_sqlite(&mut report, wanted).await?,
    };
    for (kind, count) in &lost {
        report.fault(kind, *count);
    }
    report.floor(TRANSITIONS, scale.pick(12, 1_000), transitions(&lost));
    Ok(report)
}

fn transitions(lost: &Losses) -> u64 {
    lost.get(TRANSITIONS).copied().unwrap_or(0)
}

/// Runs until `wanted` answers to transitions were lost and enough runs have ended.
async fn on_postgres(report: &mut Report, (wanted, ended): (u64, u64)) -> LabResult<Losses> {
    let rig = Rig::open().await?;
    let (workers, clients) = (rig.proxy().await?, rig.proxy().await?);
    let worker = rig.behind(&workers, &Launch::fast());
    let client = rig.behind(&clients, &Launch { pause: 20, ..Launch::fast() });
    let crowd = Crowd::start(&rig.lab, &[worker.clone(), worker.clone(), worker], &[client.clone(), client])?;
    // The fault starts only after all processes are connected: a process that cannot open its world may exit.
    let there = |proxy: &Proxy, commits: u64| proxy.counts().commits >= commits;
    until(PATIENCE, || std::future::ready(there(&workers, 20) && there(&clients, 4))).await;
    for proxy in [&workers, &clients] {
        proxy.set(Faults { cut_commits: Some(CUT), ..Faults::default() });
    }
    let cut = || lost_acks::cut(&[&workers, &clients]);
    wait_for(report, wanted, || transitions(&cut())).await;
    for proxy in [&workers, &clients] {
        proxy.set(Faults::default());
    }
    crowd.finish(&rig.lab, report, ended).await?;
    report.figure("commits through the proxies", workers.counts().commits + clients.counts().commits);
    report.figure("client commits cut", clients.counts().cut_commits);
    Ok(cut())
}

async fn on_sqlite(report: &mut Report, (wanted, ended): (u64, u64)) -> LabResult<Losses> {
    let lab = Lab::open(Setup { manners: Manners::DEDUPES, ..Setup::new(On::Sqlite) }).await?;
    let tally = lab.folder().join("forgotten");
    let environment = lost_ack_world::environment(CHANCE, &tally);
    let worker = Launch { environment: environment.clone(), ..Launch::fast() };
    let client = Launch { environment, pause: 20, ..Launch::fast() };
    let crowd = Crowd::start(&lab, &[worker.clone(), worker], &[client.clone(), client])?;
    wait_for(report, wanted, || transitions(&lost_ack_world::lost(&tally))).await;
    crowd.finish(&lab, report, ended).await?;
    Ok(lost_ack_world::lost(&tally))
}

/// Waits until `wanted` answers were lost, and prints progress.
async fn wait_for(report: &Report, wanted: u64, lost: impl Fn() -> u64) {
    let mut said = 0;
    until(PATIENCE, || {
        let so_far = lost();
        if so_far >= said + 100 {
            said = so_far;
            report.say(format_args!("{so_far} of {wanted} answers to transitions lost"));
        }
        std::future::ready(so_far >= wanted)
    })
    .await;
}
