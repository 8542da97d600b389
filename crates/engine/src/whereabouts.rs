//! Where in its source a flow's run stands, or where it failed; what it waits for, and what its variables hold.

use std::collections::BTreeMap;

use rhythm_core::fold::RunState;
use rhythm_core::message::{Message, MessageBody};
use rhythm_core::program::{RunFacts, StepInput};
use rhythm_core::{Blobs, CommandId, Snapshot, Status, Timestamp, WorkflowKind};
use rhythm_flow::Flow;
use rhythm_flow::inspect::{Variables, Waiting, describe};
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
    /// Of timers under way that have one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<CommandId, String>,
    /// Of a run that has ended: nothing, or what it had before it failed.
    pub variables: Variables,
    #[serde(skip)]
    source: String,
}

impl Whereabouts {
    /// Lines count from 1.
    pub fn source_line(&self, line: u32) -> Option<String> {
        let line = self.source.lines().nth((line as usize).checked_sub(1)?)?;
        Some(line.trim_end().to_owned())
    }

    /// The fields the source reads of the value that is awaited in this line, as far as the text tells.
    pub fn fields_read(&self, line: u32) -> Vec<String> {
        let text = self.source_line(line).unwrap_or_default();
        let Some((left, right)) = text.split_once('=').filter(|(_, right)| right.contains("await")) else {
            return Vec::new();
        };
        if right.starts_with('=') {
            return Vec::new();
        }
        let name = left.trim_end().rsplit(|c: char| !is_name(c)).next().unwrap_or_default();
        if name.is_empty() { Vec::new() } else { fields_of(name, &self.source) }
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// `by` and `at` of `approval.by + approval?.at`; methods are none.
fn fields_of(name: &str, source: &str) -> Vec<String> {
    let mut fields: Vec<String> = Vec::new();
    for (at, _) in source.match_indices(name) {
        let before = source[..at].chars().next_back();
        let after = &source[at + name.len()..];
        let Some(field) = after.strip_prefix("?.").or_else(|| after.strip_prefix('.')) else { continue };
        let length = field.find(|c| !is_name(c)).unwrap_or(field.len());
        let (field, rest) = field.split_at(length);
        let stands_alone = before.is_none_or(|c| !is_name(c) && c != '.');
        if stands_alone
            && !field.is_empty()
            && !rest.starts_with('(')
            && !fields.iter().any(|known| known == field)
        {
            fields.push(field.to_owned());
        }
    }
    fields
}

/// Nothing for other kinds of workflows, for runs that have not begun, and where the version cannot be read here.
pub async fn whereabouts(client: &Client, picture: &Picture) -> Result<Option<Whereabouts>, EngineError> {
    let failed_by = picture.failed_by.as_ref().filter(|_| picture.summary.status == Status::Failed);
    let mut found = after(client, &picture.row, &picture.row.state, failed_by).await?;
    // A task's own row has its label.
    for wait in found.iter_mut().flat_map(|place| &mut place.waiting_for) {
        let id = picture.summary.id.task(wait.command);
        if let Some(task) = picture.tasks.iter().find(|task| task.id == id) {
            wait.label = wait.label.take().or_else(|| task.options.label.clone());
        }
    }
    Ok(found)
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
    let standing = snapshot.and_then(|snapshot| describe(&flow, snapshot).ok());
    let failed = match failed_by {
        Some(message) if message.body != MessageBody::DeadlineReached => {
            failing(client, &flow, &row.facts(), (snapshot, message, state.at)).await?
        }
        _ => None,
    };
    let place = failed.or_else(|| standing.as_ref().map(|standing| (standing.line, standing.column)));
    let Some((line, column)) = place else { return Ok(None) };
    let waiting_for = standing.as_ref().filter(|_| failed.is_none()).map(|it| it.waiting_for.clone());
    let mut whereabouts = Whereabouts {
        line,
        column,
        text: String::new(),
        waiting_for: waiting_for.unwrap_or_default(),
        labels: standing.as_ref().map(|standing| standing.labels.clone()).unwrap_or_default(),
        variables: standing.map(|standing| standing.variables).unwrap_or_default(),
        source,
    };
    whereabouts.text = whereabouts.source_line(line).unwrap_or_default();
    Ok(Some(whereabouts))
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

/// Line and column of the step that failed the run. A failed run stands where it stood before, so the message is
/// applied once more: it always ends the same way.
async fn failing(
    client: &Client,
    flow: &Flow,
    facts: &RunFacts,
    (snapshot, message, at): (Option<&Snapshot>, &Message, Timestamp),
) -> Result<Option<(u32, u32)>, EngineError> {
    let mut blobs = Blobs::new();
    loop {
        match flow.stops_at(StepInput { facts, snapshot, message, at, blobs: &blobs }) {
            Err(_) => return Ok(None),
            Ok(Ok(position)) => {
                return Ok(flow.code().place(position).map(|place| (place.line, place.column)));
            }
            Ok(Err(wanted)) => {
                for blob in wanted {
                    let content = client.world().read_blob(client.tenant(), &blob).await?;
                    blobs.insert(blob.hash, content);
                }
            }
        }
    }
}
