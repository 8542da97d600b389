//! The connection that shows this process is alive (a session-level advisory lock, which the system releases when it
//! dies), listens for wake-ups of others and sends ours. It comes back by itself.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::poll_fn;
use rhythm_engine::world::{Hint, WorldError, WorldResult};
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Client, Statement};

use super::connect::{Dial, Purpose, prepare_session};
use super::errors::{Fault, world_error};
use super::hints::{CHANNEL, Hints, parse, payload};
use super::link::full_jitter;
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

struct Heart {
    dial: Dial,
    key: i64,
    hints: Arc<Hints>,
}

struct Open {
    client: Client,
    notify: Statement,
    /// Hints of others; closed when the connection ends.
    heard: mpsc::UnboundedReceiver<String>,
}

impl Pulse {
    /// Connects and takes the lock before it answers.
    pub async fn start(dial: Dial, key: i64, hints: Arc<Hints>) -> WorldResult<Self> {
        let heart = Heart { dial, key, hints };
        let open = heart.open().await?;
        Ok(Self { beating: tokio::spawn(heart.beat(open)) })
    }
}

impl Heart {
    async fn open(&self) -> WorldResult<Open> {
        let (client, mut connection) = self.dial.connect().await?;
        let (sender, heard) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            loop {
                match poll_fn(|cx| connection.poll_message(cx)).await {
                    Some(Ok(AsyncMessage::Notification(told))) => {
                        // Nobody listens any more? Then the connection ends with its client.
                        let _ = sender.send(told.payload().to_owned());
                    }
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return,
                }
            }
        });
        prepare_session(&client, Purpose::Plain).await?;
        match tokio::time::timeout(ANSWER, self.take_lock(client, heard)).await {
            Ok(open) => open,
            Err(_) => Err(WorldError::Unavailable("no answer while connecting".into())),
        }
    }

    async fn take_lock(&self, client: Client, heard: mpsc::UnboundedReceiver<String>) -> WorldResult<Open> {
        let told = |error| WorldError::from(Fault::from(error));
        client.batch_execute(&format!("LISTEN {CHANNEL}")).await.map_err(told)?;
        let row = client.query_one(sql::TRY_LOCK.text, &[&self.key]).await.map_err(told)?;
        if !row.get::<_, bool>(0) {
            // The server has not noticed yet that our last connection is gone; nobody else has this key.
            client.query(sql::END_HOLDER.text, &[&self.key]).await.map_err(told)?;
            return Err(WorldError::Unavailable("this handle's advisory lock is still taken".into()));
        }
        let notify = client.prepare(sql::NOTIFY.text).await.map_err(told)?;
        Ok(Open { client, notify, heard })
    }

    async fn beat(self, first: Open) {
        let mut open = Some(first);
        let mut failures = 0;
        loop {
            match open.take() {
                Some(mut current) => {
                    failures = 0;
                    self.serve(&mut current).await;
                    // Whatever was said while nobody listened is unknown.
                    self.hints.heard(Hint::ALL);
                }
                None => match self.open().await {
                    Ok(again) => {
                        tracing::info!("connected to PostgreSQL again");
                        self.hints.heard(Hint::ALL);
                        open = Some(again);
                    }
                    Err(error) => {
                        tracing::warn!(%error, "PostgreSQL cannot be reached");
                        tokio::time::sleep(full_jitter(failures)).await;
                        failures = failures.saturating_add(1);
                    }
                },
            }
        }
    }

    /// Passes hints on in both directions until the connection ends.
    async fn serve(&self, open: &mut Open) {
        loop {
            let rung = tokio::select! {
                heard = open.heard.recv() => match heard {
                    Some(payload) => {
                        if let Some((sender, hint)) = parse(&payload) && sender != self.key {
                            self.hints.heard(hint);
                        }
                        false
                    }
                    None => return,
                },
                () = self.hints.rung() => true,
                () = tokio::time::sleep(QUIET) => {
                    if !self.answers(open.client.simple_query("")).await {
                        return;
                    }
                    false
                }
            };
            if rung {
                let payload = payload(self.key, self.hints.take());
                if !self.answers(open.client.query_one(&open.notify, &[&CHANNEL, &payload])).await {
                    return;
                }
                tokio::time::sleep(COALESCE).await;
            }
        }
    }

    /// Whether the connection is of any use after this. When there is no answer at all, it is not alone.
    async fn answers<T>(&self, call: impl Future<Output = Result<T, tokio_postgres::Error>>) -> bool {
        match tokio::time::timeout(ANSWER, call).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => {
                tracing::debug!(error = %world_error(&error), "a wake-up was not sent");
                !error.is_closed()
            }
            Err(_) => {
                tracing::warn!("PostgreSQL does not answer; connecting again");
                self.dial.suspect_all();
                false
            }
        }
    }
}
