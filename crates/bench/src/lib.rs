//! The workloads behind `rhythm bench`. Each run measures the raw limit of its database too: a figure means
//! something only beside it.

pub mod growth;
pub mod idle;
pub mod raw;
pub mod report;
pub mod workload;

use rhythm_engine::error::EngineError;
use rhythm_engine::world::WorldError;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum BenchError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("the raw limit could not be measured: {0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("the raw limit could not be measured: {0}")]
    Postgres(#[from] tokio_postgres::Error),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

impl From<WorldError> for BenchError {
    fn from(error: WorldError) -> Self {
        Self::Engine(error.into())
    }
}
