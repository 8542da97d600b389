//! The handle: opens the database, and passes each method of the contract to the writer or a reader.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rhythm_core::event::Event;
use rhythm_core::{BlobRef, CommandId, RunId, TaskId, TenantId, Timestamp};
use rhythm_engine::world::*;
use rhythm_graph::NodeType;

use super::clock::WorldClock;
use super::connect::{Access, Place};
use super::liveness::{self, Mark, Marks};
use super::readers::Readers;
use super::tx::Handle;
use super::write_queue::WriteQueue;
use super::writer::Writer;
use super::{
    artifacts, claim_runs, claim_tasks, commit, connect, control, definitions, heartbeat, inbox, records,
    runs, schema, tasks, upkeep,
};
use crate::blob_codec;
use crate::clock_jump::ClockJumpGuard;

/// Runs, and tasks, that become ready or are woken up together during a timer burst. Few, because a
/// transaction has a small fixed cost, and other requests wait for the one under way.
const TIMER_BATCH_SIZE: usize = 16;

/// Options for opening a database.
pub struct SqliteOptions {
    /// Replaces the host's clock.
    pub clock: Option<Arc<dyn Clock>>,
    /// Applies pending migrations; otherwise an older schema is refused.
    pub auto_migrate: bool,
    /// Only look: nothing is created, brought up to date or written, and what would write is refused. A copy nobody may
    /// write to can be read, too.
    pub reading: bool,
    /// How long to wait for other processes before answering that the database is locked.
    pub busy_timeout: Duration,
    /// Largest size of the file. Requests that need more room fail as on a full disk.
    pub max_bytes: Option<u64>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            clock: None,
            auto_migrate: true,
            reading: false,
            busy_timeout: Duration::from_secs(10),
            max_bytes: None,
        }
    }
}

/// A handle on one SQLite database. Dropping it ends its writer, and removes the mark that shows it is alive.
pub struct SqliteWorld {
    writer: Writer,
    readers: Arc<Readers>,
    handle: Arc<Handle>,
    wakeups: Arc<WakeupSenders>,
    // Last: others may take this handle for dead only when it cannot write any more.
    _mark: Option<Mark>,
}

impl SqliteWorld {
    /// Opens the file at `path`, and creates it and its folder if needed. `:memory:` opens a database of this
    /// process only. Fails if the file cannot be opened or its schema does not fit this build.
    pub fn open(path: impl AsRef<Path>, options: SqliteOptions) -> WorldResult<Self> {
        let place = Place::of(path.as_ref());
        if options.reading && matches!(place, Place::File(_)) {
            return Self::open_to_read(place, options);
        }
        let access = match (&place, options.auto_migrate) {
            (Place::File(file), false) if !file.exists() => {
                return Err(WorldError::OldSchema { found: 0, needed: schema::known() });
            }
            (Place::File(_), false) => Access::Write,
            _ => Access::Create,
        };
        place.prepare()?;
        let mut connection = place.connect(access, options.busy_timeout)?;
        schema::ensure(&mut connection, options.auto_migrate)?;
        if let Some(bytes) = options.max_bytes {
            connect::limit(&connection, bytes)?;
        }
        let mark = Mark::set(&place)?;
        let handle = Arc::new(Handle {
            id: mark.handle.clone(),
            marks: Marks::of(&place),
            clock: WorldClock::new(options.clock),
            patience: ClockJumpGuard::default(),
        });
        let wakeups = Arc::new(WakeupSenders::default());
        let writer = Writer::start(connection, WriteQueue::of(&place), handle.clone(), wakeups.clone())?;
        let readers = Readers::new(place, options.busy_timeout);
        Ok(Self { writer, readers, handle, wakeups, _mark: Some(mark) })
    }

