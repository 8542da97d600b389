//! Patches of runs and workflows. Of runs: what became of each, what one would change, and what undoes it. A patch is considered by its run
//! alone, as a message; everything here is read from the run's history, or tried on a copy of it.

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
    /// An RFC 6902 list over the document of the run's graph.
    pub operations: Payload,
    pub reason: String,
    /// Makes a repeated call harmless: one id is one patch.
    pub id: Option<String>,
}

/// A patch a run has considered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunPatch {
    /// 1, 2, 3 ... in the order they were considered.
    pub number: usize,
    /// The event that says what became of it.
    pub event: u64,
    pub at: Timestamp,
    pub author: String,
    pub reason: String,
    pub operations: Payload,
    #[serde(flatten)]
    pub outcome: PatchOutcome,
    /// The message that brought it; absent when it came with an agent's answer.
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
        /// Not `message`: that is the one that brought the patch.
        because: String,
    },
}

impl Client {
    /// Changes what one run does from here on, if the run adopts it; runs of other kinds than graphs take no notice. Gives
    /// the message's id, by which [`patch_of`] finds what became of it.
    pub async fn patch(&self, run: &RunId, patch: PatchRun) -> Result<MessageId, EngineError> {
        let operations = self.store(patch.operations).await?;
        let id = MessageId::new(format!("patch:{}", patch.id.unwrap_or_else(|| self.fresh_id())));
        let body = MessageBody::Patch(Patched { operations, reason: patch.reason });
        self.send(run, id.clone(), body).await?;
        Ok(id)
    }

    /// Every patch a run has considered, oldest first.
    pub async fn patches(&self, run: &RunId) -> Result<Vec<RunPatch>, EngineError> {
        self.picture(run).await?;
        Ok(told(&self.history(run).await?))
    }
}

/// The patches a history tells of.
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

/// What a run's history says about one message that brought a patch.
pub enum Considered {
    /// It is still to come.
    NotYet,
    Told(Box<RunPatch>),
    /// It was consumed, and the run failed with it.
    Failed,
}

pub async fn patch_of(client: &Client, run: &RunId, id: &MessageId) -> Result<Considered, EngineError> {
    let history = client.history(run).await?;
    let found = told(&history).into_iter().find(|patch| patch.message.as_ref() == Some(id));
    Ok(match found {
        Some(patch) => Considered::Told(Box::new(patch)),
        None if history.iter().any(|row| row.message.as_ref() == Some(id)) => Considered::Failed,
        None => Considered::NotYet,
    })
}
