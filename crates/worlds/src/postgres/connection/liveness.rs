//! Keeps the liveness connection open. It holds a session-level advisory lock, which the server releases when
//! this process dies, and carries wake-ups from and to other processes.

use std::sync::Arc;
use std::time::Duration;

use rhythm_engine::world::Hint;
use tokio_postgres::types::ToSql;

use crate::postgres::connection::reconnecting::full_jitter;
use crate::postgres::connection::session::Session;
use crate::postgres::connection::shared::SharedConnection;
use crate::postgres::connection::wakeups::{CHANNEL, WakeupHints, payload};
use crate::postgres::sql;

/// Shortest time between two NOTIFYs.
const COALESCE: Duration = Duration::from_millis(5);
/// Idle time after which the connection is tested.
const QUIET: Duration = Duration::from_secs(3);
/// Time limit of that test, which waits for no lock.
const ANSWER: Duration = Duration::from_secs(5);

/// The task of the liveness connection. It ends when this is dropped.
pub struct Liveness {
    beating: tokio::task::JoinHandle<()>,
}

impl Drop for Liveness {
    fn drop(&mut self) {
        self.beating.abort();
    }
}

impl Liveness {
    /// Starts the task. The connection is open and holds the lock.
    pub fn start(connection: Arc<SharedConnection>, key: i64, hints: Arc<WakeupHints>) -> Self {
        Self { beating: tokio::spawn(beat(connection, key, hints)) }
    }
}

async fn beat(connection: Arc<SharedConnection>, key: i64, hints: Arc<WakeupHints>) {
    let (mut failures, mut first) = (0, true);
    loop {
        match connection.session().await {
            Ok(session) => {
                if !first {
                    tracing::info!("connected to PostgreSQL again");
                    hints.heard(Hint::ALL);
                }
                (failures, first) = (0, false);
                serve(&session, key, &hints).await;
                // Wake-ups sent while the connection was down are lost, so everything is woken up.
                hints.heard(Hint::ALL);
            }
            Err(error) => {
                tracing::warn!(%error, "PostgreSQL cannot be reached");
                tokio::time::sleep(full_jitter(failures)).await;
                failures = failures.saturating_add(1);
            }
        }
    }
}

/// Sends wake-ups until the connection fails.
async fn serve(session: &Session, key: i64, hints: &WakeupHints) {
    while session.is_usable() {
        tokio::select! {
            () = session.until_ended() => return,
            () = hints.rung() => {
                let payload = payload(key, hints.take());
                let params: [&(dyn ToSql + Sync); 2] = [&CHANNEL, &payload];
                if session.query(sql::NOTIFY, &params).await.is_err() {
                    tracing::debug!("a wake-up was not sent");
                }
                tokio::time::sleep(COALESCE).await;
            }
            () = tokio::time::sleep(QUIET) => {
                // A call that waits for an answer finds a dead connection itself.
                if !session.is_busy() && session.ask(ANSWER).await.is_err() {
                    tracing::warn!("PostgreSQL does not answer; connecting again");
                    return;
                }
            }
        }
    }
}
