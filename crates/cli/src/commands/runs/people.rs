//! The actions of people on a run, with their reasons: start, signals, pauses, changes of version.

use rhythm_core::event::{Event, EventData};
use rhythm_core::{Actor, Timestamp, Version};
use rhythm_engine::world::{HistoryQuery, RunSummary};
use serde::Serialize;

use crate::commands::workflows::versions::numbered;
use crate::errors::CliResult;
use crate::output::{Table, short};
use crate::session::Session;
use crate::times::relative;

/// Number of rows read from the end of a history, and from its beginning for the start.
const ROWS: usize = 1_000;
const FIRST: usize = 10;
/// Number of actions shown, the newest ones.
const SHOWN: usize = 20;

/// One action of a person.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deed {
    pub event: u64,
    pub at: Timestamp,
    pub by: Actor,
    pub what: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Returns the actions, oldest first.
pub async fn deeds(session: &Session, run: &RunSummary) -> CliResult<Vec<Deed>> {
    let (tenant, id) = (session.client.tenant().clone(), run.id.clone());
    let rows = |after, limit| HistoryQuery { tenant: tenant.clone(), run: id.clone(), after, limit };
    let world = session.rhythm.world();
    let late = run.seq.saturating_sub(ROWS as u64);
    let mut history = if late > 0 { world.history(rows(0, FIRST)).await? } else { Vec::new() };
    history.retain(|row| row.seq <= late);
    history.extend(world.history(rows(late, ROWS)).await?);
    let versions = world.version_numbers(&tenant, &run.workflow).await?;
    let name = |version: &Version| {
        let row = versions.iter().find(|row| row.version == *version);
        numbered(&run.workflow, row.map(|row| row.number), version)
    };
    Ok(history.iter().filter_map(|row| deed(row, &name)).collect())
}

/// Returns the action of a row, or `None` if its actor is not a person or a message caused the row.
fn deed(row: &Event, name: &dyn Fn(&Version) -> String) -> Option<Deed> {
    let by = row.actor.clone();
    let is_person = !["run:", "worker:", "schedule:"].iter().any(|other| by.0.starts_with(other));
    if row.cause.is_some() || !is_person || by == Actor::system() {
        return None;
    }
    let (what, reason) = match &row.data {
        EventData::WorkflowStarted(_) => ("started it".to_owned(), ""),
        EventData::SignalReceived(signal) => (format!("sent signal {}", signal.name), ""),
        EventData::CancelRequested(cancel) => ("asked it to stop".to_owned(), cancel.reason.as_str()),
        EventData::Paused(note) => ("paused it".to_owned(), note.reason.as_str()),
        EventData::Resumed(note) => ("let it go on".to_owned(), note.reason.as_str()),
        EventData::Reopened(note) => ("opened it again".to_owned(), note.reason.as_str()),
        EventData::VersionChanged(changed) => {
            (format!("gave it {}", name(&changed.to)), changed.reason.as_str())
        }
        EventData::Patched(patch) => ("patched it".to_owned(), patch.reason.as_str()),
        EventData::ReplayRequested(replay) => {
            (format!("had node {} tried again", replay.node), replay.reason.as_str())
        }
        EventData::CompensationRequested(asked) => {
            ("had it take back what it did".to_owned(), asked.reason.as_str())
        }
        EventData::ApprovalDecided(decided) => (
            format!("decided approval {}: {}", decided.approval, decided.decision),
            decided.comments.as_str(),
        ),
        _ => return None,
    };
    Some(Deed { event: row.seq, at: row.at, by, what, reason: reason.to_owned() })
}

pub fn tell(session: &Session, deeds: &[Deed], now: Timestamp) -> CliResult {
    let mut table = Table::new(&["EVENT", "WHEN", "WHO", "WHAT", "WHY"]);
    for deed in deeds.iter().skip(deeds.len().saturating_sub(SHOWN)) {
        let when = relative(now, deed.at);
        table.row(vec![
            deed.event.to_string(),
            when,
            deed.by.0.clone(),
            deed.what.clone(),
            short(&deed.reason, 80),
        ]);
    }
    session.out.section("what people did", &table)
}
