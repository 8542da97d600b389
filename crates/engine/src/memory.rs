//! The in-memory world: the readable reference of the contract, and the world of the simulator. Every method
//! is one critical section over plain maps; the submodules implement it, one file per area.

mod approvals;
mod artifacts;
mod blobs;
mod claims;
mod commit;
mod control;
mod deliver;
mod records;
mod state;
mod tasks;
mod upkeep;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use rhythm_core::event::Event;
use rhythm_core::{BlobRef, CommandId, RunId, TaskId, TenantId, Timestamp};
use rhythm_graph::NodeType;

use self::state::State;
use crate::world::*;

/// A handle on a world in this process. More handles share its data; dropping a handle simulates the death of
/// its process.
pub struct MemoryWorld {
    shared: Arc<Shared>,
    /// Identifies this handle's workers for the liveness check.
    id: u64,
}

struct Shared {
    state: Mutex<State>,
    clock: Option<Arc<dyn Clock>>,
    wakeups: WakeupSenders,
}

impl MemoryWorld {
    /// Creates an empty world. Without `clock`, it uses the host's clock.
    pub fn new(clock: Option<Arc<dyn Clock>>) -> Self {
        let shared = Arc::new(Shared { state: Mutex::default(), clock, wakeups: WakeupSenders::default() });
        Self::join(shared)
    }

    /// Returns another handle on the same data.
    pub fn handle(&self) -> Self {
        Self::join(self.shared.clone())
    }

    /// Removes those of the given blobs that nothing stored refers to, as if the collector had run twice. For
    /// tests of a collection between a put and its commit. Returns the number removed.
    pub fn take_unnamed(&self, tenant: &TenantId, hashes: &[String]) -> usize {
        self.transact(|state, _| state.tenant(tenant).take_unnamed(hashes))
    }

    fn join(shared: Arc<Shared>) -> Self {
        let id = lock(&shared).open_handle();
        Self { shared, id }
    }

    /// Runs one request: locks the state, reads the time, sends wake-ups afterwards.
    fn transact<T>(&self, request: impl FnOnce(&mut State, Timestamp) -> T) -> T {
        let mut state = lock(&self.shared);
        let now = state.advance_time(self.host_time());
        let answer = request(&mut state, now);
        let hint = std::mem::take(&mut state.hint);
        drop(state);
        self.shared.wakeups.send(hint);
        answer
    }

