//! A lane: one task that writes over one connection. Jobs that arrive while it is busy become its next batch;
//! it never waits for more.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use rhythm_engine::world::WorldError;
use tokio::sync::mpsc;

use crate::postgres::connection::reconnecting::ReconnectingClient;
use crate::postgres::connection::session::Session;

/// Runs the batches of a lane. Every job carries its own channel for the answer.
#[async_trait]
pub trait Work: Send + Sync + 'static {
    type Job: Send + 'static;

    /// Largest number of jobs in a batch.
    const BATCH: usize;

    async fn run(&self, session: &Session, jobs: Vec<Self::Job>);

    /// Answers a job that never reached the database.
    fn refuse(&self, job: Self::Job, error: WorldError);
}

pub struct BatchQueue<J> {
    jobs: mpsc::UnboundedSender<J>,
    /// Number of jobs that were sent and are not finished.
    open: Arc<AtomicUsize>,
}

impl<J: Send + 'static> BatchQueue<J> {
    /// The lane ends when the last sender is gone.
    pub fn start<W: Work<Job = J>>(link: ReconnectingClient, work: Arc<W>) -> Self {
        let (jobs, waiting) = mpsc::unbounded_channel();
        let open = Arc::new(AtomicUsize::new(0));
        tokio::spawn(serve(link, work, waiting, open.clone()));
        Self { jobs, open }
    }

    pub fn send(&self, job: J) {
        // A lane that has ended drops the job, and the caller's channel is closed.
        self.open.fetch_add(1, Ordering::Relaxed);
        let _ = self.jobs.send(job);
    }

    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
}

async fn serve<W: Work>(
    link: ReconnectingClient,
    work: Arc<W>,
    mut jobs: mpsc::UnboundedReceiver<W::Job>,
    open: Arc<AtomicUsize>,
) {
    let mut waiting = VecDeque::new();
    while let Some(first) = jobs.recv().await {
        waiting.push_back(first);
        while waiting.len() < W::BATCH
            && let Ok(next) = jobs.try_recv()
        {
            waiting.push_back(next);
        }
        let batch: Vec<W::Job> = waiting.drain(..).collect();
        let count = batch.len();
        match link.session().await {
            Ok(session) => work.run(&session, batch).await,
            Err(error) => batch.into_iter().for_each(|job| work.refuse(job, error.clone())),
        }
        open.fetch_sub(count, Ordering::Relaxed);
    }
}

/// Error for a lane that ended before it answered.
pub fn queue_is_gone() -> WorldError {
    WorldError::Unavailable("this world handle is closing".into())
}
