//! F25: a very large number of timers fall due at the same moment while no worker runs. All fire soon after a
//! worker starts, none early, and other work goes on during that time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rhythm::{Millis, RunId, StartRun, Status, Timestamp, WorkflowKind};
use serde_json::json;

use crate::lab::{Lab, LabResult, Launch, On, Scale, Setup};
use crate::ledger::What;
use crate::listing;
use crate::load_processes::come_to_rest;
use crate::oracle::examine_some;
use crate::report::Report;
use crate::wait::{PATIENCE, until};

/// Number of runs started together; all batches sleep until the same moment.
const BATCH: u64 = 1_000;
/// Time limit from the start of the workers until all timers have fired.
const LATEST: Duration = Duration::from_secs(30);
/// Least share of its former pace at which other work must go on.
const SHARE: f64 = 0.1;
/// One in this many runs is examined fully.
const SAMPLE: u64 = 100;

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("timers", on);
    let lab = Lab::open(Setup::new(on)).await?;
    let timers: u64 = scale.pick(1_000, 100_000);
    let mut workers = [lab.worker(&Launch::fast())?, lab.worker(&Launch::fast())?];
    let steps_before = pace(&lab, &mut report, scale.pick(15, 40)).await?;
    let one_batch = rehearse(&lab, &mut report).await?;
    let enough = one_batch * u32::try_from(timers.div_ceil(BATCH))? * 2
        + scale.pick(Duration::from_secs(1), Duration::from_secs(3));
    let due = lab.client.world().now().await?.plus(Millis(u64::try_from(enough.as_millis())?));
    report.say(format_args!("{timers} timers will be due in {enough:.0?}"));
    let sleeps = put_to_sleep(&lab, &mut report, timers, due).await?;
    for worker in &mut workers {
        worker.kill();
    }
    let set = lab.client.world().now().await?;
    let past = due.max(set).plus(scale.pick(Millis(500), Millis::from_secs(3)));
    until(PATIENCE * 5, || async { lab.client.world().now().await.is_ok_and(|now| now > past) }).await;
    let waiting = lab.client.world().health().await?.timers;
    report.fault("timers due at once", waiting);
    report.floor("timers due at once", timers, waiting);
    let mut others = [lab.client_process("others", &others())?];
    let back = lab.client.world().now().await?;
    let _workers = [lab.worker(&Launch::fast())?, lab.worker(&Launch::fast())?];
    let woken = until(PATIENCE * 5, || async {
        lab.client.world().health().await.is_ok_and(|health| health.timers <= 50 && health.live_runs <= 50)
    });
    report.hold(woken.await, || "timers did not fire".into());
    lab.draw_curtain()?;
    come_to_rest(&lab, &mut report, &mut others).await;
    let last = look_at_ends(&lab, &mut report, &sleeps, timers).await?;
    let late = last.since(back).as_u64();
    report.figure("milliseconds from the first worker to the last timer", late);
    if scale == Scale::Long {
        report
            .hold(u128::from(late) <= LATEST.as_millis(), || format!("the last timer fired {late} ms late"));
    }
    let window = u64::try_from(back.millis())?..=u64::try_from(last.millis())?;
    let meanwhile = lab.count(|line| line.entry.what == What::Did && window.contains(&line.at))?;
    report.figure("other steps done while the timers fired", meanwhile as u64);
    // Floor as a share of the former pace. A short run on a busy machine lasts only a few seconds, so it must
    // do just one step.
    let share = (steps_before * late as f64 / 1_000.0 * SHARE) as u64;
    report.figure("other steps per second before", steps_before as u64);
    report.floor("other steps meanwhile", scale.pick(1, share.max(1)), meanwhile as u64);
    let sampled = |run: &RunId| run.as_str().bytes().map(u64::from).sum::<u64>().is_multiple_of(SAMPLE);
    let findings = examine_some(&lab, |run| {
        let many = sleeps.contains_key(&run.workflow) || run.workflow == "rehearsal";
        !many || sampled(&run.id)
    });
    let findings = findings.await?;
    report.judge(&lab, findings);
    Ok(report)
}

