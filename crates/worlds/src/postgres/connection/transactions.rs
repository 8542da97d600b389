//! Runs rare transactions of several round trips. Each has a task of its own, so that a caller that is
//! dropped never leaves a transaction half done.

use std::future::Future;

use rhythm_engine::world::{WorldError, WorldResult};

use crate::postgres::connection::batch_queue::queue_is_gone;
use crate::postgres::connection::errors::StatementError;
use crate::postgres::connection::reconnecting::{ReconnectingClient, full_jitter};
use crate::postgres::connection::session::Session;

const TRIES: u32 = 6;

#[derive(Clone)]
pub struct Transactions {
    link: ReconnectingClient,
}

impl Transactions {
    pub fn new(link: ReconnectingClient) -> Self {
        Self { link }
    }

    /// Runs `work`, and repeats it after a deadlock.
    pub async fn run<T, F>(&self, work: impl Fn(Session) -> F + Send + Sync + 'static) -> WorldResult<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StatementError>> + Send + 'static,
    {
        let link = self.link.clone();
        let running = tokio::spawn(async move {
            let session = link.session().await?;
            let mut tries = 0;
            loop {
                match work(session.clone()).await {
                    Err(StatementError::Again(_)) if tries < TRIES => {
                        tokio::time::sleep(full_jitter(tries)).await;
                        tries += 1;
                    }
                    other => return other.map_err(WorldError::from),
                }
            }
        });
        running.await.map_err(|_| queue_is_gone())?
    }
}
