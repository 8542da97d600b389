//! Compensation by hand: a run is asked to take back what it did.

use rhythm_core::message::{Compensate, Message, MessageBody};
use rhythm_core::{Compensation, MessageId, RunId, Status, Timestamp};
use serde::Serialize;

use super::Client;
use crate::error::EngineError;
use crate::tokens::undoable;
use crate::world::*;

/// A run that takes back what it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TakingBack {
    /// Whose work is undone, the last first.
    pub nodes: Vec<String>,
    /// It had not ended: it was cancelled, and takes back first.
    pub cancelled: bool,
}

impl Client {
    /// Has the compensators of a run do their work. A run that has ended is open until they have, and ends then as it had
    /// before, or failed when something is left; one that has not ended is cancelled, which comes to the same. What was left
    /// is asked for again by asking again.
    pub async fn compensate(&self, run: &RunId, reason: &str) -> Result<TakingBack, EngineError> {
        let picture = self.picture(run).await?;
        let summary = &picture.summary;
        if summary.compensation == Compensation::Done {
            return Err(EngineError::Compensated(run.to_string()));
        }
        let asked = |message: &Message| matches!(message.body, MessageBody::Compensate(_));
        if summary.compensation == Compensation::Running || picture.inbox.iter().any(asked) {
            return Err(EngineError::Compensating(run.to_string()));
        }
        let nodes = undoable(self, &picture.row).await?;
        if nodes.is_empty() {
            return Err(EngineError::NothingToCompensate(run.to_string()));
        }
        let cancelled = !summary.status.is_final();
        if cancelled {
            self.cancel(run, reason).await?;
        } else {
            let failure = picture.failure.filter(|_| summary.status == Status::Failed);
            let message = Message {
                id: MessageId::new(format!("compensate:{}", summary.revision)),
                at: Timestamp::default(),
                actor: self.actor.clone(),
                trace: None,
                body: MessageBody::Compensate(Compensate { reason: reason.to_owned(), failure }),
            };
            let (run, revision, reason) = (run.clone(), summary.revision, reason.to_owned());
            self.control(Control::TakeBack { run, revision, reason, message: Box::new(message) }).await?;
        }
        Ok(TakingBack { nodes, cancelled })
    }
}
