//! F1: SIGKILL at every commit point. A shim kills the process at its N-th call that touches the database, counted over
//! all its threads, for N = 1, 2, 3 ... until the process comes through; each time a fresh one must finish the run.

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

/// Points tried side by side, each on a world of its own.
const LANES: u64 = 3;
/// How often a victim must come through a point before there is none.
const TRIES: u32 = 3;
/// The same, for a point that others have got beyond.
const AGAIN: u32 = 9;
/// Clean runs that are counted.
const SURVEYS: u32 = 3;
/// Between two looks at a run.
const GLANCE: Duration = Duration::from_millis(5);

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Worker,
    Client,
}

/// One kind of point: who is killed at which calls.
#[derive(Clone, Copy, Debug)]
struct Kind {
    victim: Victim,
    calls: Calls,
}

/// What can be written before a commit, what makes it durable, and what sends it.
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

/// The points of one kind: how many a clean run has, and at which of them, one in each step, the victim was killed.
struct Struck {
    counted: u64,
    step: u64,
    killed: BTreeSet<u64>,
}

/// Every point without a gap counts, until nobody meets the next one before the run is over. Heartbeats and polls come by the
/// clock, so two runs differ by a few; but five steps have many points.
fn tell(report: &mut Report, kind: Kind, Struck { counted, step, killed }: Struck) {
    let what = format!("{:?} points at {:?}", kind.victim, kind.calls);
    let in_a_row = (0..).take_while(|nth| killed.contains(&(1 + step * nth))).count() as u64;
    let (unmet, beyond) = (1 + in_a_row * step, killed.len() as u64 - in_a_row);
    report.note(format!(
        "{what}: {counted} in a clean run, killed at {in_a_row} in a row in steps of {step}, \
         {unmet} is the first nobody met, {beyond} killed beyond it"
    ));
    let least = if kind.victim == Victim::Worker { 10 } else { 3 };
    // Where every point is tried, all that a clean run has must have been met; in steps the last ones may fall between two.
    let wanted = if step == 1 { counted } else { counted * 8 / 10 };
    report.floor(what, wanted.max(least), in_a_row * step);
}

/// How many such calls the victim makes until the run is over, when nobody kills it: the fewest of some runs, because what comes
/// by the clock comes more often in one that is slow.
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

/// Kills at every `step`-th point until the victim comes through again and again; gives the points it was killed at.
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
    // One run in many is longer than the others: what they were too short for is tried again.
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

/// Kills at one point; a run that ended just before it is tried again. Gives the recovery, or nothing when there is no
/// such point.
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
    /// Milliseconds from the kill to the end of the run; nothing when the victim came through.
    recovery: Option<u64>,
    /// Points it had met when the run was last seen open.
    met: u64,
}

/// One five-step run whose client or worker has its points counted.
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
    // The point may come right after the end of the run; nobody ends by himself then either.
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

/// False when it was killed; any other end but a good one is an error.
async fn ended_well(client: &mut Process) -> LabResult<bool> {
    match client.ends_within(PATIENCE).await {
        Some(status) if status.success() => Ok(true),
        Some(status) if status.signal() == Some(9) => Ok(false),
        other => Err(format!("the client ended with {other:?}: {}", client.messages()).into()),
    }
}

/// Waits for the end of the run or of its worker; true when the run completed. Calls `open` whenever it was
/// seen open.
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
