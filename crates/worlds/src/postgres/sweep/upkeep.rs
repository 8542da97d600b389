//! Background duties. Every process may run them concurrently.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rhythm_core::{Millis, RunId, TaskId, TenantId, Timestamp};
use rhythm_engine::world::{Hint, UpkeepReport, WorldResult};
use tokio_postgres::Row;

use crate::clock_jump::{BEFORE_EXPIRY, ClockJumpGuard};
use crate::postgres::claim::timer_cursor::{BEGINNING, TimerCursor};
use crate::postgres::commit::columns::millis;
use crate::postgres::connection::reconnecting::ReconnectingClient;
use crate::postgres::connection::wakeups::WakeupHints;
use crate::postgres::read::rows::{count, from_json, time_option};
use crate::postgres::sql;
use crate::postgres::sweep::clock::Time;
use crate::postgres::sweep::expiry_cursor::ExpiryCursor;

/// A sweep that fails after this time was too slow for the server.
const TOO_LONG: Duration = Duration::from_secs(5);

/// Cached count of ready work. Counting reads past dead tuples, which stay in the index while an old snapshot
/// is open. When that gets slow, the last count is used for a while (`ready_cursor.rs` does the same for claims).
#[derive(Default)]
pub struct CachedCount(Mutex<Option<Count>>);

#[derive(Clone, Copy)]
struct Count {
    runs: i64,
    tasks: i64,
    until: Instant,
}

/// A count slower than this is used for SHARE times its duration, but at most [`AT_MOST`].
const CHEAP: Duration = Duration::from_millis(3);
const SHARE: u32 = 50;
const AT_MOST: Duration = Duration::from_secs(10);

