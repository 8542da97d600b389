//! Background duties. Every process may run them at once.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rhythm_core::{Millis, RunId, TaskId, TenantId, Timestamp};
use rhythm_engine::world::{Hint, UpkeepReport, WorldResult};
use tokio_postgres::Row;

use super::columns::millis;
use super::hints::Hints;
use super::link::Link;
use super::rows::{count, from_json, time_option};
use super::sql;
use super::time::Time;
use crate::patience::{BEFORE_EXPIRY, Patience};

/// Claims that ran out are looked for from the beginning no more often than this, and for one part in so many of the time:
/// that reads past every claim there ever was, while anybody holds a snapshot from before.
const RESCAN: i64 = 60_000;
const RESCAN_SHARE: i64 = 50;
/// A claim is written with a time in its future, so whoever wrote one that ran out long ago was slow to commit, or somebody had it
/// locked; sweeps see it for so long, and then those from the beginning.
const MARGIN: i64 = 1_000;

/// Up to where claims that ran out were looked for: dead index entries before it need not be passed again.
#[derive(Default)]
pub struct Watermark {
    looked_to: AtomicI64,
    /// When to begin at the beginning again.
    rescan_at: AtomicI64,
    swept_at: AtomicI64,
    /// When workers were last looked for.
    judged: Mutex<Option<Instant>>,
}

/// Workers are looked for no more often than this.
const JUDGE_EVERY: Duration = Duration::from_millis(200);

impl Watermark {
    fn from(&self) -> i64 {
        self.looked_to.load(Ordering::Acquire)
    }

    fn is_time_to_judge(&self) -> bool {
        let mut judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        let is_time = judged.is_none_or(|last| last.elapsed() >= JUDGE_EVERY);
        if is_time {
            *judged = Some(Instant::now());
        }
        is_time
    }

    /// A sweep found what ran out before `now`, or so much of it that there may be more.
    fn moved(&self, now: i64, all: bool, took: Duration) {
        let from_the_beginning = self.from() == 0;
        if from_the_beginning {
            let took = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
            let pause = RESCAN.max(took.saturating_mul(RESCAN_SHARE));
            self.rescan_at.store(now.saturating_add(pause), Ordering::Release);
        }
        let rescan_at = self.rescan_at.load(Ordering::Acquire);
        // A clock that was set back makes everything known useless.
        if now >= rescan_at || now + MARGIN < self.swept_at.swap(now, Ordering::AcqRel) {
            self.looked_to.store(0, Ordering::Release);
        } else if all {
            self.looked_to.store(now - MARGIN, Ordering::Release);
        }
    }
}

/// How much is ready. Counting reads past all that was worked off, which stays while anybody holds a snapshot from before;
/// once that takes long, the last count does for a while (`fronts.rs` has the same for claims).
#[derive(Default)]
pub struct Ready(Mutex<Option<Count>>);

#[derive(Clone, Copy)]
struct Count {
    runs: i64,
    tasks: i64,
    until: Instant,
}

/// Counting may take so long each time, or one part in so many of all time, as far as that is no longer than [`AT_MOST`].
const CHEAP: Duration = Duration::from_millis(3);
const SHARE: u32 = 50;
const AT_MOST: Duration = Duration::from_secs(10);

impl Ready {
    /// Absent when it is time to count.
    fn known(&self) -> (Option<i64>, Option<i64>) {
        let count = *self.lock();
        let count = count.filter(|count| Instant::now() < count.until);
        (count.map(|count| count.runs), count.map(|count| count.tasks))
    }

