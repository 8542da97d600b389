//! F15: wall clocks jump by an hour and by a day, forward and back, and run ten times too fast. On PostgreSQL
//! the server's clock is world time and workers' clocks have no effect; on SQLite each process's clock is
//! world time. Promises: no live worker loses a claim, no timer is early in world time, and a schedule never
//! fires twice and never skips a time without counting it. After a clock was set back, timers set before are
//! late by that much; timers set afterwards are not.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rhythm::{Actor, CatchUp, Overlap, Payload, RunId, ScheduleTarget, Timestamp, WorkflowKind};
use rhythm_core::cron::Cron;
use rhythm_engine::client::NewSchedule;
use rhythm_engine::world::{Control, ControlRequest};

use crate::cluster::{Cluster, open_folder};
use crate::lab::{Lab, LabResult, Launch, On, Scale, Setup};
use crate::ledger::{Line, Manners, What};
use crate::listing;
use crate::load_processes::{Crowd, repeated};
use crate::process::Process;
use crate::report::Report;
use crate::rig::{Rig, next_beginning};
use crate::shifted_clock::ShiftedClock;
use crate::wait::{PATIENCE, until, wall_millis};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
const SCHEDULE: &str = "ticks";
const CRON: &str = "*/10 * * * * *";
/// Step duration in short and long form; long enough that many steps are running when a clock jumps.
const STEP_MILLIS: (u64, u64) = (100, 300);
/// Prefix of the names of faults that are jumps.
const JUMPS: &str = "jumps ";
const NAP: Duration = Duration::from_secs(1);

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("clock", on);
    let folder = open_folder()?;
    let own = ShiftedClock::new(folder.path(), "worker")?;
    let shared = ShiftedClock::new(folder.path(), "world")?;
    match on {
        On::Postgres => on_postgres(&mut report, scale, &own, &shared).await?,
        On::Sqlite => on_sqlite(&mut report, scale, &own, &shared).await?,
    }
    let jumps =
        report.faults.iter().filter(|(kind, _)| kind.starts_with(JUMPS)).map(|(_, count)| count).sum();
    report.floor("jumps", scale.pick(4, 10), jumps);
    Ok(report)
}

async fn on_postgres(
    report: &mut Report,
    scale: Scale,
    own: &ShiftedClock,
    server: &ShiftedClock,
) -> LabResult<()> {
    let step_millis = scale.pick(STEP_MILLIS.0, STEP_MILLIS.1);
    let setup = Setup { step_millis, ..Setup::new(On::Postgres) };
    let rig = Rig::on(Cluster::start_with(server.environment(), "").await?, setup).await?;
    let worker = Launch { environment: own.environment(), ..Launch::default() };
    let client = Launch { pause: 50, ..Launch::default() };
    let mut crowd = Crowd::start(&rig.lab, &[worker.clone(), worker.clone(), worker], &[client])?;
    let lab = &rig.lab;
    let first = put_schedule(lab).await?;

    let own_jumps: &[i64] = scale.pick(&[HOUR, -HOUR], &[HOUR, -2 * HOUR, DAY + HOUR, -2 * DAY, DAY]);
    all_at_work(report, lab, &crowd).await;
    let nap = begin_nap(lab).await?;
    leap(report, (lab, scale), own, "jumps of workers' clocks", own_jumps[0]).await?;
    for millis in &own_jumps[1..] {
        jump(report, (lab, scale), &crowd, own, "jumps of workers' clocks", *millis).await?;
    }
    end_nap(report, lab, nap).await?;
    drift(report, own, scale).await?;

    let ahead: &[i64] = scale.pick(&[HOUR], &[HOUR, DAY, HOUR, DAY]);
    for millis in ahead {
        jump(report, (lab, scale), &crowd, server, "jumps of the server's clock", *millis).await?;
    }
    drift(report, server, scale).await?;
    jump(report, (lab, scale), &crowd, server, "jumps of the server's clock", -HOUR).await?;
    no_claim_was_taken(report, lab)?;
    goes_on_after_a_step_back(report, lab).await?;
    a_dead_worker_is_followed(report, &mut crowd, lab, step_millis / 2).await?;
    // Jump forward again, so that work that was due by the former time also ends.
    jump(report, (lab, scale), &crowd, server, "jumps of the server's clock", HOUR).await?;
    pause_schedule(lab).await?;
    crowd.finish(lab, report, scale.pick(20, 200)).await?;
    schedule_is_whole(report, lab, first).await
}

