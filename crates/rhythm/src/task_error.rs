//! How a handler says that it failed.

use std::error::Error;
use std::fmt;

use rhythm_core::failure::codes;
use rhythm_core::{Failure, Payload};
use serde::Serialize;

/// What a handler returns when it fails. Any [`std::error::Error`] becomes one with `?`, to be retried.
///
/// It is no `std::error::Error` itself: that is what allows the conversion.
pub struct TaskError(Failure);

impl TaskError {
    /// A failure worth another attempt.
    pub fn new(message: impl Into<String>) -> Self {
        Self(Failure::new(codes::FAILED, message))
    }

    /// A failure that another attempt would not mend.
    pub fn permanent(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self(Failure::permanent(code, message))
    }

    /// The attempt stopped because it was asked to.
    pub fn cancelled() -> Self {
        Self(Failure::cancelled("the handler stopped when asked to"))
    }

    /// A failure made elsewhere.
    pub fn of(failure: Failure) -> Self {
        Self(failure)
    }

    /// Gives the failure a code of its own, for callers and for `no_retry_on`.
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        let before = std::mem::replace(&mut self.0.code, code.into());
        // The type follows unless it says something of its own.
        if self.0.kind == before {
            self.0.kind.clone_from(&self.0.code);
        }
        self
    }

    /// Gives the failure a type of its own, which `no_retry_on` knows too.
    pub fn with_type(mut self, kind: impl Into<String>) -> Self {
        self.0.kind = kind.into();
        self
    }

    /// Attaches a value for whoever handles the failure. What cannot be written as JSON is left out.
    pub fn with_data<T: Serialize + ?Sized>(mut self, data: &T) -> Self {
        self.0.data = Payload::of(data).ok();
        self
    }

    /// No further attempts.
    pub fn no_retry(mut self) -> Self {
        self.0.retryable = false;
        self
    }

    pub fn failure(&self) -> &Failure {
        &self.0
    }

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
            // Many errors repeat their cause in their own text.
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

/// `std::io::error::Error` is `io::Error`; `app::billing::CardDeclined` is `CardDeclined`.
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