    /// Leaves no mark: it takes no part, and the folder may be somebody else's.
    fn open_to_read(place: Place, options: SqliteOptions) -> WorldResult<Self> {
        if matches!(&place, Place::File(file) if !file.exists()) {
            return Err(WorldError::NoFile(place.to_string()));
        }
        let connection = place.connect(Access::Read, options.busy_timeout)?;
        schema::ensure_known(&connection)?;
        let handle = Arc::new(Handle {
            id: liveness::fresh_id(),
            marks: Marks::of(&place),
            clock: WorldClock::new(options.clock),
            patience: ClockJumpGuard::default(),
        });
        let writer = Writer::absent(&connection, &handle, &place.to_string())?;
        let readers = Readers::new(place, options.busy_timeout);
        Ok(Self { writer, readers, handle, wakeups: Arc::default(), _mark: None })
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(super::sql::Sql<'_>) -> WorldResult<T> + Send + 'static,
    ) -> WorldResult<T> {
        self.writer.check()?;
        self.readers.read(read).await
    }
}

#[async_trait]
impl World for SqliteWorld {
    async fn now(&self) -> WorldResult<Timestamp> {
        self.writer.check()?;
        Ok(self.handle.clock.now())
    }

    async fn register(&self, request: Register) -> WorldResult<()> {
        self.writer.write(move |tx| definitions::register(tx, &request)).await
    }

    async fn definition(&self, request: DefinitionQuery) -> WorldResult<Option<Definition>> {
        self.read(move |sql| definitions::find(sql, &request)).await
    }

    async fn create_runs(&self, request: CreateRuns) -> WorldResult<Vec<Creation>> {
        request.check()?;
        self.writer.write(move |tx| runs::create_runs(tx, &request)).await
    }

    async fn enqueue_tasks(&self, request: EnqueueTasks) -> WorldResult<Vec<Creation>> {
        self.writer.write(move |tx| tasks::enqueue_tasks(tx, &request)).await
    }

    async fn deliver(&self, request: Deliver) -> WorldResult<Vec<Delivered>> {
        self.writer.write(move |tx| inbox::deliver(tx, &request)).await
    }

    async fn claim_runs(&self, request: ClaimRuns) -> WorldResult<ClaimedRuns> {
        // A claimed run has no effect before its commit, and that commit flushes the claim too.
        self.writer.write_unsynced(move |tx| claim_runs::claim_runs(tx, &request)).await
    }

    async fn find_due(&self, request: FindDue) -> WorldResult<FoundDue> {
        let now = self.handle.clock.now();
        self.read(move |sql| claim_runs::find_due(sql, now, &request)).await
    }

    async fn claim_tasks(&self, request: ClaimTasks) -> WorldResult<ClaimedTasks> {
        self.writer.write(move |tx| claim_tasks::claim_tasks(tx, &request)).await
    }

    async fn commit(&self, request: Arc<Commit>) -> WorldResult<Committed> {
        self.writer.write(move |tx| commit::commit(tx, &request)).await
    }

    async fn finish_tasks(&self, request: FinishTasks) -> WorldResult<Vec<Finish>> {
        self.writer.write(move |tx| tasks::finish_tasks(tx, &request)).await
    }

    async fn extend(&self, request: Extend) -> WorldResult<Extended> {
        self.writer.write(move |tx| heartbeat::extend(tx, &request)).await
    }

    async fn control(&self, request: ControlRequest) -> WorldResult<Controlled> {
        self.writer.write(move |tx| control::control(tx, &request)).await
    }

    async fn put_blob(&self, tenant: &TenantId, blob: &BlobRef, content: &[u8]) -> WorldResult<()> {
        if BlobRef::of(content) != *blob {
            return Err(WorldError::Invalid(format!("the content is not that of {}", blob.hash)));
        }
        let (tenant, blob, packed) = (tenant.clone(), blob.clone(), blob_codec::pack(content));
        self.writer.write(move |tx| definitions::put_blob(tx, &tenant, &blob, &packed)).await
    }

    async fn read_blob(&self, tenant: &TenantId, blob: &BlobRef) -> WorldResult<Arc<[u8]>> {
        let (tenant, blob) = (tenant.clone(), blob.clone());
        self.read(move |sql| definitions::read_blob(sql, &tenant, &blob)).await
    }

    fn wakeups(&self) -> Wakeups {
        self.writer.listen();
        self.wakeups.subscribe()
    }

