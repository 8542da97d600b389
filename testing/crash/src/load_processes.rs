//! The processes of a scenario: workers, and clients that keep them busy until the curtain.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::lab::{Lab, LabResult, Launch};
use crate::ledger::{Line, What};
use crate::oracle::{Findings, examine};
use crate::process::Process;
use crate::report::Report;
use crate::wait::PATIENCE;

/// A long scenario leaves much to be done, and looking at a world that moves finds what is not there.
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

    /// Comes to its end and lets the oracle judge; at least so many runs must have ended.
    pub async fn finish(mut self, lab: &Lab, report: &mut Report, ended: u64) -> LabResult<()> {
        let findings = close(lab, report, &mut self.clients, ended).await?;
        report.judge(lab, findings);
        report.floor("runs ended", ended, report.figures["runs ended"]);
        Ok(())
    }
}

/// The end of a scenario: waits until at least so many runs have ended, draws the curtain, waits until all work is done,
/// and gives what the oracle found.
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

/// Waits for clients that were told to end, and until all work is done.
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

/// Attempts that were handed out more than once: somebody was taken for dead, or an answer was lost.
pub fn repeated(ledger: &[Line]) -> u64 {
    let mut hand_outs: BTreeMap<(&str, u32), u64> = BTreeMap::new();
    for line in ledger.iter().filter(|line| line.entry.what == What::Began) {
        *hand_outs.entry((&line.entry.task, line.entry.attempt)).or_default() += 1;
    }
    hand_outs.values().map(|times| times - 1).sum()
}
