//! F2: a storm of SIGKILLs. Workers and clients are killed at random under load and started again at once.

use std::time::Duration;

use crate::lab::{Lab, LabResult, Launch, On, Scale, Setup};
use crate::ledger::{Line, Manners, What};
use crate::oracle::examine;
use crate::process::Process;
use crate::report::Report;
use crate::wait::{PATIENCE, until, wall_millis};

const WORKERS: usize = 3;
const CLIENTS: usize = 2;
/// The pause between two kills, in milliseconds, and the effects there must have been meanwhile: on a busy machine
/// kills by the clock alone would leave no attempt the time it needs.
const LULL: std::ops::Range<u64> = 50..600;
const EFFECTS: usize = 10;

/// A killed process: who, and when.
struct Kill {
    pid: u32,
    at: u64,
}

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("storm", on);
    let manners = Manners { dedupe: true, fence: false };
    let lab = Lab::open(Setup { manners, ..Setup::new(on) }).await?;
    let mut random = fastrand::Rng::new();
    let ended = scale.pick(50, 2_000);
    let kills = rage(&lab, &mut random, &mut report, (scale.pick(12, 520), ended)).await?;
    report.recoveries = recoveries(&lab.ledger()?, &kills);
    let mut findings = examine(&lab).await?;
    findings.explain(&lab.ledger()?, &kills.iter().map(|kill| kill.pid).collect());
    report.judge(&lab, findings);
    report.floor("kills", scale.pick(12, 500), report.faults.values().sum());
    report.floor("runs ended", ended, report.figures["runs ended"]);
    report.floor("flow runs ended", scale.pick(5, 200), report.figures["flow runs ended"]);
    Ok(report)
}

/// Kills until enough were killed, then lets everything come to rest.
async fn rage(
    lab: &Lab,
    random: &mut fastrand::Rng,
    report: &mut Report,
    (kills, ended): (usize, u64),
) -> LabResult<Vec<Kill>> {
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
    lab.draw_curtain_after(ended).await?;
    for client in &mut clients {
        let ended = client.ends_within(PATIENCE).await;
        report.hold(ended.is_some_and(|status| status.success()), || {
            format!("{} did not come to its end: {ended:?}; {}", client.name(), client.messages())
        });
    }
    let rested = lab.comes_to_rest(PATIENCE).await;
    report.hold(rested, || "work was still open long after the storm".into());
    Ok(killed)
}

fn effects(lab: &Lab) -> usize {
    lab.count(|line| line.entry.what == What::Did).unwrap_or(0)
}

/// For every attempt a kill interrupted: how long until its task was handed out again.
fn recoveries(ledger: &[Line], kills: &[Kill]) -> Vec<u64> {
    let mut times = Vec::new();
    for kill in kills {
        let own = ledger.iter().filter(|line| line.entry.pid == kill.pid && line.entry.what == What::Began);
        for began in own {
            let again = ledger.iter().find(|line| {
                line.entry.what == What::Began
                    && line.entry.task == began.entry.task
                    && line.entry.claim > began.entry.claim
                    && line.entry.attempt == began.entry.attempt
            });
            times.extend(again.map(|again| again.at.saturating_sub(kill.at)));
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Entry, Verdict};

    #[test]
    fn recovery_is_the_time_from_a_kill_to_the_next_hand_out_of_what_it_interrupted() {
        let line = |at: u64, task: &str, claim: u64, pid: u32| {
            let entry = Entry {
                what: What::Began,
                run: None,
                task: task.into(),
                name: "work".into(),
                attempt: 1,
                delivery: 1,
                claim,
                idempotency_key: String::new(),
                payload_hash: String::new(),
                pid,
            };
            Line { at, verdict: Verdict::Accepted, entry }
        };
        let ledger = [line(1, "done", 1, 7), line(2, "cut", 1, 7), line(1_500, "cut", 2, 8)];
        assert_eq!(recoveries(&ledger, &[Kill { pid: 7, at: 100 }]), [1_400]);
    }
}
