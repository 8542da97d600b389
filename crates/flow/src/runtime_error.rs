//! Reasons why an evaluation stops, and the errors the language itself throws.

use std::sync::Arc;

use rhythm_core::payload::BlobRef;

use super::limits::Limit;
use super::value::{ErrorValue, Value};

/// Codes of errors of the language itself.
pub mod codes {
    pub const TYPE_ERROR: &str = "TYPE_ERROR";
    pub const PROPERTY_NOT_FOUND: &str = "PROPERTY_NOT_FOUND";
    pub const UNDEFINED_VARIABLE: &str = "UNDEFINED_VARIABLE";
    pub const NOT_A_FUNCTION: &str = "NOT_A_FUNCTION";
    pub const WRONG_ARG_COUNT: &str = "WRONG_ARG_COUNT";
    pub const WRONG_ARG_TYPE: &str = "WRONG_ARG_TYPE";
    pub const NUMBER_ERROR: &str = "NUMBER_ERROR";
    pub const AGGREGATE_ERROR: &str = "AggregateError";
    pub const TIMEOUT: &str = "TIMEOUT";
    pub const CANCELLED: &str = "CANCELLED";
    /// The deadline of the run itself. A task or child past its own deadline throws `TIMEOUT`.
    pub const DEADLINE_EXCEEDED: &str = rhythm_core::failure::codes::DEADLINE_EXCEEDED;
    pub const LIMIT_EXCEEDED: &str = "LIMIT_EXCEEDED";
    /// A thrown string, or a thrown object without a code.
    pub const FAILED: &str = rhythm_core::failure::codes::FAILED;

    /// Every code, for the checker and the documentation.
    pub const ALL: &[&str] = &[
        TYPE_ERROR,
        PROPERTY_NOT_FOUND,
        UNDEFINED_VARIABLE,
        NOT_A_FUNCTION,
        WRONG_ARG_COUNT,
        WRONG_ARG_TYPE,
        NUMBER_ERROR,
        AGGREGATE_ERROR,
        TIMEOUT,
        CANCELLED,
        DEADLINE_EXCEEDED,
        LIMIT_EXCEEDED,
        FAILED,
    ];
}

/// Reason why evaluation stops.
#[derive(Clone, Debug)]
pub enum Stop {
    /// Continues at the nearest `catch`.
    Thrown(Arc<ErrorValue>),
    /// Fails the run.
    Limit(Limit),
    /// The engine loads these blobs and repeats the transition.
    NeedBlobs(Vec<BlobRef>),
}

impl From<Limit> for Stop {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}

impl From<ErrorValue> for Stop {
    fn from(error: ErrorValue) -> Self {
        Self::Thrown(Arc::new(error))
    }
}

pub type Evaluated<T = Value> = Result<T, Stop>;

/// Shortens a text for a message, because a program's text may be megabytes long.
pub fn short(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.to_owned(),
    }
}

/// Throws an error of the language.
pub fn throw<T>(code: &str, message: impl AsRef<str>) -> Evaluated<T> {
    Err(ErrorValue::new(code, message).into())
}

pub fn type_error<T>(message: impl AsRef<str>) -> Evaluated<T> {
    throw(codes::TYPE_ERROR, message)
}

pub fn wrong_argument<T>(message: impl AsRef<str>) -> Evaluated<T> {
    throw(codes::WRONG_ARG_TYPE, message)
}
