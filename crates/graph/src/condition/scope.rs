//! What a condition can see: the output of the node it belongs to, what nodes before it gave, the run's inputs.

use std::collections::BTreeMap;

use rhythm_core::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

/// Everything is borrowed: building a scope copies no output.
#[derive(Clone, Debug)]
pub struct Scope<'a> {
    /// The output of the current node.
    pub output: &'a Value,
    /// The nodes that have ended, by id: `ctx` in expressions.
    pub context: BTreeMap<&'a str, Past<'a>>,
    pub inputs: &'a Value,
}

/// What a node gave when it last ended.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Past<'a> {
    pub output: &'a Value,
    pub metadata: Metadata,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Metadata {
    /// Seen as text, RFC 3339 in UTC with milliseconds: such texts are in the order of time.
    #[serde(serialize_with = "as_text")]
    pub completed_at: Timestamp,
    pub duration_ms: u64,
    pub attempt: u32,
}

fn as_text<S: serde::Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(at)
}