    fn timer_batch_size(&self) -> usize {
        TIMER_BATCH_SIZE
    }

    async fn upkeep(&self, request: Upkeep) -> WorldResult<UpkeepReport> {
        let (now, mut found) = (self.handle.clock.now(), upkeep::Found::default());
        match request {
            Upkeep::FindStuck { idle, limit } => {
                found.stuck = self.read(move |sql| upkeep::stuck_candidates(sql, now, idle, limit)).await?;
            }
            Upkeep::MarkUnserved { idle, .. } => {
                found.waiting = self.read(move |sql| upkeep::waiting_kinds(sql, now, idle)).await?;
            }
            Upkeep::CollectBlobs { grace, limit } => {
                found.blobs = self.read(move |sql| upkeep::look_at_blobs(sql, now, grace, limit)).await?;
            }
            // Work that a power failure takes back is due again, and a later commit that acts on it flushes
            // the sweep too.
            Upkeep::Sweep { .. } => {
                return self.writer.write_unsynced(move |tx| upkeep::upkeep(tx, &request, &found)).await;
            }
            _ => {}
        }
        self.writer.write(move |tx| upkeep::upkeep(tx, &request, &found)).await
    }
}

#[async_trait]
impl Records for SqliteWorld {
    async fn list_runs(&self, query: RunQuery) -> WorldResult<Page<RunSummary>> {
        self.read(move |sql| records::list_runs(sql, &query)).await
    }

    async fn picture(&self, tenant: &TenantId, run: &RunId) -> WorldResult<Option<Picture>> {
        let (tenant, run) = (tenant.clone(), run.clone());
        self.read(move |sql| records::picture(sql, &tenant, &run)).await
    }

    async fn history(&self, query: HistoryQuery) -> WorldResult<Vec<Event>> {
        self.read(move |sql| records::history(sql, &query)).await
    }

    async fn attempts(&self, tenant: &TenantId, run: &RunId) -> WorldResult<Vec<AttemptRow>> {
        let (tenant, run) = (tenant.clone(), run.clone());
        self.read(move |sql| records::attempts(sql, &tenant, &run)).await
    }

    async fn list_tasks(&self, query: TaskQuery) -> WorldResult<Page<TaskSummary>> {
        self.read(move |sql| records::list_tasks(sql, &query)).await
    }

    async fn task(&self, tenant: &TenantId, task: &TaskId) -> WorldResult<Option<TaskSummary>> {
        let (tenant, task) = (tenant.clone(), task.clone());
        self.read(move |sql| records::task(sql, &tenant, &task)).await
    }

    async fn list_dead(&self, query: DeadQuery) -> WorldResult<Page<DeadLetter>> {
        self.read(move |sql| records::list_dead(sql, &query)).await
    }

    async fn list_approvals(&self, query: ApprovalQuery) -> WorldResult<Page<ApprovalRow>> {
        self.read(move |sql| records::list_approvals(sql, &query)).await
    }

    async fn approval(
        &self,
        tenant: &TenantId,
        run: &RunId,
        approval: CommandId,
    ) -> WorldResult<Option<ApprovalRow>> {
        let (tenant, run) = (tenant.clone(), run.clone());
        self.read(move |sql| records::approval(sql, &tenant, &run, approval)).await
    }

    async fn workers(&self, tenant: &TenantId) -> WorldResult<Vec<WorkerRow>> {
        let (tenant, handle) = (tenant.clone(), self.handle.clone());
        self.read(move |sql| records::workers(sql, &handle, &tenant)).await
    }

    async fn queues(&self, tenant: &TenantId) -> WorldResult<Vec<QueueRow>> {
        let (tenant, handle) = (tenant.clone(), self.handle.clone());
        self.read(move |sql| records::queues(sql, &handle, &tenant)).await
    }

    async fn ready_work(&self, tenant: &TenantId) -> WorldResult<Vec<ReadyWork>> {
        let (tenant, now) = (tenant.clone(), self.handle.clock.now());
        self.read(move |sql| records::ready_work(sql, now, &tenant)).await
    }

