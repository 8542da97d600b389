//! A handle on a PostgreSQL world: its connections, and which one serves which call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::future::try_join_all;
use rhythm_core::{Actor, BlobRef, TenantId, Timestamp, Version};
use rhythm_engine::world::*;

use crate::blob_codec;
use crate::clock_jump::ClockJumpGuard;
use crate::postgres::claim::claims;
use crate::postgres::claim::heartbeat;
use crate::postgres::claim::ready_cursor;
use crate::postgres::claim::ready_cursor::ReadyCursor;
use crate::postgres::claim::timer_cursor::TimerCursor;
use crate::postgres::commit::blobs;
use crate::postgres::commit::queue;
use crate::postgres::commit::queue::CommitWork;
use crate::postgres::connection::batch_queue::BatchQueue;
use crate::postgres::connection::connect::{Dial, Purpose};
use crate::postgres::connection::duty_route::DutyRoute;
use crate::postgres::connection::layout::{self, Layout};
use crate::postgres::connection::liveness::Liveness;
use crate::postgres::connection::reconnecting::{ReconnectingClient, full_jitter, random};
use crate::postgres::connection::request_batcher;
use crate::postgres::connection::request_batcher::{RequestBatcher, RequestJob};
use crate::postgres::connection::shared::Vital;
use crate::postgres::connection::transactions::Transactions;
use crate::postgres::connection::wakeups::WakeupHints;
use crate::postgres::operate::control;
use crate::postgres::read::rows::{small, workflow_kind};
use crate::postgres::sql;
use crate::postgres::sweep::clock::Time;
use crate::postgres::sweep::expiry_cursor::ExpiryCursor;
use crate::postgres::sweep::retention;
use crate::postgres::sweep::upkeep;
use crate::postgres::sweep::upkeep::CachedCount;

/// Retries while opening. Few, so that a wrong server is reported soon.
const TRIES: u32 = 3;
const OPENING: Duration = Duration::from_secs(2);

/// Runs, and tasks, that become ready or are woken up together during a timer burst. A commit has a fixed
/// cost, and other requests run beside it: a smaller number would hardly shorten their wait.
const TIMER_BATCH_SIZE: usize = 32;

/// Options for opening a world.
#[derive(Clone)]
pub struct PostgresOptions {
    /// Replaces the database's clock, for tests.
    pub clock: Option<Arc<dyn Clock>>,
    /// Applies pending migrations; otherwise an older schema is refused.
    pub auto_migrate: bool,
    /// Number of batches of transitions under way at once.
    pub lanes: usize,
    /// Number of connections, unless the URL sets it.
    pub connections: Option<usize>,
    /// Idle time after which the connection for slow statements is closed.
    pub idle: Duration,
    /// Server time above which a scan for ready work counts as slow; the next ones then begin at a cursor
    /// (`ready_cursor.rs`).
    pub cheap_look: Duration,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            clock: None,
            auto_migrate: true,
            lanes: 3,
            connections: None,
            idle: layout::IDLE,
            cheap_look: ready_cursor::CHEAP,
        }
    }
}

/// A handle on a PostgreSQL world. The workers registered through it count as alive only while it exists.
pub struct PostgresWorld {
    /// Slow statements: reads, retention, full scans.
    pub(super) reader: ReconnectingClient,
    pub(super) time: Arc<Time>,
    hints: Arc<WakeupHints>,
    commits: Vec<BatchQueue<queue::Job>>,
    /// New runs, tasks and messages.
    desk: BatchQueue<RequestJob>,
    finishes: BatchQueue<RequestJob>,
    claims: ReconnectingClient,
    /// For sweeps and claims that dead tuples make slow.
    slow: ReconnectingClient,
    beats: ReconnectingClient,
    sweeps: DutyRoute,
    looks: DutyRoute,
    run_fronts: ReadyCursor,
    task_fronts: ReadyCursor,
    transactions: Transactions,
    archive: Transactions,
    expiry_cursor: ExpiryCursor,
    storm: TimerCursor,
    /// Like `storm`, for `find_due`, which skips timers that only sweeps may fire.
    woken: TimerCursor,
    ready: CachedCount,
    patience: ClockJumpGuard,
    lock_key: i64,
    _pulse: Liveness,
}