/// Options of the client that gives other work at an even pace.
fn others() -> Launch {
    Launch { pause: 20, ..Launch::default() }
}

/// Measures the steps per second of the other work alone.
async fn pace(lab: &Lab, report: &mut Report, scripts: u64) -> LabResult<f64> {
    let mut client = lab.client_process("before", &Launch { scripts, ..others() })?;
    let ended = client.ends_within(PATIENCE).await;
    report.hold(ended.is_some_and(|status| status.success()), || client.messages());
    let did: Vec<u64> =
        lab.ledger()?.iter().filter(|line| line.entry.what == What::Did).map(|line| line.at).collect();
    let (first, last) = (did.iter().min().copied(), did.iter().max().copied());
    let (first, last) = first.zip(last).ok_or("nothing was done before the timers")?;
    Ok(did.len() as f64 * 1_000.0 / (last - first).max(1) as f64)
}

/// Measures how long it takes to start a batch and set its timers.
async fn rehearse(lab: &Lab, report: &mut Report) -> LabResult<Duration> {
    let plan = json!({"steps": [{"sleep": "1ms"}]});
    lab.client.register("rehearsal", WorkflowKind::Drill, &plan.to_string()).await?;
    let began = Instant::now();
    let start = || StartRun { workflow: "rehearsal".into(), ..StartRun::default() };
    lab.client.start_runs((0..BATCH).map(|_| start()).collect()).await?;
    let rested = lab.comes_to_rest(PATIENCE).await;
    report.hold(rested, || "the rehearsal did not end".into());
    Ok(began.elapsed())
}

/// Starts the sleeping runs in batches, each with the time left. Returns the sleep length of each workflow.
async fn put_to_sleep(
    lab: &Lab,
    report: &mut Report,
    timers: u64,
    due: Timestamp,
) -> LabResult<BTreeMap<String, u64>> {
    let mut sleeps = BTreeMap::new();
    let began = Instant::now();
    for batch in 0..timers.div_ceil(BATCH) {
        let left = due.since(lab.client.world().now().await?).as_u64();
        let workflow = format!("sleeper-{batch}");
        let plan = json!({"steps": [{"sleep": format!("{left}ms")}]});
        lab.client.register(&workflow, WorkflowKind::Drill, &plan.to_string()).await?;
        let count = BATCH.min(timers - batch * BATCH);
        let start = || StartRun { workflow: workflow.clone(), ..StartRun::default() };
        lab.client.start_runs((0..count).map(|_| start()).collect()).await?;
        sleeps.insert(workflow, left);
        // A backlog of unstepped runs would move their timers past the due time.
        let set = batch * BATCH + count;
        let asleep = until(PATIENCE, || async {
            let health = lab.client.world().health().await;
            let now = lab.client.world().now().await;
            health.is_ok_and(|health| health.timers >= set) || now.is_ok_and(|now| now >= due)
        });
        report.hold(asleep.await, || format!("only some of {set} timers were set"));
        if (batch + 1) % 20 == 0 {
            report.say(format_args!("{set} of {timers} timers set after {:.0?}", began.elapsed()));
        }
    }
    Ok(sleeps)
}

/// Checks that every sleeping run completed and none too early. Returns the time the last one ended.
async fn look_at_ends(
    lab: &Lab,
    report: &mut Report,
    sleeps: &BTreeMap<String, u64>,
    timers: u64,
) -> LabResult<Timestamp> {
    let mut last = Timestamp::default();
    let mut woken = 0;
    for run in listing::runs(&lab.client).await? {
        let (Some(sleep), Some(ended)) = (sleeps.get(&run.workflow), run.ended_at) else { continue };
        woken += u64::from(run.status == Status::Completed);
        last = last.max(ended);
        let earliest = run.created_at.plus(Millis(*sleep));
        report.hold(ended >= earliest, || format!("run {} woke up at {ended}, not {earliest}", run.id));
    }
    report.floor("timers fired", timers, woken);
    Ok(last)
}
