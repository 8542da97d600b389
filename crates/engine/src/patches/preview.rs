//! What would become of a patch now: the run's own step, taken on a copy.

use rhythm_core::event::EventData;
use rhythm_core::fold::{Advance, Advanced, End, RunState, advance};
use rhythm_core::message::{Message, MessageBody, Patched, Start};
use rhythm_core::{Blobs, MessageId, Payload, RunId, Status, Timestamp, WorkflowKind};
use rhythm_graph::patch::{self, Changes, compiler_that_reads};
use rhythm_graph::{GraphProgram, Registry};
use serde::Serialize;

use crate::client::Client;
use crate::definitions::graph;
use crate::error::EngineError;
use crate::world::*;

/// What a patch would come to.
#[derive(Clone, Debug, Serialize)]
pub struct Preview {
    /// Nothing when it would be adopted.
    pub refused: Option<WouldRefuse>,
    /// What it changes, as far as it can be applied at all.
    pub changes: Changes,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WouldRefuse {
    pub code: String,
    pub message: String,
}

/// Tries a patch on a copy of a run as it is now. Nothing is sent.
pub async fn preview(client: &Client, run: &RunId, operations: Payload) -> Result<Preview, EngineError> {
    let picture = client.picture(run).await?;
    if matches!(picture.summary.status, Status::Completed | Status::Cancelled) {
        return Err(EngineError::Ended(run.to_string()));
    }
    let program = program_of(client, &picture.row).await?;
    let stage = Stage { client, program: &program, row: &picture.row, now: client.world().now().await? };
    let mut state = picture.row.state.clone();
    if state.snapshot.is_none() {
        let start = MessageBody::Start(Start { input: picture.input.clone() });
        state = stage.step(&state, MessageId::start(), start).await?.state;
    }
    let text = client.load(&operations).await?;
    let body = MessageBody::Patch(Patched { operations, reason: String::new() });
    let tried = stage.step(&state, MessageId::new("patch:dry-run"), body).await?;
    let (document, graph) = program.document_of(state.snapshot.as_ref()).map_err(unreadable)?;
    let value = serde_json::from_str(&text).unwrap_or_default();
    let changed = program.propose((&document, &graph), &value);
    let refused = match refusal(tried) {
        None => unreadable_program(client, &picture.row, &text).await?,
        refused => refused,
    };
    let changes =
        changed.map(|changed| Changes::between((&document, &graph), (&changed.document, &changed.graph)));
    Ok(Preview { refused, changes: changes.unwrap_or_default() })
}

fn refusal(tried: Advanced) -> Option<WouldRefuse> {
    for event in tried.events {
        match event.data {
            EventData::PatchAdopted(_) => return None,
            EventData::PatchRefused(refused) => {
                return Some(WouldRefuse { code: refused.code, message: refused.message });
            }
            _ => {}
        }
    }
    let message = match tried.end {
        Some(End::Failed(failure)) => format!("the run would fail with it: {failure}"),
        _ => "the run has ended".to_owned(),
    };
    Some(WouldRefuse { code: "run_failed".to_owned(), message })
}

/// The program of a run of a graph.
pub(crate) async fn program_of(client: &Client, row: &RunRow) -> Result<GraphProgram, EngineError> {
    if row.kind != WorkflowKind::Graph {
        return Err(EngineError::NotPatchable(format!("run {}", row.id)));
    }
    let (tenant, workflow, version) = (row.tenant.clone(), row.workflow.clone(), Some(row.version.clone()));
    let found = client.world().definition(DefinitionQuery { tenant, workflow, version }).await?;
    let definition = found.ok_or_else(|| EngineError::UnknownWorkflow(row.workflow.clone()))?;
    graph::load(&definition).map_err(unreadable)
}

/// Why a patch is not worth sending: it brings programs that cannot be read, which the run itself cannot see.
pub(crate) async fn unreadable_program(
    client: &Client,
    row: &RunRow,
    operations: &str,
) -> Result<Option<WouldRefuse>, EngineError> {
    let program = program_of(client, row).await?;
    let (document, graph) = program.document_of(row.state.snapshot.as_ref()).map_err(unreadable)?;
    let operations = serde_json::from_str(operations).unwrap_or_default();
    let Ok(changed) = program.propose((&document, &graph), &operations) else { return Ok(None) };
    let read = compiler_that_reads(Registry::built_in().clone(), client.reads());
    // What was there before is not this patch's fault.
    if read(&document, &graph).is_err() {
        return Ok(None);
    }
    let code = patch::codes::INVALID_GRAPH.to_owned();
    Ok(read(&changed.document, &changed.graph).err().map(|message| WouldRefuse { code, message }))
}

pub(crate) fn unreadable(error: rhythm_core::ProgramError) -> EngineError {
    WorldError::Corrupt(error.to_string()).into()
}

struct Stage<'a> {
    client: &'a Client,
    program: &'a GraphProgram,
    row: &'a RunRow,
    now: Timestamp,
}

impl Stage<'_> {
    async fn step(
        &self,
        state: &RunState,
        id: MessageId,
        body: MessageBody,
    ) -> Result<Advanced, EngineError> {
        let actor = self.client.actor().clone();
        let message = Message { id, at: self.now, actor, trace: None, body };
        let mut blobs = Blobs::new();
        loop {
            let facts = self.row.facts();
            match advance(self.program, &facts, state, &message, self.now, &blobs).map_err(unreadable)? {
                Advance::Advanced(advanced) => return Ok(*advanced),
                Advance::NeedBlobs(wanted) => {
                    for blob in wanted {
                        let content = self.client.world().read_blob(self.client.tenant(), &blob).await?;
                        blobs.insert(blob.hash, content);
                    }
                }
            }
        }
    }
}