    async fn schedules(&self, tenant: &TenantId) -> WorldResult<Vec<Schedule>> {
        let tenant = tenant.clone();
        self.read(move |sql| records::schedules(sql, &tenant)).await
    }

    async fn node_types(&self, tenant: &TenantId) -> WorldResult<Vec<NodeType>> {
        let tenant = tenant.clone();
        self.read(move |sql| records::node_types(sql, &tenant)).await
    }

    async fn workflows(&self, tenant: &TenantId) -> WorldResult<Vec<WorkflowRow>> {
        let tenant = tenant.clone();
        self.read(move |sql| records::workflows(sql, &tenant)).await
    }

    async fn versions(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<VersionRow>> {
        let (tenant, workflow) = (tenant.clone(), workflow.to_owned());
        self.read(move |sql| records::versions(sql, &tenant, &workflow)).await
    }

    async fn version_numbers(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<NumberedVersion>> {
        let (tenant, workflow) = (tenant.clone(), workflow.to_owned());
        self.read(move |sql| artifacts::version_numbers(sql, &tenant, &workflow)).await
    }

    async fn artifacts(&self, tenant: &TenantId) -> WorldResult<Vec<ArtifactRow>> {
        let tenant = tenant.clone();
        self.read(move |sql| artifacts::all(sql, &tenant)).await
    }

    async fn tags(&self, tenant: &TenantId) -> WorldResult<Vec<TagMove>> {
        let tenant = tenant.clone();
        self.read(move |sql| artifacts::tags(sql, &tenant)).await
    }

    async fn tag_history(&self, tenant: &TenantId, tag: &str, limit: usize) -> WorldResult<Vec<TagMove>> {
        let (tenant, tag) = (tenant.clone(), tag.to_owned());
        self.read(move |sql| artifacts::tag_history(sql, &tenant, &tag, limit)).await
    }

    async fn workflow_patches(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<WorkflowPatch>> {
        let (tenant, workflow) = (tenant.clone(), workflow.to_owned());
        self.read(move |sql| artifacts::workflow_patches(sql, &tenant, &workflow)).await
    }

    async fn damage(&self, query: DamageQuery) -> WorldResult<Page<Damage>> {
        self.read(move |sql| records::damage(sql, &query)).await
    }

    async fn health(&self) -> WorldResult<Health> {
        self.read(records::health).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::super::tx::Tx;
    use super::*;

    /// SQLite's numbers: with the first a commit waits for the disk, with the second it does not.
    const WAITS: i64 = 2;
    const DOES_NOT_WAIT: i64 = 1;

    fn level(tx: &Tx<'_>) -> WorldResult<i64> {
        tx.number("PRAGMA synchronous", [])
    }

    fn world() -> (tempfile::TempDir, SqliteWorld) {
        let folder = tempfile::tempdir().unwrap();
        let world = SqliteWorld::open(folder.path().join("a.db"), SqliteOptions::default()).unwrap();
        (folder, world)
    }

    #[tokio::test]
    async fn what_must_be_kept_waits_for_the_disk_whatever_came_before_it() {
        let (_folder, world) = world();
        for _ in 0..2 {
            assert_eq!(world.writer.write_unsynced(level).await, Ok(DOES_NOT_WAIT));
            assert_eq!(world.writer.write(level).await, Ok(WAITS));
        }
    }

    #[tokio::test]
    async fn what_shares_a_transaction_with_something_that_must_be_kept_waits_with_it() {
        let (_folder, world) = world();
        let gathered = Arc::new(Barrier::new(2));
        let held = gathered.clone();
        let busy = world.writer.write(move |_| {
            held.wait();
            Ok(())
        });
        let (_, unsynced, synced, ()) = tokio::join!(
            busy,
            world.writer.write_unsynced(level),
            world.writer.write(level),
            // The other requests have been sent by now, and wait for the writer together.
            async {
                gathered.wait();
            }
        );
        assert_eq!((unsynced, synced), (Ok(WAITS), Ok(WAITS)));
    }
}
