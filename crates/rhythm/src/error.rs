//! The SDK's error type: its code, its help text and how it is printed.

use std::fmt;

use rhythm_core::Failure;
use rhythm_core::failure::codes;
use rhythm_engine::error::EngineError;
use rhythm_engine::world::WorldError;
use thiserror::Error;

/// Error of a call to the SDK. If `main` returns one, Rust prints its code and how to fix it.
#[derive(Error)]
pub enum Error {
    /// The engine or the world refused the request or could not perform it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The task or run failed or was cancelled, so it has no output.
    #[error("{0}")]
    Failed(Failure),
    /// A value cannot be written as JSON, or its JSON does not fit the Rust type.
    #[error("{0}")]
    BadPayload(String),
    /// The worker's background task panicked, which is a bug in Rhythm, or its runtime was shut down.
    #[error("the worker stopped by itself: {0}")]
    WorkerDied(String),
}

impl Error {
    /// Returns the stable error code, which `docs/errors/<code>.md` explains. For [`Error::Failed`] it is the
    /// code of the failure, which the handler may have chosen.
    pub fn code(&self) -> &str {
        match self {
            Self::Engine(error) => error.code(),
            Self::Failed(failure) => &failure.code,
            Self::BadPayload(_) => codes::BAD_PAYLOAD,
            Self::WorkerDied(_) => codes::PANIC,
        }
    }

    /// Returns one sentence that says how to fix the error.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Engine(error) => error.advice(),
            Self::Failed(_) => "`rhythm explain RUN` says what failed, and how it can be tried again",
            Self::BadPayload(_) => "make the type of the value fit its JSON, or the other way round",
            Self::WorkerDied(_) => "start the worker again: what it had begun is handed out again",
        }
    }
}

/// Rust prints an error that `main` returns in its debug form. So this form shows the code and the help text.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {self}\n  help: {}", self.code(), self.help())
    }
}

impl From<WorldError> for Error {
    fn from(error: WorldError) -> Self {
        Self::Engine(error.into())
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::BadPayload(format!("the value cannot be written as JSON: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_debug_form_has_the_code_and_the_help() {
        let error = Error::from(WorldError::BadUrl("mysql://here".to_owned()));
        assert_eq!(
            format!("{error:?}"),
            "[WORLD013] this world URL is not understood: mysql://here\n  help: use sqlite:PATH, sqlite::memory: or \
             postgres://USER@HOST/DATABASE"
        );
    }
}