impl CachedCount {
    /// Returns the cached counts, or `None` when it is time to count.
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

pub struct Swept {
    pub report: UpkeepReport,
    /// Freed tasks with a cancel flag.
    pub unwanted: Vec<(TenantId, TaskId)>,
    /// Earliest ready time of what was made ready.
    pub runs_since: Option<i64>,
    pub tasks_since: Option<i64>,
}

pub async fn sweep(
    link: &ReconnectingClient,
    time: &Time,
    hints: &WakeupHints,
    (expiry_cursor, storm, patience, ready): (&ExpiryCursor, &TimerCursor, &ClockJumpGuard, &CachedCount),
    (most_runs, most_tasks): (usize, usize),
) -> WorldResult<Swept> {
    let injected = time.param();
    let (latest, observed_for) = match injected {
        Some(_) => (i64::MAX, i64::MAX),
        None => (patience.limit(), patience.observed_for()),
    };
    // With an injected test clock, count every time: the cache is for production only.
    let (runs, tasks) = if injected.is_some() { (None, None) } else { ready.known() };
    // An old count may use at most half of the quota, so that it cannot stop a timer burst.
    let half = |count: i64, most: usize| count.min(most as i64 / 2);
    let (runs, tasks) =
        (runs.map(|count| half(count, most_runs)), tasks.map(|count| half(count, most_tasks)));
    let from = expiry_cursor.from();
    let patient = observed_for >= BEFORE_EXPIRY;
    let judges = injected.is_some() || expiry_cursor.is_time_to_judge();
    let place = if injected.is_some() { BEGINNING } else { storm.from() };
    let params: &[crate::postgres::connection::reconnecting::Param<'_>] = &[
        &injected,
        &(most_runs as i64),
        &from,
        &latest,
        &observed_for,
        &patient,
        &runs,
        &tasks,
        &judges,
        &place.0,
        &place.1,
        &(most_tasks as i64),
    ];
    let began = Instant::now();
    let rows = link.query(sql::SWEEP, params).await;
    if rows.is_err() && from == 0 && injected.is_none() && began.elapsed() >= TOO_LONG {
        expiry_cursor.gave_up(link.query(sql::CLOCK, &[]).await?[0].get(0), began.elapsed());
    }
    let rows = rows?;
    let row = &rows[0];
    let now: i64 = row.get("now");
    let judged_by = if injected.is_some() { now } else { patience.judge(now).min(latest) };
    let took = Duration::from_micros(count(row.get("took")));
    expiry_cursor.moved((from, judged_by), row.get("all_late"), took);
    let first = row.get::<_, Option<i64>>("first_due").zip(row.get("first_seq"));
    storm.moved(place, first, row.get::<_, Option<i64>>("next_due").is_some_and(|due| due <= now));
    // A sweep during a timer burst may ready one run only, and counts no further than that.
    if runs.is_none() && most_runs >= most_tasks {
        let took = Duration::from_micros(count(row.get("counting")));
        ready.counted(row.get("ready_runs"), row.get("ready_tasks"), took);
    }
    hints.send(Hint { runs: row.get("new_runs"), tasks: row.get("new_tasks"), cancels: false });
    // The caller cancels freed tasks with a cancel flag, so that they are not tried again.
    let tenants: Vec<String> = row.get("unwanted_tenants");
    let tasks: Vec<String> = row.get("unwanted_tasks");
    let unwanted = tenants.into_iter().map(TenantId).zip(tasks.into_iter().map(TaskId)).collect();
    let report = UpkeepReport { changed: count(row.get("changed")), ..report(row) };
    Ok(Swept { report, unwanted, runs_since: row.get("runs_since"), tasks_since: row.get("tasks_since") })
}

/// Reads the columns that say whether there is work.
fn report(row: &Row) -> UpkeepReport {
    UpkeepReport {
        at: Timestamp::from_millis(row.get("now")),
        runs_ready: row.get("runs_ready"),
        tasks_ready: row.get("tasks_ready"),
        next_due: time_option(row, "next_due"),
        ..UpkeepReport::default()
    }
}

pub async fn glance(link: &ReconnectingClient, now: Option<i64>) -> WorldResult<UpkeepReport> {
    Ok(report(&link.query(sql::GLANCE, &[&now]).await?[0]))
}

pub async fn find_stuck(
    link: &ReconnectingClient,
    now: Option<i64>,
    (idle, limit): (Millis, usize),
) -> WorldResult<UpkeepReport> {
    let rows = link.query(sql::FIND_STUCK, &[&now, &millis(idle), &(limit as i64)]).await?;
    let found = |row: &Row| Some((TenantId(row.get::<_, Option<String>>(1)?), RunId(row.get(2))));
    Ok(UpkeepReport { stuck: rows.iter().filter_map(found).collect(), ..at(&rows) })
}

/// Reads the time from the first column. These statements return at least one row.
fn at(rows: &[Row]) -> UpkeepReport {
    let at = rows.first().map_or(0, |row| row.get(0));
    UpkeepReport { at: Timestamp::from_millis(at), ..UpkeepReport::default() }
}

pub async fn mark_unserved(
    link: &ReconnectingClient,
    now: Option<i64>,
    (idle, limit): (Millis, usize),
) -> WorldResult<UpkeepReport> {
    let rows = link.query(sql::MARK_UNSERVED, &[&now, &millis(idle), &(limit as i64)]).await?;
    let marked = |row: &Row| {
        let (run, why) = (RunId(row.get::<_, Option<String>>("id")?), row.get("blocked_detail"));
        Some((TenantId(row.get("tenant")), run, why))
    };
    let unserved = rows.iter().filter_map(marked).collect();
    Ok(UpkeepReport { changed: count(rows[0].get("changed")), unserved, ..at(&rows) })
}

pub async fn due_schedules(
    link: &ReconnectingClient,
    now: Option<i64>,
    limit: usize,
) -> WorldResult<UpkeepReport> {
    let rows = link.query(sql::DUE_SCHEDULES, &[&now, &(limit as i64)]).await?;
    let mut report = at(&rows);
    report.next_schedule = rows.first().and_then(|row| time_option(row, "later"));
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
        let ready = CachedCount::default();
        ready.counted(1, 2, CHEAP);
        assert_eq!(ready.known(), (None, None));
        ready.counted(3, 4, Duration::from_secs(1));
        assert_eq!(ready.known(), (Some(3), Some(4)));
        let past = ready.lock().map(|count| Count { until: Instant::now(), ..count });
        *ready.lock() = past;
        assert_eq!(ready.known(), (None, None));
    }
}
