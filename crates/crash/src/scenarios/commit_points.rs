//! F1: SIGKILL at every commit point. A tracer kills the process at its N-th system call that touches the
//! database, for N = 1, 2, 3 ... until the process comes through; each time a fresh one must finish the run.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rhythm::{RunId, Status, TenantId};

use crate::lab::{Lab, LabResult, Launch, On, Scale, Setup};
use crate::oracle::examine;
use crate::process::Process;
use crate::report::Report;
use crate::tracer;
use crate::wait::{PATIENCE, wall_millis};

/// Points tried side by side, each on a world of its own.
const LANES: u64 = 3;
/// How often a victim must come through a point before there is none.
const TRIES: u32 = 3;

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Worker,
    Client,
}

/// One kind of point: who is killed at which system call.
#[derive(Clone, Copy, Debug)]
struct Kind {
    victim: Victim,
    call: &'static str,
}

/// What can be written before a commit, what makes it durable, and what sends it.
fn kinds(on: On) -> &'static [Kind] {
    const SQLITE: &[Kind] = &[
        Kind { victim: Victim::Worker, call: "fsync" },
        Kind { victim: Victim::Worker, call: "pwrite64" },
        Kind { victim: Victim::Client, call: "fsync" },
        Kind { victim: Victim::Client, call: "pwrite64" },
    ];
    const POSTGRES: &[Kind] =
        &[Kind { victim: Victim::Worker, call: "sendto" }, Kind { victim: Victim::Client, call: "sendto" }];
    match on {
        On::Sqlite => SQLITE,
        On::Postgres => POSTGRES,
    }
}

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("commit_points", on);
    let mut lanes = Vec::new();
    for _ in 0..LANES {
        lanes.push(Lab::open(Setup { step_millis: 0, ..Setup::new(on) }).await?);
    }
    for kind in kinds(on) {
        let counted = survey(&lanes[0], *kind).await?;
        report.say(format_args!("{kind:?}: {counted} points in a clean run"));
        let step = scale.pick(counted.div_ceil(5).max(1), 1);
        let killed = strike_all(&mut report, &lanes, *kind, step).await?;
        let what = format!("{:?} points at {}", kind.victim, kind.call);
        // Every point without a gap, as far as the run goes: behind its end only heartbeats are left to be killed at. They come
        // by the clock, so two runs differ by a few; but five steps have many points.
        let least = if kind.victim == Victim::Worker { 10 } else { 3 };
        let in_a_row = (0..).take_while(|nth| killed.contains(&(1 + step * nth))).count() as u64;
        report.floor(what, (counted * 8 / 10).max(least), in_a_row * step);
    }
    for lab in &lanes {
        let findings = examine(lab).await?;
        report.judge(lab, findings);
    }
    Ok(report)
}

/// How many such calls the victim makes when nobody kills it. The tracer numbers calls of each thread by
/// themselves, so it is the busiest thread that counts.
async fn survey(lab: &Lab, kind: Kind) -> LabResult<u64> {
    let trace = lab.folder().join(format!("{:?}-{}.trace", kind.victim, kind.call));
    let under = tracer::watch(kind.call, &trace);
    let struck = strike(lab, kind, &format!("{:?}-{}-clean", kind.victim, kind.call), under).await?;
    if struck.killed {
        return Err("the survey's process died".into());
    }
    let text = std::fs::read_to_string(trace)?;
    let mut threads: BTreeMap<&str, u64> = BTreeMap::new();
    for line in text.lines().filter(|line| line.contains(&format!("{}(", kind.call))) {
        *threads.entry(line.split(' ').next().unwrap_or_default()).or_default() += 1;
    }
    Ok(threads.into_values().max().unwrap_or(0))
}

