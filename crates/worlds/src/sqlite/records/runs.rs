//! Runs, their histories and attempts.

use rhythm_core::event::Event;
use rhythm_core::{RunId, Status, TenantId};
use rhythm_engine::world::{AttemptRow, HistoryQuery, Page, RunQuery, RunSummary, WorldResult};
use rusqlite::params;

use super::page::{before, page};
use crate::sqlite::rows;
use crate::sqlite::sql::{Columns, Sql, int, size, sql};

pub fn list_runs(sql: Sql<'_>, query: &RunQuery) -> WorldResult<Page<RunSummary>> {
    let (tag_name, tag_value) = query.tag.clone().unzip();
    let wanted = params![
        query.tenant.as_str(),
        before(query.cursor.as_deref()),
        size(query.limit.saturating_add(1)),
        query.status.map(Status::as_str),
        query.workflow,
        query.parent.as_ref().map(RunId::as_str),
        query.blocked,
        tag_name,
        tag_value,
    ];
    let numbered = |row: &mut Columns<'_>| Ok((row.take()?, rows::run_summary(row)?));
    let found = if query.tag.is_some() {
        sql.all(sql!("records", "list_runs_by_tag"), wanted, numbered)?
    } else if query.parent.is_some() {
        sql.all(sql!("records", "list_runs_by_parent"), wanted, numbered)?
    } else {
        sql.all(sql!("records", "list_runs"), wanted, numbered)?
    };
    Ok(page(found, query.limit))
}

pub fn history(sql: Sql<'_>, query: &HistoryQuery) -> WorldResult<Vec<Event>> {
    let Some(key) = find(sql, &query.tenant, &query.run)? else { return Ok(Vec::new()) };
    let rows_after = params![key, int(query.after), size(query.limit)];
    sql.all(sql!("records", "history"), rows_after, rows::event)
}

pub fn attempts(sql: Sql<'_>, tenant: &TenantId, run: &RunId) -> WorldResult<Vec<AttemptRow>> {
    let Some(key) = find(sql, tenant, run)? else { return Ok(Vec::new()) };
    sql.all(sql!("records", "attempts"), params![key], rows::attempt)
}

/// The key of a run, live or ended.
pub fn find(sql: Sql<'_>, tenant: &TenantId, run: &RunId) -> WorldResult<Option<i64>> {
    sql.one(sql!("runs", "find"), params![run.as_str(), tenant.as_str()], |row| row.take())
}
