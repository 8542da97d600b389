//! The processes of a scenario: workers, and clients that give them work until the end.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::lab::{Lab, LabResult, Launch};
use crate::ledger::{Line, What};
use crate::oracle::{Findings, examine};
use crate::process::Process;
use crate::report::Report;
use crate::wait::PATIENCE;

/// Time limit for the remaining work. A long scenario leaves a large backlog, and the oracle must not read a
/// world that still changes.
const BACKLOG: Duration = Duration::from_secs(900);

pub struct Crowd {
    pub workers: Vec<Process>,
    pub clients: Vec<Process>,
}

impl Crowd {
    pub fn start(lab: &Lab, workers: &[Launch], clients: &[Launch]) -> LabResult<Self> {
        let client = |(place, launch)| lab.client_process(&format!("client{place}"), launch);
        Ok(Self {
            workers: workers.iter().map(|launch| lab.worker(launch)).collect::<Result<_, _>>()?,
            clients: clients.iter().enumerate().map(client).collect::<Result<_, _>>()?,
        })
    }

    /// Ends the scenario and lets the oracle judge. At least `ended` runs must have ended.
    pub async fn finish(mut self, lab: &Lab, report: &mut Report, ended: u64) -> LabResult<()> {
        let findings = close(lab, report, &mut self.clients, ended).await?;
        report.judge(lab, findings);
        report.floor("runs ended", ended, report.figures["runs ended"]);
        Ok(())
    }
}

/// Ends a scenario: waits until at least `ended` runs have ended, stops the clients, waits until all work is
/// done, and returns the oracle's findings.
pub async fn close(
    lab: &Lab,
    report: &mut Report,
    clients: &mut [Process],
    ended: u64,
) -> LabResult<Findings> {
    lab.draw_curtain_after(ended).await?;
    come_to_rest(lab, report, clients).await;
    report.figure("hand-outs repeated", repeated(&lab.ledger()?));
    examine(lab).await
}

/// Waits for clients that were asked to end, and until all work is done.
pub async fn come_to_rest(lab: &Lab, report: &mut Report, clients: &mut [Process]) {
    for client in clients {
        let ended = client.ends_within(PATIENCE).await;
        report.hold(ended.is_some_and(|status| status.success()), || {
            format!("{} did not come to its end: {ended:?}; {}", client.name(), client.messages())
        });
    }
    let rested = lab.comes_to_rest(BACKLOG).await;
    report.hold(rested, || "work was still open long after the last fault".into());
}

/// Counts repeated hand-outs of attempts: a worker was taken for dead, or an answer was lost.
pub fn repeated(ledger: &[Line]) -> u64 {
    let mut hand_outs: BTreeMap<(&str, u32), u64> = BTreeMap::new();
    for line in ledger.iter().filter(|line| line.entry.what == What::Began) {
        *hand_outs.entry((&line.entry.task, line.entry.attempt)).or_default() += 1;
    }
    hand_outs.values().map(|times| times - 1).sum()
}
