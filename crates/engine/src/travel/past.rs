//! Folds the beginning of a history again.

use rhythm_core::fold::{Divergence, End};
use rhythm_core::lineage::{ByVersion, Lineage, versions};
use rhythm_core::program::RunFacts;
use rhythm_core::state_at_event::{Past, refold, up_to};
use rhythm_core::{BlobRef, Blobs, Event, EventData, RunId};
use thiserror::Error;

use crate::client::Client;
use crate::error::EngineError;
use crate::programs::{Lookup, Programs};
use crate::world::RunRow;

/// A history up to the end of a transition.
pub struct Prefix<'a> {
    pub event: &'a Event,
    pub rows: &'a [Event],
    /// The first row of that transition.
    pub first: u64,
    /// Whether the transition is the run's start, with nothing before it.
    pub is_start: bool,
}

/// Returns the history up to the end of the transition that wrote event `seq`. Fails if there is no such
/// event.
pub fn prefix<'a>(history: &'a [Event], run: &RunId, seq: u64) -> Result<Prefix<'a>, EngineError> {
    let count = history.len();
    let missing = || EngineError::UnknownEvent { run: run.to_string(), event: seq, count };
    let rows = up_to(history, seq).ok_or_else(missing)?;
    let event = rows.iter().find(|row| row.seq == seq).ok_or_else(missing)?;
    let first = event.cause.unwrap_or(seq);
    let starts = |row: &Event| matches!(row.data, EventData::WorkflowStarted(_));
    let is_start = rows.iter().position(starts).is_some_and(|place| {
        rows[place].seq == first && rows[..place].iter().all(|row| row.to_message().is_none())
    });
    Ok(Prefix { event, rows, first, is_start })
}

#[derive(Debug, Error)]
enum Broken {
    #[error(transparent)]
    Diverged(#[from] Divergence),
    #[error("blobs are missing")]
    NeedBlobs(Vec<BlobRef>),
}

/// Loads the programs of every version in a history.
pub async fn programs_of(
    client: &Client,
    programs: &Programs,
    row: &RunRow,
    history: &[Event],
) -> Result<ByVersion, EngineError> {
    let mut loaded = ByVersion::new();
    for version in versions(history, &row.version) {
        let found = programs.load(&**client.world(), client.tenant(), &row.workflow, version).await?;
        let Lookup::Found(program) = found else {
            let workflow = &row.workflow;
            return Err(EngineError::Invalid(format!(
                "version {version} of {workflow} cannot be folded here: use a process that has it"
            )));
        };
        loaded.insert(version.clone(), program);
    }
    Ok(loaded)
}

/// Folds rows from the beginning of a history under the given facts; `row` is the run they belong to.
pub async fn fold(
    client: &Client,
    loaded: &ByVersion,
    (row, history): (&RunRow, &[Event]),
    facts: &RunFacts,
    rows: &[Event],
) -> Result<Past, EngineError> {
    let lineage = Lineage::new(loaded, facts, history);
    let lineage = lineage.ok_or_else(|| EngineError::Invalid("its first version is missing".to_owned()))?;
    let mut blobs = Blobs::new();
    loop {
        let folded = refold(lineage.clone(), rows, |wanted| {
            match wanted.iter().all(|blob| blobs.contains_key(&blob.hash)) {
                true => Ok(blobs.clone()),
                false => Err(Broken::NeedBlobs(wanted.to_vec())),
            }
        });
        match folded {
            Ok(past) => return Ok(past),
            Err(Broken::Diverged(divergence)) => {
                let reason = match facts.run == row.id {
                    true => divergence.to_string(),
                    false => format!("under another name it goes another way: {divergence}"),
                };
                return Err(EngineError::Invalid(format!("run {} cannot be folded again: {reason}", row.id)));
            }
            Err(Broken::NeedBlobs(wanted)) => {
                for blob in wanted {
                    let content = client.world().read_blob(client.tenant(), &blob).await?;
                    blobs.insert(blob.hash, content);
                }
            }
        }
    }
}

pub fn ended(end: &End) -> &'static str {
    match end {
        End::Completed(_) => "completed",
        End::Failed(_) => "failed",
        End::Cancelled(_) => "been cancelled",
    }
}