async fn on_sqlite(
    report: &mut Report,
    scale: Scale,
    own: &ShiftedClock,
    host: &ShiftedClock,
) -> LabResult<()> {
    let manners = Manners::DEDUPES;
    let step_millis = scale.pick(STEP_MILLIS.0, STEP_MILLIS.1);
    let setup = Setup { step_millis, manners, ..Setup::new(On::Sqlite) };
    let lab = &Lab::open(setup).await?;
    let launch =
        |clock: &ShiftedClock| Launch { environment: clock.environment(), pause: 50, ..Launch::default() };
    let crowd = Crowd::start(lab, &[launch(own), launch(host), launch(host)], &[launch(host)])?;
    let first = put_schedule(lab).await?;
    let jumps: &[i64] = scale.pick(&[HOUR, -HOUR], &[HOUR, -HOUR, DAY, -2 * DAY, DAY]);
    for millis in jumps {
        jump(report, (lab, scale), &crowd, host, "jumps of the host's clock", *millis).await?;
    }
    let own_jumps: &[i64] = scale.pick(&[2 * HOUR, -2 * HOUR], &[2 * DAY, -DAY, HOUR, -DAY, -HOUR]);
    for millis in own_jumps {
        jump(report, (lab, scale), &crowd, own, "jumps of one worker's clock", *millis).await?;
    }
    if scale == Scale::Long {
        drift(report, host, scale).await?;
    }
    no_claim_was_taken(report, lab)?;
    goes_on_after_a_step_back(report, lab).await?;
    pause_schedule(lab).await?;
    crowd.finish(lab, report, scale.pick(20, 200)).await?;
    schedule_is_whole(report, lab, first).await
}

/// Moves a clock while the processes run.
async fn jump(
    report: &mut Report,
    (lab, scale): (&Lab, Scale),
    crowd: &Crowd,
    clock: &ShiftedClock,
    whose: &'static str,
    millis: i64,
) -> LabResult<()> {
    all_at_work(report, lab, crowd).await;
    leap(report, (lab, scale), clock, whose, millis).await
}

/// Moves a clock and waits until work has gone on for a while.
async fn leap(
    report: &mut Report,
    (lab, scale): (&Lab, Scale),
    clock: &ShiftedClock,
    whose: &'static str,
    millis: i64,
) -> LabResult<()> {
    let at = wall_millis();
    clock.jump(millis)?;
    report.fault(whose, 1);
    report.say(format_args!("{whose}: by {} min", millis / 60_000));
    for since in [at, at + scale.pick(700, 2_000)] {
        match next_beginning(lab, since, None, PATIENCE).await {
            Some(began) if since == at => report.beginnings.push(began - at),
            Some(_) => {}
            None => report.violations.push(format!("nothing began after {whose} by {millis} ms")),
        }
    }
    Ok(())
}

/// Waits until the world knows every worker and each has begun an attempt. A jump while no worker works would
/// test nothing.
async fn all_at_work(report: &mut Report, lab: &Lab, crowd: &Crowd) {
    let now = wall_millis();
    let known = until(PATIENCE, || async {
        let rows = lab.client.world().workers(lab.client.tenant()).await.unwrap_or_default();
        crowd.workers.iter().all(|worker| rows.iter().any(|row| row.card.id.as_str() == worker.name()))
    });
    report.hold(known.await, || "not every worker is known".into());
    for worker in &crowd.workers {
        let began = next_beginning(lab, now, Some(worker.id()), PATIENCE).await;
        report.hold(began.is_some(), || format!("{} began nothing between two jumps", worker.name()));
    }
}

/// Makes a clock run ten times too fast for a while.
async fn drift(report: &mut Report, clock: &ShiftedClock, scale: Scale) -> LabResult<()> {
    const TICK: i64 = 100;
    for _ in 0..scale.pick(10, 200) {
        tokio::time::sleep(Duration::from_millis(TICK as u64)).await;
        clock.jump(9 * TICK)?;
    }
    report.fault("drifts", 1);
    Ok(())
}

fn no_claim_was_taken(report: &mut Report, lab: &Lab) -> LabResult<()> {
    let taken = repeated(&lab.ledger()?);
    report.hold(taken == 0, || format!("{taken} attempts were taken from workers because a clock jumped"));
    Ok(())
}

/// Checks that a sleeping run started after a step back is not late by the length of the step.
async fn goes_on_after_a_step_back(report: &mut Report, lab: &Lab) -> LabResult<()> {
    // Processes accept a step back only after no answer has contradicted it for some seconds.
    let began = Instant::now();
    let ended = until(PATIENCE, || async {
        let Ok(run) = begin_nap(lab).await else { return false };
        until(4 * NAP, || ended(lab, &run.0)).await
    })
    .await;
    report.hold(ended, || "runs that sleep did not end after the clock was set back".into());
    report.figure("ms until naps ended after a step back", began.elapsed().as_millis() as u64);
    Ok(())
}

/// A worker dies while clocks are wrong. Others must take over its work.
async fn a_dead_worker_is_followed(
    report: &mut Report,
    crowd: &mut Crowd,
    lab: &Lab,
    just_now: u64,
) -> LabResult<()> {
    let mut victim = crowd.workers.remove(0);
    let caught = until(PATIENCE, || std::future::ready(is_stopped_at_work(lab, &victim, just_now))).await;
    report.hold(caught, || "the worker never had anything to do".into());
    let at = wall_millis();
    report.hold(victim.kill(), || "the worker was dead before".into());
    report.fault("workers killed", 1);
    let followed =
        until(PATIENCE, || std::future::ready(lab.ledger().is_ok_and(|lines| repeated(&lines) > 0))).await;
    report.hold(followed, || "what a dead worker left was not taken over".into());
    report.figure("ms until a dead worker was followed", wall_millis() - at);
    Ok(())
}

