//! A handle on a PostgreSQL world: its connections, and which of them answers what.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rhythm_core::{Actor, BlobRef, TenantId, Timestamp, Version};
use rhythm_engine::world::*;

use super::commit::CommitWork;
use super::connect::{Dial, Purpose};
use super::desk::{DeskJob, DeskWork};
use super::fronts::Fronts;
use super::hints::Hints;
use super::lane::Lane;
use super::link::{Link, full_jitter, random};
use super::office::Office;
use super::pulse::Pulse;
use super::rows::{small, workflow_kind};
use super::storm::Storm;
use super::time::Time;
use super::upkeep::Ready;
use super::watermark::Watermark;
use super::{beats, blobs, claims, commit, control, desk, fronts, retain, schema, sql, upkeep};
use crate::blob_codec;
use crate::patience::Patience;

/// How often opening is tried again. Short: whoever named the wrong server wants to hear of it.
const TRIES: u32 = 3;
const OPENING: Duration = Duration::from_secs(2);

/// A commit costs by itself, and goes on beside what others ask for: with fewer, others wait hardly less.
const STORM_LINE: usize = 32;

/// How a world is opened.
#[derive(Clone)]
pub struct PostgresOptions {
    /// Replaces the database's clock, for tests.
    pub clock: Option<Arc<dyn Clock>>,
    /// Brings an older database up to date; otherwise it is refused.
    pub auto_migrate: bool,
    /// Connections that write transitions.
    pub lanes: usize,
    /// A look for ready work that takes longer in the server is not made whole each time (`fronts.rs`).
    pub cheap_look: Duration,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self { clock: None, auto_migrate: true, lanes: 3, cheap_look: fronts::CHEAP }
    }
}

/// A handle; as long as it lives, the workers registered through it count as alive.
pub struct PostgresWorld {
    pub(super) reader: Link,
    pub(super) time: Arc<Time>,
    hints: Arc<Hints>,
    commits: Vec<Lane<commit::Job>>,
    /// New runs, tasks and messages.
    desk: Lane<DeskJob>,
    finishes: Lane<DeskJob>,
    claims: Link,
    /// Sweeps and what else takes long when much was worked off: claims and heartbeats must not wait for it.
    rounds: Link,
    /// The same for what looks at everything.
    looks: Link,
    run_fronts: Fronts,
    task_fronts: Fronts,
    office: Office,
    /// Of its own for what takes long; connected when it is first used.
    archive: Office,
    watermark: Watermark,
    storm: Storm,
    /// The same for claims of what is due, which pass over what only sweeps may fire.
    woken: Storm,
    ready: Ready,
    patience: Patience,
    lock_key: i64,
    _pulse: Pulse,
}

impl PostgresWorld {
    /// A session that the server ends while the world opens is no reason to give up: a start must not depend on luck.
    pub async fn connect(url: &str, options: PostgresOptions) -> WorldResult<Self> {
        let dial = Dial::parse(url)?;
        let (began, mut tries) = (Instant::now(), 0);
        loop {
            match Self::open(dial.clone(), options.clone()).await {
                Err(WorldError::Unavailable(_)) if tries < TRIES && began.elapsed() < OPENING => {
                    tokio::time::sleep(full_jitter(tries)).await;
                    tries += 1;
                }
                opened => return opened,
            }
        }
    }