impl PostgresWorld {
    /// Opens a world. Retries a few times within 2 s if the server is unavailable or full, so that a session
    /// the server ends while opening does not fail the start. Other errors are returned at once.
    pub async fn connect(url: &str, options: PostgresOptions) -> WorldResult<Self> {
        let dial = Dial::parse(url)?;
        let (began, mut tries) = (Instant::now(), 0);
        loop {
            match Self::open(dial.clone(), options.clone()).await {
                Err(WorldError::Unavailable(_) | WorldError::Crowded(_))
                    if tries < TRIES && began.elapsed() < OPENING =>
                {
                    tokio::time::sleep(full_jitter(tries)).await;
                    tries += 1;
                }
                opened => return opened,
            }
        }
    }

    async fn open(dial: Dial, options: PostgresOptions) -> WorldResult<Self> {
        let time = Arc::new(Time::new(options.clock));
        let hints = Arc::new(WakeupHints::default());
        // Positive, and apart from the small numbers that other programs lock.
        let lock_key = (random() >> 2) as i64 | 1 << 40;
        let count = dial.connections().or(options.connections).unwrap_or(layout::CONNECTIONS);
        let layout = Layout::new(&dial, count, Vital { key: lock_key, hints: hints.clone() }, options.idle);
        layout.vital.start(Some(options.auto_migrate)).await?;
        try_join_all(layout.steady.iter().map(|connection| connection.start(None))).await?;
        let pulse = Liveness::start(layout.vital, lock_key, hints.clone());
        let commit_work = Arc::new(CommitWork { time: time.clone(), hints: hints.clone() });
        let desk_work = Arc::new(RequestBatcher { time: time.clone(), hints: hints.clone() });
        let lanes = if options.lanes <= 1 { 1 } else { options.lanes.max(layout.commits.len()) };
        let commits = layout.commits.iter().cycle().take(lanes);
        Ok(Self {
            commits: commits.map(|link| BatchQueue::start(link.clone(), commit_work.clone())).collect(),
            desk: BatchQueue::start(layout.requests.clone(), desk_work.clone()),
            finishes: BatchQueue::start(layout.requests, desk_work),
            claims: layout.claims,
            slow: layout.slow.with(Purpose::Hot),
            beats: layout.beats,
            sweeps: DutyRoute::default(),
            looks: DutyRoute::default(),
            run_fronts: ReadyCursor::new(
                hints.clone(),
                Hint { runs: true, ..Hint::default() },
                options.cheap_look,
            ),
            task_fronts: ReadyCursor::new(
                hints.clone(),
                Hint { tasks: true, ..Hint::default() },
                options.cheap_look,
            ),
            transactions: Transactions::new(layout.control),
            archive: Transactions::new(layout.slow.clone()),
            reader: layout.slow,
            expiry_cursor: ExpiryCursor::default(),
            storm: TimerCursor::default(),
            woken: TimerCursor::default(),
            ready: CachedCount::default(),
            patience: ClockJumpGuard::default(),
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
            let params: &[crate::postgres::connection::reconnecting::Param<'_>] = &[
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
        let params: &[crate::postgres::connection::reconnecting::Param<'_>] =
            &[&request.tenant.as_str(), &request.workflow, &version];
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
        request.check()?;
        request_batcher::ask(&self.desk, RequestJob::Create, request).await
    }

    async fn enqueue_tasks(&self, request: EnqueueTasks) -> WorldResult<Vec<Creation>> {
        request_batcher::ask(&self.desk, RequestJob::Enqueue, request).await
    }

    async fn deliver(&self, request: Deliver) -> WorldResult<Vec<Delivered>> {
        request_batcher::ask(&self.desk, RequestJob::Deliver, request).await
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
        queue::commit(&self.commits, &self.time, request).await
    }

    async fn finish_tasks(&self, request: FinishTasks) -> WorldResult<Vec<Finish>> {
        request_batcher::ask(&self.finishes, RequestJob::Finish, request).await
    }

    async fn extend(&self, request: Extend) -> WorldResult<Extended> {
        heartbeat::extend(&self.beats, self.time.param(), self.lock_key, request).await
    }

    async fn control(&self, request: ControlRequest) -> WorldResult<Controlled> {
        let (now, request) = (self.time.param(), Arc::new(request));
        let work = move |session: crate::postgres::connection::session::Session| {
            let request = request.clone();
            async move { control::control(&session, now, &request).await }
        };
        let (done, hint) = self.transactions.run(work).await?;
        self.hints.send(hint);
        Ok(done)
    }

    async fn put_blob(&self, tenant: &TenantId, blob: &BlobRef, content: &[u8]) -> WorldResult<()> {
        if BlobRef::of(content) != *blob {
            return Err(WorldError::Invalid(format!("the content is not that of {}", blob.hash)));
        }
        let params: &[crate::postgres::connection::reconnecting::Param<'_>] =
            &[&blob.hash, &tenant.as_str(), &blob_codec::pack(content), &self.time.param()];
        self.claims.query(sql::PUT_BLOB, params).await.map(|_| ())
    }

    async fn read_blob(&self, tenant: &TenantId, blob: &BlobRef) -> WorldResult<Arc<[u8]>> {
        let rows = self.claims.query(sql::READ_BLOB, &[&blob.hash, &tenant.as_str()]).await?;
        let row = rows.first().ok_or_else(|| WorldError::NotFound(format!("blob {}", blob.hash)))?;
        blob_codec::unpack(blob, row.get(0))
    }

    fn wakeups(&self) -> Wakeups {
        self.hints.subscribe()
    }

    fn timer_batch_size(&self) -> usize {
        TIMER_BATCH_SIZE
    }

    async fn upkeep(&self, request: Upkeep) -> WorldResult<UpkeepReport> {
        let now = self.time.param();
        let changed = match request {
            Upkeep::Sweep { runs, tasks } => return self.sweep(runs, tasks).await,
            Upkeep::FindStuck { idle, limit } => {
                return upkeep::find_stuck(&self.reader, now, (idle, limit)).await;
            }
            Upkeep::MarkUnserved { idle, limit } => {
                let link = self.looks.link(&self.claims, &self.reader).await.with(Purpose::Plain);
                return self.looks.timed(upkeep::mark_unserved(&link, now, (idle, limit))).await;
            }
            Upkeep::DueSchedules { limit } => return upkeep::due_schedules(&self.claims, now, limit).await,
            Upkeep::Retain { keep, keep_failed, limit } => {
                retention::retain(&self.archive, now, (keep, keep_failed), limit).await?
            }
            Upkeep::Prepare => retention::prepare(&self.archive, now).await?,
            Upkeep::CollectBlobs { grace, limit } => blobs::collect(&self.archive, now, grace, limit).await?,
        };
        Ok(UpkeepReport { changed, ..upkeep::glance(&self.claims, now).await? })
    }
}

impl PostgresWorld {
    fn counter<'a>(&'a self, ready_cursor: &'a ReadyCursor) -> claims::Claimer<'a> {
        claims::Claimer { claims: &self.claims, slow: &self.slow, ready_cursor }
    }

    async fn sweep(&self, runs: usize, tasks: usize) -> WorldResult<UpkeepReport> {
        let link = self.sweeps.link(&self.claims, &self.slow).await;
        let swept = upkeep::sweep(
            &link,
            &self.time,
            &self.hints,
            (&self.expiry_cursor, &self.storm, &self.patience, &self.ready),
            (runs, tasks),
        );
        let swept = self.sweeps.timed(swept).await?;
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
                // The task is gone already.
                Ok(_) | Err(WorldError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        // A cancelled task is not ready, but the run that got its answer may be.
        if looked_too_early {
            let seen = upkeep::glance(&self.claims, self.time.param()).await?;
            (report.runs_ready, report.tasks_ready) = (seen.runs_ready, seen.tasks_ready);
        }
        Ok(report)
    }
}
