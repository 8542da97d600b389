//! What a caller of the SDK can get instead of an answer.

use rhythm_core::Failure;
use rhythm_core::failure::codes;
use rhythm_engine::error::EngineError;
use rhythm_engine::world::WorldError;
use thiserror::Error;

#[derive(Debug, Error)]
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