    async fn open(dial: Dial, options: PostgresOptions) -> WorldResult<Self> {
        schema::check(&dial, options.auto_migrate).await?;
        let time = Arc::new(Time::new(options.clock));
        let hints = Arc::new(Hints::default());
        // Positive, and apart from the small numbers other programs like to lock.
        let lock_key = (random() >> 2) as i64 | 1 << 40;
        let pulse = Pulse::start(dial.clone(), lock_key, hints.clone()).await?;
        let hot = || Link::new(dial.clone(), Purpose::Hot);
        let commit_work = Arc::new(CommitWork { time: time.clone(), hints: hints.clone() });
        let desk_work = Arc::new(DeskWork { time: time.clone(), hints: hints.clone() });
        Ok(Self {
            reader: Link::new(dial.clone(), Purpose::Plain),
            commits: (0..options.lanes.max(1)).map(|_| Lane::start(hot(), commit_work.clone())).collect(),
            desk: Lane::start(hot(), desk_work.clone()),
            finishes: Lane::start(hot(), desk_work),
            claims: hot(),
            rounds: hot(),
            looks: Link::new(dial.clone(), Purpose::Plain),
            run_fronts: Fronts::new(
                hints.clone(),
                Hint { runs: true, ..Hint::default() },
                options.cheap_look,
            ),
            task_fronts: Fronts::new(
                hints.clone(),
                Hint { tasks: true, ..Hint::default() },
                options.cheap_look,
            ),
            office: Office::new(dial.clone()),
            archive: Office::new(dial.clone()),
            watermark: Watermark::default(),
            storm: Storm::default(),
            woken: Storm::default(),
            ready: Ready::default(),
            patience: Patience::default(),
            time,
            hints,
            lock_key,
            _pulse: pulse,
        })
    }
}

#[async_trait]
impl World for PostgresWorld {
    async fn now(&self) -> WorldResult<Timestamp> {
        let at = match self.time.param() {
            Some(injected) => injected,
            None => self.claims.query(sql::CLOCK, &[]).await?[0].get(0),
        };
        self.time.saw(Timestamp::from_millis(at));
        Ok(self.time.last())
    }

    async fn register(&self, request: Register) -> WorldResult<()> {
        for definition in &request.definitions {
            let params: &[super::link::Param<'_>] = &[
                &request.tenant.as_str(),
                &definition.workflow,
                &definition.version.as_str(),
                &definition.kind.as_str(),
                &definition.source,
                &definition.compiled,
                &(definition.format as i32),
                &self.time.param(),
            ];
            self.claims.query(sql::REGISTER, params).await?;
        }
        Ok(())
    }

    async fn definition(&self, request: DefinitionQuery) -> WorldResult<Option<Definition>> {
        let version = request.version.as_ref().map(Version::as_str);
        let params: &[super::link::Param<'_>] = &[&request.tenant.as_str(), &request.workflow, &version];
        let rows = self.claims.query(sql::DEFINITION, params).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some(Definition {
            workflow: row.get(0),
            version: Version(row.get(1)),
            kind: workflow_kind(row.get(2))?,
            source: row.get(3),
            compiled: row.get(4),
            format: small(row.get(5)),
        }))
    }

    async fn create_runs(&self, request: CreateRuns) -> WorldResult<Vec<Creation>> {
        desk::ask(&self.desk, DeskJob::Create, request).await
    }

    async fn enqueue_tasks(&self, request: EnqueueTasks) -> WorldResult<Vec<Creation>> {
        desk::ask(&self.desk, DeskJob::Enqueue, request).await
    }

    async fn deliver(&self, request: Deliver) -> WorldResult<Vec<Delivered>> {
        desk::ask(&self.desk, DeskJob::Deliver, request).await
    }

    async fn claim_runs(&self, request: ClaimRuns) -> WorldResult<ClaimedRuns> {
        claims::claim_runs(self.counter(&self.run_fronts), self.time.param(), request).await
    }

    async fn find_due(&self, request: FindDue) -> WorldResult<FoundDue> {
        claims::find_due(&self.claims, &self.woken, self.time.param(), request).await
    }

    async fn claim_tasks(&self, request: ClaimTasks) -> WorldResult<ClaimedTasks> {
        claims::claim_tasks(self.counter(&self.task_fronts), self.time.param(), request).await
    }

    async fn commit(&self, request: Arc<Commit>) -> WorldResult<Committed> {
        commit::commit(&self.commits, &self.time, request).await
    }

    async fn finish_tasks(&self, request: FinishTasks) -> WorldResult<Vec<Finish>> {
        desk::ask(&self.finishes, DeskJob::Finish, request).await
    }

    async fn extend(&self, request: Extend) -> WorldResult<Extended> {
        beats::extend(&self.claims, self.time.param(), self.lock_key, request).await
    }

