//! A world handle of one process. Each method is sent as a request through the simulated network.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use rhythm_core::event::Event;
use rhythm_core::{BlobRef, CommandId, RunId, TaskId, TenantId, Timestamp};
use rhythm_engine::world::*;
use rhythm_graph::NodeType;

use crate::checks::Applied;
use crate::executor::Owner;
use crate::network::{Call, Network};
use crate::stale_release;

pub struct SimWorld {
    network: Arc<Network>,
    owner: Owner,
    /// World handle of this process. When it is dropped, the world knows that the process is gone.
    world: Arc<dyn World>,
    wakeups: Arc<WakeupSenders>,
}

impl SimWorld {
    /// Opens a client's handle, which gets no wake-ups.
    pub fn new(network: Arc<Network>, owner: Owner, world: Arc<dyn World>) -> Self {
        Self { network, owner, world, wakeups: Arc::new(WakeupSenders::default()) }
    }

    /// Opens a worker's handle, which gets wake-ups.
    pub fn of_worker(network: Arc<Network>, owner: Owner, world: Arc<dyn World>) -> Self {
        let end = Self::new(network, owner, world);
        end.network.join(owner, end.wakeups.clone());
        end
    }

    async fn ask<R, T>(&self, call: Call<R, T>, request: R) -> WorldResult<T>
    where
        R: Clone + Debug + Send + Sync + 'static,
        T: Debug + Send + 'static,
    {
        self.network.call(self.owner, self.world.clone(), call, request).await
    }
}

impl Drop for SimWorld {
    fn drop(&mut self) {
        self.network.leave(self.owner);
    }
}

/// Content of a blob. The trace shows only its length; the blob's hash identifies it.
#[derive(Clone)]
struct Content(Arc<[u8]>);

impl Debug for Content {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{} bytes", self.0.len())
    }
}

fn list<'a>(ids: impl Iterator<Item = &'a str>) -> String {
    ids.collect::<Vec<_>>().join(" ")
}

/// A read. Checkers do not see it.
macro_rules! read {
    ($self:ident, $name:literal, $request:expr, $apply:expr) => {
        $self
            .ask(
                Call {
                    name: $name,
                    writes: false,
                    apply: $apply,
                    shown: |_, _| None,
                    names: |_| String::new(),
                },
                $request,
            )
            .await
    };
}

/// A write. Checkers see it.
macro_rules! write {
    ($self:ident, $name:literal, $request:expr, $apply:expr, $shown:expr) => {
        write!($self, $name, $request, $apply, $shown, |_| String::new())
    };
    ($self:ident, $name:literal, $request:expr, $apply:expr, $shown:expr, $names:expr) => {
        $self
            .ask(Call { name: $name, writes: true, apply: $apply, shown: $shown, names: $names }, $request)
            .await
    };
}

pub const COMMIT: Call<Arc<Commit>, Committed> = Call {
    name: "commit",
    writes: true,
    apply: |world, request| world.commit(request),
    shown: |request, answer| Some(Applied::Commit(request, answer)),
    names: |request| {
        let moved = request.items.iter().map(|item| item.run.as_str());
        list(moved.chain(request.released.iter().map(|free| free.run.as_str())))
    },
};

#[async_trait]
impl World for SimWorld {
    async fn now(&self) -> WorldResult<Timestamp> {
        read!(self, "now", (), |world, ()| world.now())
    }

    async fn register(&self, request: Register) -> WorldResult<()> {
        write!(self, "register", request, |world, request| world.register(request), |_, ()| None)
    }

    async fn definition(&self, request: DefinitionQuery) -> WorldResult<Option<Definition>> {
        read!(self, "definition", request, |world, request| world.definition(request))
    }

    async fn create_runs(&self, request: CreateRuns) -> WorldResult<Vec<Creation>> {
        write!(
            self,
            "create_runs",
            request,
            |world, request| world.create_runs(request),
            |request, answer| { Some(Applied::CreateRuns(request, answer)) },
            |request| list(request.runs.iter().map(|run| run.id.as_str()))
        )
    }

    async fn enqueue_tasks(&self, request: EnqueueTasks) -> WorldResult<Vec<Creation>> {
        write!(
            self,
            "enqueue_tasks",
            request,
            |world, request| world.enqueue_tasks(request),
            |request, answer| { Some(Applied::EnqueueTasks(request, answer)) },
            |request| list(request.tasks.iter().map(|task| task.id.as_str()))
        )
    }

    async fn deliver(&self, request: Deliver) -> WorldResult<Vec<Delivered>> {
        write!(
            self,
            "deliver",
            request,
            |world, request| world.deliver(request),
            |request, answer| { Some(Applied::Deliver(request, answer)) },
            |request| list(request.deliveries.iter().flat_map(|one| [
                one.message.id.as_str(),
                "to",
                one.to.as_str()
            ]))
        )
    }