    fn host_time(&self) -> Timestamp {
        match &self.shared.clock {
            Some(clock) => clock.now(),
            None => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
            }
        }
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, State> {
    shared.state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for MemoryWorld {
    fn drop(&mut self) {
        lock(&self.shared).close_handle(self.id);
    }
}

#[async_trait]
impl World for MemoryWorld {
    async fn now(&self) -> WorldResult<Timestamp> {
        Ok(self.transact(|_, now| now))
    }

    async fn register(&self, request: Register) -> WorldResult<()> {
        self.transact(|state, now| state.tenant(&request.tenant).register(request.definitions, now));
        Ok(())
    }

    async fn definition(&self, request: DefinitionQuery) -> WorldResult<Option<Definition>> {
        Ok(self.transact(|state, _| {
            state.tenant(&request.tenant).definition(&request.workflow, request.version.as_ref())
        }))
    }

    async fn create_runs(&self, request: CreateRuns) -> WorldResult<Vec<Creation>> {
        request.check()?;
        Ok(self.transact(|state, now| {
            request.runs.into_iter().map(|run| state.create_run(&request.tenant, run, now)).collect()
        }))
    }

    async fn enqueue_tasks(&self, request: EnqueueTasks) -> WorldResult<Vec<Creation>> {
        Ok(self.transact(|state, now| {
            let tenant = &request.tenant;
            request.tasks.into_iter().map(|task| state.enqueue_task(tenant, task, now)).collect()
        }))
    }

    async fn deliver(&self, request: Deliver) -> WorldResult<Vec<Delivered>> {
        Ok(self.transact(|state, now| {
            let tenant = &request.tenant;
            request.deliveries.into_iter().map(|delivery| state.deliver(tenant, delivery, now)).collect()
        }))
    }

    async fn claim_runs(&self, request: ClaimRuns) -> WorldResult<ClaimedRuns> {
        Ok(self.transact(|state, now| ClaimedRuns { at: now, runs: state.claim_runs(&request, now) }))
    }

    async fn find_due(&self, request: FindDue) -> WorldResult<FoundDue> {
        Ok(self.transact(|state, now| FoundDue { at: now, runs: state.find_due(&request, now) }))
    }

    async fn claim_tasks(&self, request: ClaimTasks) -> WorldResult<ClaimedTasks> {
        Ok(self.transact(|state, now| state.claim_tasks(&request, now)))
    }

    async fn commit(&self, request: Arc<Commit>) -> WorldResult<Committed> {
        Ok(self.transact(|state, now| state.commit(Arc::unwrap_or_clone(request), now)))
    }

    async fn finish_tasks(&self, request: FinishTasks) -> WorldResult<Vec<Finish>> {
        Ok(self.transact(|state, now| {
            let FinishTasks { tenant, worker, finished } = request;
            finished.into_iter().map(|task| state.finish(&tenant, &worker, task, now)).collect()
        }))
    }

    async fn extend(&self, request: Extend) -> WorldResult<Extended> {
        Ok(self.transact(|state, now| state.extend(request, self.id, now)))
    }

    async fn control(&self, request: ControlRequest) -> WorldResult<Controlled> {
        self.transact(|state, now| state.control(request, now))
    }

    async fn put_blob(&self, tenant: &TenantId, blob: &BlobRef, content: &[u8]) -> WorldResult<()> {
        if BlobRef::of(content) != *blob {
            return Err(WorldError::Invalid(format!("the content is not that of {}", blob.hash)));
        }
        self.transact(|state, now| state.tenant(tenant).put_blob(&blob.hash, content, now));
        Ok(())
    }

    async fn read_blob(&self, tenant: &TenantId, blob: &BlobRef) -> WorldResult<Arc<[u8]>> {
        self.transact(|state, _| state.tenant(tenant).read_blob(&blob.hash))
            .ok_or_else(|| WorldError::NotFound(format!("blob {}", blob.hash)))
    }

    fn wakeups(&self) -> Wakeups {
        self.shared.wakeups.subscribe()
    }

    // Requests are almost free here; only the pause between sweeps takes time.
    fn timer_batch_size(&self) -> usize {
        50
    }

    async fn upkeep(&self, request: Upkeep) -> WorldResult<UpkeepReport> {
        Ok(self.transact(|state, now| state.upkeep(&request, now)))
    }
}

#[async_trait]
impl Records for MemoryWorld {
    async fn list_runs(&self, query: RunQuery) -> WorldResult<Page<RunSummary>> {
        self.transact(|state, _| state.tenant(&query.tenant).list_runs(&query))
    }

    async fn picture(&self, tenant: &TenantId, run: &RunId) -> WorldResult<Option<Picture>> {
        Ok(self.transact(|state, _| state.tenant(tenant).picture(run)))
    }

    async fn history(&self, query: HistoryQuery) -> WorldResult<Vec<Event>> {
        Ok(self.transact(|state, _| {
            let events = state.tenant(&query.tenant).events.get(&query.run).cloned().unwrap_or_default();
            events.into_iter().filter(|event| event.seq > query.after).take(query.limit).collect()
        }))
    }

    async fn attempts(&self, tenant: &TenantId, run: &RunId) -> WorldResult<Vec<AttemptRow>> {
        Ok(self.transact(|state, _| {
            let tenant = state.tenant(tenant);
            let of_run = tenant.attempts.iter().filter(|attempt| attempt.run.as_ref() == Some(run));
            of_run.map(|attempt| attempt.row.clone()).collect()
        }))
    }

    async fn list_tasks(&self, query: TaskQuery) -> WorldResult<Page<TaskSummary>> {
        self.transact(|state, _| state.tenant(&query.tenant).list_tasks(&query))
    }

    async fn task(&self, tenant: &TenantId, task: &TaskId) -> WorldResult<Option<TaskSummary>> {
        Ok(self.transact(|state, _| state.tenant(tenant).task_summary(task)))
    }

    async fn list_dead(&self, query: DeadQuery) -> WorldResult<Page<DeadLetter>> {
        self.transact(|state, _| state.tenant(&query.tenant).list_dead(&query))
    }

    async fn list_approvals(&self, query: ApprovalQuery) -> WorldResult<Page<ApprovalRow>> {
        self.transact(|state, _| state.tenant(&query.tenant).list_approvals(&query))
    }

    async fn approval(
        &self,
        tenant: &TenantId,
        run: &RunId,
        approval: CommandId,
    ) -> WorldResult<Option<ApprovalRow>> {
        Ok(self.transact(|state, _| {
            let mut found = state.tenant(tenant).approvals_of(run).into_iter();
            found.find(|(_, row)| row.approval == approval).map(|(_, row)| row)
        }))
    }

    async fn workers(&self, tenant: &TenantId) -> WorldResult<Vec<WorkerRow>> {
        Ok(self.transact(|state, now| state.worker_rows(tenant, now)))
    }

    async fn queues(&self, tenant: &TenantId) -> WorldResult<Vec<QueueRow>> {
        Ok(self.transact(|state, now| state.queue_rows(tenant, now)))
    }

    async fn ready_work(&self, tenant: &TenantId) -> WorldResult<Vec<ReadyWork>> {
        Ok(self.transact(|state, now| state.tenant(tenant).ready_work(now)))
    }

    async fn schedules(&self, tenant: &TenantId) -> WorldResult<Vec<Schedule>> {
        Ok(self.transact(|state, _| state.tenant(tenant).schedules.values().cloned().collect()))
    }

    async fn node_types(&self, tenant: &TenantId) -> WorldResult<Vec<NodeType>> {
        Ok(self.transact(|state, _| state.tenant(tenant).node_types.values().cloned().collect()))
    }

    async fn workflows(&self, tenant: &TenantId) -> WorldResult<Vec<WorkflowRow>> {
        Ok(self.transact(|state, _| state.tenant(tenant).workflow_rows()))
    }

    async fn versions(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<VersionRow>> {
        Ok(self.transact(|state, _| state.tenant(tenant).version_rows(workflow)))
    }

    async fn version_numbers(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<NumberedVersion>> {
        Ok(self.transact(|state, _| state.tenant(tenant).version_numbers(workflow)))
    }

    async fn artifacts(&self, tenant: &TenantId) -> WorldResult<Vec<ArtifactRow>> {
        Ok(self.transact(|state, _| state.tenant(tenant).artifact_rows()))
    }

    async fn tags(&self, tenant: &TenantId) -> WorldResult<Vec<TagMove>> {
        Ok(self.transact(|state, _| state.tenant(tenant).tag_rows()))
    }

    async fn tag_history(&self, tenant: &TenantId, tag: &str, limit: usize) -> WorldResult<Vec<TagMove>> {
        Ok(self.transact(|state, _| state.tenant(tenant).tag_moves(tag, limit)))
    }

    async fn workflow_patches(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<WorkflowPatch>> {
        Ok(self.transact(|state, _| {
            state.tenant(tenant).workflow_patches.get(workflow).cloned().unwrap_or_default()
        }))
    }

    // Nothing is ever on disk.
    async fn damage(&self, _query: DamageQuery) -> WorldResult<Page<Damage>> {
        Ok(Page { rows: Vec::new(), next: None })
    }

    async fn health(&self) -> WorldResult<Health> {
        Ok(self.transact(|state, _| state.health()))
    }
}
