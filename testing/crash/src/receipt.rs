//! What a task of the laboratory is asked to do, and what it returns: enough to tell which hand-out of it was
//! the one whose result was kept.

use std::path::PathBuf;

use rhythm::Payload;
use serde::{Deserialize, Serialize};

/// The input of every handler here. Absent fields mean: at once, and well.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Work {
    /// How long the work takes before its effect.
    pub millis: u64,
    /// What it waits for before its effect.
    pub before: Option<Gate>,
    /// What it waits for after its effect, before its result is sent.
    pub after: Option<Gate>,
    /// The same, blocking its thread: nothing else of a single-threaded worker moves.
    pub stalled: Option<Gate>,
    /// The attempts that fail, counted from the first.
    pub failing: u32,
    /// What is wrong with this task, for `poison`.
    pub ill: Option<Illness>,
}

impl Work {
    /// The input of a task, or of a node's: there the work is its config, beside the name of the task.
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

/// A file that opens the way by being there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gate {
    pub file: PathBuf,
    /// Else only the first hand-out waits.
    pub everybody: bool,
}

impl Gate {
    /// Whether a hand-out with this claim has to wait now.
    pub fn is_shut(&self, claim: u64) -> bool {
        (self.everybody || claim == 1) && !self.file.exists()
    }
}

/// How a poisonous handler behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Illness {
    Panics,
    /// Takes its whole process with it.
    Exits,
    Hangs,
    /// Returns more than a payload may hold.
    Huge,
    /// Returns what JSON cannot hold.
    Unwritable,
}

/// The output of every handler here: which hand-out did it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub pid: u32,
    pub claim: u64,
    pub attempt: u32,
    pub delivery: u32,
}

impl Receipt {
    /// A receipt, if the payload is one.
    pub fn of(payload: &Payload) -> Option<Self> {
        serde_json::from_str(payload.text()?).ok()
    }
}
