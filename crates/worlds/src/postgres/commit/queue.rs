//! Writes transitions over lanes. A commit stays together as far as it fits into a batch, because each batch
//! has a fixed cost. The items of a failed batch are tried one by one, so that each succeeds or fails alone.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use rhythm_core::{RunId, TaskId, Timestamp};
use rhythm_engine::world::{
    Commit, CommitOutcome, Committed, Done, Hint, TaskClaim, WorldError, WorldResult,
};
use tokio::sync::oneshot;

use crate::postgres::claim::release_claims::{self, Release};
use crate::postgres::commit::batch::{self, By, OwnedItem};
use crate::postgres::connection::batch_queue::{BatchQueue, Work, queue_is_gone};
use crate::postgres::connection::errors::StatementError;
use crate::postgres::connection::reconnecting::full_jitter;
use crate::postgres::connection::session::Session;
use crate::postgres::connection::wakeups::WakeupHints;
use crate::postgres::read::rows::count;
use crate::postgres::sql;
use crate::postgres::sweep::clock::Time;

/// Retries after a deadlock or a serialization failure.
const TRIES: u32 = 6;

/// Counts retries.
#[derive(Default)]
struct Tries(u32);

impl Tries {
    /// Returns whether to retry, after a random wait.
    async fn once_more<T>(&mut self, outcome: &Result<T, StatementError>) -> bool {
        let again = matches!(outcome, Err(StatementError::Again(_))) && self.0 < TRIES;
        if again {
            tokio::time::sleep(full_jitter(self.0)).await;
            self.0 += 1;
        }
        again
    }
}

type Answer<T> = oneshot::Sender<WorldResult<T>>;

pub enum Job {
    Move(Part, Answer<(Timestamp, CommitOutcome)>),
    Release(Part, Answer<()>),
}

/// One item or release of a commit. It refers to the commit instead of copying it. Parts are dropped before
/// they are answered, so the sender is then the only owner of its commit.
pub struct Part {
    by: Arc<By>,
    commit: Arc<Commit>,
    place: usize,
}

impl Part {
    fn transition(&self) -> OwnedItem<'_> {
        OwnedItem { by: &self.by, item: &self.commit.items[self.place] }
    }

    fn release(&self) -> Release<'_> {
        Release { by: &self.by, released: &self.commit.released[self.place] }
    }
}

pub struct CommitWork {
    pub time: Arc<Time>,
    pub hints: Arc<WakeupHints>,
}

/// Sends the parts of a commit to the least busy lanes and collects the answers.
pub async fn commit(lanes: &[BatchQueue<Job>], time: &Time, request: Arc<Commit>) -> WorldResult<Committed> {
    let hold = crate::postgres::commit::columns::millis(request.hold);
    let by = Arc::new(By { tenant: request.tenant.0.clone(), worker: request.worker.0.clone(), hold });
    let part = |place: usize| Part { by: by.clone(), commit: request.clone(), place };
    let mut moves = Vec::with_capacity(request.items.len());
    let places: Vec<usize> = (0..request.items.len()).collect();
    for batch in places.chunks(CommitWork::BATCH) {
        let lane = idlest(lanes)?;
        for place in batch {
            let (answer, waiting) = oneshot::channel();
            lane.send(Job::Move(part(*place), answer));
            moves.push(waiting);
        }
    }
    let mut outcomes = Vec::with_capacity(moves.len());
    let mut at = Timestamp::default();
    for waiting in moves {
        let (written_at, outcome) = waiting.await.map_err(|_| queue_is_gone())??;
        at = at.max(written_at);
        outcomes.push(outcome);
    }
    // After the items: a commit may move a run and give its claim back.
    let lane = idlest(lanes)?;
    let released = (0..request.released.len()).map(|place| {
        let (answer, waiting) = oneshot::channel();
        lane.send(Job::Release(part(place), answer));
        waiting
    });
    let releases: Vec<_> = released.collect();
    drop(request);
    for waiting in releases {
        waiting.await.map_err(|_| queue_is_gone())??;
    }
    Ok(Committed { at: if outcomes.is_empty() { time.last() } else { at }, outcomes })
}

fn idlest(lanes: &[BatchQueue<Job>]) -> WorldResult<&BatchQueue<Job>> {
    lanes.iter().min_by_key(|lane| lane.open()).ok_or_else(queue_is_gone)
}

#[async_trait]
impl Work for CommitWork {
    type Job = Job;

    const BATCH: usize = 200;

    async fn run(&self, session: &Session, jobs: Vec<Job>) {
        let mut moves = Vec::new();
        let mut releases = Vec::new();
        for job in jobs {
            match job {
                Job::Move(part, answer) => moves.push((part, answer)),
                Job::Release(part, answer) => releases.push((part, answer)),
            }
        }
        while !moves.is_empty() {
            let (round, rest) = take_round(moves);
            moves = rest;
            self.write_round(session, round).await;
        }
        if !releases.is_empty() {
            self.release(session, releases).await;
        }
    }

    fn refuse(&self, job: Job, error: WorldError) {
        match job {
            Job::Move(_, answer) => drop(answer.send(Err(error))),
            Job::Release(_, answer) => drop(answer.send(Err(error))),
        }
    }
}

type Move = (Part, Answer<(Timestamp, CommitOutcome)>);

