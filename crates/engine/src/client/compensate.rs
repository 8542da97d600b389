//! Compensation on request.

use rhythm_core::message::{Compensate, Message, MessageBody};
use rhythm_core::{Compensation, MessageId, RunId, Status, Timestamp};
use serde::Serialize;

use super::Client;
use crate::error::EngineError;
use crate::tokens::undoable;
use crate::world::*;

/// Result of a compensation request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TakingBack {
    /// Nodes whose work is undone, last first.
    pub nodes: Vec<String>,
    /// Whether the run was live: it is cancelled, and compensates first.
    pub cancelled: bool,
}

impl Client {
    /// Runs the compensators of a run. An ended run is reopened for them; afterwards it ends as before, or as
    /// failed if a compensator failed. A live run is cancelled, which runs them too. Calling again retries
    /// the compensators that failed. Fails if the run is compensated, is compensating now, or has nothing to
    /// compensate.
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