/// Kills at every `step`-th point until the victim comes through again and again; gives the points it was killed at.
async fn strike_all(report: &mut Report, lanes: &[Lab], kind: Kind, step: u64) -> LabResult<BTreeSet<u64>> {
    let next = AtomicU64::new(0);
    let play = async |lab: &Lab| -> LabResult<BTreeMap<u64, u64>> {
        let mut all = BTreeMap::new();
        loop {
            let point = 1 + step * next.fetch_add(1, Ordering::Relaxed);
            let Some(recovery) = strike_at(lab, kind, point).await? else { return Ok(all) };
            all.insert(point, recovery);
        }
    };
    let played = futures_util::future::join_all(lanes.iter().map(play)).await;
    let mut points = BTreeSet::new();
    for lane in played {
        for (point, recovery) in lane? {
            points.insert(point);
            report.recoveries.push(recovery);
        }
    }
    let killed = points.len() as u64;
    let fault = match kind.victim {
        Victim::Worker => "workers killed at a point",
        Victim::Client => "clients killed at a point",
    };
    report.fault(fault, killed);
    report.say(format_args!("{kind:?}: killed at {killed} points"));
    Ok(points)
}

/// Kills at one point; a run that ended just before it is tried again. Gives the recovery, or nothing when there is no
/// such point.
async fn strike_at(lab: &Lab, kind: Kind, point: u64) -> LabResult<Option<u64>> {
    for time in 0..TRIES {
        let fault = format!("signal=KILL:when={point}");
        let under = tracer::inject(kind.call, &fault, Path::new("/dev/null"));
        let name = format!("{:?}-{}-{point}-{time}", kind.victim, kind.call);
        let struck = strike(lab, kind, &name, under).await?;
        if struck.killed {
            return Ok(Some(struck.recovery));
        }
    }
    Ok(None)
}

struct Struck {
    killed: bool,
    /// Milliseconds from the kill to the end of the run.
    recovery: u64,
}

/// One five-step run whose client or worker is traced.
async fn strike(lab: &Lab, kind: Kind, name: &str, under: Vec<String>) -> LabResult<Struck> {
    let traced = Launch { under, scripts: 1, pause: 0, single_thread: true, ..Launch::fast() };
    let plain = Launch { under: Vec::new(), ..traced.clone() };
    let of = |victim: Victim| if kind.victim == victim { &traced } else { &plain };
    let mut killed_at = None;
    let mut client = lab.client_process(name, of(Victim::Client))?;
    if !ended_well(&mut client).await? {
        killed_at = Some(wall_millis());
        client = lab.client_process(name, &plain)?;
        if !ended_well(&mut client).await? {
            return Err(format!("the second client was killed too: {}", client.messages()).into());
        }
    }
    let run = RunId::for_key(&TenantId::default(), "steps", &format!("{name}-0"));
    let mut worker = lab.worker(of(Victim::Worker))?;
    let mut over = finished(lab, &run, &mut worker).await?;
    if !over {
        let status = worker.ends_within(Duration::from_secs(5)).await;
        if status.is_none_or(|status| status.signal() != Some(9)) {
            let text = worker.messages();
            return Err(format!(
                "{name}: the run neither ended nor was its worker killed: {status:?} {text}"
            )
            .into());
        }
        killed_at = Some(wall_millis());
        worker = lab.worker(&plain)?;
        over = finished(lab, &run, &mut worker).await?;
    }
    // The point may come right after the end of the run.
    worker.dismiss();
    if !over {
        return Err(format!("{name}: the fresh worker did not finish the run: {}", worker.messages()).into());
    }
    let recovery = killed_at.map_or(0, |at| wall_millis().saturating_sub(at));
    Ok(Struck { killed: killed_at.is_some(), recovery })
}

/// False when it was killed; any other end but a good one is an error.
async fn ended_well(client: &mut Process) -> LabResult<bool> {
    match client.ends_within(PATIENCE).await {
        Some(status) if status.success() => Ok(true),
        Some(status) if status.signal() == Some(9) => Ok(false),
        other => Err(format!("the client ended with {other:?}: {}", client.messages()).into()),
    }
}

/// Waits for the end of the run or of its worker; true when the run completed.
async fn finished(lab: &Lab, run: &RunId, worker: &mut Process) -> LabResult<bool> {
    let give_up = Instant::now() + PATIENCE;
    while Instant::now() < give_up {
        let alive = worker.is_running();
        match lab.client.picture(run).await?.summary.status {
            Status::Completed => return Ok(true),
            status if status.is_final() => return Err(format!("run {run} ended as {status:?}").into()),
            _ if !alive => return Ok(false),
            _ => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
    Ok(false)
}
