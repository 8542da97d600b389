//! F19: every sync takes 200 ms. Work is slow, but nobody is taken for dead: no attempt is handed out twice.

use std::collections::BTreeMap;

use crate::lab::{Lab, LabResult, Launch, On, Scale};
use crate::ledger::What;
use crate::oracle::examine;
use crate::report::Report;
use crate::tracer;
use crate::wait::PATIENCE;

/// How long a sync takes, in microseconds.
const DELAY: &str = "delay_enter=200000";

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("disk_slow", on);
    let lab = Lab::new(on).await?;
    let traces = [0, 1, 2].map(|place| lab.folder().join(format!("{place}.trace")));
    let slow = |place: usize| tracer::inject("fsync", DELAY, &traces[place]);
    let mut workers = Vec::new();
    for place in 0..2 {
        workers.push(lab.worker(&Launch { under: slow(place), ..Launch::default() })?);
    }
    let scripts = scale.pick(8, 120);
    let mut client =
        lab.client_process("client", &Launch { under: slow(2), scripts, ..Launch::default() })?;
    let ended = client.ends_within(PATIENCE * 5).await;
    report.hold(ended.is_some_and(|status| status.success()), || client.messages());
    let rested = lab.comes_to_rest(PATIENCE * 3).await;
    report.hold(rested, || "work was still open after a long time".into());
    for worker in &mut workers {
        worker.kill();
    }
    for trace in &traces {
        report.fault("slow syncs", std::fs::read_to_string(trace)?.lines().count() as u64);
    }
    let mut begun: BTreeMap<(String, u32), u32> = BTreeMap::new();
    for line in lab.ledger()?.into_iter().filter(|line| line.entry.what == What::Began) {
        *begun.entry((line.entry.task, line.entry.attempt)).or_default() += 1;
    }
    for ((task, attempt), times) in begun.iter().filter(|(_, times)| **times > 1) {
        report.violations.push(format!("attempt {attempt} of {task} was handed out {times} times"));
    }
    let findings = examine(&lab).await?;
    report.judge(&lab, findings);
    report.floor("slow syncs", scripts, report.faults["slow syncs"]);
    report.floor("runs ended", scripts * 7 / 8, report.figures["runs ended"]);
    Ok(report)
}
