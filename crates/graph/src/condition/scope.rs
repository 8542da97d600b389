//! The values a condition can read: the output of its node, the outputs of earlier nodes, and the run's
//! inputs.

use std::collections::BTreeMap;

use rhythm_core::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

/// Borrows every value, so building a scope copies no output.
#[derive(Clone, Debug)]
pub struct Scope<'a> {
    /// The output of the current node.
    pub output: &'a Value,
    /// The nodes that have ended, by id. Expressions call this `ctx`.
    pub context: BTreeMap<&'a str, Past<'a>>,
    pub inputs: &'a Value,
}

/// Output of a node from the last time it ended.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Past<'a> {
    pub output: &'a Value,
    pub metadata: Metadata,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Metadata {
    /// Written as RFC 3339 in UTC with milliseconds, so that the texts sort by time.
    #[serde(serialize_with = "as_text")]
    pub completed_at: Timestamp,
    pub duration_ms: u64,
    pub attempt: u32,
}

fn as_text<S: serde::Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(at)
}
