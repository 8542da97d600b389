//! What reaches a run. A message that was consumed becomes the history row of the same content, so the
//! bodies here are shared with [`crate::event`].

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::id::{CommandId, MessageId, RunId, Version};
use crate::payload::Payload;
use crate::time::Timestamp;

/// Who caused something: `user:ann`, `run:<id>`, `worker:<id>`, `schedule:nightly`, `system`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Actor(pub String);

impl Actor {
    pub fn system() -> Self {
        Self("system".to_owned())
    }

    pub fn run(run: &RunId) -> Self {
        Self(format!("run:{run}"))
    }

    pub fn is_run(&self) -> bool {
        self.0.starts_with("run:")
    }
}

/// One thing that reaches a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub id: MessageId,
    /// When it reached the run, by the world's clock.
    pub at: Timestamp,
    pub actor: Actor,
    /// W3C trace context of whoever caused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    pub body: MessageBody,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    pub input: Payload,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCompleted {
    pub task: CommandId,
    pub attempt: u32,
    pub output: Payload,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFailed {
    pub task: CommandId,
    pub failure: Failure,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerFired {
    pub timer: CommandId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalReceived {
    pub name: String,
    pub payload: Payload,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildCompleted {
    pub child: CommandId,
    pub output: Payload,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildFailed {
    pub child: CommandId,
    pub failure: Failure,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancel {
    pub reason: String,
    /// The parent did not wait for its clean-up either. From people it is enough to ask twice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_once: bool,
}

impl Cancel {
    pub fn because(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), at_once: false }
    }
}

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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patched {
    pub operations: Payload,
    pub reason: String,
}

/// A run that has ended takes back what it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compensate {
    pub reason: String,
    /// What it had failed with, and fails with again; absent when it had not failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// A node that failed does its work again, with the tokens it has and the config its run's graph has now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replay {
    pub node: String,
    /// What it waited for when it failed: of several visits, this one.
    pub command: CommandId,
    pub reason: String,
}

/// The run goes on with another version of its workflow. The version after this message steps every later one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionChanged {
    pub from: Version,
    pub to: Version,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Where the run stands in the new program. Absent for graphs, whose nodes have names, and for runs that have not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<MovedPosition>,
}

/// Position and variables of a flow's run, from one program to another. Recorded whole, so that folding the history again
/// never depends on how a place was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedPosition {
    /// Index of the step that waits, in the old program and in the new one.
    pub from_step: u32,
    pub to_step: u32,
    /// Their lines in the two sources, for people.
    pub from_line: u32,
    pub to_line: u32,
    /// What a snapshot of the new program calls each variable, and what one of the old program calls it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<(String, String)>,
    /// Where the things under way were started: old step, new step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub started: Vec<(u32, u32)>,
    /// The run's inputs, when only the new program reads them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Payload>,
    /// When the run started, when only the new program reads its context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
}

/// What a message says. Externally tagged: raw JSON inside needs a format that does not buffer.
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
    /// The run's deadline has passed; the fold ends the run, the program is not asked.
    DeadlineReached,
    ApprovalDecided(ApprovalDecided),
    Patch(Patched),
    Compensate(Compensate),
    Replay(Replay),
    /// Never in an inbox: whoever changes the version commits this message with it.
    VersionChanged(VersionChanged),
}

impl MessageBody {
    /// The task, child or timer this is the answer of.
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

    /// The name a signal waits under; other messages are consumed as soon as they arrive.
    pub fn signal_name(&self) -> Option<&str> {
        match self {
            Self::Signal(signal) => Some(&signal.name),
            _ => None,
        }
    }

    /// Whether this ends a run that has not started yet, instead of waiting for its start.
    pub fn ends_a_pending_run(&self) -> bool {
        matches!(self, Self::Cancel(_) | Self::DeadlineReached)
    }
}

impl MessageId {
    pub fn start() -> Self {
        Self::new("start")
    }

    pub fn deadline() -> Self {
        Self::new("deadline")
    }

    /// The one final message of a task.
    pub fn task(task: CommandId) -> Self {
        Self(format!("task:{task}"))
    }

    pub fn timer(timer: CommandId) -> Self {
        Self(format!("timer:{timer}"))
    }

    pub fn child(child: CommandId) -> Self {
        Self(format!("child:{child}"))
    }

    /// A signal another run sent with its command number `signal`.
    pub fn from_run(sender: &RunId, signal: CommandId) -> Self {
        Self(format!("from:{sender}:{signal}"))
    }

    /// An approval is decided once: the first decision takes this id.
    pub fn approval(approval: CommandId) -> Self {
        Self(format!("approval:{approval}"))
    }
}
