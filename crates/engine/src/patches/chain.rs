//! The documents a run went by, one after the other: the version it started with, and every patch it adopted.

use rhythm_core::lineage::first_version;
use rhythm_core::{EventData, Payload, RunId, Version};
use rhythm_graph::{Graph, patch};
use serde_json::Value;

use super::preview::{program_of, unreadable};
use super::{PatchOutcome, RunPatch};
use crate::client::Client;
use crate::error::EngineError;
use crate::world::{RunRow, WorldError};

/// One patch with the documents around it.
#[derive(Clone, Debug)]
pub struct Link {
    pub patch: RunPatch,
    pub before: Value,
    /// What it made of that, or would have made, had it been adopted. Nothing when it cannot be applied.
    pub after: Option<Value>,
}

/// Every patch of a run, oldest first.
pub async fn chain(client: &Client, run: &RunId) -> Result<Vec<Link>, EngineError> {
    let picture = client.picture(run).await?;
    let history = client.history(run).await?;
    let first = first_version(&history, &picture.row.version).clone();
    let mut document = registered(client, &picture.row, first).await?;
    let changes = history.iter().filter_map(|row| match &row.data {
        EventData::VersionChanged(changed) => Some((row.seq, &changed.to)),
        _ => None,
    });
    let mut changes = changes.peekable();
    let mut links = Vec::new();
    for patch in client.patches(run).await? {
        // With another version the run leaves its patches behind.
        while let Some((_, version)) = changes.next_if(|(seq, _)| *seq < patch.event) {
            document = registered(client, &picture.row, version.clone()).await?;
        }
        let operations = value(client, &patch.operations).await?;
        let after = patch::apply(&document, &operations).ok();
        let before = document.clone();
        if let (PatchOutcome::Adopted { .. }, Some(after)) = (&patch.outcome, &after) {
            document = after.clone();
        }
        links.push(Link { patch, before, after });
    }
    Ok(links)
}

/// The graph a run has ended with: its snapshot may not hold it any more, its history does.
pub(crate) async fn last_graph(client: &Client, row: &RunRow) -> Result<Graph, EngineError> {
    let program = program_of(client, row).await?;
    let (_, mut graph) = program.document_of(None).map_err(unreadable)?;
    // What was patched before the run got this version was left behind.
    let history = client.history(&row.id).await?;
    let changed = history.iter().rfind(|row| matches!(row.data, EventData::VersionChanged(_)));
    let since = changed.map_or(0, |row| row.seq);
    for link in chain(client, &row.id).await?.into_iter().filter(|link| link.patch.event > since) {
        if let PatchOutcome::Adopted { .. } = link.patch.outcome {
            let operations = value(client, &link.patch.operations).await?;
            graph = match program.propose((&link.before, &graph), &operations) {
                Ok(changed) => changed.graph,
                Err(refused) => return Err(WorldError::Corrupt(refused.message).into()),
            };
        }
    }
    Ok(graph)
}

/// The operations that undo an adopted patch in the document the run has now.
pub async fn undo(client: &Client, run: &RunId, number: usize) -> Result<Payload, EngineError> {
    let links = chain(client, run).await?;
    let unknown = || EngineError::UnknownPatch { of: format!("run {run}"), number };
    let link = links.iter().find(|link| link.patch.number == number).ok_or_else(unknown)?;
    let (PatchOutcome::Adopted { inverse }, Some(after)) = (&link.patch.outcome, &link.after) else {
        return Err(EngineError::Invalid(format!("patch {number} was refused: there is nothing to undo")));
    };
    let adopted = |link: &&Link| matches!(link.patch.outcome, PatchOutcome::Adopted { .. });
    let now = links.iter().rfind(adopted).and_then(|link| link.after.as_ref()).unwrap_or(after);
    let inverse = value(client, inverse).await?;
    let operations = patch::undo(&inverse, after, now).map_err(|refused| EngineError::PatchRefused {
        of: format!("patch {number} of run {run}"),
        code: refused.code.to_owned(),
        message: refused.message,
    })?;
    Ok(Payload::of(&operations).unwrap_or_default())
}

/// A version's own document.
async fn registered(client: &Client, row: &RunRow, version: Version) -> Result<Value, EngineError> {
    let row = RunRow { version, ..row.clone() };
    Ok(program_of(client, &row).await?.document_of(None).map_err(unreadable)?.0)
}

async fn value(client: &Client, payload: &Payload) -> Result<Value, EngineError> {
    let text = client.load(payload).await?;
    serde_json::from_str(&text).map_err(|error| EngineError::Invalid(error.to_string()))
}
