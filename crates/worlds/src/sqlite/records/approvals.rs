//! Approvals, read from histories. A cursor is the time, run and row of the last approval shown.

use rhythm_core::event::{Event, EventData};
use rhythm_core::{CommandId, RunId, TenantId};
use rhythm_engine::world::{
    ApprovalPage, ApprovalQuery, ApprovalRow, ApprovalState, Asked, Page, WorldError, WorldResult,
};
use rusqlite::params;

use super::runs::find;
use crate::sqlite::rows;
use crate::sqlite::sql::{Columns, Sql, size, sql};

/// Sort key of approvals: time of creation, key of the run, history row.
type Key = (i64, i64, i64);

/// Rows per query. If a filter drops some, the next batch fills the page.
const BATCH: usize = 200;

pub fn list_approvals(sql: Sql<'_>, query: &ApprovalQuery) -> WorldResult<Page<ApprovalRow>> {
    let mut before = match &query.cursor {
        None => (i64::MAX, i64::MAX, i64::MAX),
        Some(text) => read_cursor(text)?,
    };
    let mut page = ApprovalPage::new(query);
    if let Some(run) = &query.run {
        let mut rows = of_run(sql, &query.tenant, run)?;
        rows.retain(|(key, _)| *key < before);
        rows.sort_by_key(|(key, _)| std::cmp::Reverse(*key));
        rows.into_iter().for_each(|(key, row)| page.offer(cursor(key), row));
        return Ok(page.close());
    }
    loop {
        let batch = batch(sql, query, before)?;
        for (key, created) in &batch {
            if page.is_full() {
                break;
            }
            if let Some(row) = tell(sql, &query.tenant, *key, created)? {
                page.offer(cursor(*key), row);
            }
        }
        match batch.last() {
            Some((key, _)) if batch.len() == BATCH && !page.is_full() => before = *key,
            _ => return Ok(page.close()),
        }
    }
}

pub fn approval(
    sql: Sql<'_>,
    tenant: &TenantId,
    run: &RunId,
    approval: CommandId,
) -> WorldResult<Option<ApprovalRow>> {
    let mut rows = of_run(sql, tenant, run)?.into_iter().map(|(_, row)| row);
    Ok(rows.find(|row| row.approval == approval))
}

/// Returns the next approvals, newest first. Only approvals of live runs can be pending.
fn batch(sql: Sql<'_>, query: &ApprovalQuery, (at, run, seq): Key) -> WorldResult<Vec<(Key, Event)>> {
    let limit = size(BATCH);
    match query.state {
        Some(ApprovalState::Pending) => {
            let wanted = params![query.tenant.as_str(), at, run, seq, limit];
            sql.all(sql!("approvals", "waiting"), wanted, keyed)
        }
        _ => sql.all(sql!("approvals", "all"), params![at, run, seq, limit], keyed),
    }
}

fn tell(sql: Sql<'_>, tenant: &TenantId, key: Key, created: &Event) -> WorldResult<Option<ApprovalRow>> {
    let Some((run, workflow, ended)) = run_of(sql, tenant, key.1)? else { return Ok(None) };
    let events = sql.all(sql!("approvals", "of_run"), params![key.1], keyed)?;
    let asked = Asked { run, workflow, ended, created: created.clone() };
    Ok(ApprovalRow::of(&asked, events.iter().map(|(_, event)| event)))
}

/// Returns the approvals of one run, in the order of creation.
fn of_run(sql: Sql<'_>, tenant: &TenantId, run: &RunId) -> WorldResult<Vec<(Key, ApprovalRow)>> {
    let Some(key) = find(sql, tenant, run)? else { return Ok(Vec::new()) };
    let Some((run, workflow, ended)) = run_of(sql, tenant, key)? else { return Ok(Vec::new()) };
    let events = sql.all(sql!("approvals", "of_run"), params![key], keyed)?;
    let created = events.iter().filter(|(_, event)| matches!(event.data, EventData::ApprovalCreated(_)));
    let rows = created.filter_map(|(key, created)| {
        let asked = Asked { run: run.clone(), workflow: workflow.clone(), ended, created: created.clone() };
        Some((*key, ApprovalRow::of(&asked, events.iter().map(|(_, event)| event))?))
    });
    Ok(rows.collect())
}

/// Returns the id of a run, its workflow, and whether it has ended; `None` if it belongs to another tenant.
fn run_of(sql: Sql<'_>, tenant: &TenantId, key: i64) -> WorldResult<Option<(RunId, String, bool)>> {
    let found = sql.one(sql!("approvals", "run"), params![key], |row| {
        Ok((row.take::<String>()?, row.id::<RunId>()?, row.take::<String>()?, row.take::<bool>()?))
    })?;
    let ours = found.filter(|(owner, ..)| owner == tenant.as_str());
    Ok(ours.map(|(_, run, workflow, ended)| (run, workflow, ended)))
}

fn keyed(row: &mut Columns<'_>) -> rusqlite::Result<(Key, Event)> {
    let run = row.take()?;
    let event = rows::event(row)?;
    Ok(((event.at.millis(), run, event.seq as i64), event))
}

fn cursor((at, run, seq): Key) -> String {
    format!("{at}/{run}/{seq}")
}

fn read_cursor(text: &str) -> WorldResult<Key> {
    let numbers: Option<Vec<i64>> = text.split('/').map(|part| part.parse().ok()).collect();
    match numbers.as_deref() {
        Some([at, run, seq]) => Ok((*at, *run, *seq)),
        _ => Err(WorldError::Invalid(format!("not a cursor: {text}"))),
    }
}
