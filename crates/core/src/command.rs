//! What a program asks for. Commands are data: the engine writes them in the commit of the transition that
//! caused them, and somebody else makes them happen.

use serde::{Deserialize, Serialize};

use crate::id::{CommandId, RunId, Version};
use crate::payload::Payload;
use crate::task::TaskSpec;
use crate::time::{Millis, Timestamp};

/// A message to the run itself, later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerSpec {
    pub timer: CommandId,
    pub fire_at: Timestamp,
    /// A text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// A run started by a run. Its id is the parent's id and the command's number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildSpec {
    pub child: CommandId,
    pub workflow: String,
    /// The version to pin; the one current at the commit when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    pub input: Payload,
    #[serde(default)]
    pub priority: i32,
    /// From the moment the child is created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Millis>,
    /// A text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The item of a list it is about, from 0.
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
