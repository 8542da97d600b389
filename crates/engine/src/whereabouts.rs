//! Where in its source a flow's run stands, or where it failed; what it waits for, and what its variables hold.

use rhythm_core::flow::Flow;
use rhythm_core::flow::inspect::{Description, Variables, Waiting, describe};
use rhythm_core::fold::RunState;
use rhythm_core::message::{Message, MessageBody};
use rhythm_core::program::{RunFacts, Step, StepInput};
use rhythm_core::{Blobs, Program, Snapshot, Status, Timestamp, WorkflowKind};
use serde::Serialize;

use crate::client::Client;
use crate::error::EngineError;
use crate::world::*;

#[derive(Clone, Debug, Serialize)]
pub struct Whereabouts {
    pub line: u32,
    pub column: u32,
    /// That line of the source.
    pub text: String,
    pub waiting_for: Vec<Waiting>,
    /// Of a run that has ended: nothing, or what it had before it failed.
    pub variables: Variables,
    #[serde(skip)]
    source: String,
}

impl Whereabouts {
    fn of(described: Description, source: &str) -> Self {
        let Description { line, column, waiting_for, variables, .. } = described;
        let mut whereabouts =
            Self { line, column, text: String::new(), waiting_for, variables, source: source.to_owned() };
        whereabouts.text = whereabouts.source_line(line).unwrap_or_default();
        whereabouts
    }

    /// Lines count from 1.
    pub fn source_line(&self, line: u32) -> Option<String> {
        let line = self.source.lines().nth((line as usize).checked_sub(1)?)?;
        Some(line.trim_end().to_owned())
    }
}

/// Nothing for other kinds of workflows, for runs that have not begun, and where the version cannot be read here.
pub async fn whereabouts(client: &Client, picture: &Picture) -> Result<Option<Whereabouts>, EngineError> {
    let failed_by = picture.failed_by.as_ref().filter(|_| picture.summary.status == Status::Failed);
    after(client, &picture.row, &picture.row.state, failed_by).await
}

/// The same for any state of a run; `failed_by` is what failed it then.
pub async fn after(
    client: &Client,
    row: &RunRow,
    state: &RunState,
    failed_by: Option<&Message>,
) -> Result<Option<Whereabouts>, EngineError> {
    let Some((flow, source)) = flow_of(client, row).await? else { return Ok(None) };
    let snapshot = state.snapshot.as_ref();
    let before = snapshot.and_then(|snapshot| describe(&flow, snapshot).ok());
    let failed = match failed_by {
        Some(message) if message.body != MessageBody::DeadlineReached => {
            failing(client, &flow, &row.facts(), (snapshot, message, state.at)).await?
        }
        _ => None,
    };
    let Some(mut described) = failed.or_else(|| before.clone()) else { return Ok(None) };
    if let Some(before) = before {
        described.variables = before.variables;
    }
    Ok(Some(Whereabouts::of(described, &source)))
}

/// The program of a run and its source, when it is a flow this build can read.
async fn flow_of(client: &Client, row: &RunRow) -> Result<Option<(Flow, String)>, EngineError> {
    if row.kind != WorkflowKind::Flow {
        return Ok(None);
    }
    let (tenant, workflow, version) = (row.tenant.clone(), row.workflow.clone(), Some(row.version.clone()));
    let found = client.world().definition(DefinitionQuery { tenant, workflow, version }).await?;
    let Some(definition) = found else { return Ok(None) };
    Ok(Flow::load(&definition.compiled).ok().map(|flow| (flow, definition.source)))
}

/// Where the step stopped that failed the run. A failed run keeps the snapshot from before, so the step is taken once
/// more: it always ends the same way.
async fn failing(
    client: &Client,
    flow: &Flow,
    facts: &RunFacts,
    (snapshot, message, at): (Option<&Snapshot>, &Message, Timestamp),
) -> Result<Option<Description>, EngineError> {
    let mut blobs = Blobs::new();
    loop {
        match flow.step(StepInput { facts, snapshot, message, at, blobs: &blobs }) {
            Err(_) => return Ok(None),
            Ok(Step::Transition(transition)) => return Ok(describe(flow, &transition.snapshot).ok()),
            Ok(Step::NeedBlobs(wanted)) => {
                for blob in wanted {
                    let content = client.world().read_blob(client.tenant(), &blob).await?;
                    blobs.insert(blob.hash, content);
                }
            }
        }
    }
}
