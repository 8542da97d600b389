//! A failure: the value a user's task or run ended with when it did not succeed. It is stored, shown and
//! retried. Rhythm's own errors are separate types and never take this shape.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::payload::Payload;

/// Codes that Rhythm itself puts into failures and warnings.
pub mod codes {
    /// An attempt took longer than its timeout.
    pub const TIMEOUT: &str = "TIMEOUT";
    /// The handler did not report progress within its heartbeat timeout.
    pub const HEARTBEAT_TIMEOUT: &str = "HEARTBEAT_TIMEOUT";
    /// The overall deadline of a task or run passed.
    pub const DEADLINE_EXCEEDED: &str = "DEADLINE_EXCEEDED";
    /// The work was cancelled.
    pub const CANCELLED: &str = "CANCELLED";
    /// One attempt crashed its worker too often.
    pub const POISON: &str = "POISON";
    /// The handler panicked.
    pub const PANIC: &str = "PANIC";
    /// A limit was exceeded; the message names it.
    pub const LIMIT_EXCEEDED: &str = "LIMIT_EXCEEDED";
    /// The input or output of a task does not have the form its handler declares.
    pub const BAD_PAYLOAD: &str = "BAD_PAYLOAD";
    /// No workflow is registered under this name.
    pub const UNKNOWN_WORKFLOW: &str = "UNKNOWN_WORKFLOW";
    /// The input of a child does not fit its workflow's schema.
    pub const INVALID_INPUT: &str = "INVALID_INPUT";
    /// A warning: no live worker can do the work the run needs.
    pub const NO_WORKER: &str = "NO_WORKER";
    /// A warning in a history: the run was asked to end while its program could not be stepped.
    pub const ENDED_WITHOUT_PROGRAM: &str = "ENDED_WITHOUT_PROGRAM";
    /// A warning in a history: the run's snapshot is large.
    pub const LARGE_SNAPSHOT: &str = "LARGE_SNAPSHOT";
    /// A warning in a history: the run ended before all items of a `map` were started.
    pub const UNSTARTED_ITEMS: &str = "UNSTARTED_ITEMS";
    /// The code of a failure that names no code.
    pub const FAILED: &str = "FAILED";
}

/// The failure of a task or run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub code: String,
    pub message: String,
    #[serde(rename = "type", default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub retryable: bool,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Payload>,
    /// Other fields of the thrown object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<Box<Payload>>,
}

impl Failure {
    /// Returns whether a part of it is stored in a blob.
    pub fn holds_blob(&self) -> bool {
        let parts = self.data.iter().chain(self.fields.as_deref());
        parts.into_iter().any(|part| matches!(part, Payload::Blob(_)))
    }

    /// Returns a retryable failure without attempts or data; its type is its code.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        let code = code.into();
        Self {
            kind: code.clone(),
            code,
            message: message.into(),
            retryable: true,
            attempts: 0,
            data: None,
            fields: None,
        }
    }

    /// Returns a failure that is not retried.
    pub fn permanent(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { retryable: false, ..Self::new(code, message) }
    }

    /// Returns a failure with the code `CANCELLED`, which is not retried.
    pub fn cancelled(message: impl Into<String>) -> Self {
        Self::permanent(codes::CANCELLED, message)
    }

    /// Returns the failure with this number of attempts.
    pub fn with_attempts(self, attempts: u32) -> Self {
        Self { attempts, ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_left_out_and_come_back() {
        let failure = Failure { kind: String::new(), ..Failure::new("X", "y") };
        let text = serde_json::to_string(&failure).unwrap();
        assert_eq!(text, r#"{"code":"X","message":"y"}"#);
        assert_eq!(serde_json::from_str::<Failure>(&text).unwrap(), failure);
    }
}
