//! Maps errors of PostgreSQL to errors of the contract, and to faults that code here can handle.

use rhythm_engine::world::WorldError;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::postgres::connection::tls::{self, Refusal};

/// Error of a statement or transaction.
#[derive(Debug)]
pub enum StatementError {
    /// `expect` refused: a fence did not hold, nothing was written.
    Fence,
    /// A deadlock or serialization failure: nothing was written, a retry may succeed.
    Again(WorldError),
    World(WorldError),
    /// A read was cancelled because a heartbeat waited.
    Yielded,
}

impl From<Error> for StatementError {
    fn from(error: Error) -> Self {
        match error.code().map(SqlState::code) {
            Some("RH001") => Self::Fence,
            Some("40001" | "40P01") => Self::Again(world_error(&error)),
            _ => Self::World(world_error(&error)),
        }
    }
}

impl From<WorldError> for StatementError {
    fn from(error: WorldError) -> Self {
        Self::World(error)
    }
}

impl From<StatementError> for WorldError {
    fn from(fault: StatementError) -> Self {
        match fault {
            StatementError::Fence => Self::Conflict("somebody else changed it at the same time".into()),
            StatementError::Again(error) | StatementError::World(error) => error,
            StatementError::Yielded => Self::Unavailable(
                "this takes longer than heartbeats can wait for on one connection; use connections=2 or more"
                    .into(),
            ),
        }
    }
}

pub fn world_error(error: &Error) -> WorldError {
    if let Some(why) = untrusted(error) {
        return WorldError::Untrusted(why);
    }
    let text = match error.as_db_error() {
        Some(detail) => detail.message().to_owned(),
        None => with_causes(error),
    };
    let Some(state) = error.code() else { return WorldError::Unavailable(text) };
    let severity = error.as_db_error().and_then(DbError::parsed_severity);
    // A server that crashes does not report whether the statement took effect.
    if severity == Some(Severity::Panic) {
        return WorldError::Unavailable(text);
    }
    match (state.code(), &state.code()[..2]) {
        ("53100", _) => WorldError::Full(text),
        ("53300", _) => WorldError::Crowded(text),
        ("25006", _) => WorldError::ReadOnly(text),
        ("42501", _) | (_, "28") => WorldError::Denied(text),
        ("3D000", _) => WorldError::NotFound(format!("the database of the world URL ({text})")),
        // Deadlocks, timeouts, shutdown: all are temporary.
        ("55P03" | "57014", _) | (_, "08" | "40" | "53" | "57") => WorldError::Unavailable(text),
        (_, "22") => WorldError::Invalid(text),
        _ if severity == Some(Severity::Fatal) => WorldError::Unavailable(text),
        _ => WorldError::Corrupt(format!("{text} ({})", state.code())),
    }
}

/// Returns why TLS could not be set up, if that is the cause of an error.
fn untrusted(error: &Error) -> Option<String> {
    let cause = std::error::Error::source(error)?;
    if let Some(refusal) = cause.downcast_ref::<Refusal>() {
        return Some(refusal.0.clone());
    }
    if let Some(refusal) = cause.downcast_ref::<std::io::Error>().and_then(tls::refusal) {
        return Some(refusal.0);
    }
    let text = cause.to_string();
    (text == "server does not support TLS")
        .then(|| "the server does not offer TLS, and sslmode asks for it".into())
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

/// Error for a stored value that cannot be read.
pub fn damaged(what: &str, why: impl std::fmt::Display) -> WorldError {
    WorldError::Corrupt(format!("{what}: {why}"))
}
