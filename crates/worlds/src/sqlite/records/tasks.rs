//! Tasks and dead letters.

use rhythm_core::{RunId, TaskId, TenantId};
use rhythm_engine::world::{DeadLetter, DeadQuery, Page, TaskQuery, TaskSummary, WorldResult};
use rusqlite::params;

use super::page::{before, page};
use crate::sqlite::rows;
use crate::sqlite::sql::{Sql, size, sql};

pub fn list_tasks(sql: Sql<'_>, query: &TaskQuery) -> WorldResult<Page<TaskSummary>> {
    let wanted = params![
        query.tenant.as_str(),
        before(query.cursor.as_deref())?,
        size(query.limit.saturating_add(1)),
        query.state.map(rows::task_state_number),
        query.queue,
        query.name,
    ];
    let found =
        sql.all(sql!("records", "list_tasks"), wanted, |row| Ok((row.take()?, rows::task_summary(row)?)))?;
    Ok(page(found, query.limit))
}

pub fn task(sql: Sql<'_>, tenant: &TenantId, task: &TaskId) -> WorldResult<Option<TaskSummary>> {
    let id = params![task.as_str(), tenant.as_str()];
    sql.one(sql!("records", "task"), id, rows::task_summary)
}

pub fn list_dead(sql: Sql<'_>, query: &DeadQuery) -> WorldResult<Page<DeadLetter>> {
    let wanted = params![
        query.tenant.as_str(),
        before(query.cursor.as_deref())?,
        size(query.limit.saturating_add(1)),
        query.run.as_ref().map(RunId::as_str),
        query.queue,
        rows::letter_statuses(&query.statuses),
        query.task.as_ref().map(TaskId::as_str),
    ];
    let found =
        sql.all(sql!("records", "list_dead"), wanted, |row| Ok((row.take()?, rows::dead_letter(row)?)))?;
    Ok(page(found, query.limit))
}
