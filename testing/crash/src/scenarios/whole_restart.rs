//! All workers and clients are killed at once with SIGKILL and restarted. On SQLite no other process has the
//! file open, so the next process finds the log and its index as the killed ones left them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::lab::{Lab, LabResult, Launch, On, Scale, Setup};
use crate::ledger::{Line, Manners, What};
use crate::load_processes::close;
use crate::process::Process;
use crate::recovery::{Kill, recoveries};
use crate::report::Report;
use crate::wait::{PATIENCE, until, wall_millis};

const WORKERS: usize = 2;
const CLIENTS: usize = 2;
/// Time limit for interrupted attempts to begin again.
const CHANCE: Duration = Duration::from_secs(3);
/// Number of ledger lines between two restarts.
const PROGRESS: usize = 40;

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("whole_restart", on);
    let mut lab = Lab::open(Setup { manners: Manners::DEDUPES, ..Setup::new(on) }).await?;
    lab.close_eyes().await?;
    let restarts = scale.pick(3, 60);
    let mut crew = start(&lab)?;
    let mut kills = Vec::new();
    for restart in 1..=restarts {
        let lines = lab.count(|_| true)?;
        let moved = || std::future::ready(lab.count(|_| true).is_ok_and(|now| now >= lines + PROGRESS));
        let going = until(PATIENCE, moved).await;
        report.hold(going, || format!("nothing moved before restart {restart}"));
        tokio::time::sleep(Duration::from_millis(fastrand::u64(0..300))).await;
        if on == On::Sqlite {
            let left = std::fs::metadata(lab.folder().join("rhythm.db-wal")).map_or(0, |file| file.len());
            report.figure("restarts with a log to recover", u64::from(left > 0));
        }
        let last: BTreeSet<u32> = crew.iter().map(Process::id).collect();
        for process in &mut crew {
            report.fault("processes killed", u64::from(process.kill()));
        }
        report.fault("whole restarts", 1);
        let lines = lab.count(|_| true)?;
        let down_at = wall_millis();
        kills.extend(last.iter().map(|pid| Kill { pid: *pid, at: down_at }));
        crew = start(&lab)?;
        let moved = || std::future::ready(lab.count(|_| true).is_ok_and(|now| now > lines));
        report.hold(until(PATIENCE, moved).await, || format!("nothing moved after restart {restart}"));
        report.beginnings.push(wall_millis().saturating_sub(down_at));
        // Interrupted attempts get time to begin again before the next kill; five kills in a row would make
        // them poison.
        let waiting = interrupted(&lab.ledger()?, &last);
        let again = || std::future::ready(lab.ledger().is_ok_and(|lines| all_begun_again(&lines, &waiting)));
        report.figure("interrupted attempts", waiting.len() as u64);
        until(CHANCE, again).await;
        if restart % 10 == 0 {
            report.say(format_args!("{restart} of {restarts} restarts"));
        }
    }
    lab.open_eyes().await?;
    let mut findings = close(&lab, &mut report, &mut crew[WORKERS..], scale.pick(20, 500)).await?;
    report.recoveries = recoveries(&lab.ledger()?, &kills);
    findings.explain(&lab.ledger()?, &kills.iter().map(|kill| kill.pid).collect());
    report.judge(&lab, findings);
    report.floor("whole restarts", scale.pick(3, 50), report.faults["whole restarts"]);
    report.floor("runs ended", scale.pick(20, 500), report.figures["runs ended"]);
    report.floor("flow runs ended", scale.pick(5, 200), report.figures["flow runs ended"]);
    report.floor("graph runs ended", scale.pick(2, 100), report.figures["graph runs ended"]);
    report.floor("decisions delivered", scale.pick(1, 50), report.figures["decisions delivered"]);
    Ok(report)
}

/// Returns tasks with the claims that killed processes began without reaching the effect.
fn interrupted(lines: &[Line], killed: &BTreeSet<u32>) -> BTreeMap<String, u64> {
    let mut open = BTreeMap::new();
    for Line { entry, .. } in lines {
        match entry.what {
            What::Began => open.insert(entry.task.clone(), (entry.claim, entry.pid)),
            What::Did => open.remove(&entry.task),
        };
    }
    open.retain(|_, (_, pid)| killed.contains(pid));
    open.into_iter().map(|(task, (claim, _))| (task, claim)).collect()
}

/// Returns whether all these tasks began again. Attempts that failed on request also look interrupted; the
/// caller's time limit covers them.
fn all_begun_again(lines: &[Line], waiting: &BTreeMap<String, u64>) -> bool {
    let mut left: BTreeSet<&str> = waiting.keys().map(String::as_str).collect();
    for Line { entry, .. } in lines {
        if waiting.get(&entry.task).is_some_and(|claim| entry.claim > *claim) {
            left.remove(entry.task.as_str());
        }
    }
    left.is_empty()
}

fn start(lab: &Lab) -> LabResult<Vec<Process>> {
    let launch = Launch { fast: true, pause: 10, ..Launch::default() };
    let mut crew = Vec::new();
    for _ in 0..WORKERS {
        crew.push(lab.worker(&launch)?);
    }
    for place in 0..CLIENTS {
        crew.push(lab.client_process(&format!("client{place}"), &launch)?);
    }
    Ok(crew)
}