    async fn claim_runs(&self, request: ClaimRuns) -> WorldResult<ClaimedRuns> {
        let by = (self.owner, request.tenant.clone(), request.worker.clone());
        let claimed = write!(
            self,
            "claim_runs",
            request,
            |world, request| world.claim_runs(request),
            |request, answer| { Some(Applied::ClaimRuns(request, answer)) }
        )?;
        stale_release::give_back_again(&self.network, &self.world, by, &claimed);
        Ok(claimed)
    }

    async fn find_due(&self, request: FindDue) -> WorldResult<FoundDue> {
        read!(self, "find_due", request, |world, request| world.find_due(request))
    }

    async fn claim_tasks(&self, request: ClaimTasks) -> WorldResult<ClaimedTasks> {
        write!(
            self,
            "claim_tasks",
            request,
            |world, request| world.claim_tasks(request),
            |request, answer| { Some(Applied::ClaimTasks(request, answer)) }
        )
    }

    async fn commit(&self, request: Arc<Commit>) -> WorldResult<Committed> {
        self.ask(COMMIT, request).await
    }

    async fn finish_tasks(&self, request: FinishTasks) -> WorldResult<Vec<Finish>> {
        write!(
            self,
            "finish_tasks",
            request,
            |world, request| world.finish_tasks(request),
            |request, answer| { Some(Applied::FinishTasks(request, answer)) },
            |request| list(request.finished.iter().map(|task| task.task.as_str()))
        )
    }

    async fn extend(&self, request: Extend) -> WorldResult<Extended> {
        write!(self, "extend", request, |world, request| world.extend(request), |_, _| None, |request| {
            list(request.tasks.iter().map(|beat| beat.claim.task.as_str()))
        })
    }

    async fn control(&self, request: ControlRequest) -> WorldResult<Controlled> {
        write!(
            self,
            "control",
            request,
            |world, request| world.control(request),
            |request, answer| { Some(Applied::Control(request, answer)) },
            |request| format!("{:?}", request.control).chars().take(200).collect()
        )
    }

    async fn put_blob(&self, tenant: &TenantId, blob: &BlobRef, content: &[u8]) -> WorldResult<()> {
        type Put = (TenantId, BlobRef, Content);
        let request: Put = (tenant.clone(), blob.clone(), Content(content.into()));
        let call: Call<Put, ()> = Call {
            name: "put_blob",
            writes: true,
            apply: |world, (tenant, blob, content)| {
                Box::pin(async move { world.put_blob(&tenant, &blob, &content.0).await })
            },
            shown: |_, ()| None,
            names: |(_, blob, _)| blob.hash.clone(),
        };
        self.ask(call, request).await?;
        self.network.stored.note(tenant, blob);
        Ok(())
    }

    async fn read_blob(&self, tenant: &TenantId, blob: &BlobRef) -> WorldResult<Arc<[u8]>> {
        let content =
            read!(self, "read_blob", (tenant.clone(), blob.clone()), |world, (tenant, blob)| Box::pin(
                async move { world.read_blob(&tenant, &blob).await.map(Content) }
            ));
        content.map(|content| content.0)
    }

    fn wakeups(&self) -> Wakeups {
        self.wakeups.subscribe()
    }

    // Short, so that a few timers are a storm. Not where worlds are compared: which of those due a sweep takes first is their own.
    fn timer_batch_size(&self) -> usize {
        if self.network.has_faults() { 3 } else { 50 }
    }

    async fn upkeep(&self, request: Upkeep) -> WorldResult<UpkeepReport> {
        write!(self, "upkeep", request, |world, request| world.upkeep(request), |_, _| None)
    }
}

#[async_trait]
impl Records for SimWorld {
    async fn list_runs(&self, query: RunQuery) -> WorldResult<Page<RunSummary>> {
        read!(self, "list_runs", query, |world, query| world.list_runs(query))
    }

    async fn picture(&self, tenant: &TenantId, run: &RunId) -> WorldResult<Option<Picture>> {
        read!(self, "picture", (tenant.clone(), run.clone()), |world, (tenant, run)| Box::pin(async move {
            world.picture(&tenant, &run).await
        }))
    }

    async fn history(&self, query: HistoryQuery) -> WorldResult<Vec<Event>> {
        read!(self, "history", query, |world, query| world.history(query))
    }

    async fn attempts(&self, tenant: &TenantId, run: &RunId) -> WorldResult<Vec<AttemptRow>> {
        read!(self, "attempts", (tenant.clone(), run.clone()), |world, (tenant, run)| Box::pin(async move {
            world.attempts(&tenant, &run).await
        }))
    }

    async fn list_tasks(&self, query: TaskQuery) -> WorldResult<Page<TaskSummary>> {
        read!(self, "list_tasks", query, |world, query| world.list_tasks(query))
    }

