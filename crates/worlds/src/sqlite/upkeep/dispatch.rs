//! Dispatches duties, and reports which work is left.

use rhythm_engine::world::{Upkeep, UpkeepReport, WorldResult};
use rusqlite::params;

use super::{blobs, retention, stuck_runs, sweep};
use crate::sqlite::sql::{size, sql};
use crate::sqlite::tx::Tx;

pub use stuck_runs::{stuck_candidates, waiting_kinds};

/// Results that were read beside the writer; the transaction checks them again.
#[derive(Default)]
pub struct Found {
    pub stuck: Vec<i64>,
    pub waiting: Vec<stuck_runs::TaskKind>,
    pub blobs: Vec<blobs::Looked>,
}

pub fn upkeep(tx: &Tx<'_>, duty: &Upkeep, found: &Found) -> WorldResult<UpkeepReport> {
    let mut report = UpkeepReport { at: tx.now, ..UpkeepReport::default() };
    match duty {
        Upkeep::Sweep { runs, tasks } => report.changed = sweep::sweep(tx, *runs, *tasks)?,
        Upkeep::Retain { keep, keep_failed, limit } => {
            report.changed = retention::retain(tx, *keep, *keep_failed, *limit)?
        }
        // There are no partitions to prepare.
        Upkeep::Prepare => {}
        Upkeep::FindStuck { idle, limit } => {
            report.stuck = stuck_runs::report_stuck(tx, *idle, *limit, &found.stuck)?;
        }
        Upkeep::MarkUnserved { idle, limit } => {
            let unserved = stuck_runs::mark_unserved(tx, *idle, *limit, &found.waiting)?;
            report.changed = unserved.unmarked + unserved.marked.len() as u64;
            report.unserved = unserved.marked;
        }
        Upkeep::CollectBlobs { .. } => report.changed = blobs::settle(tx, &found.blobs)?,
        Upkeep::DueSchedules { limit } => {
            let due = params![tx.now.millis(), size(*limit)];
            report.schedules = tx.all(sql!("schedules", "due"), due, |row| Ok((row.id()?, row.json()?)))?;
            let later = params![tx.now.millis()];
            report.next_schedule =
                tx.one(sql!("schedules", "next"), later, |row| row.time_option())?.flatten();
        }
    }
    report.runs_ready = tx.number(sql!("upkeep", "runs_ready"), params![tx.now.millis()])? != 0;
    report.tasks_ready = tx.number(sql!("upkeep", "tasks_ready"), [])? != 0;
    report.next_due = tx.one(sql!("upkeep", "next_due"), [], |row| row.time_option())?.flatten();
    Ok(report)
}
