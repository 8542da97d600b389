//! Reads one run with its tasks, timers, children, messages and dead letters.

use rhythm_core::{CommandId, RunId, TenantId};
use rhythm_engine::world::{Picture, TimerRow, WorldResult};
use rusqlite::params;

use super::runs::find;
use crate::sqlite::rows;
use crate::sqlite::sql::{Columns, Sql, sql};

pub fn picture(sql: Sql<'_>, tenant: &TenantId, run: &RunId) -> WorldResult<Option<Picture>> {
    let Some(key) = find(sql, tenant, run)? else { return Ok(None) };
    let Some(summary) = sql.one(sql!("records", "summary"), params![key], rows::run_summary)? else {
        return Ok(None);
    };
    let with_row = |row: &mut Columns<'_>| {
        Ok(Picture {
            summary,
            row: rows::run_row(row)?,
            input: row.payload()?,
            output: row.json_option()?,
            failure: row.json_option()?,
            failed_by: row.json_option()?,
            dismissed_at: row.time_option()?,
            workflow_paused: row.take()?,
            ready_since: row.time_option()?,
            claimed_by: row.take()?,
            tasks: Vec::new(),
            timers: Vec::new(),
            children: Vec::new(),
            inbox: Vec::new(),
            dead: Vec::new(),
        })
    };
    let Some(picture) = sql.one(sql!("records", "picture"), params![key], with_row)? else {
        return Ok(None);
    };
    let family = params![run.as_str(), tenant.as_str()];
    Ok(Some(Picture {
        tasks: sql.all(sql!("records", "tasks_of_run"), params![key, run.as_str()], rows::task_summary)?,
        timers: sql.all(sql!("records", "timers_of_run"), params![key], timer)?,
        children: sql.all(sql!("records", "children"), family, rows::run_summary)?,
        inbox: sql.all(sql!("inbox", "first_waiting"), params![key, 100], rows::message)?,
        dead: sql.all(sql!("records", "dead_of_run"), params![key], rows::dead_letter)?,
        ..picture
    }))
}

fn timer(row: &mut Columns<'_>) -> rusqlite::Result<TimerRow> {
    Ok(TimerRow {
        timer: row.take::<Option<i64>>()?.map(|number| CommandId(number.unsigned_abs())),
        what: row.take()?,
        due_at: row.time()?,
    })
}
