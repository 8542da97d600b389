//! Commands: the work a program asks for, as data. The engine writes commands in the commit of the transition
//! that caused them; the workers and the world carry them out.

use serde::{Deserialize, Serialize};

use crate::id::{CommandId, RunId, Version};
use crate::payload::Payload;
use crate::task::TaskSpec;
use crate::time::{Millis, Timestamp};

/// A timer: delivers `TimerFired` to the run itself at `fire_at`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerSpec {
    pub timer: CommandId,
    pub fire_at: Timestamp,
    /// Text shown to people in place of the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// A run started by a run. Its id is the parent's id, a dot and the command's number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildSpec {
    pub child: CommandId,
    pub workflow: String,
    /// Version to pin. When absent, the version current at the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    pub input: Payload,
    #[serde(default)]
    pub priority: i32,
    /// Time limit of the child, counted from its creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Millis>,
    /// Text shown to people beside the workflow's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Index, from 0, of the list item this child works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
}

/// A signal to another run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalSpec {
    pub signal: CommandId,
    pub to: RunId,
    pub name: String,
    pub payload: Payload,
}

/// A command of a program. Tasks, timers and children are numbered by the program and answered by messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    RunTask(TaskSpec),
    CancelTask(CommandId),
    StartTimer(TimerSpec),
    CancelTimer(CommandId),
    StartChild(ChildSpec),
    CancelChild(CommandId),
    SendSignal(SignalSpec),
}
