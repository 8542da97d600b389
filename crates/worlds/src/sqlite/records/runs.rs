//! Runs, their histories and attempts.

use rhythm_core::event::Event;
use rhythm_core::{RunId, Status, TenantId};
use rhythm_engine::world::{AttemptRow, HistoryQuery, Page, RunQuery, RunSummary, WorldResult};
use rusqlite::params;

use super::page::{before, page};
use crate::sqlite::rows;
use crate::sqlite::sql::{Sql, int, size, sql};

/// Finds the keys of one page first: that query ends early, however many runs there are.
pub fn list_runs(sql: Sql<'_>, query: &RunQuery) -> WorldResult<Page<RunSummary>> {
    let tenant = query.tenant.as_str();
    let cursor = before(query.cursor.as_deref())?;
    let limit = size(query.limit.saturating_add(1));
    let status = query.status.map(Status::as_str);
    let parent = query.parent.as_ref().map(RunId::as_str);
    let (workflow, blocked) = (&query.workflow, query.blocked);
    let keys: Vec<i64> = if let Some((name, value)) = &query.tag {
        let tagged = params![tenant, cursor, limit, status, workflow, blocked, parent, name, value];
        sql.all(sql!("records", "list_tagged"), tagged, |row| row.take())?
    } else if parent.is_some() {
        let children = params![tenant, cursor, limit, status, workflow, blocked, parent];
        sql.all(sql!("records", "list_children"), children, |row| row.take())?
    } else {
        let wanted = params![tenant, cursor, limit, status, workflow, blocked];
        sql.all(sql!("records", "list_runs"), wanted, |row| row.take())?
    };
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        let summary = sql.one(sql!("records", "summary"), params![key], rows::run_summary)?;
        found.extend(summary.map(|summary| (key, summary)));
    }
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

/// Returns the key of a run, live or ended.
pub fn find(sql: Sql<'_>, tenant: &TenantId, run: &RunId) -> WorldResult<Option<i64>> {
    sql.one(sql!("runs", "find"), params![run.as_str(), tenant.as_str()], |row| row.take())
}
