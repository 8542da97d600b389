//! F1: SIGKILL at every commit point. A shim kills the process at its N-th call that touches the database,
//! counted over all threads, for N = 1, 2, 3 ... until the process survives. Each time a new process must
//! finish the run.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rhythm::{RunId, Status, TenantId};

use crate::lab::{Lab, LabResult, Launch, On, Scale, Setup};
use crate::oracle::examine;
use crate::points::{Calls, Points};
use crate::process::Process;
use crate::report::Report;
use crate::wait::{PATIENCE, wall_millis};

/// Number of points tried concurrently, each on a world of its own.
const LANES: u64 = 3;
/// Number of times a victim must survive a point before the point counts as absent.
const TRIES: u32 = 3;
/// The same number for a point when later points have been met.
const AGAIN: u32 = 9;
/// Number of clean runs to count points in.
const SURVEYS: u32 = 3;
/// Interval between two checks of a run.
const GLANCE: Duration = Duration::from_millis(5);

/// Process that is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Worker,
    Client,
}

/// One kind of point: a victim and a kind of call.
#[derive(Clone, Copy, Debug)]
struct Kind {
    victim: Victim,
    calls: Calls,
}

/// Returns the kinds of points of a world: writes before a commit, syncs that make it durable, and sends.
fn kinds(on: On) -> &'static [Kind] {
    const SQLITE: &[Kind] = &[
        Kind { victim: Victim::Worker, calls: Calls::Sync },
        Kind { victim: Victim::Worker, calls: Calls::Write },
        Kind { victim: Victim::Client, calls: Calls::Sync },
        Kind { victim: Victim::Client, calls: Calls::Write },
    ];
    const POSTGRES: &[Kind] = &[
        Kind { victim: Victim::Worker, calls: Calls::Send },
        Kind { victim: Victim::Client, calls: Calls::Send },
    ];
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
        tell(&mut report, *kind, Struck { counted, step, killed });
    }
    for lab in &lanes {
        let findings = examine(lab).await?;
        report.judge(lab, findings);
    }
    Ok(report)
}

/// Results for one kind of point: number of points in a clean run, and the points at which the victim was
/// killed. `step` is the distance between tried points.
struct Struck {
    counted: u64,
    step: u64,
    killed: BTreeSet<u64>,
}

/// Counts the killed points without a gap from the first one. Heartbeats and polls depend on time, so the
/// number of points differs a little between runs; five steps have many points.
fn tell(report: &mut Report, kind: Kind, Struck { counted, step, killed }: Struck) {
    let what = format!("{:?} points at {:?}", kind.victim, kind.calls);
    let in_a_row = (0..).take_while(|nth| killed.contains(&(1 + step * nth))).count() as u64;
    let (unmet, beyond) = (1 + in_a_row * step, killed.len() as u64 - in_a_row);
    report.note(format!(
        "{what}: {counted} in a clean run, killed at {in_a_row} in a row in steps of {step}, \
         {unmet} is the first nobody met, {beyond} killed beyond it"
    ));
    let least = if kind.victim == Victim::Worker { 10 } else { 3 };
    // With step 1, all points of a clean run must have been met. With larger steps the last ones may fall
    // between two tried points.
    let wanted = if step == 1 { counted } else { counted * 8 / 10 };
    report.floor(what, wanted.max(least), in_a_row * step);
}

/// Returns the number of such calls the victim makes in a run without kills. It takes the smallest of several
/// runs, because slow runs have more heartbeats and polls.
async fn survey(lab: &Lab, kind: Kind) -> LabResult<u64> {
    let mut fewest = u64::MAX;
    for time in 0..SURVEYS {
        let name = format!("{:?}-{:?}-clean-{time}", kind.victim, kind.calls);
        let points = Points::watch(lab.folder(), &name, kind.calls)?;
        match strike(lab, kind, &name, &points).await? {
            Strike { recovery: None, met } => fewest = fewest.min(met),
            _ => return Err("the survey's process died".into()),
        }
    }
    Ok(fewest)
}