/// Returns the blobs that do not exist.
pub async fn missing_blobs(
    session: &Session,
    tenant: &str,
    hashes: &[String],
) -> Result<Vec<String>, StatementError> {
    if hashes.is_empty() {
        return Ok(Vec::new());
    }
    let rows = session.query(sql::MISSING_BLOBS, &[&tenant, &hashes]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Takes the next batch, sorted by run id. It holds each run once. An item with `cancel_open`, which touches
/// many rows, is alone in its batch.
fn take_round(moves: Vec<Move>) -> (Vec<Move>, Vec<Move>) {
    let alone = |(part, _): &Move| part.transition().item.cancel_open.is_some();
    let mut seen: HashSet<(String, RunId)> = HashSet::new();
    let (mut round, mut rest, mut closed) = (Vec::new(), Vec::new(), false);
    for one in moves {
        let OwnedItem { by, item } = one.0.transition();
        let key = (by.tenant.clone(), item.run.clone());
        // Later items must not overtake this one: the tasks of runs are queued in the order of the items.
        closed |= round.first().is_some_and(alone) || (alone(&one) && !round.is_empty());
        // A postponed item also postpones later items of the same run.
        if !seen.insert(key) || closed {
            rest.push(one);
        } else {
            round.push(one);
        }
    }
    let key = |part: &Part| (part.transition().item.run.clone(), part.by.tenant.clone());
    round.sort_by_cached_key(|(part, _)| key(part));
    (round, rest)
}

impl CommitWork {
    async fn write_round(&self, session: &Session, round: Vec<Move>) {
        let items: Vec<OwnedItem<'_>> = round.iter().map(|(part, _)| part.transition()).collect();
        match self.write(session, &items).await {
            Ok(answers) => {
                for ((part, answer), outcome) in round.into_iter().zip(answers) {
                    drop(part);
                    let _ = answer.send(Ok(outcome));
                }
            }
            Err(StatementError::World(error @ WorldError::Unavailable(_))) => {
                round.into_iter().for_each(|(_, answer)| drop(answer.send(Err(error.clone()))));
            }
            Err(_) => {
                for (part, answer) in round {
                    let outcome = self.write_alone(session, part.transition()).await;
                    drop(part);
                    let _ = answer.send(outcome);
                }
            }
        }
    }

    async fn write(
        &self,
        session: &Session,
        items: &[OwnedItem<'_>],
    ) -> Result<Vec<(Timestamp, CommitOutcome)>, StatementError> {
        let mut tries = Tries::default();
        let written = loop {
            let outcome = batch::write(session, self.time.param(), items).await;
            if !tries.once_more(&outcome).await {
                break outcome?;
            }
        };
        self.time.saw(written.at);
        self.hints.send(written.hint);
        let done = written.done.into_iter();
        Ok(done.map(|done| (written.at, CommitOutcome::Done(done))).collect())
    }

    /// Writes one transition alone. If its fence fails, it was written before or is stale.
    async fn write_alone(
        &self,
        session: &Session,
        transition: OwnedItem<'_>,
    ) -> WorldResult<(Timestamp, CommitOutcome)> {
        match self.write(session, &[transition]).await {
            Ok(mut outcomes) => Ok(outcomes.remove(0)),
            Err(StatementError::Fence) => Ok(self.first_answer(session, transition).await?),
            Err(fault) => Err(fault.into()),
        }
    }

    async fn first_answer(
        &self,
        session: &Session,
        OwnedItem { by, item }: OwnedItem<'_>,
    ) -> Result<(Timestamp, CommitOutcome), StatementError> {
        let wanted: Vec<&str> =
            item.tasks.iter().filter(|task| task.claim).map(|task| task.id.as_str()).collect();
        let tenants = vec![by.tenant.as_str(); wanted.len()];
        let params: &[crate::postgres::connection::reconnecting::Param<'_>] = &[
            &self.time.param(),
            &by.tenant,
            &item.run.as_str(),
            &item.commit.as_str(),
            &by.worker,
            &tenants,
            &wanted,
        ];
        let rows = session.query(sql::COMMIT_REPEAT, params).await?;
        let row = &rows[0];
        let at = Timestamp::from_millis(row.get(0));
        if row.get::<_, Option<i64>>(1).is_none() {
            let missing = missing_blobs(session, &by.tenant, &item.blobs).await?;
            let stale = missing.is_empty();
            return Ok((at, if stale { CommitOutcome::Stale } else { CommitOutcome::Missing(missing) }));
        }
        let held: Vec<String> = row.get(3);
        let done = Done {
            // Revision as of this commit; an operator may have changed it since.
            revision: item.revision + 1,
            arrived: count(row.get(2)),
            claimed: held.into_iter().map(|task| TaskClaim { task: TaskId(task), claim: 1 }).collect(),
        };
        Ok((at, CommitOutcome::Done(done)))
    }

    async fn release(&self, session: &Session, given: Vec<(Part, Answer<()>)>) {
        let mut releases: Vec<Release<'_>> = given.iter().map(|(part, _)| part.release()).collect();
        // Releases lock rows in the same order as transitions.
        releases.sort_by_key(|release| (&release.released.run, &release.by.tenant));
        let mut tries = Tries::default();
        let done = loop {
            let outcome = release_claims::release(session, self.time.param(), &releases).await;
            if !tries.once_more(&outcome).await {
                break outcome;
            }
        };
        if let Ok(true) = done {
            self.hints.send(Hint { runs: true, ..Hint::default() });
        }
        let answer = done.map(|_| ()).map_err(WorldError::from);
        for (part, reply) in given {
            drop(part);
            let _ = reply.send(answer.clone());
        }
    }
}
