//! The outcome of a scenario.

use std::collections::BTreeMap;

use rhythm_core::{Failure, Payload};
use serde::Serialize;
use serde::ser::SerializeTuple;
use serde_json::Value;

/// Final status of a played run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    Completed,
    Failed,
    Cancelled,
    /// Still waiting when the script had nothing left that would move it.
    Waiting,
    /// Refused at registration.
    Rejected,
}

/// A started task: its name and its input.
#[derive(Clone, Debug, PartialEq)]
pub struct Call(pub String, pub Value);

impl Serialize for Call {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut pair = serializer.serialize_tuple(2)?;
        pair.serialize_element(&self.0)?;
        pair.serialize_element(&self.1)?;
        pair.end()
    }
}

/// The failure of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fault {
    pub code: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub message: String,
}

impl From<&Failure> for Fault {
    fn from(failure: &Failure) -> Self {
        let (code, kind, message) = (failure.code.clone(), failure.kind.clone(), failure.message.clone());
        Self { code, kind, message }
    }
}

/// One reason why a workflow was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rejection {
    pub code: String,
    pub message: String,
}

/// Result of a played run. Expectations are compared with it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    pub status: Ending,
    pub output: Option<Value>,
    pub error: Option<Fault>,
    pub rejected: Vec<Rejection>,
    /// Started tasks of this run and its inline children.
    pub calls: Vec<Call>,
    /// Executed tasks or nodes, one entry for each attempt, in order.
    pub order: Vec<String>,
    /// Number of attempts by task or node.
    pub counts: BTreeMap<String, u64>,
    /// Number of tokens left in a graph.
    pub counter: Option<i64>,
    /// Names of the things that the run waits for.
    pub waiting: Vec<String>,
    pub patch_rejected: bool,
    /// Length of the run in virtual seconds.
    pub elapsed: f64,
}

impl Outcome {
    pub fn of(status: Ending) -> Self {
        Self {
            status,
            output: None,
            error: None,
            rejected: Vec::new(),
            calls: Vec::new(),
            order: Vec::new(),
            counts: BTreeMap::new(),
            counter: None,
            waiting: Vec::new(),
            patch_rejected: false,
            elapsed: 0.0,
        }
    }

    pub fn rejected(rejected: Vec<Rejection>) -> Self {
        Self { rejected, ..Self::of(Ending::Rejected) }
    }
}

/// Converts a payload to a value. A payload stored as a blob gives its reference.
pub fn value(payload: &Payload) -> Value {
    let text = payload.text().map_or_else(|| payload.to_stored(), str::to_owned);
    serde_json::from_str(&text).unwrap_or(Value::Null)
}