    async fn task(&self, tenant: &TenantId, task: &TaskId) -> WorldResult<Option<TaskSummary>> {
        read!(self, "task", (tenant.clone(), task.clone()), |world, (tenant, task)| Box::pin(async move {
            world.task(&tenant, &task).await
        }))
    }

    async fn list_dead(&self, query: DeadQuery) -> WorldResult<Page<DeadLetter>> {
        read!(self, "list_dead", query, |world, query| world.list_dead(query))
    }

    async fn list_approvals(&self, query: ApprovalQuery) -> WorldResult<Page<ApprovalRow>> {
        read!(self, "list_approvals", query, |world, query| world.list_approvals(query))
    }

    async fn approval(
        &self,
        tenant: &TenantId,
        run: &RunId,
        approval: CommandId,
    ) -> WorldResult<Option<ApprovalRow>> {
        let query = (tenant.clone(), run.clone(), approval);
        read!(self, "approval", query, |world, (tenant, run, approval)| Box::pin(async move {
            world.approval(&tenant, &run, approval).await
        }))
    }

    async fn workers(&self, tenant: &TenantId) -> WorldResult<Vec<WorkerRow>> {
        read!(self, "workers", tenant.clone(), |world, tenant| Box::pin(async move {
            world.workers(&tenant).await
        }))
    }

    async fn queues(&self, tenant: &TenantId) -> WorldResult<Vec<QueueRow>> {
        read!(self, "queues", tenant.clone(), |world, tenant| Box::pin(
            async move { world.queues(&tenant).await }
        ))
    }

    async fn ready_work(&self, tenant: &TenantId) -> WorldResult<Vec<ReadyWork>> {
        read!(self, "ready_work", tenant.clone(), |world, tenant| Box::pin(async move {
            world.ready_work(&tenant).await
        }))
    }

    async fn schedules(&self, tenant: &TenantId) -> WorldResult<Vec<Schedule>> {
        read!(self, "schedules", tenant.clone(), |world, tenant| Box::pin(async move {
            world.schedules(&tenant).await
        }))
    }

    async fn node_types(&self, tenant: &TenantId) -> WorldResult<Vec<NodeType>> {
        read!(self, "node_types", tenant.clone(), |world, tenant| Box::pin(async move {
            world.node_types(&tenant).await
        }))
    }

    async fn workflows(&self, tenant: &TenantId) -> WorldResult<Vec<WorkflowRow>> {
        read!(self, "workflows", tenant.clone(), |world, tenant| Box::pin(async move {
            world.workflows(&tenant).await
        }))
    }

    async fn versions(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<VersionRow>> {
        let query = (tenant.clone(), workflow.to_owned());
        read!(self, "versions", query, |world, (tenant, workflow)| Box::pin(async move {
            let workflow: String = workflow;
            world.versions(&tenant, &workflow).await
        }))
    }

    async fn version_numbers(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<NumberedVersion>> {
        let query = (tenant.clone(), workflow.to_owned());
        read!(self, "version_numbers", query, |world, (tenant, workflow)| Box::pin(async move {
            let workflow: String = workflow;
            world.version_numbers(&tenant, &workflow).await
        }))
    }

    async fn artifacts(&self, tenant: &TenantId) -> WorldResult<Vec<ArtifactRow>> {
        read!(self, "artifacts", tenant.clone(), |world, tenant| Box::pin(async move {
            world.artifacts(&tenant).await
        }))
    }

    async fn tags(&self, tenant: &TenantId) -> WorldResult<Vec<TagMove>> {
        read!(self, "tags", tenant.clone(), |world, tenant| Box::pin(
            async move { world.tags(&tenant).await }
        ))
    }

    async fn tag_history(&self, tenant: &TenantId, tag: &str, limit: usize) -> WorldResult<Vec<TagMove>> {
        let query = (tenant.clone(), tag.to_owned(), limit);
        read!(self, "tag_history", query, |world, (tenant, tag, limit)| Box::pin(async move {
            let tag: String = tag;
            world.tag_history(&tenant, &tag, limit).await
        }))
    }

    async fn workflow_patches(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<WorkflowPatch>> {
        let query = (tenant.clone(), workflow.to_owned());
        read!(self, "workflow_patches", query, |world, (tenant, workflow)| Box::pin(async move {
            let workflow: String = workflow;
            world.workflow_patches(&tenant, &workflow).await
        }))
    }

    async fn damage(&self, query: DamageQuery) -> WorldResult<Page<Damage>> {
        read!(self, "damage", query, |world, query| Box::pin(async move { world.damage(query).await }))
    }

    async fn health(&self) -> WorldResult<Health> {
        read!(self, "health", (), |world, ()| world.health())
    }
}
