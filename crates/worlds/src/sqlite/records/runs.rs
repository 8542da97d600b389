//! Runs, their histories and attempts.

use rhythm_core::event::Event;
use rhythm_core::{RunId, Status, TenantId};
use rhythm_engine::world::{AttemptRow, HistoryQuery, Page, RunQuery, RunSummary, WantedLabel, WorldResult};
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
    let labels = (!query.labels.is_empty()).then(|| wanted_labels(&query.labels));
    let indexed =
        query.labels.iter().find_map(|wanted| wanted.value.as_ref().map(|value| (&wanted.key, value)));
    let keys: Vec<i64> = if let Some((name, value)) = indexed {
        let labelled = params![tenant, cursor, limit, status, workflow, blocked, parent, labels, name, value];
        sql.all(sql!("records", "list_labelled"), labelled, |row| row.take())?
    } else {
        let wanted = params![tenant, cursor, limit, status, workflow, blocked, parent, labels];
        let statement = match parent {
            Some(_) => sql!("records", "list_children"),
            None => sql!("records", "list_runs"),
        };
        sql.all(statement, wanted, |row| row.take())?
    };
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        let summary = sql.one(sql!("records", "summary"), params![key], rows::run_summary)?;
        found.extend(summary.map(|summary| (key, summary)));
    }
    Ok(page(found, query.limit))
}

/// Wanted labels as the statements read them: `[[key, value], ...]`.
fn wanted_labels(labels: &[WantedLabel]) -> String {
    let pairs: Vec<_> = labels.iter().map(|wanted| (&wanted.key, &wanted.value)).collect();
    serde_json::json!(pairs).to_string()
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
