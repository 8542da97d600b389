//! Retries a failed node: as it was, or with another config, which is a patch of its run.

use rhythm_core::message::{Message, MessageBody, Patched, Replay};
use rhythm_core::{BlockedCode, CommandId, MessageId, Payload, RunId, Status, TaskId, Timestamp};
use rhythm_graph::machine::{WaitingFor, codes};
use serde_json::{Value, json};

use super::Client;
use super::retry_run::again;
use crate::error::EngineError;
use crate::patches::{PatchRun, preview, program_of, unreadable};
use crate::world::*;

/// A node to try again.
#[derive(Clone, Debug, Default)]
pub struct RetryNode {
    pub node: String,
    /// Replaces the node's config in this run.
    pub config: Option<Value>,
    pub reason: String,
}

/// Way in which a node stopped its run.
enum Stopped {
    /// The node's failure failed the run.
    Failed,
    /// The run is held for the node's task.
    Held { task: TaskId, command: CommandId },
    /// The run is held for the node itself.
    Waits { command: CommandId },
}

impl Client {
    /// Retries the node that failed a run, or that a run is held for. With a config, the node starts again
    /// with its tokens; without one, its requests are repeated unchanged. Fails if the node is unknown, the
    /// run is not stopped at it, or the config would be refused as a patch.
    pub async fn retry_node(&self, run: &RunId, wish: RetryNode) -> Result<(), EngineError> {
        let picture = self.picture(run).await?;
        let program = program_of(self, &picture.row).await?;
        let snapshot = picture.row.state.snapshot.as_ref();
        let (document, graph) = program.document_of(snapshot).map_err(unreadable)?;
        if graph.find(&wish.node).is_none() {
            return Err(EngineError::UnknownNode { run: run.to_string(), node: wish.node });
        }
        // The commands each node waited for when the run stopped.
        let mut asked: Vec<(String, CommandId)> = Vec::new();
        let mut held = None;
        if let Some(snapshot) = snapshot {
            for wait in program.waiting(snapshot).map_err(unreadable)? {
                if wait.node == wish.node && matches!(wait.what, WaitingFor::Held(_)) {
                    held = held.or(wait.command);
                }
                let commands = wait.command.into_iter().chain(wait.timers);
                asked.extend(commands.map(|command| (wait.node.clone(), command)));
            }
        }
        let stopped = match held.filter(|_| !picture.summary.status.is_final()) {
            Some(command) => Stopped::Waits { command },
            None => what_stopped(&picture, &wish.node, &asked)?,
        };
        let Some(config) = &wish.config else {
            return match stopped {
                Stopped::Failed => self.retry_run(run, &wish.reason).await,
                Stopped::Held { task, .. } => self.requeue_dead(&task).await,
                Stopped::Waits { command } => self.replay(run, wish, command).await,
            };
        };
        let operations = Payload::of(&replacing(&document, &wish.node, config)).unwrap_or_default();
        if let Some(would) = preview(self, run, operations.clone()).await?.refused {
            let of = format!("the config of node {} of run {run}", wish.node);
            return Err(EngineError::PatchRefused { of, code: would.code, message: would.message });
        }
        match stopped {
            Stopped::Failed => self.replay_failed(&picture, wish, operations, &asked).await,
            Stopped::Held { command, .. } | Stopped::Waits { command } => {
                self.replay_held(run, wish, operations, command).await
            }
        }
    }

