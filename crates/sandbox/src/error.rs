//! The error of a program that gave no result.

use std::fmt;

use rhythm_core::Failure;
use rhythm_core::failure::codes::LIMIT_EXCEEDED;
use serde::{Deserialize, Serialize};

use crate::codes;

/// The limit that was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Steps: statements, passes of loops and items that functions iterate over. The same count on every
    /// machine.
    Ticks,
    Memory,
    /// Wall-clock or processor time.
    Time,
    /// Depth of nested calls.
    Stack,
    /// Bytes of a request or a response.
    Size,
}

/// Error of an evaluation. A child writes it in this form:
/// `{"error": "bad_program", "message": "...", "line": 3}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "error", rename_all = "snake_case")]
pub enum SandboxError {
    LimitExceeded {
        what: Limit,
    },
    BadProgram {
        message: String,
        line: Option<usize>,
    },
    /// The child ended without a response. A new one takes its place.
    Crashed {
        message: String,
    },
    BadAnswer {
        message: String,
    },
}

impl SandboxError {
    pub(crate) fn bad_program(message: impl Into<String>, line: Option<usize>) -> Self {
        Self::BadProgram { message: message.into(), line }
    }

    pub(crate) fn crashed(message: impl fmt::Display) -> Self {
        Self::Crashed { message: message.to_string() }
    }

    pub(crate) fn bad_answer(message: impl fmt::Display) -> Self {
        Self::BadAnswer { message: message.to_string() }
    }

    pub(crate) fn limit(what: Limit) -> Self {
        Self::LimitExceeded { what }
    }

    /// Returns the kind of error as histories show it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::LimitExceeded { .. } => "limit_exceeded",
            Self::BadProgram { .. } => "bad_program",
            Self::Crashed { .. } => "crashed",
            Self::BadAnswer { .. } => "bad_answer",
        }
    }

    /// Returns the failure of the task. Only a crash is retried: the other errors would happen again.
    pub fn failure(&self) -> Failure {
        let message = self.to_string();
        let failure = match self {
            Self::LimitExceeded { .. } => Failure::permanent(LIMIT_EXCEEDED, message),
            Self::BadProgram { .. } => Failure::permanent(codes::SANDBOX_BAD_PROGRAM, message),
            Self::Crashed { .. } => Failure::new(codes::SANDBOX_CRASHED, message),
            Self::BadAnswer { .. } => Failure::permanent(codes::SANDBOX_BAD_ANSWER, message),
        };
        Failure { kind: self.kind().to_owned(), ..failure }
    }
}

impl fmt::Display for SandboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LimitExceeded { what } => f.write_str(match what {
                Limit::Ticks => "the program takes more steps than it may",
                Limit::Memory => "the program takes more memory than it may",
                Limit::Time => "the program takes longer than it may",
                Limit::Stack => "the program calls itself deeper than it may",
                Limit::Size => "the question or the answer is larger than 8 MiB",
            }),
            Self::BadProgram { message, line: Some(line) } => write!(f, "line {line}: {message}"),
            Self::BadProgram { message, line: None } => f.write_str(message),
            Self::Crashed { message } => write!(f, "the sandbox ended without an answer: {message}"),
            Self::BadAnswer { message } => f.write_str(message),
        }
    }
}

impl std::error::Error for SandboxError {}
