//! State that the engine and the worker of one process share: world, programs and time. Also commits planned
//! transitions, and resends them when answers are lost.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rhythm_core::payload::Contents;
use rhythm_core::{BlobRef, Blobs, Blocked, BlockedCode, CommitId, Message, Millis, TaskId};

use crate::children::{new_child, pin};
use crate::config::Config;
use crate::inputs::Schemas;
use crate::origins::Origins;
use crate::plan::{Plan, refuse_child};
use crate::programs::Programs;
use crate::time::{Agenda, WorldTime};
use crate::world::*;
use crate::write_stats::WriteStats;

/// Timers up to this length wake their run without a sweep.
const SHORT: Millis = Millis(100);

/// State shared by the engine and the worker of one process.
pub struct Process {
    pub world: Arc<dyn World>,
    pub config: Config,
    pub programs: Programs,
    pub schemas: Schemas,
    pub time: WorldTime,
    pub agenda: Agenda,
    pub meter: WriteStats,
    origins: Origins,
    commits: AtomicU64,
    asks: AtomicU64,
    /// Commits whose answer was lost. They are sent again, unchanged, until an answer comes.
    unsettled: Mutex<Vec<Batch>>,
}

/// A world that loses stored blobs more often than this for one item is treated as broken.
const MOST_STORED_AGAIN: u8 = 20;

/// A commit to send, and the follow-up of each item.
#[derive(Clone)]
pub struct Batch {
    pub commit: Arc<Commit>,
    pub after: Vec<PendingItem>,
}

/// Follow-up of one item.
#[derive(Clone)]
pub struct PendingItem {
    /// The run as the item found it.
    pub row: Arc<RunRow>,
    /// Messages of the results in a fused item. If the item is stale, they go through the inbox.
    pub told: Vec<Option<Message>>,
    /// Blobs stored for the item. They are stored again if a collector removed them.
    pub stored: Arc<Contents>,
    /// Number of times they were stored again.
    pub stored_again: u8,
    /// Committed if a blob of the item is lost for good: ends the run, as a message requested.
    pub instead: Option<Box<CommitItem>>,
}

/// An item, its follow-up, and the hashes of its missing blobs.
type Refused = (CommitItem, PendingItem, Vec<String>);

impl PendingItem {
    fn of(row: &Arc<RunRow>) -> Self {
        let (told, stored) = (Vec::new(), Arc::new(Contents::new()));
        Self { row: row.clone(), told, stored, stored_again: 0, instead: None }
    }

    fn stale(self, item: CommitItem) -> Settled {
        let finished = item.finished.into_iter().zip(self.told);
        let with_message = |(finished, message)| FinishedTask { message, ..finished };
        Settled::Stale { run: item.run, finished: finished.map(with_message).collect() }
    }
}

/// Result of one item.
pub enum Settled {
    Done { row: Option<Box<RunRow>>, claimed: Vec<ClaimedTask> },
    Stale { run: rhythm_core::RunId, finished: Vec<FinishedTask> },
}

impl Process {
    pub fn new(world: Arc<dyn World>, config: Config, programs: Programs, time: WorldTime) -> Self {
        let agenda = Agenda::default();
        Self {
            world,
            config,
            programs,
            schemas: Schemas::default(),
            time,
            agenda,
            meter: WriteStats::default(),
            origins: Origins::default(),
            commits: AtomicU64::new(0),
            asks: AtomicU64::new(0),
            unsettled: Mutex::default(),
        }
    }

    /// Returns a fresh commit id, unique also among earlier processes of the same worker.
    pub fn commit_id(&self) -> CommitId {
        let number = self.commits.fetch_add(1, Ordering::Relaxed);
        CommitId::new(format!("{}/{number}", self.config.incarnation))
    }

    /// Returns a fresh request id for a claim, unique also among earlier processes of the same worker.
    pub fn ask(&self) -> Ask {
        let mut hasher = std::hash::DefaultHasher::new();
        self.config.incarnation.hash(&mut hasher);
        let number = self.asks.fetch_add(1, Ordering::Relaxed);
        Ask { number: hasher.finish().wrapping_add(number), again: false }
    }

