//! F18: the disk reports that it could not keep what was written (EIO on fsync, once). The worker must end with a
//! clear error and must not try the sync again: a second one may report success for what the first one lost.

use crate::lab::{Lab, LabResult, Launch, On, Scale};
use crate::oracle::examine;
use crate::report::Report;
use crate::tracer;
use crate::wait::{PATIENCE, until, wall_millis};

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("disk_error", on);
    let lab = Lab::new(on).await?;
    let launch = Launch { fast: true, pause: 10, ..Launch::default() };
    let mut client = lab.client_process("client", &launch)?;
    let times: u64 = scale.pick(3, 30);
    for time in 1..=times {
        let trace = lab.folder().join(format!("{time}.trace"));
        // Another sync each time: in its beginning, then deeper and deeper into the load.
        let fault = format!("error=EIO:when={}", 3 * time);
        let mut worker =
            lab.worker(&Launch { under: tracer::inject("fsync", &fault, &trace), ..launch.clone() })?;
        let ended = worker.ends_within(PATIENCE).await;
        let failed_at = wall_millis();
        let text = worker.messages();
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
        // Nothing of it may keep a new worker from going on.
        let lines = lab.count(|_| true)?;
        let mut next = lab.worker(&launch)?;
        let moved = || std::future::ready(lab.count(|_| true).is_ok_and(|now| now > lines + 20));
        report.hold(until(PATIENCE, moved).await, || "nothing moved after the disk came back".into());
        report.recoveries.push(wall_millis().saturating_sub(failed_at));
        if time < times {
            next.kill();
            continue;
        }
        lab.draw_curtain_after(scale.pick(20, 300)).await?;
        let ended = client.ends_within(PATIENCE).await;
        report.hold(ended.is_some_and(|status| status.success()), || client.messages());
        let rested = lab.comes_to_rest(PATIENCE).await;
        report.hold(rested, || "work was still open long after the last fault".into());
    }
    let findings = examine(&lab).await?;
    report.judge(&lab, findings);
    report.floor("syncs failed", times, report.faults["syncs failed"]);
    report.floor("runs ended", scale.pick(20, 300), report.figures["runs ended"]);
    Ok(report)
}
