//! Runs rare transactions of several round trips. Each has a task of its own, so that a caller that is
//! dropped never leaves a transaction half done.

use std::future::Future;

use rhythm_engine::world::{WorldError, WorldResult};

use crate::postgres::connection::batch_queue::lane_is_gone;
use crate::postgres::connection::errors::Fault;
use crate::postgres::connection::reconnecting::{Link, full_jitter};
use crate::postgres::connection::session::Session;

const TRIES: u32 = 6;

#[derive(Clone)]
pub struct Office {
    link: Link,
}

impl Office {
    pub fn new(link: Link) -> Self {
        Self { link }
    }

    /// Runs `work`, and repeats it after a deadlock.
    pub async fn run<T, F>(&self, work: impl Fn(Session) -> F + Send + Sync + 'static) -> WorldResult<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let link = self.link.clone();
        let running = tokio::spawn(async move {
            let session = link.session().await?;
            let mut tries = 0;
            loop {
                match work(session.clone()).await {
                    Err(Fault::Again(_)) if tries < TRIES => {
                        tokio::time::sleep(full_jitter(tries)).await;
                        tries += 1;
                    }
                    other => return other.map_err(WorldError::from),
                }
            }
        });
        running.await.map_err(|_| lane_is_gone())?
    }
}
