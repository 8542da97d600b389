//! The error type of handlers.

use std::error::Error;
use std::fmt;

use rhythm_core::failure::codes;
use rhythm_core::{Failure, Payload};
use serde::Serialize;

/// Error of a handler. `?` turns any [`std::error::Error`] into one that is retried.
///
/// It does not implement `std::error::Error` itself, because that would rule out this conversion.
pub struct TaskError(Failure);

impl TaskError {
    /// Returns a failure with the code `FAILED`, to be retried as the task's retry policy says.
    pub fn new(message: impl Into<String>) -> Self {
        Self(Failure::new(codes::FAILED, message))
    }

    /// Returns a failure that is not retried, such as an input that is wrong.
    pub fn permanent(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self(Failure::permanent(code, message))
    }

    /// Returns the failure of an attempt that stopped because it was cancelled: code `CANCELLED`.
    pub fn cancelled() -> Self {
        Self(Failure::cancelled("the handler stopped when asked to"))
    }

    /// Wraps an existing failure unchanged.
    pub fn of(failure: Failure) -> Self {
        Self(failure)
    }

    /// Sets the code that callers see and that `no_retry_on` compares. A type equal to the old code changes
    /// with it.
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        let before = std::mem::replace(&mut self.0.code, code.into());
        // A type that was set on its own stays.
        if self.0.kind == before {
            self.0.kind.clone_from(&self.0.code);
        }
        self
    }

    /// Sets the type. `no_retry_on` compares it as well as the code.
    pub fn with_type(mut self, kind: impl Into<String>) -> Self {
        self.0.kind = kind.into();
        self
    }

    /// Attaches a value for the code that handles the failure. A value that cannot be written as JSON is
    /// dropped.
    pub fn with_data<T: Serialize + ?Sized>(mut self, data: &T) -> Self {
        self.0.data = Payload::of(data).ok();
        self
    }

    /// Rules out further attempts.
    pub fn no_retry(mut self) -> Self {
        self.0.retryable = false;
        self
    }

    /// Returns the failure as the world will store it.
    pub fn failure(&self) -> &Failure {
        &self.0
    }

    /// Returns the failure by value.
    pub fn into_failure(self) -> Failure {
        self.0
    }
}

impl<E: Error> From<E> for TaskError {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            // Many errors already contain the text of their cause.
            if !message.contains(&text) {
                message.push_str(&format!(": {text}"));
            }
            source = cause.source();
        }
        let kind = short_name(std::any::type_name::<E>());
        Self(Failure { kind, ..Failure::new(codes::FAILED, message) })
    }
}

impl fmt::Debug for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Shortens a type path: `std::io::error::Error` becomes `io::Error`, `app::billing::CardDeclined` becomes
/// `CardDeclined`.
fn short_name(path: &str) -> String {
    let plain = path.split('<').next().unwrap_or(path);
    let mut parts = plain.rsplit("::");
    let last = parts.next().unwrap_or(plain);
    if last != "Error" {
        return last.to_owned();
    }
    match parts.find(|part| !matches!(*part, "error" | "errors")) {
        Some(owner) => format!("{owner}::{last}"),
        None => last.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_error_becomes_a_retryable_failure_with_a_short_type() {
        let error = TaskError::from(std::io::Error::other("disk on fire"));
        assert_eq!(
            error.failure(),
            &Failure { kind: "io::Error".into(), ..Failure::new("FAILED", "disk on fire") }
        );
        let error = TaskError::from("x".parse::<u8>().unwrap_err());
        assert_eq!(error.failure().kind, "ParseIntError");
        assert!(error.failure().retryable);
    }

    #[test]
    fn a_failure_can_be_permanent_and_carry_code_and_data() {
        let failure =
            TaskError::new("declined").with_code("CARD").with_data(&[1, 2]).no_retry().into_failure();
        assert_eq!(failure.code, "CARD");
        assert!(!failure.retryable);
        assert_eq!(failure.data.unwrap().text(), Some("[1,2]"));
    }
}
