//! W10: many timers due at one moment, and their effect on other work. All runs must sleep before that
//! moment. If that takes too long there is no figure, because timers that fall due one by one are easier.

use std::cell::Cell;
use std::time::{Duration, Instant};

use rhythm_core::Millis;
use serde_json::json;

use crate::BenchError;
use crate::check::lost_runs;
use crate::figures::{Samples, ratio};
use crate::flows::{DUE, FINISHED, STEPS};
use crate::in_process::{Entries, InProcess};
use crate::progress::Progress;
use crate::report::{Measured, object};
use crate::scratch_db::Ground;
use crate::single_run::start_latency;
use crate::wait::{Look, until};

const CONCURRENCY: u32 = 100;
/// Time reserved for the last quiet probe, which must end before the timers fall due.
const MARGIN: Duration = Duration::from_millis(200);
/// With fewer quiet probes there is nothing to compare with.
const QUIET_PROBES: usize = 20;
/// More probes would only fill the database.
const MOST_QUIET_PROBES: usize = 2_000;
/// Number of runs that measure how fast runs can be started here, and safety factor for starting all of them.
const TRIAL: u32 = 1_000;
const SAFETY: f64 = 3.0;
const SHORTEST_LEAD: Duration = Duration::from_secs(5);

pub async fn measure(
    ground: &Ground,
    timers: u32,
    lead: Option<Duration>,
    progress: &Progress,
) -> Result<Measured, BenchError> {
    let world = &ground.open().await?;
    let (worker, mut entries) = InProcess::watched(world, CONCURRENCY).await?;
    DUE.register(&worker.client).await?;
    STEPS.register(&worker.client).await?;
    let lead = match lead {
        Some(lead) => lead,
        None => usual_lead(&worker, timers).await?,
    };
    let now = world.now().await?;
    let tried = worker.written().ended;
    let (due, due_at) = (now.plus(millis(lead)), Instant::now() + lead);
    let asleep = async {
        let filled = sleep_all(&worker, timers, json!({ "due": due.millis() }), progress).await?;
        // Cleans up after the fill now, so that this does not slow the quiet probes.
        ground.rest().await?;
        Ok::<_, BenchError>(filled)
    };
    let Ok(asleep) = tokio::time::timeout_at(due_at.into(), asleep).await else {
        return Err(too_late(timers, lead));
    };
    let filled = asleep?;
    let mut probes = Probes { worker: &worker, entries: &mut entries };
    progress.say("all of them sleep; other work, quiet");
    let over = |count| count >= MOST_QUIET_PROBES || Instant::now() + MARGIN >= due_at;
    let quiet = probes.until(over).await?;
    if quiet.count() < QUIET_PROBES {
        return Err(too_late(timers, lead));
    }
    tokio::time::sleep(due_at.saturating_duration_since(Instant::now())).await;
    progress.say("all of them are due; other work beside them");
    let (goal, fired) = (u64::from(timers), Cell::new(false));
    let all_fired = async {
        until(async || {
            // A probe whose handler has finished may not have ended yet, so this can only undercount the
            // fired timers.
            let others = tried + worker.executions();
            let moved = worker.written().ended.saturating_sub(others);
            progress.count("timers fired", moved, goal);
            Ok(Look { done: moved >= goal, moved })
        })
        .await?;
        fired.set(true);
        Ok(due_at.elapsed())
    };
    let (wall, busy) = tokio::try_join!(all_fired, probes.until(|_| fired.get()))?;
    let executions = (quiet.count() + busy.count()) as u64;
    worker.until_ended(tried + goal + executions).await?;
    let lost = lost_runs(&worker.client, &DUE, goal, &json!(due.millis())).await?
        + lost_runs(&worker.client, &STEPS, executions, &json!(1)).await?;
    let measured = Measured {
        per_s: Some(f64::from(timers) / wall.as_secs_f64()),
        p50_ms: busy.p50(),
        p99_ms: busy.p99(),
        wall_s: Some(wall.as_secs_f64()),
        lost: Some(lost),
        repeated: Some(worker.executions().saturating_sub(executions)),
        detail: object(json!({
            "timers": timers,
            "lead_s": lead.as_secs_f64(),
            "asleep_after_s": filled.as_secs_f64(),
            "probes": busy.count(),
            "max_ms": busy.max(),
            "quiet_probes": quiet.count(),
            "quiet_p50_ms": quiet.p50(),
            "quiet_p99_ms": quiet.p99(),
            "ratio_p99": ratio(busy.p99(), quiet.p99()),
        })),
        ..Measured::default()
    };
    worker.stop().await;
    Ok(measured)
}

/// Returns enough time for all runs to go to sleep, estimated from runs that end at once.
async fn usual_lead(worker: &InProcess, timers: u32) -> Result<Duration, BenchError> {
    FINISHED.register(&worker.client).await?;
    let (trial, began) = (TRIAL.min(timers), Instant::now());
    FINISHED.fill(worker, trial, &json!({ "number": 1 }), &Progress::silent()).await?;
    let all = began.elapsed().mul_f64(SAFETY * f64::from(timers) / f64::from(trial));
    Ok(SHORTEST_LEAD + all)
}

fn too_late(timers: u32, lead: Duration) -> BenchError {
    BenchError::NotMeasured(format!(
        "{timers} runs did not sleep in time before they were due, {:.1} s after the first was started; \
         try a longer --lead",
        lead.as_secs_f64()
    ))
}

/// Starts the sleeping runs and returns the time until the last one slept.
async fn sleep_all(
    worker: &InProcess,
    timers: u32,
    input: serde_json::Value,
    progress: &Progress,
) -> Result<Duration, BenchError> {
    let began = Instant::now();
    progress.say(&format!("{timers} runs go to sleep"));
    DUE.fill(worker, timers, &input, progress).await?;
    Ok(began.elapsed())
}

/// Other work: small runs, one after the other.
struct Probes<'a> {
    worker: &'a InProcess,
    entries: &'a mut Entries,
}

impl Probes<'_> {
    /// Runs probes until `over` returns true for their number.
    async fn until(&mut self, over: impl Fn(usize) -> bool) -> Result<Samples, BenchError> {
        let mut times = Samples::default();
        while !over(times.count()) {
            times.add(start_latency(&self.worker.client, self.entries).await?);
        }
        Ok(times)
    }
}

fn millis(time: Duration) -> Millis {
    Millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}
