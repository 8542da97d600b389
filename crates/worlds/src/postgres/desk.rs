//! The lanes for what is not a transition: new runs and tasks, messages from outside, ended attempts. Requests that
//! gathered are merged; when the merged ones fail, each is tried by itself.

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use rhythm_engine::world::{
    CreateRuns, Creation, Deliver, Delivered, EnqueueTasks, Finish, FinishTasks, Hint, TaskOutcome, WorldError,
    WorldResult,
};
use tokio::sync::oneshot;

use super::errors::Fault;
use super::finish::{FinishStatements, finish_on};
use super::hints::Hints;
use super::lane::{Lane, Work, lane_is_gone};
use super::link::{Session, full_jitter};
use super::time::Time;
use super::{create, deliver};

const TRIES: u32 = 6;

pub struct Job<R, A> {
    request: R,
    answer: oneshot::Sender<WorldResult<Vec<A>>>,
}

pub enum DeskJob {
    Create(Job<CreateRuns, Creation>),
    Enqueue(Job<EnqueueTasks, Creation>),
    Deliver(Job<Deliver, Delivered>),
    Finish(Job<FinishTasks, Finish>),
}

/// Sends one request to a lane and waits for its answer.
pub async fn ask<R, A>(
    lane: &Lane<DeskJob>,
    wrap: fn(Job<R, A>) -> DeskJob,
    request: R,
) -> WorldResult<Vec<A>> {
    let (answer, waiting) = oneshot::channel();
    lane.send(wrap(Job { request, answer }));
    waiting.await.map_err(|_| lane_is_gone())?
}

pub struct DeskWork {
    pub time: Arc<Time>,
    pub hints: Arc<Hints>,
}

#[async_trait]
impl Work for DeskWork {
    type Job = DeskJob;

    const BATCH: usize = 200;

    async fn run(&self, session: &Session, jobs: Vec<DeskJob>) {
        let (mut creates, mut enqueues, mut delivers, mut finishes) = (vec![], vec![], vec![], vec![]);
        for job in jobs {
            match job {
                DeskJob::Create(job) => creates.push(job),
                DeskJob::Enqueue(job) => enqueues.push(job),
                DeskJob::Deliver(job) => delivers.push(job),
                DeskJob::Finish(job) => finishes.push(job),
            }
        }
        let now = || self.time.param();
        let runs = Hint { runs: true, ..Hint::default() };
        let tasks = Hint { tasks: true, ..Hint::default() };
        let hints = &self.hints;
        if !creates.is_empty() {
            let work = async |requests: &[CreateRuns]| create::create_runs(session, now(), requests).await;
            answer_all(creates, work, |_| hints.send(runs)).await;
        }
        if !enqueues.is_empty() {
            let work = async |requests: &[EnqueueTasks]| create::enqueue_tasks(session, now(), requests).await;
            answer_all(enqueues, work, |_| hints.send(tasks)).await;
        }
        if !delivers.is_empty() {
            let work = async |requests: &[Deliver]| deliver::deliver(session, now(), requests).await;
            answer_all(delivers, work, |_| hints.send(runs)).await;
        }
        if !finishes.is_empty() {
            let work = async |requests: &[FinishTasks]| finish(session, now(), requests).await;
            answer_all(finishes, work, |requests| hints.send(after_finishing(requests))).await;
        }
    }

    fn refuse(&self, job: DeskJob, error: WorldError) {
        match job {
            DeskJob::Create(job) => drop(job.answer.send(Err(error))),
            DeskJob::Enqueue(job) => drop(job.answer.send(Err(error))),
            DeskJob::Deliver(job) => drop(job.answer.send(Err(error))),
            DeskJob::Finish(job) => drop(job.answer.send(Err(error))),
        }
    }
}

async fn finish(
    session: &Session,
    now: Option<i64>,
    requests: &[FinishTasks],
) -> Result<Vec<Vec<Finish>>, Fault> {
    let statements = FinishStatements::of(session).await?;
    session.transact(finish_on(&session.client, &statements, now, requests)).await
}

fn after_finishing(requests: &[FinishTasks]) -> Hint {
    let mut hint = Hint::default();
    for finished in requests.iter().flat_map(|request| &request.finished) {
        hint.runs |= finished.message.is_some();
        hint.tasks |= matches!(finished.outcome, TaskOutcome::Retry { .. } | TaskOutcome::Released);
    }
    hint
}

/// Does gathered requests at once, or one by one when that fails, and answers each.
async fn answer_all<R, A>(
    jobs: Vec<Job<R, A>>,
    work: impl AsyncFn(&[R]) -> Result<Vec<Vec<A>>, Fault>,
    written: impl Fn(&[R]),
) {
    let (requests, answers): (Vec<R>, Vec<_>) = jobs.into_iter().map(|job| (job.request, job.answer)).unzip();
    match again(|| work(&requests)).await {
        Ok(done) => {
            written(&requests);
            for (answer, done) in answers.into_iter().zip(done) {
                let _ = answer.send(Ok(done));
            }
        }
        Err(error) if requests.len() == 1 || matches!(error, WorldError::Unavailable(_)) => {
            answers.into_iter().for_each(|answer| drop(answer.send(Err(error.clone()))));
        }
        Err(_) => {
            for (request, answer) in requests.into_iter().zip(answers) {
                let alone = [request];
                let done = again(|| work(&alone)).await;
                if done.is_ok() {
                    written(&alone);
                }
                let _ = answer.send(done.map(|mut done| done.remove(0)));
            }
        }
    }
}

/// Tries again what deadlocked or was overtaken.
pub async fn again<T, F: Future<Output = Result<T, Fault>>>(work: impl Fn() -> F) -> WorldResult<T> {
    let mut tries = 0;
    loop {
        match work().await {
            Err(Fault::Again(_) | Fault::Fence) if tries < TRIES => {
                tokio::time::sleep(full_jitter(tries)).await;
                tries += 1;
            }
            other => return other.map_err(WorldError::from),
        }
    }
}
