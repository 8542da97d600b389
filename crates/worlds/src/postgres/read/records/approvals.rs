//! Approvals, read from histories. A cursor is the time, row and run of the last approval shown.

use std::collections::BTreeMap;

use rhythm_core::event::Event;
use rhythm_core::{CommandId, RunId, TenantId};
use rhythm_engine::world::{
    ApprovalPage, ApprovalQuery, ApprovalRow, ApprovalState, Asked, Page, WorldError, WorldResult,
};
use tokio_postgres::Row;

use crate::postgres::connection::reconnecting::{Param, ReconnectingClient};
use crate::postgres::read::rows::event;
use crate::postgres::sql;

/// Sort key of approvals: time of creation, run, history row.
type Key = (i64, String, i64);

/// Rows per query. If a filter drops some, the next batch fills the page.
const BATCH: usize = 200;
/// Sorts after every run id: no id begins with it.
const LAST: &str = "\u{10ffff}";

pub async fn list(link: &ReconnectingClient, query: ApprovalQuery) -> WorldResult<Page<ApprovalRow>> {
    let mut before = match &query.cursor {
        None => (i64::MAX, LAST.to_owned(), i64::MAX),
        Some(text) => read_cursor(text)?,
    };
    let mut page = ApprovalPage::new(&query);
    if let Some(run) = &query.run {
        let mut rows = of_run(link, &query.tenant, run).await?;
        rows.retain(|(key, _)| *key < before);
        rows.sort_by(|(one, _), (other, _)| other.cmp(one));
        rows.into_iter().for_each(|(key, row)| page.offer(cursor(&key), row));
        return Ok(page.close());
    }
    let statement = match query.state {
        Some(ApprovalState::Pending) => sql::APPROVALS_WAITING,
        _ => sql::APPROVALS_ALL,
    };
    loop {
        let (at, run, seq) = &before;
        let limit = BATCH as i64;
        let params: &[Param<'_>] = &[&query.tenant.as_str(), at, run, seq, &limit];
        let batch = link.query(statement, params).await?;
        for (key, row) in told(link, &query.tenant, &batch).await? {
            page.offer(cursor(&key), row);
        }
        match batch.last() {
            Some(row) if batch.len() == BATCH && !page.is_full() => before = key_of(row),
            _ => return Ok(page.close()),
        }
    }
}

pub async fn approval(
    link: &ReconnectingClient,
    tenant: &TenantId,
    run: &RunId,
    approval: CommandId,
) -> WorldResult<Option<ApprovalRow>> {
    let mut rows = of_run(link, tenant, run).await?.into_iter().map(|(_, row)| row);
    Ok(rows.find(|row| row.approval == approval))
}

async fn of_run(
    link: &ReconnectingClient,
    tenant: &TenantId,
    run: &RunId,
) -> WorldResult<Vec<(Key, ApprovalRow)>> {
    let rows = link.query(sql::APPROVALS_OF_RUN, &[&tenant.as_str(), &run.as_str()]).await?;
    told(link, tenant, &rows).await
}

/// Adds the escalations and decisions to created approvals.
async fn told(
    link: &ReconnectingClient,
    tenant: &TenantId,
    rows: &[Row],
) -> WorldResult<Vec<(Key, ApprovalRow)>> {
    let runs: Vec<&str> = rows.iter().map(|row| row.get("run")).collect();
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    let mut answers: BTreeMap<String, Vec<Event>> = BTreeMap::new();
    for row in link.query(sql::APPROVAL_ANSWERS, &[&tenant.as_str(), &runs]).await? {
        answers.entry(row.get("run")).or_default().push(event(&row)?);
    }
    let mut told = Vec::with_capacity(rows.len());
    for row in rows {
        // Skips rows of a run that retention just removed.
        let Some(workflow) = row.get("workflow") else { continue };
        let run: String = row.get("run");
        let later = answers.get(&run).map(Vec::as_slice).unwrap_or_default();
        let asked =
            Asked { run: RunId(run.clone()), workflow, ended: row.get("ended"), created: event(row)? };
        told.extend(ApprovalRow::of(&asked, later).map(|told| (key_of(row), told)));
    }
    Ok(told)
}

fn key_of(row: &Row) -> Key {
    (row.get("at"), row.get("run"), row.get("seq"))
}

fn cursor((at, run, seq): &Key) -> String {
    format!("{at}/{seq}/{run}")
}

fn read_cursor(text: &str) -> WorldResult<Key> {
    let mut parts = text.splitn(3, '/');
    let key = match (parts.next(), parts.next(), parts.next()) {
        (Some(at), Some(seq), Some(run)) => {
            at.parse().ok().zip(seq.parse().ok()).map(|(at, seq)| (at, run.to_owned(), seq))
        }
        _ => None,
    };
    key.ok_or_else(|| WorldError::Invalid(format!("not a cursor: {text}")))
}
