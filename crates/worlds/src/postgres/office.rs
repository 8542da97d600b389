//! One connection for rare transactions of several round trips. Each runs in a task of its own, so that a caller that
//! goes away never leaves a transaction half done.

use std::future::Future;
use std::sync::Arc;

use rhythm_engine::world::WorldResult;
use tokio::sync::Mutex;

use super::connect::{Dial, Purpose};
use super::desk::again;
use super::errors::Fault;
use super::lane::lane_is_gone;
use super::link::{Link, Session};

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
            again(|| work(session.clone())).await
        });
        running.await.map_err(|_| lane_is_gone())?
    }
}