    /// Stores the blobs the commit needs and pins the versions of children.
    pub async fn prepare(&self, plan: Plan, row: &Arc<RunRow>) -> WorldResult<(CommitItem, PendingItem)> {
        let Plan { mut item, children, blobs } = plan;
        for (blob, content) in &blobs {
            self.world.put_blob(&self.config.tenant, blob, content).await?;
        }
        if row.id.split_fork().is_some() {
            self.origins.name(&*self.world, &self.config.tenant, &mut item.tasks).await?;
        }
        for child in children {
            match pin(&*self.world, &self.config.tenant, &self.schemas, &child).await? {
                Ok(definition) => item.children.push(new_child(&row.id, child, definition)),
                Err(failure) => refuse_child(&mut item, &child, failure),
            }
        }
        Ok((item, PendingItem { stored: Arc::new(blobs), ..PendingItem::of(row) }))
    }

    /// Loads the blobs a step asked for and adds them to `blobs`.
    pub async fn load_blobs(&self, wanted: &[BlobRef], blobs: &mut Blobs) -> WorldResult<()> {
        for blob in wanted {
            let content = self.world.read_blob(&self.config.tenant, blob).await?;
            blobs.insert(blob.hash.clone(), content);
        }
        Ok(())
    }

    /// Builds a commit of this process from items, released claims and follow-ups.
    pub fn batch(
        &self,
        items: Vec<CommitItem>,
        released: Vec<ReleasedRun>,
        after: Vec<PendingItem>,
    ) -> Batch {
        let commit = Commit {
            tenant: self.config.tenant.clone(),
            worker: self.config.worker.clone(),
            hold: self.config.hold,
            items,
            released,
        };
        Batch { commit: Arc::new(commit), after }
    }

    /// Commits. If the answer is lost, the batch is kept and [`Self::resend`] sends it again.
    pub async fn push(&self, batch: Batch) -> WorldResult<Vec<Settled>> {
        let asked = self.time.own_millis();
        match self.world.commit(batch.commit.clone()).await {
            Ok(committed) => {
                self.time.observe(committed.at, asked);
                let (mut settled, refused) = self.settle(batch, committed);
                let mut failed = None;
                for (item, after, missing) in refused {
                    match Box::pin(self.push_again(item, after, &missing)).await {
                        Ok(outcomes) => settled.extend(outcomes),
                        Err(error) => failed = Some(error),
                    }
                }
                match failed {
                    // Results that were written must be returned; the rest is sent with the next call.
                    Some(error) if settled.is_empty() => Err(error),
                    _ => Ok(settled),
                }
            }
            Err(error) if error.is_passing() => {
                self.unsettled.lock().unwrap_or_else(PoisonError::into_inner).push(batch);
                Err(error)
            }
            Err(error) => self.push_singly(batch, error).await,
        }
    }

    /// The world refuses this batch for good. Sends each item alone, so that one bad item does not fail the
    /// others.
    async fn push_singly(&self, batch: Batch, error: WorldError) -> WorldResult<Vec<Settled>> {
        let Batch { commit, after } = batch;
        let mut settled = Vec::new();
        let single = commit.items.len() + commit.released.len() <= 1;
        for (item, after) in commit.items.iter().cloned().zip(after) {
            if single {
                tracing::error!(run = %item.run, %error, "the world refused a commit");
                settled.push(after.stale(item));
                continue;
            }
            let alone = self.batch(vec![item], Vec::new(), vec![after]);
            settled.extend(Box::pin(self.push(alone)).await?);
        }
        for released in commit.released.iter().filter(|_| !single) {
            let alone = self.batch(Vec::new(), vec![released.clone()], Vec::new());
            settled.extend(Box::pin(self.push(alone)).await?);
        }
        Ok(settled)
    }

