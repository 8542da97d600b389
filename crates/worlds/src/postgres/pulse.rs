//! Keeps the connection open that shows this process is alive (a session-level advisory lock, which the system releases
//! when it dies) and hears others, and sends our wake-ups.

use std::sync::Arc;
use std::time::Duration;

use rhythm_engine::world::Hint;
use tokio_postgres::types::ToSql;

use super::hints::{CHANNEL, Hints, payload};
use super::link::full_jitter;
use super::session::Session;
use super::shared::SharedConnection;
use super::sql;

/// At most one NOTIFY in this time.
const COALESCE: Duration = Duration::from_millis(5);
/// After so much quiet the server is asked whether it is still there.
const QUIET: Duration = Duration::from_secs(3);
/// An answer that takes longer will never come: nothing that is asked here waits for anybody.
const ANSWER: Duration = Duration::from_secs(5);

/// Proof of life, and the ear for other processes. Dropping it is dying.
pub struct Pulse {
    beating: tokio::task::JoinHandle<()>,
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.beating.abort();
    }
}

impl Pulse {
    /// Over a connection that is open, with the lock.
    pub fn start(connection: Arc<SharedConnection>, key: i64, hints: Arc<Hints>) -> Self {
        Self { beating: tokio::spawn(beat(connection, key, hints)) }
    }
}

async fn beat(connection: Arc<SharedConnection>, key: i64, hints: Arc<Hints>) {
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
                // Whatever was said while nobody listened is unknown.
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

/// Sends hints until the connection is of no use any more.
async fn serve(session: &Session, key: i64, hints: &Hints) {
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
                // Whoever waits for an answer finds out by itself.
                if !session.is_busy() && session.ask(ANSWER).await.is_err() {
                    tracing::warn!("PostgreSQL does not answer; connecting again");
                    return;
                }
            }
        }
    }
}