/// Kills at every `step`-th point until the victim survives repeatedly. Returns the points it was killed at.
async fn strike_all(report: &mut Report, lanes: &[Lab], kind: Kind, step: u64) -> LabResult<BTreeSet<u64>> {
    let next = AtomicU64::new(0);
    let play = async |lab: &Lab| -> LabResult<BTreeMap<u64, u64>> {
        let mut all = BTreeMap::new();
        loop {
            let point = 1 + step * next.fetch_add(1, Ordering::Relaxed);
            let Some(recovery) = strike_at(lab, kind, point, 0..TRIES).await? else { return Ok(all) };
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
    // A single run may be longer than others, so points that other runs did not reach are tried again.
    let last = points.last().copied().unwrap_or(0);
    for point in
        (1..last).step_by(usize::try_from(step)?).filter(|point| !points.contains(point)).collect::<Vec<_>>()
    {
        if let Some(recovery) = strike_at(&lanes[0], kind, point, TRIES..AGAIN).await? {
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

/// Kills at one point, with retries when the run ends just before it. Returns the recovery time, or None when
/// there is no such point.
async fn strike_at(lab: &Lab, kind: Kind, point: u64, times: Range<u32>) -> LabResult<Option<u64>> {
    for time in times {
        let name = format!("{:?}-{:?}-{point}-{time}", kind.victim, kind.calls);
        let points = Points::watch(lab.folder(), &name, kind.calls)?.die_at(point)?;
        let struck = strike(lab, kind, &name, &points).await?;
        if struck.recovery.is_some() {
            return Ok(struck.recovery);
        }
    }
    Ok(None)
}

struct Strike {
    /// Milliseconds from the kill to the end of the run; None when the victim survived.
    recovery: Option<u64>,
    /// Points met when the run was last seen open.
    met: u64,
}

/// Plays one run of five steps while counting the points of its client or worker.
async fn strike(lab: &Lab, kind: Kind, name: &str, points: &Points) -> LabResult<Strike> {
    let plain = Launch { scripts: 1, pause: 0, single_thread: true, ..Launch::fast() };
    let counted = Launch { environment: points.environment(), ..plain.clone() };
    let of = |victim: Victim| if kind.victim == victim { &counted } else { &plain };
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
    let mut may_die = kind.victim == Victim::Worker;
    let mut met = points.met()?;
    let mut over = finished(lab, &run, &mut worker, || {
        met = points.met()?;
        Ok(())
    })
    .await?;
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
        may_die = false;
        over = finished(lab, &run, &mut worker, || Ok(())).await?;
    }
    // The point may come right after the end of the run, so a victim may still die by it here.
    if may_die {
        worker.dismiss();
    } else {
        worker.kill();
    }
    if !over {
        return Err(format!("{name}: the fresh worker did not finish the run: {}", worker.messages()).into());
    }
    Ok(Strike { recovery: killed_at.map(|at| wall_millis().saturating_sub(at)), met })
}

/// Returns false when the client was killed. Any other end except success is an error.
async fn ended_well(client: &mut Process) -> LabResult<bool> {
    match client.ends_within(PATIENCE).await {
        Some(status) if status.success() => Ok(true),
        Some(status) if status.signal() == Some(9) => Ok(false),
        other => Err(format!("the client ended with {other:?}: {}", client.messages()).into()),
    }
}

/// Waits for the end of the run or of its worker. Returns true when the run completed. Calls `open` whenever
/// the run was seen open.
async fn finished(
    lab: &Lab,
    run: &RunId,
    worker: &mut Process,
    mut open: impl FnMut() -> LabResult<()>,
) -> LabResult<bool> {
    let give_up = Instant::now() + PATIENCE;
    while Instant::now() < give_up {
        let alive = worker.is_running();
        match lab.client.picture(run).await?.summary.status {
            Status::Completed => return Ok(true),
            status if status.is_final() => return Err(format!("run {run} ended as {status:?}").into()),
            _ if !alive => return Ok(false),
            _ => {
                open()?;
                tokio::time::sleep(GLANCE).await;
            }
        }
    }
    Ok(false)
}
