//! Reads for operators, over the connection for slow statements: they may scan tables, hot statements never
//! do.

mod approvals;
mod damage;
mod health;
mod lists;
mod picture;

use async_trait::async_trait;
use rhythm_core::event::Event;
use rhythm_core::{CommandId, RunId, TaskId, TenantId};
use rhythm_engine::world::{
    ApprovalQuery, ApprovalRow, ArtifactRow, AttemptRow, Damage, DamageQuery, DeadLetter, DeadQuery, Health,
    HistoryQuery, NumberedVersion, Page, Picture, QueueRow, ReadyWork, Records, RunQuery, RunSummary,
    Schedule, TagMove, TaskQuery, TaskSummary, VersionRow, WorkerRow, WorkflowPatch, WorkflowRow,
    WorldResult,
};
use rhythm_graph::NodeType;

pub use self::lists::fate;
use crate::postgres::PostgresWorld;
use crate::postgres::operate::artifacts;

#[async_trait]
impl Records for PostgresWorld {
    async fn list_runs(&self, query: RunQuery) -> WorldResult<Page<RunSummary>> {
        lists::runs(&self.reader, query).await
    }

    async fn picture(&self, tenant: &TenantId, run: &RunId) -> WorldResult<Option<Picture>> {
        picture::picture(&self.reader, tenant, run).await
    }

    async fn history(&self, query: HistoryQuery) -> WorldResult<Vec<Event>> {
        lists::history(&self.reader, query).await
    }

    async fn attempts(&self, tenant: &TenantId, run: &RunId) -> WorldResult<Vec<AttemptRow>> {
        lists::attempts(&self.reader, tenant, run).await
    }

    async fn list_tasks(&self, query: TaskQuery) -> WorldResult<Page<TaskSummary>> {
        lists::tasks(&self.reader, query).await
    }

    async fn task(&self, tenant: &TenantId, task: &TaskId) -> WorldResult<Option<TaskSummary>> {
        lists::task(&self.reader, tenant, task).await
    }

    async fn list_dead(&self, query: DeadQuery) -> WorldResult<Page<DeadLetter>> {
        lists::dead(&self.reader, query).await
    }

    async fn list_approvals(&self, query: ApprovalQuery) -> WorldResult<Page<ApprovalRow>> {
        approvals::list(&self.reader, query).await
    }

    async fn approval(
        &self,
        tenant: &TenantId,
        run: &RunId,
        approval: CommandId,
    ) -> WorldResult<Option<ApprovalRow>> {
        approvals::approval(&self.reader, tenant, run, approval).await
    }

    async fn workers(&self, tenant: &TenantId) -> WorldResult<Vec<WorkerRow>> {
        lists::workers(&self.reader, self.time.param(), tenant).await
    }

    async fn queues(&self, tenant: &TenantId) -> WorldResult<Vec<QueueRow>> {
        lists::queues(&self.reader, self.time.param(), tenant).await
    }

    async fn ready_work(&self, tenant: &TenantId) -> WorldResult<Vec<ReadyWork>> {
        lists::ready_work(&self.reader, self.time.param(), tenant).await
    }

    async fn schedules(&self, tenant: &TenantId) -> WorldResult<Vec<Schedule>> {
        lists::schedules(&self.reader, tenant).await
    }

    async fn node_types(&self, tenant: &TenantId) -> WorldResult<Vec<NodeType>> {
        lists::node_types(&self.reader, tenant).await
    }

    async fn workflows(&self, tenant: &TenantId) -> WorldResult<Vec<WorkflowRow>> {
        lists::workflows(&self.reader, tenant).await
    }

    async fn versions(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<VersionRow>> {
        lists::versions(&self.reader, tenant, workflow).await
    }

    async fn version_numbers(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<NumberedVersion>> {
        artifacts::version_numbers(&self.reader, tenant, workflow).await
    }

    async fn artifacts(&self, tenant: &TenantId) -> WorldResult<Vec<ArtifactRow>> {
        artifacts::all(&self.reader, tenant).await
    }

    async fn tags(&self, tenant: &TenantId) -> WorldResult<Vec<TagMove>> {
        artifacts::tags(&self.reader, tenant).await
    }

    async fn tag_history(&self, tenant: &TenantId, tag: &str, limit: usize) -> WorldResult<Vec<TagMove>> {
        artifacts::tag_history(&self.reader, tenant, tag, limit).await
    }

    async fn workflow_patches(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<WorkflowPatch>> {
        artifacts::workflow_patches(&self.reader, tenant, workflow).await
    }

    async fn damage(&self, query: DamageQuery) -> WorldResult<Page<Damage>> {
        damage::damage(&self.reader, &query).await
    }

    async fn health(&self) -> WorldResult<Health> {
        health::health(&self.reader).await
    }
}
