//! Patches of runs and workflows. For a run: the outcome of each patch, a preview, and its inverse. Only the
//! run itself considers a patch, as a message; the code here reads the run's history, or tries the patch on a
//! copy.

mod chain;
mod preview;
mod workflow;

use rhythm_core::event::{Event, EventData};
use rhythm_core::message::{MessageBody, Patched};
use rhythm_core::{MessageId, Payload, RunId, Timestamp};
use serde::Serialize;

use crate::client::Client;
use crate::error::EngineError;

pub(crate) use chain::last_graph;
pub use chain::{Link, chain, undo};
pub use preview::{Preview, WouldRefuse, preview};
pub(crate) use preview::{program_of, unreadable, unreadable_program};
pub use workflow::{Change, PatchWorkflow, Proposal, document_of};

/// A patch to send to a run.
#[derive(Clone, Debug, Default)]
pub struct PatchRun {
    /// RFC 6902 operations on the document of the run's graph.
    pub operations: Payload,
    pub reason: String,
    /// Idempotency key: one id is one patch.
    pub id: Option<String>,
}

/// A patch a run has considered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunPatch {
    /// Numbered 1, 2, 3 ... in the order they were considered.
    pub number: usize,
    /// The event with the outcome.
    pub event: u64,
    pub at: Timestamp,
    pub author: String,
    pub reason: String,
    pub operations: Payload,
    #[serde(flatten)]
    pub outcome: PatchOutcome,
    /// The message that brought it; `None` if it came with an agent's answer.
    pub message: Option<MessageId>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum PatchOutcome {
    Adopted {
        inverse: Payload,
    },
    Refused {
        code: String,
        /// Named differently from `message`, which is the message that brought the patch.
        because: String,
    },
}

impl Client {
    /// Sends a patch to one run. Returns the message's id, with which [`patch_of`] finds the outcome; runs
    /// that are no graphs ignore it. Fails if the run is unknown or has ended.
    pub async fn patch(&self, run: &RunId, patch: PatchRun) -> Result<MessageId, EngineError> {
        let operations = self.store(patch.operations).await?;
        let id = MessageId::new(format!("patch:{}", patch.id.unwrap_or_else(|| self.fresh_id())));
        let body = MessageBody::Patch(Patched { operations, reason: patch.reason });
        self.send(run, id.clone(), body).await?;
        Ok(id)
    }

    /// Returns every patch a run has considered, oldest first. Fails if the run is unknown.
    pub async fn patches(&self, run: &RunId) -> Result<Vec<RunPatch>, EngineError> {
        self.picture(run).await?;
        Ok(told(&self.history(run).await?))
    }
}

/// Returns the patches in a history.
fn told(history: &[Event]) -> Vec<RunPatch> {
    let mut patches = Vec::new();
    for event in history {
        let (author, reason, operations, outcome) = match event.data.clone() {
            EventData::PatchAdopted(adopted) => {
                let outcome = PatchOutcome::Adopted { inverse: adopted.inverse };
                (adopted.author, adopted.reason, adopted.operations, outcome)
            }
            EventData::PatchRefused(refused) => {
                let outcome = PatchOutcome::Refused { code: refused.code, because: refused.message };
                (refused.author, refused.reason, refused.operations, outcome)
            }
            _ => continue,
        };
        let cause = event.cause.and_then(|cause| history.iter().find(|row| row.seq == cause));
        let brought = cause.filter(|row| matches!(row.data, EventData::Patched(_)));
        patches.push(RunPatch {
            number: patches.len() + 1,
            event: event.seq,
            at: event.at,
            author,
            reason,
            operations,
            outcome,
            message: brought.and_then(|row| row.message.clone()),
        });
    }
    patches
}

/// Outcome of one message that brought a patch.
pub enum Considered {
    /// The run has not consumed it yet.
    NotYet,
    Told(Box<RunPatch>),
    /// It was consumed, and the run failed with it.
    Failed,
}

/// Returns the outcome of the patch that the message `id` brought.
pub async fn patch_of(client: &Client, run: &RunId, id: &MessageId) -> Result<Considered, EngineError> {
    let history = client.history(run).await?;
    let found = told(&history).into_iter().find(|patch| patch.message.as_ref() == Some(id));
    Ok(match found {
        Some(patch) => Considered::Told(Box::new(patch)),
        None if history.iter().any(|row| row.message.as_ref() == Some(id)) => Considered::Failed,
        None => Considered::NotYet,
    })
}