    fn counted(&self, runs: i64, tasks: i64, took: Duration) {
        let until = Instant::now() + (took * SHARE).min(AT_MOST);
        *self.lock() = (took > CHEAP).then_some(Count { runs, tasks, until });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Count>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub async fn sweep(
    link: &Link,
    time: &Time,
    hints: &Hints,
    (watermark, patience, ready): (&Watermark, &Patience, &Ready),
    limit: usize,
) -> WorldResult<(UpkeepReport, Vec<(TenantId, TaskId)>)> {
    let injected = time.param();
    let (latest, listened) = match injected {
        Some(_) => (i64::MAX, i64::MAX),
        None => (patience.limit(), patience.listened()),
    };
    // Who is told the time is told exactly.
    let (runs, tasks) = if injected.is_some() { (None, None) } else { ready.known() };
    let patient = listened >= BEFORE_EXPIRY;
    let judges = injected.is_some() || watermark.is_time_to_judge();
    let params: &[super::link::Param<'_>] = &[
        &injected,
        &(limit as i64),
        &watermark.from(),
        &latest,
        &listened,
        &patient,
        &runs,
        &tasks,
        &judges,
    ];
    let began = Instant::now();
    let rows = link.query(sql::SWEEP, params).await?;
    let row = &rows[0];
    let now: i64 = row.get("now");
    let judged_by = if injected.is_some() { now } else { patience.judge(now).min(latest) };
    watermark.moved(judged_by, row.get("all_late"), began.elapsed());
    if runs.is_none() {
        let took = Duration::from_micros(count(row.get("counting")));
        ready.counted(row.get("ready_runs"), row.get("ready_tasks"), took);
    }
    hints.send(Hint { runs: row.get("new_runs"), tasks: row.get("new_tasks"), cancels: false });
    // Freed claims of tasks that somebody wants stopped: they are not to be tried again.
    let tenants: Vec<String> = row.get("unwanted_tenants");
    let tasks: Vec<String> = row.get("unwanted_tasks");
    let unwanted = tenants.into_iter().map(TenantId).zip(tasks.into_iter().map(TaskId)).collect();
    Ok((UpkeepReport { changed: count(row.get("changed")), ..report(row) }, unwanted))
}

/// The columns that tell whether there is work.
fn report(row: &Row) -> UpkeepReport {
    UpkeepReport {
        at: Timestamp::from_millis(row.get("now")),
        runs_ready: row.get("runs_ready"),
        tasks_ready: row.get("tasks_ready"),
        next_due: time_option(row, "next_due"),
        ..UpkeepReport::default()
    }
}

pub async fn glance(link: &Link, now: Option<i64>) -> WorldResult<UpkeepReport> {
    Ok(report(&link.query(sql::GLANCE, &[&now]).await?[0]))
}

pub async fn find_stuck(
    link: &Link,
    now: Option<i64>,
    (idle, limit): (Millis, usize),
) -> WorldResult<UpkeepReport> {
    let rows = link.query(sql::FIND_STUCK, &[&now, &millis(idle), &(limit as i64)]).await?;
    let found = |row: &Row| Some((TenantId(row.get::<_, Option<String>>(1)?), RunId(row.get(2))));
    Ok(UpkeepReport { stuck: rows.iter().filter_map(found).collect(), ..at(&rows) })
}

/// These statements tell the time in the first column of every row, and have one.
fn at(rows: &[Row]) -> UpkeepReport {
    let at = rows.first().map_or(0, |row| row.get(0));
    UpkeepReport { at: Timestamp::from_millis(at), ..UpkeepReport::default() }
}

pub async fn mark_unserved(
    link: &Link,
    now: Option<i64>,
    (idle, limit): (Millis, usize),
) -> WorldResult<UpkeepReport> {
    let rows = link.query(sql::MARK_UNSERVED, &[&now, &millis(idle), &(limit as i64)]).await?;
    Ok(UpkeepReport { changed: count(rows[0].get(1)), ..at(&rows) })
}

pub async fn due_schedules(link: &Link, now: Option<i64>, limit: usize) -> WorldResult<UpkeepReport> {
    let rows = link.query(sql::DUE_SCHEDULES, &[&now, &(limit as i64)]).await?;
    let mut report = at(&rows);
    for row in &rows {
        if let Some(tenant) = row.get::<_, Option<String>>(1) {
            report.schedules.push((TenantId(tenant), from_json("schedule", row.get(2))?));
        }
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_took_long_to_count_is_not_counted_again_at_once() {
        let ready = Ready::default();
        ready.counted(1, 2, CHEAP);
        assert_eq!(ready.known(), (None, None));
        ready.counted(3, 4, Duration::from_secs(1));
        assert_eq!(ready.known(), (Some(3), Some(4)));
        let past = ready.lock().map(|count| Count { until: Instant::now(), ..count });
        *ready.lock() = past;
        assert_eq!(ready.known(), (None, None));
    }

    #[test]
    fn sweeps_that_follow_each_other_closely_judge_once() {
        let watermark = Watermark::default();
        assert!(watermark.is_time_to_judge());
        assert!(!watermark.is_time_to_judge());
        *watermark.judged.lock().unwrap() = Instant::now().checked_sub(JUDGE_EVERY);
        assert!(watermark.is_time_to_judge());
    }

    #[test]
    fn a_clock_that_was_set_back_starts_the_search_anew() {
        let watermark = Watermark::default();
        let hour = 3_600_000;
        watermark.moved(hour, true, Duration::ZERO);
        assert_eq!(watermark.from(), hour - MARGIN);
        watermark.moved(hour + 1_000, false, Duration::ZERO);
        assert_eq!(watermark.from(), hour - MARGIN, "there was more");
        watermark.moved(1_000, true, Duration::ZERO);
        assert_eq!(watermark.from(), 0, "what runs out now lies before everything looked for");
    }

    #[test]
    fn a_search_from_the_beginning_comes_again_and_later_when_it_took_long() {
        let watermark = Watermark::default();
        let hour = 3_600_000;
        watermark.moved(hour, true, Duration::ZERO);
        watermark.moved(hour + RESCAN - 1, true, Duration::from_secs(9));
        assert_ne!(watermark.from(), 0);
        watermark.moved(hour + RESCAN, true, Duration::ZERO);
        assert_eq!(watermark.from(), 0);
        watermark.moved(hour + RESCAN, true, Duration::from_secs(2));
        watermark.moved(hour + 2 * RESCAN, true, Duration::ZERO);
        assert_ne!(watermark.from(), 0);
        watermark.moved(hour + RESCAN + 100_000, true, Duration::ZERO);
        assert_eq!(watermark.from(), 0);
    }
}
