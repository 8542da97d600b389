//! A world wrapper that writes and then reports failure, to simulate a lost answer where there is no network.
//! It is configured by the environment, so worker and client processes need no extra option.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use rhythm::Event;
use rhythm_core::{BlobRef, CommandId, RunId, TaskId, TenantId, Timestamp};
use rhythm_engine::world::*;
use rhythm_graph::NodeType;

use crate::lost_acks::{BEATS, CALLS, CLAIMS, Losses, OTHERS, RESULTS, TRANSITIONS};

const CHANCE: &str = "RHYTHM_LAB_FORGETS";
const TALLY: &str = "RHYTHM_LAB_FORGOTTEN";

/// Returns the environment for this wrapper: the probability of losing an answer, and a file that gets one
/// byte per loss. The byte tells the kind of loss.
pub fn environment(chance: f64, tally: &Path) -> Vec<(String, String)> {
    vec![(CHANCE.into(), chance.to_string()), (TALLY.into(), tally.display().to_string())]
}

/// Wraps the world when the environment asks for it.
pub fn from_environment(world: Arc<dyn World>) -> Result<Arc<dyn World>, Box<dyn std::error::Error>> {
    let (Ok(chance), Ok(tally)) = (std::env::var(CHANCE), std::env::var(TALLY)) else { return Ok(world) };
    let tally = OpenOptions::new().create(true).append(true).open(tally)?;
    Ok(Arc::new(Forgetful { inner: world, chance: chance.parse()?, tally }))
}

/// Kinds of losses with their bytes in the file.
const KINDS: &[(u8, &str)] =
    &[(b't', TRANSITIONS), (b'r', RESULTS), (b'c', CALLS), (b'h', CLAIMS), (b'b', BEATS), (b'o', OTHERS)];

/// Returns the losses recorded in the file so far.
pub fn lost(tally: &Path) -> Losses {
    let bytes = std::fs::read(tally).unwrap_or_default();
    let count = |byte: u8| bytes.iter().filter(|of| **of == byte).count() as u64;
    KINDS.iter().map(|(byte, kind)| (*kind, count(*byte))).collect()
}

struct Forgetful {
    inner: Arc<dyn World>,
    chance: f64,
    tally: File,
}

impl Forgetful {
    /// Loses an answer with the configured probability, but only a successful one.
    fn pass<T>(&self, kind: &str, answer: WorldResult<T>) -> WorldResult<T> {
        let byte = KINDS.iter().find(|(_, name)| *name == kind).map(|(byte, _)| *byte);
        let Some(byte) = byte.filter(|_| answer.is_ok() && fastrand::f64() < self.chance) else {
            return answer;
        };
        // A loss that could not be recorded must not happen, or the counts would be wrong.
        match (&self.tally).write_all(&[byte]) {
            Ok(()) => Err(WorldError::Unavailable("the answer was lost".into())),
            Err(_) => answer,
        }
    }
}

#[async_trait]
impl World for Forgetful {
    async fn now(&self) -> WorldResult<Timestamp> {
        self.inner.now().await
    }
    async fn register(&self, request: Register) -> WorldResult<()> {
        self.pass(OTHERS, self.inner.register(request).await)
    }
    async fn definition(&self, request: DefinitionQuery) -> WorldResult<Option<Definition>> {
        self.inner.definition(request).await
    }
    async fn create_runs(&self, request: CreateRuns) -> WorldResult<Vec<Creation>> {
        self.pass(CALLS, self.inner.create_runs(request).await)
    }
    async fn enqueue_tasks(&self, request: EnqueueTasks) -> WorldResult<Vec<Creation>> {
        self.pass(CALLS, self.inner.enqueue_tasks(request).await)
    }
    async fn deliver(&self, request: Deliver) -> WorldResult<Vec<Delivered>> {
        self.pass(CALLS, self.inner.deliver(request).await)
    }
    async fn claim_runs(&self, request: ClaimRuns) -> WorldResult<ClaimedRuns> {
        let claimed = self.inner.claim_runs(request).await?;
        if claimed.runs.is_empty() { Ok(claimed) } else { self.pass(CLAIMS, Ok(claimed)) }
    }
    async fn find_due(&self, request: FindDue) -> WorldResult<FoundDue> {
        self.inner.find_due(request).await
    }
    async fn claim_tasks(&self, request: ClaimTasks) -> WorldResult<ClaimedTasks> {
        let claimed = self.inner.claim_tasks(request).await?;
        if claimed.tasks.is_empty() { Ok(claimed) } else { self.pass(CLAIMS, Ok(claimed)) }
    }
    async fn commit(&self, request: Arc<Commit>) -> WorldResult<Committed> {
        let committed = self.inner.commit(request).await?;
        let wrote = committed.outcomes.iter().any(|outcome| matches!(outcome, CommitOutcome::Done(_)));
        self.pass(if wrote { TRANSITIONS } else { OTHERS }, Ok(committed))
    }
    async fn finish_tasks(&self, request: FinishTasks) -> WorldResult<Vec<Finish>> {
        self.pass(RESULTS, self.inner.finish_tasks(request).await)
    }
    async fn extend(&self, request: Extend) -> WorldResult<Extended> {
        self.pass(BEATS, self.inner.extend(request).await)
    }
    async fn control(&self, request: ControlRequest) -> WorldResult<Controlled> {
        self.pass(OTHERS, self.inner.control(request).await)
    }
    async fn put_blob(&self, tenant: &TenantId, blob: &BlobRef, content: &[u8]) -> WorldResult<()> {
        self.pass(OTHERS, self.inner.put_blob(tenant, blob, content).await)
    }
    async fn read_blob(&self, tenant: &TenantId, blob: &BlobRef) -> WorldResult<Arc<[u8]>> {
        self.inner.read_blob(tenant, blob).await
    }
    fn wakeups(&self) -> Wakeups {
        self.inner.wakeups()
    }
    fn timer_batch_size(&self) -> usize {
        self.inner.timer_batch_size()
    }
    async fn upkeep(&self, request: Upkeep) -> WorldResult<UpkeepReport> {
        self.inner.upkeep(request).await
    }
}

