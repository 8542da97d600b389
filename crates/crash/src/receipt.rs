//! What a task of the laboratory is asked to do, and what it returns: enough to tell which hand-out of it was
//! the one whose result was kept.

use rhythm::Payload;
use serde::{Deserialize, Serialize};

/// The input of every handler here. Absent fields mean: at once, and well.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Work {
    /// How long the work takes before its effect.
    pub millis: u64,
    /// How long the handler goes on after its effect: the time between effect and commit.
    pub linger: u64,
    /// How long the first hand-out then blocks its thread: nothing else of a single-threaded worker moves.
    pub stall: u64,
    /// The attempts that fail, counted from the first.
    pub failing: u32,
    /// What is wrong with this task, for `poison`.
    pub ill: Option<Illness>,
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
