//! One connection for rare transactions of several round trips. Each runs in a task of its own, so that a caller that
//! goes away never leaves a transaction half done.

use std::future::Future;
use std::sync::Arc;

use rhythm_engine::world::{WorldError, WorldResult};
use tokio::sync::Mutex;

use super::connect::{Dial, Purpose};
use super::errors::Fault;
use super::lane::lane_is_gone;
use super::link::{Link, Session, full_jitter};

const TRIES: u32 = 6;

#[derive(Clone)]
pub struct Office {
    link: Arc<Mutex<Link>>,
}

impl Office {
    pub fn new(dial: Dial) -> Self {
        Self { link: Arc::new(Mutex::new(Link::new(dial, Purpose::Plain))) }
    }

    /// Runs `work` with the connection to itself; deadlocks are tried again.
    pub async fn run<T, F>(&self, work: impl Fn(Arc<Session>) -> F + Send + Sync + 'static) -> WorldResult<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let link = self.link.clone();
        let running = tokio::spawn(async move {
            let link = link.lock().await;
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
