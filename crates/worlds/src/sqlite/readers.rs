//! Connections for reads of operators, definitions and blobs, which never delay the writer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rhythm_engine::world::{WorldError, WorldResult};
use rusqlite::Connection;

use super::connect::{Access, Place};
use super::errors;
use super::sql::Sql;

/// Number of connections kept open between reads.
const KEPT: usize = 4;

pub struct Readers {
    place: Place,
    busy_timeout: Duration,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub fn new(place: Place, busy_timeout: Duration) -> Arc<Self> {
        Arc::new(Self { place, busy_timeout, idle: Mutex::default() })
    }

    /// Runs `read` on one snapshot of the database, on a thread that may block.
    pub async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(Sql<'_>) -> WorldResult<T> + Send + 'static,
    ) -> WorldResult<T> {
        let readers = self.clone();
        let work = tokio::task::spawn_blocking(move || readers.read_now(read));
        work.await.map_err(|error| WorldError::Unavailable(format!("a read was interrupted: {error}")))?
    }

    fn read_now<T>(&self, read: impl FnOnce(Sql<'_>) -> WorldResult<T>) -> WorldResult<T> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.place.connect(Access::Read, self.busy_timeout)?,
        };
        let one_state = connection.unchecked_transaction().map_err(errors::from_sqlite)?;
        let answer = read(Sql::new(&one_state));
        one_state.rollback().map_err(errors::from_sqlite)?;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.push(connection);
        }
        answer
    }
}