    /// Blobs of an item are missing: stores those this process has again and repeats the commit. If one is
    /// lost here too, the run is quarantined until an operator stores the blob and retries the run.
    async fn push_again(
        &self,
        item: CommitItem,
        mut after: PendingItem,
        missing: &[String],
    ) -> WorldResult<Vec<Settled>> {
        let stored = after.stored.clone();
        let ours: Contents =
            stored.iter().filter(|(blob, _)| missing.contains(&blob.hash)).cloned().collect();
        let in_vain = after.stored_again >= MOST_STORED_AGAIN;
        let is_lost = |hash: &&String| in_vain || ours.iter().all(|(blob, _)| blob.hash != **hash);
        match missing.iter().find(is_lost) {
            None => {
                after.stored_again += 1;
                for (blob, content) in &ours {
                    if let Err(error) = self.world.put_blob(&self.config.tenant, blob, content).await {
                        let batch = self.batch(vec![item], Vec::new(), vec![after]);
                        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner).push(batch);
                        return Err(error);
                    }
                }
                self.push(self.batch(vec![item], Vec::new(), vec![after])).await
            }
            Some(lost) => {
                let detail = WorldError::NotFound(format!("blob {lost}")).to_string();
                tracing::error!(run = %item.run, detail, "a commit refers to what is lost");
                if let Some(instead) = after.instead.take() {
                    return self.push(self.batch(vec![*instead], Vec::new(), vec![after])).await;
                }
                // Under `Fused`, the results go through the inbox, and the process that claims the run then
                // quarantines it.
                if let Fence::Claim(claim) = item.fence {
                    let blocked = Blocked { code: BlockedCode::Quarantined, since: self.time.now(), detail };
                    let run = item.run.clone();
                    let released = ReleasedRun { run, claim, outcome: ReleaseOutcome::Aside(blocked) };
                    self.push(self.batch(Vec::new(), vec![released], Vec::new())).await?;
                }
                Ok(vec![after.stale(item)])
            }
        }
    }

    /// Sends batches without an answer again.
    pub async fn resend(&self) -> WorldResult<Vec<Settled>> {
        let waiting = std::mem::take(&mut *self.unsettled.lock().unwrap_or_else(PoisonError::into_inner));
        let mut settled = Vec::new();
        let mut failed = None;
        for batch in waiting {
            match &failed {
                None => match self.push(batch).await {
                    Ok(outcomes) => settled.extend(outcomes),
                    Err(error) => failed = Some(error),
                },
                Some(_) => self.unsettled.lock().unwrap_or_else(PoisonError::into_inner).push(batch),
            }
        }
        match failed {
            // Results that were written must be returned; the rest is sent with the next call.
            Some(error) if settled.is_empty() => Err(error),
            _ => Ok(settled),
        }
    }

    /// Whether commits without an answer wait to be sent again.
    pub fn has_unsettled(&self) -> bool {
        !self.unsettled.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Also returns the items refused for missing blobs.
    fn settle(&self, batch: Batch, committed: Committed) -> (Vec<Settled>, Vec<Refused>) {
        let Batch { commit, after } = batch;
        self.meter.count(&commit, &committed);
        let (mut settled, mut refused) = (Vec::with_capacity(after.len()), Vec::new());
        // Usually the world has dropped its reference, and nothing is copied.
        let items = Arc::unwrap_or_clone(commit).items;
        for ((item, after), outcome) in items.into_iter().zip(after).zip(committed.outcomes) {
            settled.push(match outcome {
                CommitOutcome::Stale => after.stale(item),
                CommitOutcome::Missing(missing) => {
                    refused.push((item, after, missing));
                    continue;
                }
                CommitOutcome::Done(done) => {
                    self.note_due(&item, committed.at);
                    let claims: HashMap<TaskId, u64> =
                        done.claimed.into_iter().map(|claim| (claim.task, claim.claim)).collect();
                    let ours = |task: NewTask| {
                        let claim = *claims.get(&task.id)?;
                        Some(fresh_claim(task, claim, committed.at))
                    };
                    let claimed = item.tasks.into_iter().filter_map(ours).collect();
                    let row = RunRow {
                        state: item.state,
                        revision: done.revision,
                        arrived: done.arrived,
                        ..RunRow::clone(&after.row)
                    };
                    Settled::Done { row: item.end.is_none().then(|| Box::new(row)), claimed }
                }
            });
        }
        (settled, refused)
    }

    fn note_due(&self, item: &CommitItem, at: rhythm_core::Timestamp) {
        for timer in &item.timers {
            match timer.fire_at.since(at) <= SHORT {
                true => self.agenda.note_short(timer.fire_at),
                false => self.agenda.note(timer.fire_at),
            }
        }
        let delayed = item.tasks.iter().map(|task| task.options.delay).filter(|delay| *delay > Millis::ZERO);
        delayed.for_each(|delay| self.agenda.note(at.plus(delay)));
    }
}

/// A task this process created and already holds.
fn fresh_claim(task: NewTask, claim: u64, at: rhythm_core::Timestamp) -> ClaimedTask {
    ClaimedTask {
        deadline_at: task.options.deadline.map(|deadline| at.plus(deadline)),
        id: task.id,
        run: task.run,
        name: task.name,
        input: task.input,
        options: task.options,
        claim,
        attempt: 1,
        delivery: 1,
        progress: None,
        created_at: at,
        trace: task.trace,
    }
}