/// Freezes a worker and returns true if it is inside an attempt begun at most `just_now` ms ago; otherwise
/// lets it go on. Older attempts do not count: they may have failed, which the ledger does not show.
fn is_stopped_at_work(lab: &Lab, worker: &Process, just_now: u64) -> bool {
    let frozen = worker.freeze().is_ok();
    let recent = wall_millis().saturating_sub(just_now);
    let lines = lab.ledger().unwrap_or_default();
    let own = |what: What| {
        lines.iter().filter(move |line| line.entry.pid == worker.id() && line.entry.what == what)
    };
    let done: BTreeSet<(&str, u64)> =
        own(What::Did).map(|line| (line.entry.task.as_str(), line.entry.claim)).collect();
    let is_open = |line: &Line| !done.contains(&(line.entry.task.as_str(), line.entry.claim));
    let at_work = frozen && own(What::Began).any(|line| line.at >= recent && is_open(line));
    if !at_work {
        // If the worker is dead, the caller's `kill` will notice.
        let _ = worker.thaw();
    }
    at_work
}

/// Starts a run that only sleeps. Returns it with its start time by a clock that is never moved.
async fn begin_nap(lab: &Lab) -> LabResult<(RunId, Instant)> {
    let plan = format!(r#"{{"steps":[{{"sleep":"{}s"}}]}}"#, NAP.as_secs());
    lab.client.register("nap", WorkflowKind::Drill, &plan).await?;
    let began = Instant::now();
    Ok((lab.client.start("nap", &()).await?, began))
}

async fn end_nap(report: &mut Report, lab: &Lab, (run, began): (RunId, Instant)) -> LabResult<()> {
    let there = until(PATIENCE, || ended(lab, &run)).await;
    report.hold(there, || "a nap did not end".into());
    let picture = lab.client.picture(&run).await?;
    let slept = picture.summary.ended_at.map(|end| end.since(picture.summary.created_at).as_u64());
    let early = slept.is_none_or(|slept| u128::from(slept) < NAP.as_millis()) || began.elapsed() < NAP;
    report.hold(!early, || format!("a nap of {NAP:?} took {slept:?} ms of the world's time"));
    Ok(())
}

async fn ended(lab: &Lab, run: &RunId) -> bool {
    lab.client.picture(run).await.is_ok_and(|picture| picture.summary.status.is_final())
}

/// Creates a schedule that fires every ten seconds and returns its first time.
async fn put_schedule(lab: &Lab) -> LabResult<Timestamp> {
    let target = ScheduleTarget::Workflow { workflow: "small".into(), input: Payload::null() };
    let schedule = lab
        .client
        .put_schedule(NewSchedule {
            name: SCHEDULE.into(),
            cron: CRON.into(),
            zone: "UTC".into(),
            target,
            catch_up: CatchUp::One,
            overlap: Overlap::Allow,
        })
        .await?;
    schedule.next_at.ok_or_else(|| "the schedule never fires".into())
}

async fn pause_schedule(lab: &Lab) -> LabResult<()> {
    let control = Control::PauseSchedule { name: SCHEDULE.into() };
    let (tenant, actor) = (lab.client.tenant().clone(), Actor("crash".into()));
    lab.client.world().control(ControlRequest { tenant, actor, control }).await?;
    Ok(())
}

/// Checks that every time of the rule was fired once or counted as missed.
async fn schedule_is_whole(report: &mut Report, lab: &Lab, first: Timestamp) -> LabResult<()> {
    let schedules = lab.client.world().schedules(lab.client.tenant()).await?;
    let schedule = schedules.into_iter().find(|schedule| schedule.name == SCHEDULE);
    let schedule = schedule.ok_or("the schedule is gone")?;
    let next = schedule.next_at.ok_or("the schedule never fires")?;
    let cron = Cron::parse(CRON, "UTC")?;
    let mut times = 0;
    let mut fire = first;
    while fire < next {
        times += 1;
        fire = cron.next_after(fire).ok_or("the rule ends")?;
    }
    let (fired, missed) = (schedule.fired, schedule.missed);
    report.hold(fired + missed == times, || {
        format!("of {times} times {fired} fired and {missed} were counted as missed")
    });
    let of_schedule = |tag: Option<&String>| tag.is_some_and(|name| name == SCHEDULE);
    let runs = listing::runs(&lab.client).await?;
    let started = runs.iter().filter(|run| of_schedule(run.labels.get("schedule"))).count() as u64;
    report.hold(started == fired, || format!("{fired} fires started {started} runs"));
    report.figure("fires", fired);
    report.figure("fires counted as missed", missed);
    report.hold(fired > 0, || "the schedule never fired".into());
    Ok(())
}
