//! What a caller of the SDK can get instead of an answer.

use std::fmt;

use rhythm_core::Failure;
use rhythm_core::failure::codes;
use rhythm_engine::error::EngineError;
use rhythm_engine::world::WorldError;
use thiserror::Error;

/// An error that `main` returns is printed with its code and what to do about it.
#[derive(Error)]
pub enum Error {
    /// Rhythm could not do what was asked.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The task or run ended without a result.
    #[error("{0}")]
    Failed(Failure),
    /// A value has another form than the type it is read as or written from.
    #[error("{0}")]
    BadPayload(String),
    /// The worker's own loops died; this is a bug.
    #[error("the worker stopped by itself: {0}")]
    WorkerDied(String),
}

impl Error {
    /// The stable code; `docs/errors/<code>.md` says more. A failure has the code its task gave it.
    pub fn code(&self) -> &str {
        match self {
            Self::Engine(error) => error.code(),
            Self::Failed(failure) => &failure.code,
            Self::BadPayload(_) => codes::BAD_PAYLOAD,
            Self::WorkerDied(_) => codes::PANIC,
        }
    }

    /// What a person can do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Engine(error) => error.advice(),
            Self::Failed(_) => "`rhythm explain RUN` says what failed, and how it can be tried again",
            Self::BadPayload(_) => "make the type of the value fit its JSON, or the other way round",
            Self::WorkerDied(_) => "start the worker again: what it had begun is handed out again",
        }
    }
}

/// Rust prints the error that `main` returns by its debug form, so that form is for people.
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
