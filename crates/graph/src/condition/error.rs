//! Errors in the written form of a condition.

/// Reason that a condition is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A field is missing, unknown or of the wrong type.
    Malformed,
    /// The text of an expression or query cannot be read.
    Syntax,
    /// It can be read, but asks for something conditions do not have.
    Unsupported,
    /// It is longer, deeper or costlier than a condition may be.
    TooLarge,
}

/// A refused condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct ConditionError {
    pub kind: ErrorKind,
    /// The field with the error, such as `conditions[1].expression`.
    pub place: String,
    pub message: String,
}

impl ConditionError {
    pub(super) fn new(kind: ErrorKind, place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind, place: place.into(), message: message.into() }
    }

    /// Returns the same error with its place seen from the enclosing condition.
    pub(super) fn within(self, outer: &str) -> Self {
        Self { place: format!("{outer}.{}", self.place), ..self }
    }
}