    async fn control(&self, request: ControlRequest) -> WorldResult<Controlled> {
        let (now, request) = (self.time.param(), Arc::new(request));
        let work = move |session: Arc<super::link::Session>| {
            let request = request.clone();
            async move { control::control(&session, now, &request).await }
        };
        let (done, hint) = self.office.run(work).await?;
        self.hints.send(hint);
        Ok(done)
    }

    async fn put_blob(&self, tenant: &TenantId, blob: &BlobRef, content: &[u8]) -> WorldResult<()> {
        if BlobRef::of(content) != *blob {
            return Err(WorldError::Invalid(format!("the content is not that of {}", blob.hash)));
        }
        let params: &[super::link::Param<'_>] =
            &[&blob.hash, &tenant.as_str(), &blob_codec::pack(content), &self.time.param()];
        self.reader.query(sql::PUT_BLOB, params).await.map(|_| ())
    }

    async fn read_blob(&self, tenant: &TenantId, blob: &BlobRef) -> WorldResult<Arc<[u8]>> {
        let rows = self.reader.query(sql::READ_BLOB, &[&blob.hash, &tenant.as_str()]).await?;
        let row = rows.first().ok_or_else(|| WorldError::NotFound(format!("blob {}", blob.hash)))?;
        blob_codec::unpack(blob, row.get(0))
    }

    fn wakeups(&self) -> Wakeups {
        self.hints.subscribe()
    }

    fn storm_line(&self) -> usize {
        STORM_LINE
    }

    async fn upkeep(&self, request: Upkeep) -> WorldResult<UpkeepReport> {
        let now = self.time.param();
        let changed = match request {
            Upkeep::Sweep { runs, tasks } => return self.sweep(runs, tasks).await,
            Upkeep::FindStuck { idle, limit } => {
                return upkeep::find_stuck(&self.looks, now, (idle, limit)).await;
            }
            Upkeep::MarkUnserved { idle, limit } => {
                return upkeep::mark_unserved(&self.looks, now, (idle, limit)).await;
            }
            Upkeep::DueSchedules { limit } => return upkeep::due_schedules(&self.rounds, now, limit).await,
            Upkeep::Retain { keep, keep_failed, limit } => {
                retain::retain(&self.office, now, (keep, keep_failed), limit).await?
            }
            Upkeep::Prepare => retain::prepare(&self.office, now).await?,
            Upkeep::CollectBlobs { grace, limit } => blobs::collect(&self.archive, now, grace, limit).await?,
        };
        Ok(UpkeepReport { changed, ..upkeep::glance(&self.rounds, now).await? })
    }
}

impl PostgresWorld {
    fn counter<'a>(&'a self, fronts: &'a Fronts) -> claims::Counter<'a> {
        claims::Counter { claims: &self.claims, rounds: &self.rounds, fronts }
    }

    async fn sweep(&self, runs: usize, tasks: usize) -> WorldResult<UpkeepReport> {
        let swept = upkeep::sweep(
            &self.rounds,
            &self.time,
            &self.hints,
            (&self.watermark, &self.storm, &self.patience, &self.ready),
            (runs, tasks),
        )
        .await?;
        if let Some(since) = swept.runs_since {
            self.run_fronts.lower(since);
        }
        if let Some(since) = swept.tasks_since {
            self.task_fronts.lower(since);
        }
        let upkeep::Swept { mut report, unwanted, .. } = swept;
        let looked_too_early = !unwanted.is_empty();
        for (tenant, task) in unwanted {
            let request =
                ControlRequest { tenant, actor: Actor::system(), control: Control::CancelTask { task } };
            match self.control(request).await {
                // Somebody else took care of it.
                Ok(_) | Err(WorldError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        // A freed task that was cancelled is not ready, but the run it answered to may be.
        if looked_too_early {
            let seen = upkeep::glance(&self.rounds, self.time.param()).await?;
            (report.runs_ready, report.tasks_ready) = (seen.runs_ready, seen.tasks_ready);
        }
        Ok(report)
    }
}
