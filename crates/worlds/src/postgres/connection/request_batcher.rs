//! Lanes for requests that are not transitions: new runs and tasks, messages from outside, ended attempts.
//! Requests that wait are merged into a batch. If the batch fails, each request is tried alone.

use std::sync::Arc;

use async_trait::async_trait;
use rhythm_engine::world::{
    CreateRuns, Creation, Deliver, Delivered, EnqueueTasks, Finish, FinishTasks, Hint, TaskOutcome,
    WorldError, WorldResult,
};
use tokio::sync::oneshot;

use crate::postgres::commit::create;
use crate::postgres::commit::deliver;
use crate::postgres::commit::finish::{FinishStatements, finish_on};
use crate::postgres::connection::batch_queue::{BatchQueue, Work, queue_is_gone};
use crate::postgres::connection::errors::StatementError;
use crate::postgres::connection::reconnecting::full_jitter;
use crate::postgres::connection::session::Session;
use crate::postgres::connection::wakeups::WakeupHints;
use crate::postgres::sweep::clock::Time;

const TRIES: u32 = 6;

pub struct Job<R, A> {
    request: R,
    answer: oneshot::Sender<WorldResult<Vec<A>>>,
}

pub enum RequestJob {
    Create(Job<CreateRuns, Creation>),
    Enqueue(Job<EnqueueTasks, Creation>),
    Deliver(Job<Deliver, Delivered>),
    Finish(Job<FinishTasks, Finish>),
}

/// Sends one request to a lane and waits for its answer.
pub async fn ask<R, A>(
    lane: &BatchQueue<RequestJob>,
    wrap: fn(Job<R, A>) -> RequestJob,
    request: R,
) -> WorldResult<Vec<A>> {
    let (answer, waiting) = oneshot::channel();
    lane.send(wrap(Job { request, answer }));
    waiting.await.map_err(|_| queue_is_gone())?
}

pub struct RequestBatcher {
    pub time: Arc<Time>,
    pub hints: Arc<WakeupHints>,
}

#[async_trait]
impl Work for RequestBatcher {
    type Job = RequestJob;

    const BATCH: usize = 200;

    async fn run(&self, session: &Session, jobs: Vec<RequestJob>) {
        let (mut creates, mut enqueues, mut delivers, mut finishes) = (vec![], vec![], vec![], vec![]);
        for job in jobs {
            match job {
                RequestJob::Create(job) => creates.push(job),
                RequestJob::Enqueue(job) => enqueues.push(job),
                RequestJob::Deliver(job) => delivers.push(job),
                RequestJob::Finish(job) => finishes.push(job),
            }
        }
        self.answer_all(session, creates).await;
        self.answer_all(session, enqueues).await;
        self.answer_all(session, delivers).await;
        self.answer_all(session, finishes).await;
    }

    fn refuse(&self, job: RequestJob, error: WorldError) {
        match job {
            RequestJob::Create(job) => drop(job.answer.send(Err(error))),
            RequestJob::Enqueue(job) => drop(job.answer.send(Err(error))),
            RequestJob::Deliver(job) => drop(job.answer.send(Err(error))),
            RequestJob::Finish(job) => drop(job.answer.send(Err(error))),
        }
    }
}

impl RequestBatcher {
    /// Runs the requests together, or one by one if that fails, and answers each.
    async fn answer_all<R: Request>(&self, session: &Session, jobs: Vec<Job<R, R::Answer>>) {
        if jobs.is_empty() {
            return;
        }
        let (requests, answers): (Vec<R>, Vec<_>) =
            jobs.into_iter().map(|job| (job.request, job.answer)).unzip();
        match self.perform(session, &requests).await {
            Ok(done) => {
                for (answer, done) in answers.into_iter().zip(done) {
                    let _ = answer.send(Ok(done));
                }
            }
            Err(error) if requests.len() == 1 || matches!(error, WorldError::Unavailable(_)) => {
                answers.into_iter().for_each(|answer| drop(answer.send(Err(error.clone()))));
            }
            Err(_) => {
                for (request, answer) in requests.iter().zip(answers) {
                    let done = self.perform(session, std::slice::from_ref(request)).await;
                    let _ = answer.send(done.map(|mut done| done.remove(0)));
                }
            }
        }
    }

    async fn perform<R: Request>(
        &self,
        session: &Session,
        requests: &[R],
    ) -> WorldResult<Vec<Vec<R::Answer>>> {
        let mut tries = 0;
        loop {
            match R::perform(session, self.time.param(), requests).await {
                Ok(done) => {
                    self.hints.send(R::hint(requests));
                    return Ok(done);
                }
                Err(StatementError::Again(_) | StatementError::Fence) if tries < TRIES => {
                    tokio::time::sleep(full_jitter(tries)).await;
                    tries += 1;
                }
                Err(fault) => return Err(fault.into()),
            }
        }
    }
}

/// A kind of request that can run in batches.
#[async_trait]
trait Request: Sized + Send + Sync {
    type Answer: Send;

    async fn perform(
        session: &Session,
        now: Option<i64>,
        requests: &[Self],
    ) -> Result<Vec<Vec<Self::Answer>>, StatementError>;

    fn hint(requests: &[Self]) -> Hint;
}

#[async_trait]
impl Request for CreateRuns {
    type Answer = Creation;

    async fn perform(
        session: &Session,
        now: Option<i64>,
        requests: &[Self],
    ) -> Result<Vec<Vec<Creation>>, StatementError> {
        create::create_runs(session, now, requests).await
    }

    fn hint(_: &[Self]) -> Hint {
        Hint { runs: true, ..Hint::default() }
    }
}

#[async_trait]
impl Request for EnqueueTasks {
    type Answer = Creation;

    async fn perform(
        session: &Session,
        now: Option<i64>,
        requests: &[Self],
    ) -> Result<Vec<Vec<Creation>>, StatementError> {
        create::enqueue_tasks(session, now, requests).await
    }

    fn hint(_: &[Self]) -> Hint {
        Hint { tasks: true, ..Hint::default() }
    }
}

#[async_trait]
impl Request for Deliver {
    type Answer = Delivered;

    async fn perform(
        session: &Session,
        now: Option<i64>,
        requests: &[Self],
    ) -> Result<Vec<Vec<Delivered>>, StatementError> {
        deliver::deliver(session, now, requests).await
    }

    fn hint(_: &[Self]) -> Hint {
        Hint { runs: true, ..Hint::default() }
    }
}

#[async_trait]
impl Request for FinishTasks {
    type Answer = Finish;

    async fn perform(
        session: &Session,
        now: Option<i64>,
        requests: &[Self],
    ) -> Result<Vec<Vec<Finish>>, StatementError> {
        let statements = FinishStatements::of(session).await?;
        let session = session.alone().await?;
        session.transact(finish_on(session.client(), &statements, now, requests)).await
    }

    fn hint(requests: &[Self]) -> Hint {
        let mut hint = Hint::default();
        for finished in requests.iter().flat_map(|request| &request.finished) {
            hint.runs |= finished.message.is_some();
            hint.tasks |= matches!(finished.outcome, TaskOutcome::Retry { .. } | TaskOutcome::Released);
        }
        hint
    }
}
