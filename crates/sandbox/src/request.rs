//! The requests to a child, one line of JSON each. The inputs of `rhythm.sandbox` and `rhythm.jq` have the
//! same form.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Largest line in bytes, in both directions.
pub(crate) const MAX_LINE: usize = 8 * 1024 * 1024;
pub(crate) const MOST_MEMORY_MB: u64 = 512;
const MOST_TIMEOUT_MS: u64 = 60_000;
/// Time that a child needs around the program, to read the request and write the response.
pub(crate) const GRACE_MS: u64 = 250;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "language", rename_all = "snake_case")]
pub enum Request {
    Program(ProgramCall),
    Jq(JqCall),
}

/// Calls `evaluate(output, context)` of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramCall {
    pub code: String,
    #[serde(default)]
    pub output: Value,
    #[serde(default)]
    pub context: Value,
    #[serde(default = "timeout_ms")]
    pub timeout_ms: u64,
    #[serde(default = "max_memory_mb")]
    pub max_memory_mb: u64,
}

/// Runs a filter over an input. No result gives null, one result gives itself, several give a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JqCall {
    pub filter: String,
    #[serde(default)]
    pub input: Value,
    #[serde(default = "timeout_ms")]
    pub timeout_ms: u64,
    #[serde(default = "max_memory_mb")]
    pub max_memory_mb: u64,
}

fn timeout_ms() -> u64 {
    1_000
}

fn max_memory_mb() -> u64 {
    50
}

impl Request {
    /// Returns the requested time limit, bounded by the largest one.
    pub fn timeout_ms(&self) -> u64 {
        let (Self::Program(ProgramCall { timeout_ms, .. }) | Self::Jq(JqCall { timeout_ms, .. })) = self;
        (*timeout_ms).clamp(1, MOST_TIMEOUT_MS)
    }

    pub fn max_memory_mb(&self) -> u64 {
        let (Self::Program(ProgramCall { max_memory_mb, .. }) | Self::Jq(JqCall { max_memory_mb, .. })) =
            self;
        (*max_memory_mb).clamp(1, MOST_MEMORY_MB)
    }
}