    /// Reopens the run with the patch and the message that restarts the node, in one write.
    async fn replay_failed(
        &self,
        picture: &Picture,
        wish: RetryNode,
        operations: Payload,
        asked: &[(String, CommandId)],
    ) -> Result<(), EngineError> {
        let (run, revision) = (&picture.summary.id, picture.summary.revision);
        let patch = Patched { operations: self.store(operations).await?, reason: wish.reason.clone() };
        let mut redeliver = vec![self.asks(format!("patch:{}", self.fresh_id()), MessageBody::Patch(patch))];
        let mut superseded = None;
        if let Some(cause) = &picture.failed_by {
            let command =
                answered(&cause.body).filter(|command| asked.contains(&(wish.node.clone(), *command)));
            // A node that failed as soon as it began requested nothing: the message that led to it is enough.
            redeliver.push(match command {
                Some(command) => {
                    superseded = Some(run.task(command));
                    let (node, reason) = (wish.node, wish.reason.clone());
                    let body = MessageBody::Replay(Replay { node, command, reason });
                    self.asks(format!("replay:{}", self.fresh_id()), body)
                }
                None => again(cause, revision),
            });
        }
        let (requeue, reason) = (Vec::new(), wish.reason);
        let fresh =
            self.had(picture).await?.map(|deadline| Box::new(FreshTime { deadline, tasks: Vec::new() }));
        let run = run.clone();
        self.control(Control::Reopen { run, revision, reason, requeue, redeliver, fresh }).await?;
        // The letter of the replaced task needs no decision any more.
        let letter = picture.dead.iter().find(|letter| Some(&letter.task) == superseded.as_ref());
        if let Some(letter) = letter {
            let task = letter.task.clone();
            match self.control(Control::DiscardDead { task, message: None }).await {
                Ok(_) | Err(EngineError::World(WorldError::NotFound(_))) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The run withdraws the task it is held for when it restarts the node.
    async fn replay_held(
        &self,
        run: &RunId,
        wish: RetryNode,
        operations: Payload,
        command: CommandId,
    ) -> Result<(), EngineError> {
        let reason = wish.reason.clone();
        self.patch(run, PatchRun { operations, reason, id: None }).await?;
        self.replay(run, wish, command).await
    }

    async fn replay(&self, run: &RunId, wish: RetryNode, command: CommandId) -> Result<(), EngineError> {
        let body = MessageBody::Replay(Replay { node: wish.node, command, reason: wish.reason });
        self.send(run, MessageId::new(format!("replay:{}", self.fresh_id())), body).await
    }

    fn asks(&self, id: String, body: MessageBody) -> Message {
        let (id, at, actor) = (MessageId::new(id), Timestamp::default(), self.actor.clone());
        Message { id, at, actor, trace: None, body }
    }
}

fn what_stopped(
    picture: &Picture,
    node: &str,
    asked: &[(String, CommandId)],
) -> Result<Stopped, EngineError> {
    let summary = &picture.summary;
    let run = summary.id.to_string();
    let not_failed = |failed: Option<&str>| {
        let (run, failed) = (summary.id.to_string(), failed.map(str::to_owned));
        Err(EngineError::NodeNotFailed { run, node: node.to_owned(), failed })
    };
    match summary.status {
        Status::Completed | Status::Cancelled => Err(EngineError::Ended(run)),
        Status::Failed if picture.is_compensated() => Err(EngineError::Compensated(run)),
        Status::Failed => {
            let code = picture.failure.as_ref().map(|failure| failure.code.as_str()).unwrap_or_default();
            match codes::failed_node(code) {
                Some(failed) if failed == node => Ok(Stopped::Failed),
                failed => not_failed(failed),
            }
        }
        Status::Pending | Status::Running | Status::Waiting => {
            let held = |blocked: &rhythm_core::Blocked| blocked.code == BlockedCode::DeadLetter;
            if !summary.blocked.as_ref().is_some_and(held) {
                return Err(EngineError::NotStopped(run));
            }
            let waited_for = |letter: &DeadLetter| {
                let command = letter.number.filter(|_| letter.held)?;
                let task = letter.task.clone();
                asked.contains(&(node.to_owned(), command)).then_some(Stopped::Held { task, command })
            };
            picture.dead.iter().find_map(waited_for).map_or_else(|| not_failed(None), Ok)
        }
    }
}

/// Returns the command a message answers, or for a replay the command of the restarted node.
fn answered(body: &MessageBody) -> Option<CommandId> {
    match body {
        MessageBody::ApprovalDecided(decided) => Some(decided.approval),
        MessageBody::Replay(replay) => Some(replay.command),
        other => other.answers(),
    }
}

/// Builds the patch that replaces a node's config.
fn replacing(document: &Value, node: &str, config: &Value) -> Value {
    let nodes = document.get("nodes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is_it = |found: &Value| ["id", "node_id"].iter().any(|key| found.get(key) == Some(&json!(node)));
    let place = nodes.iter().position(is_it).unwrap_or(nodes.len());
    json!([{"op": "add", "path": format!("/nodes/{place}/config"), "value": config}])
}
