//! Prints the events of a run as they happen.

use std::time::Duration;

use rhythm_core::RunId;
use rhythm_engine::world::HistoryQuery;

use super::events::{Cursor, Row, merge};
use crate::errors::CliResult;
use crate::output::short;
use crate::session::Session;
use crate::times::exact;

/// Interval at which the run is read.
const GLANCE: Duration = Duration::from_millis(200);
const PAGE: usize = 1_000;

/// Prints past and new events until the run has ended.
pub async fn follow(session: &Session, run: &RunId, from: Option<Cursor>) -> CliResult {
    let (world, tenant) = (session.client.world(), session.client.tenant());
    let mut after = from.map_or(0, |cursor| cursor.seq);
    let mut attempts_shown = match from {
        // Attempts before the cursor were on the page before.
        Some(cursor) => {
            let attempts = world.attempts(tenant, run).await?;
            attempts.iter().filter(|attempt| attempt.ended_at <= cursor.at).count()
        }
        None => 0,
    };
    loop {
        // Read the status first: the events read after it include everything written before the end.
        let has_ended = session.client.picture(run).await?.summary.status.is_final();
        loop {
            let query = HistoryQuery { tenant: tenant.clone(), run: run.clone(), after, limit: PAGE };
            let events = world.history(query).await?;
            let attempts = world.attempts(tenant, run).await?;
            let is_last = events.len() < PAGE;
            after = events.last().map_or(after, |event| event.seq);
            let fresh = attempts.into_iter().skip(attempts_shown);
            let rows = merge(events, fresh)?;
            attempts_shown += rows.iter().filter(|row| row.seq.is_none()).count();
            for row in &rows {
                show(session, row)?;
            }
            if is_last {
                break;
            }
        }
        if has_ended {
            return Ok(());
        }
        tokio::time::sleep(GLANCE).await;
    }
}

/// Prints a row as one line, which is a JSON document with `--output json`.
fn show(session: &Session, row: &Row) -> CliResult {
    if session.out.is_json() {
        let text =
            serde_json::to_string(row).map_err(|error| crate::errors::CliError::Output(error.to_string()))?;
        return session.out.raw(&format!("{text}\n"));
    }
    let seq = row.seq.map_or_else(|| "-".to_owned(), |seq| seq.to_string());
    session.out.line(format!(
        "{seq:<4}  {}  {:<20}  {}",
        exact(row.at),
        row.r#type,
        short(row.data.get(), 100)
    ))
}
