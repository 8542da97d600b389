//! Deletes runs and tasks that ended long ago.

use rhythm_core::{Millis, Timestamp};
use rhythm_engine::world::WorldResult;
use rusqlite::params;

use crate::sqlite::sql::{int, size, sql};
use crate::sqlite::tx::Tx;

pub fn retain(tx: &Tx<'_>, keep: Millis, keep_failed: Millis, limit: usize) -> WorldResult<u64> {
    let ago = |length: Millis| Timestamp(tx.now.millis().saturating_sub(int(length.as_u64()))).millis();
    let before = ago(keep);
    let runs: Vec<i64> =
        tx.all(sql!("retain", "old_runs"), params![before, size(limit), ago(keep_failed)], |row| row.take())?;
    for run in &runs {
        forget_run(tx, *run)?;
    }
    let tasks: Vec<i64> =
        tx.all(sql!("retain", "old_tasks"), params![before, size(limit)], |row| row.take())?;
    for task in &tasks {
        tx.run(sql!("retain", "task_attempts"), params![task])?;
        tx.run(sql!("retain", "task_letter"), params![task])?;
        tx.run(sql!("retain", "task"), params![task])?;
    }
    Ok((runs.len() + tasks.len()) as u64)
}

/// Removes all that is kept of an ended run.
pub fn forget_run(tx: &Tx<'_>, key: i64) -> WorldResult<()> {
    for statement in [
        sql!("retain", "held"),
        sql!("retain", "run"),
        sql!("retain", "start"),
        sql!("retain", "labels"),
        sql!("retain", "events"),
        sql!("retain", "inbox"),
        sql!("retain", "timers"),
        sql!("retain", "delivered"),
        sql!("retain", "attempts"),
        sql!("retain", "letters"),
    ] {
        tx.run(statement, params![key])?;
    }
    Ok(())
}
