//! Reasons why a measurement could not be made.

use rhythm_engine::error::EngineError;
use rhythm_engine::world::WorldError;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum BenchError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("SQLite: {0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("PostgreSQL: {}", with_causes(.0))]
    Postgres(#[from] tokio_postgres::Error),
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("{path} is not a list of peers: {reason}")]
    Peers { path: String, reason: String },
    /// The requested measurement is impossible here, and no other one would replace it.
    #[error("{0}")]
    NotMeasured(String),
    #[error("the benchmark was interrupted")]
    Interrupted,
}

impl From<WorldError> for BenchError {
    fn from(error: WorldError) -> Self {
        Self::Engine(error.into())
    }
}

/// Formats an error with its causes: `error connecting to server` alone is no help.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    text
}
