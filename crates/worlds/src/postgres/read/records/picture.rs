//! Reads one run with its tasks, timers, children, messages and dead letters.

use rhythm_core::{CommandId, RunId, TenantId};
use rhythm_engine::world::{Picture, TimerRow, WorldResult};
use tokio_postgres::Row;

use crate::postgres::connection::reconnecting::{Param, ReconnectingClient};
use crate::postgres::read::records::lists::{dead_letter, run_summary};
use crate::postgres::read::rows::{
    count, failure_option, from_json, message, payload, payload_option, run_row, task_summary, time,
    time_option,
};
use crate::postgres::sql;

pub async fn picture(
    link: &ReconnectingClient,
    tenant: &TenantId,
    run: &RunId,
) -> WorldResult<Option<Picture>> {
    let key: &[Param<'_>] = &[&tenant.as_str(), &run.as_str()];
    let rows = link.query(sql::READ_RUN, key).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let failed_by: Option<&str> = row.get("failed_by");
    Ok(Some(Picture {
        summary: run_summary(row)?,
        row: run_row(row)?,
        input: payload(row, "input")?,
        output: payload_option(row, "output")?,
        failure: failure_option(row, "failure")?,
        failed_by: failed_by.map(|text| from_json("message", text)).transpose()?,
        dismissed_at: time_option(row, "dismissed_at"),
        workflow_paused: row.get("workflow_paused"),
        ready_since: time_option(row, "ready_at"),
        claimed_by: row.get("claimed_by"),
        tasks: all(link.query(sql::RUN_TASKS, key).await?, task_summary)?,
        timers: all(link.query(sql::RUN_TIMERS, key).await?, timer_row)?,
        children: all(link.query(sql::RUN_CHILDREN, key).await?, run_summary)?,
        inbox: all(link.query(sql::RUN_INBOX, key).await?, message)?,
        dead: all(link.query(sql::RUN_LETTERS, key).await?, dead_letter)?,
    }))
}

fn all<T>(rows: Vec<Row>, read: impl Fn(&Row) -> WorldResult<T>) -> WorldResult<Vec<T>> {
    rows.iter().map(read).collect()
}

fn timer_row(row: &Row) -> WorldResult<TimerRow> {
    Ok(TimerRow {
        timer: row.get::<_, Option<i64>>("timer").map(|timer| CommandId(count(timer))),
        what: row.get("id"),
        due_at: time(row, "due_at"),
    })
}