#[async_trait]
impl Records for Forgetful {
    async fn list_runs(&self, query: RunQuery) -> WorldResult<Page<RunSummary>> {
        self.inner.list_runs(query).await
    }
    async fn picture(&self, tenant: &TenantId, run: &RunId) -> WorldResult<Option<Picture>> {
        self.inner.picture(tenant, run).await
    }
    async fn history(&self, query: HistoryQuery) -> WorldResult<Vec<Event>> {
        self.inner.history(query).await
    }
    async fn attempts(&self, tenant: &TenantId, run: &RunId) -> WorldResult<Vec<AttemptRow>> {
        self.inner.attempts(tenant, run).await
    }
    async fn list_tasks(&self, query: TaskQuery) -> WorldResult<Page<TaskSummary>> {
        self.inner.list_tasks(query).await
    }
    async fn task(&self, tenant: &TenantId, task: &TaskId) -> WorldResult<Option<TaskSummary>> {
        self.inner.task(tenant, task).await
    }
    async fn list_dead(&self, query: DeadQuery) -> WorldResult<Page<DeadLetter>> {
        self.inner.list_dead(query).await
    }
    async fn list_approvals(&self, query: ApprovalQuery) -> WorldResult<Page<ApprovalRow>> {
        self.inner.list_approvals(query).await
    }
    async fn approval(
        &self,
        tenant: &TenantId,
        run: &RunId,
        approval: CommandId,
    ) -> WorldResult<Option<ApprovalRow>> {
        self.inner.approval(tenant, run, approval).await
    }
    async fn workers(&self, tenant: &TenantId) -> WorldResult<Vec<WorkerRow>> {
        self.inner.workers(tenant).await
    }
    async fn queues(&self, tenant: &TenantId) -> WorldResult<Vec<QueueRow>> {
        self.inner.queues(tenant).await
    }
    async fn ready_work(&self, tenant: &TenantId) -> WorldResult<Vec<ReadyWork>> {
        self.inner.ready_work(tenant).await
    }
    async fn schedules(&self, tenant: &TenantId) -> WorldResult<Vec<Schedule>> {
        self.inner.schedules(tenant).await
    }
    async fn node_types(&self, tenant: &TenantId) -> WorldResult<Vec<NodeType>> {
        self.inner.node_types(tenant).await
    }
    async fn workflows(&self, tenant: &TenantId) -> WorldResult<Vec<WorkflowRow>> {
        self.inner.workflows(tenant).await
    }
    async fn versions(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<VersionRow>> {
        self.inner.versions(tenant, workflow).await
    }
    async fn version_numbers(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<NumberedVersion>> {
        self.inner.version_numbers(tenant, workflow).await
    }
    async fn artifacts(&self, tenant: &TenantId) -> WorldResult<Vec<ArtifactRow>> {
        self.inner.artifacts(tenant).await
    }
    async fn tags(&self, tenant: &TenantId) -> WorldResult<Vec<TagMove>> {
        self.inner.tags(tenant).await
    }
    async fn tag_history(&self, tenant: &TenantId, tag: &str, limit: usize) -> WorldResult<Vec<TagMove>> {
        self.inner.tag_history(tenant, tag, limit).await
    }
    async fn workflow_patches(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<WorkflowPatch>> {
        self.inner.workflow_patches(tenant, workflow).await
    }
    async fn damage(&self, query: DamageQuery) -> WorldResult<Page<Damage>> {
        self.inner.damage(query).await
    }
    async fn health(&self) -> WorldResult<Health> {
        self.inner.health().await
    }
}

#[cfg(test)]
mod tests {
    use rhythm::{Actor, Rhythm, WorkflowKind};

    use super::*;

    #[tokio::test]
    async fn an_answer_that_is_lost_is_counted_as_what_it_answered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tally");
        let opened = Rhythm::open("sqlite::memory:").await.unwrap();
        opened.client().register("drill", WorkflowKind::Drill, r#"{"steps": []}"#).await.unwrap();
        let tally = OpenOptions::new().create(true).append(true).open(&path).unwrap();
        let world = Arc::new(Forgetful { inner: opened.world().clone(), chance: 1.0, tally });
        let forgetful = Rhythm::on(world, TenantId::default(), Actor("test".into())).client();
        assert!(forgetful.start("drill", &()).await.is_err());
        let lost = lost(&path);
        assert_eq!((lost[CALLS] > 0, lost[TRANSITIONS], lost[BEATS]), (true, 0, 0), "{lost:?}");
        let ended = opened.client().world().health().await.unwrap();
        assert_eq!(ended.live_runs, 1, "it was started all the same");
    }
}
