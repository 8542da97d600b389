//! F2: repeated SIGKILLs. Workers and clients are killed at random under load and restarted at once.

use std::time::Duration;

use crate::lab::{Lab, LabResult, Launch, On, Scale, Setup};
use crate::ledger::{Manners, What};
use crate::load_processes::{Crowd, close};
use crate::process::Process;
use crate::recovery::{Kill, recoveries};
use crate::report::Report;
use crate::wait::{PATIENCE, until, wall_millis};

const WORKERS: usize = 3;
const CLIENTS: usize = 2;
/// Pause between two kills in milliseconds, and number of effects required between them. Kills by time alone
/// would leave attempts on a busy machine no time to finish.
const LULL: std::ops::Range<u64> = 50..600;
const EFFECTS: usize = 10;

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("random_kills", on);
    let lab = Lab::open(Setup { manners: Manners::DEDUPES, ..Setup::new(on) }).await?;
    let mut random = fastrand::Rng::new();
    let ended = scale.pick(50, 2_000);
    let (kills, mut crowd) = rage(&lab, &mut random, &mut report, scale.pick(12, 520)).await?;
    let mut findings = close(&lab, &mut report, &mut crowd.clients, ended).await?;
    report.recoveries = recoveries(&lab.ledger()?, &kills);
    findings.explain(&lab.ledger()?, &kills.iter().map(|kill| kill.pid).collect());
    report.judge(&lab, findings);
    report.floor("kills", scale.pick(12, 500), report.faults.values().sum());
    report.floor("runs ended", ended, report.figures["runs ended"]);
    report.floor("flow runs ended", scale.pick(5, 200), report.figures["flow runs ended"]);
    report.floor("graph runs ended", scale.pick(2, 100), report.figures["graph runs ended"]);
    // In the short form there are few questions, and they come late.
    report.floor("decisions delivered", scale.pick(0, 50), report.figures["decisions delivered"]);
    Ok(report)
}

/// Kills processes until the number is reached. Returns the kills and the remaining processes.
async fn rage(
    lab: &Lab,
    random: &mut fastrand::Rng,
    report: &mut Report,
    kills: usize,
) -> LabResult<(Vec<Kill>, Crowd)> {
    let launch = Launch { fast: true, pause: 20, ..Launch::default() };
    let start_worker = || lab.worker(&launch);
    let start_client = |place: usize| lab.client_process(&format!("client{place}"), &launch);
    let mut workers = (0..WORKERS).map(|_| start_worker()).collect::<Result<Vec<Process>, _>>()?;
    let mut clients = (0..CLIENTS).map(start_client).collect::<Result<Vec<Process>, _>>()?;
    let mut killed = Vec::new();
    while killed.len() < kills {
        let least = effects(lab) + EFFECTS;
        tokio::time::sleep(Duration::from_millis(random.u64(LULL))).await;
        let moved = until(PATIENCE, || std::future::ready(effects(lab) >= least)).await;
        report.hold(moved, || "nothing moved between two kills".into());
        let place = random.usize(0..WORKERS + CLIENTS);
        let is_worker = place < WORKERS;
        let victim = if is_worker { &mut workers[place] } else { &mut clients[place - WORKERS] };
        let kill = Kill { pid: victim.id(), at: wall_millis() };
        if victim.kill() {
            killed.push(kill);
            report.fault(if is_worker { "workers killed" } else { "clients killed" }, 1);
        }
        *victim = if is_worker { start_worker()? } else { start_client(place - WORKERS)? };
        if killed.len() % 50 == 0 {
            report.say(format_args!("{} of {kills} killed", killed.len()));
        }
    }
    Ok((killed, Crowd { workers, clients }))
}

fn effects(lab: &Lab) -> usize {
    lab.count(|line| line.entry.what == What::Did).unwrap_or(0)
}
