//! Messages: everything that reaches a run. A consumed message becomes a history row with the same content,
//! so the bodies here are shared with [`crate::event`].

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::id::{CommandId, MessageId, RunId, Version};
use crate::payload::Payload;
use crate::time::Timestamp;

/// Cause of a message or row: `user:ann`, `run:<id>`, `worker:<id>`, `schedule:nightly`, `system`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Actor(pub String);

impl Actor {
    /// Returns the actor of the engine and the world.
    pub fn system() -> Self {
        Self("system".to_owned())
    }

    /// Returns the actor of messages that a run sends.
    pub fn run(run: &RunId) -> Self {
        Self(format!("run:{run}"))
    }

    /// Returns whether a run caused it.
    pub fn is_run(&self) -> bool {
        self.0.starts_with("run:")
    }
}

/// One message to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub id: MessageId,
    /// Time at which it reached the run, by the world's clock.
    pub at: Timestamp,
    pub actor: Actor,
    /// W3C trace context of its sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    pub body: MessageBody,
}

/// The run starts with this input. The first message of every run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    pub input: Payload,
}

/// A task completed in this attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCompleted {
    pub task: CommandId,
    pub attempt: u32,
    pub output: Payload,
}

/// A task failed for good: no attempt is left, or the failure is not retried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFailed {
    pub task: CommandId,
    pub failure: Failure,
}

/// A timer of the run fired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerFired {
    pub timer: CommandId,
}

/// A signal arrived from outside or from another run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalReceived {
    pub name: String,
    pub payload: Payload,
}

/// A child of the run completed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildCompleted {
    pub child: CommandId,
    pub output: Payload,
}

/// A child of the run failed or was cancelled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildFailed {
    pub child: CommandId,
    pub failure: Failure,
}

/// A request to cancel the run. The program may clean up before the run ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancel {
    pub reason: String,
    /// The run ends without waiting for its clean-up: the parent did not wait for its own clean-up either.
    /// People reach the same by asking twice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_once: bool,
}

impl Cancel {
    /// Returns a request that leaves time for clean-up.
    pub fn because(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), at_once: false }
    }
}

/// A decision about an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalDecided {
    pub approval: CommandId,
    pub decision: String,
    pub by: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comments: String,
    #[serde(default)]
    pub data: Payload,
}

/// A patch of the graph that the run uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patched {
    pub operations: Payload,
    pub reason: String,
}

/// Asks a run that has ended to compensate: to undo its work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compensate {
    pub reason: String,
    /// Failure the run had ended with. The run fails with it again after the compensation. Absent when it had
    /// not failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// Retries a failed node with the tokens it holds and the config that the run's graph has now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replay {
    pub node: String,
    /// Command that the node waited for when it failed. It selects one of several visits.
    pub command: CommandId,
    pub reason: String,
}

/// Moves the run to another version of its workflow, which steps every later message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionChanged {
    pub from: Version,
    pub to: Version,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The run's position in the new program. Absent for graphs, whose nodes have names, and for runs that
    /// have not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<MovedPosition>,
}

/// Position and variables of a flow's run, mapped from one program to another. The message records the whole
/// mapping, so that folding the history again does not depend on how the position was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedPosition {
    /// Index of the waiting step in the old program and in the new one.
    pub from_step: u32,
    pub to_step: u32,
    /// Source lines of those steps, shown to people.
    pub from_line: u32,
    pub to_line: u32,
    /// Name of each variable in snapshots of the new program, and its name in those of the old one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<(String, String)>,
    /// Steps that started the open work: index in the old program, index in the new one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub started: Vec<(u32, u32)>,
    /// The run's inputs, when the new program reads them and the old one did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Payload>,
    /// Start time of the run, when the new program reads its context and the old one did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
}

/// Content of a message. Externally tagged, because the raw JSON inside needs a format that does not buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageBody {
    Start(Start),
    TaskCompleted(TaskCompleted),
    TaskFailed(TaskFailed),
    TimerFired(TimerFired),
    Signal(SignalReceived),
    ChildCompleted(ChildCompleted),
    ChildFailed(ChildFailed),
    Cancel(Cancel),
    /// The run's deadline has passed. The fold decides how the run ends.
    DeadlineReached,
    ApprovalDecided(ApprovalDecided),
    Patch(Patched),
    Compensate(Compensate),
    Replay(Replay),
    /// Never in an inbox: the operation that changes the version commits this message with it.
    VersionChanged(VersionChanged),
}

impl MessageBody {
    /// Returns the task, child or timer that this message answers.
    pub fn answers(&self) -> Option<CommandId> {
        match self {
            Self::TaskCompleted(done) => Some(done.task),
            Self::TaskFailed(failed) => Some(failed.task),
            Self::ChildCompleted(done) => Some(done.child),
            Self::ChildFailed(failed) => Some(failed.child),
            Self::TimerFired(fired) => Some(fired.timer),
            _ => None,
        }
    }

    /// Returns the name under which a signal waits in the inbox. Other messages are consumed on arrival and
    /// have none.
    pub fn signal_name(&self) -> Option<&str> {
        match self {
            Self::Signal(signal) => Some(&signal.name),
            _ => None,
        }
    }

    /// Returns whether this message ends a run that has not started yet. Other messages wait for its start.
    pub fn ends_a_pending_run(&self) -> bool {
        matches!(self, Self::Cancel(_) | Self::DeadlineReached)
    }
}

impl MessageId {
    /// The id of the start message.
    pub fn start() -> Self {
        Self::new("start")
    }

    /// The id of the message at the run's deadline.
    pub fn deadline() -> Self {
        Self::new("deadline")
    }

    /// The id of a task's one final message.
    pub fn task(task: CommandId) -> Self {
        Self(format!("task:{task}"))
    }

    /// The id of the message of a timer.
    pub fn timer(timer: CommandId) -> Self {
        Self(format!("timer:{timer}"))
    }

    /// The id of a child's one final message.
    pub fn child(child: CommandId) -> Self {
        Self(format!("child:{child}"))
    }

    /// The id of a signal that another run sent with its command number `signal`.
    pub fn from_run(sender: &RunId, signal: CommandId) -> Self {
        Self(format!("from:{sender}:{signal}"))
    }

    /// The id of an approval's decision. An approval is decided once: the first decision takes this id.
    pub fn approval(approval: CommandId) -> Self {
        Self(format!("approval:{approval}"))
    }
}
