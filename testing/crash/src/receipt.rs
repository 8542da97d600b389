//! Input and output of the laboratory's tasks. The output identifies the hand-out whose result was kept.

use std::path::PathBuf;

use rhythm::Payload;
use serde::{Deserialize, Serialize};

/// Input of every handler here. Without any field the handler succeeds at once.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Work {
    /// Duration of the work before its effect, in milliseconds.
    pub millis: u64,
    /// Gate to wait for before the effect.
    pub before: Option<Gate>,
    /// Gate to wait for after the effect and before the result is sent.
    pub after: Option<Gate>,
    /// Gate to wait for after the effect while blocking the thread, so that a single-threaded worker does
    /// nothing else.
    pub stalled: Option<Gate>,
    /// Number of first attempts that fail.
    pub failing: u32,
    /// Misbehaviour of this task, for the handler `poison`.
    pub ill: Option<Illness>,
}

impl Work {
    /// Reads the input of a task or of a node's task. A node has the work in its config, beside the name of
    /// the task.
    pub fn of(input: &str) -> Result<Self, serde_json::Error> {
        let mut input: serde_json::Value = serde_json::from_str(input)?;
        match input.get_mut("config").map(serde_json::Value::take) {
            Some(serde_json::Value::Object(mut config)) => {
                config.remove("task");
                serde_json::from_value(config.into())
            }
            _ => serde_json::from_value(input),
        }
    }
}

/// A file that opens the gate by existing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gate {
    pub file: PathBuf,
    /// True when every hand-out waits, false when only the first one does.
    pub everybody: bool,
}

impl Gate {
    /// Returns whether a hand-out with this claim must wait now.
    pub fn is_shut(&self, claim: u64) -> bool {
        (self.everybody || claim == 1) && !self.file.exists()
    }
}

/// Misbehaviour of a poisonous handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Illness {
    Panics,
    /// Exits its whole process.
    Exits,
    Hangs,
    /// Returns more than a payload may hold.
    Huge,
    /// Returns a value that JSON cannot represent.
    Unwritable,
}

/// Output of every handler here. It identifies the hand-out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub pid: u32,
    pub claim: u64,
    pub attempt: u32,
    pub delivery: u32,
}

impl Receipt {
    /// Returns the receipt in a payload, if it is one.
    pub fn of(payload: &Payload) -> Option<Self> {
        serde_json::from_str(payload.text()?).ok()
    }
}
