//! Requests of programs and users: start, signal, cancel, decide, pause, retry, dead letters, schedules. A
//! call that names a key or id can be repeated safely when its answer was lost.

mod compensate;
mod decide_approval;
mod find_run;
mod register;
mod retry_node;
mod retry_run;

use std::collections::BTreeMap;
use std::sync::Arc;

use rhythm_core::cron::{CatchUp, Cron, Overlap};
use rhythm_core::fold::spill;
use rhythm_core::message::{Cancel, Message, MessageBody, SignalReceived};
use rhythm_core::{
    Actor, Event, MessageId, Millis, Payload, RunId, TaskId, TaskOptions, TenantId, Timestamp, Version, label,
};

use crate::definitions::{ReadProgram, graph};
use crate::error::EngineError;
use crate::inputs::Schemas;
use crate::local_worker::LocalWorker;
use crate::worker::MAX_PAYLOAD_BYTES;
use crate::world::*;

pub use compensate::TakingBack;
pub use decide_approval::{Decide, Decision, Identity};
pub use find_run::base;
pub use register::Rescheduled;
pub use retry_node::RetryNode;
pub use retry_run::RetryRun;

/// A handle for callers. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    world: Arc<dyn World>,
    tenant: TenantId,
    actor: Actor,
    ids: Ids,
    schemas: Arc<Schemas>,
    nearby: Arc<LocalWorker>,
    programs: ReadProgram,
}

/// Source of names the caller did not choose. The simulator derives them from its seed.
type Ids = Arc<dyn Fn() -> String + Send + Sync>;

/// A run to start.
#[derive(Clone, Debug, Default)]
pub struct StartRun {
    pub workflow: String,
    pub version: Option<Version>,
    /// Starts the version this tag points at; the workflow may be empty then.
    pub tag: Option<String>,
    pub input: Payload,
    /// Idempotency key: the same key always names the same run.
    pub key: Option<String>,
    /// Id of the run. By default it is derived from the key, or fresh.
    pub id: Option<RunId>,
    pub priority: i32,
    pub delay: Millis,
    pub deadline: Option<Millis>,
    /// Key/value pairs by which people find the run. The engine sets some itself: see [`crate::labels`].
    pub labels: BTreeMap<String, String>,
    pub trace: Option<String>,
}

/// Definitions that were looked up, by workflow and version.
type Pinned = BTreeMap<(String, Option<Version>), Definition>;

/// A standalone task to enqueue.
#[derive(Clone, Debug, Default)]
pub struct EnqueueTask {
    pub name: String,
    pub input: Payload,
    pub options: TaskOptions,
    pub key: Option<String>,
    pub id: Option<TaskId>,
    pub trace: Option<String>,
}

/// A schedule to create or replace.
#[derive(Clone, Debug)]
pub struct NewSchedule {
    pub name: String,
    pub cron: String,
    pub zone: String,
    pub target: ScheduleTarget,
    pub catch_up: CatchUp,
    pub overlap: Overlap,
}

impl Client {
    /// Creates a client that acts as `actor` for one tenant.
    pub fn new(world: Arc<dyn World>, tenant: TenantId, actor: Actor) -> Self {
        Self {
            world,
            tenant,
            actor,
            ids: Arc::new(fresh_id),
            schemas: Arc::default(),
            nearby: Arc::default(),
            programs: graph::unread,
        }
    }

    /// Returns this client with a check that refuses graphs whose programs cannot be parsed.
    pub fn reading(self, programs: ReadProgram) -> Self {
        Self { programs, ..self }
    }

    /// Returns this client with another source of names; each call of `ids` must return a new one.
    pub fn with_ids(self, ids: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self { ids: Arc::new(ids), ..self }
    }

    /// Returns this client connected to the worker of the same process.
    pub fn beside(self, nearby: Arc<LocalWorker>) -> Self {
        Self { nearby, ..self }
    }

    pub(crate) fn reads(&self) -> ReadProgram {
        self.programs
    }

    pub fn world(&self) -> &Arc<dyn World> {
        &self.world
    }

    pub fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    pub(crate) fn actor(&self) -> &Actor {
        &self.actor
    }

    pub(crate) fn schemas(&self) -> &Schemas {
        &self.schemas
    }

    /// Returns a fresh name.
    pub(crate) fn fresh_id(&self) -> String {
        (self.ids)()
    }

    /// Starts runs and returns their ids in order. A key that was used before with the same input returns the
    /// run started then. Fails if a workflow, version or tag does not exist, if an input does not fit its
    /// schema, or if the key or id belongs to a different run.
    pub async fn start_runs(&self, starts: Vec<StartRun>) -> Result<Vec<RunId>, EngineError> {
        if let [only] = &starts[..]
            && let Some(run) = self.start_nearby(only).await?
        {
            return Ok(vec![run]);
        }
        let mut pinned = Pinned::new();
        let mut runs = Vec::with_capacity(starts.len());
        for start in starts {
            let (start, definition) = self.with_definition(start, &mut pinned).await?;
            self.check_input(definition, &start.input).await?;
            runs.push(self.new_run(start, definition).await?);
        }
        let ids: Vec<RunId> = runs.iter().map(|run| run.id.clone()).collect();
        if let [only] = &runs[..]
            && self.nearby.begin(&self.tenant, only, false).await?
        {
            return Ok(ids);
        }
        let created = self.world.create_runs(CreateRuns { tenant: self.tenant.clone(), runs }).await?;
        match created.iter().position(|creation| *creation == Creation::Conflict) {
            Some(place) => Err(EngineError::KeyConflict(ids[place].to_string())),
            None => Ok(ids),
        }
    }

    /// What keeps each of these from being started, as far as that can be said without starting it. An error is about all of them.
    pub async fn check_starts(&self, starts: &[StartRun]) -> Result<Vec<Option<EngineError>>, EngineError> {
        let mut pinned = Pinned::new();
        let mut answers = Vec::with_capacity(starts.len());
        for start in starts {
            let (start, definition) = self.with_definition(start.clone(), &mut pinned).await?;
            answers.push(match self.check_input(definition, &start.input).await {
                Ok(()) => None,
                Err(error @ EngineError::Misfit { .. }) => Some(error),
                Err(error) => return Err(error),
            });
        }
        Ok(answers)
    }

    /// The definition a start means; each is looked up once.
    async fn with_definition<'p>(
        &self,
        start: StartRun,
        pinned: &'p mut Pinned,
    ) -> Result<(StartRun, &'p Definition), EngineError> {
        let start = self.pinned(start).await?;
        let key = (start.workflow.clone(), start.version.clone());
        if !pinned.contains_key(&key) {
            let definition = self.definition(&start).await?;
            if start.version.is_none() {
                self.nearby.saw(&self.tenant, &definition);
            }
            pinned.insert(key.clone(), definition);
        }
        Ok((start, &pinned[&key]))
    }

    /// A run that the worker here begins at once, provided that what was last seen of its workflow is still so.
    async fn start_nearby(&self, start: &StartRun) -> Result<Option<RunId>, EngineError> {
        let plain = start.tag.is_none() && start.version.is_none() && start.delay == Millis::ZERO;
        let seen = plain.then(|| self.nearby.last_seen(&self.tenant, &start.workflow)).flatten();
        let Some(definition) = seen else { return Ok(None) };
        // The current version may accept an input that this one refuses.
        if self.check_input(&definition, &start.input).await.is_err() {
            return Ok(None);
        }
        let run = self.new_run(start.clone(), &definition).await?;
        Ok(self.nearby.begin(&self.tenant, &run, true).await?.then_some(run.id))
    }

    async fn new_run(&self, start: StartRun, definition: &Definition) -> Result<NewRun, EngineError> {
        let derived = start.key.as_ref().map(|key| RunId::for_key(&self.tenant, &start.workflow, key));
        let run = NewRun {
            id: start.id.or(derived).unwrap_or_else(|| RunId::new((self.ids)())),
            workflow: start.workflow,
            version: definition.version.clone(),
            kind: definition.kind,
            input: self.store(start.input).await?,
            priority: start.priority,
            delay: start.delay,
            deadline: start.deadline,
            labels: start.labels,
            parent: None,
            actor: self.actor.clone(),
            trace: start.trace,
        };
        // `create_runs` makes this check, but a run that begins in this process does not go through it.
        run.check()?;
        Ok(run)
    }

    /// Starts one run and returns its id. Fails as [`Self::start_runs`] does.
    pub async fn start_run(&self, start: StartRun) -> Result<RunId, EngineError> {
        Ok(self.start_runs(vec![start]).await?.remove(0))
    }

    async fn definition(&self, start: &StartRun) -> Result<Definition, EngineError> {
        let (workflow, version) = (start.workflow.clone(), start.version.clone());
        let query = DefinitionQuery { tenant: self.tenant.clone(), workflow, version };
        match self.world.definition(query).await? {
            Some(definition) => Ok(definition),
            None => Err(self.no_definition(&start.workflow, start.version.as_ref()).await?),
        }
    }

    /// Distinguishes an unknown workflow from an unknown version.
    async fn no_definition(
        &self,
        workflow: &str,
        version: Option<&Version>,
    ) -> Result<EngineError, EngineError> {
        let workflow = workflow.to_owned();
        Ok(match version {
            Some(version) if !self.world.versions(&self.tenant, &workflow).await?.is_empty() => {
                EngineError::UnknownVersion { workflow, version: version.to_string() }
            }
            _ => EngineError::UnknownWorkflow(workflow),
        })
    }

    pub(crate) async fn check_input(
        &self,
        definition: &Definition,
        input: &Payload,
    ) -> Result<(), EngineError> {
        let checked = self.schemas.check(&*self.world, &self.tenant, definition, input).await?;
        checked.map_err(|misfit| EngineError::Misfit { workflow: definition.workflow.clone(), misfit })
    }

    /// Enqueues standalone tasks and returns their ids in order. Fails if a task is invalid or its key or id
    /// belongs to a different task.
    pub async fn enqueue_tasks(&self, tasks: Vec<EnqueueTask>) -> Result<Vec<TaskId>, EngineError> {
        let mut new = Vec::with_capacity(tasks.len());
        for task in tasks {
            check_task(&task.name, &task.options)?;
            let derived = task.key.as_ref().map(|key| TaskId::for_key(&self.tenant, &task.name, key));
            new.push(NewTask {
                id: task.id.or(derived).unwrap_or_else(|| TaskId::new((self.ids)())),
                run: None,
                input: self.store(task.input).await?,
                name: task.name,
                options: task.options,
                actor: self.actor.clone(),
                trace: task.trace,
                claim: false,
            });
        }
        let ids: Vec<TaskId> = new.iter().map(|task| task.id.clone()).collect();
        let created =
            self.world.enqueue_tasks(EnqueueTasks { tenant: self.tenant.clone(), tasks: new }).await?;
        match created.iter().position(|creation| *creation == Creation::Conflict) {
            Some(place) => Err(EngineError::KeyConflict(ids[place].to_string())),
            None => Ok(ids),
        }
    }

    /// Enqueues one standalone task and returns its id. Fails as [`Self::enqueue_tasks`] does.
    pub async fn enqueue_task(&self, task: EnqueueTask) -> Result<TaskId, EngineError> {
        Ok(self.enqueue_tasks(vec![task]).await?.remove(0))
    }

    /// Signals a run. With `id`, a repeated call has no further effect; without it, every call is another
    /// signal. Fails if the run is unknown, completed or cancelled, or its inbox is full. A failed run keeps
    /// the signal until it is reopened.
    pub async fn signal(
        &self,
        run: &RunId,
        name: &str,
        payload: Payload,
        id: Option<String>,
    ) -> Result<(), EngineError> {
        if name.is_empty() || name.starts_with('@') {
            return Err(EngineError::Invalid(format!("{name:?} cannot be the name of a signal")));
        }
        let payload = self.store(payload).await?;
        let id = MessageId::new(format!("signal:{}", id.unwrap_or_else(|| (self.ids)())));
        self.send(run, id, MessageBody::Signal(SignalReceived { name: name.to_owned(), payload })).await
    }

    /// Asks a run to stop. A second call ends it at once, without clean-up. Fails if the run is unknown or
    /// has ended.
    pub async fn cancel(&self, run: &RunId, reason: &str) -> Result<(), EngineError> {
        // A failed run would keep the message until it is reopened, which the caller does not want.
        if self.picture(run).await?.summary.status.is_final() {
            return Err(EngineError::Ended(run.to_string()));
        }
        let id = MessageId::new(format!("cancel:{}", (self.ids)()));
        self.send(run, id, MessageBody::Cancel(Cancel::because(reason))).await
    }

    pub(crate) async fn send(
        &self,
        run: &RunId,
        id: MessageId,
        body: MessageBody,
    ) -> Result<(), EngineError> {
        match self.deliver(run, id, self.actor.clone(), body).await? {
            Delivered::Accepted | Delivered::Duplicate => Ok(()),
            Delivered::Ended => Err(EngineError::Ended(run.to_string())),
            Delivered::Full => Err(EngineError::InboxFull(run.to_string())),
            Delivered::NotFound => Err(EngineError::UnknownRun(run.to_string())),
        }
    }

    async fn deliver(
        &self,
        run: &RunId,
        id: MessageId,
        actor: Actor,
        body: MessageBody,
    ) -> Result<Delivered, EngineError> {
        let message = Message { id, at: Timestamp::default(), actor, trace: None, body };
        let delivery = Delivery { to: run.clone(), message };
        let request = Deliver { tenant: self.tenant.clone(), deliveries: vec![delivery] };
        Ok(self.world.deliver(request).await?.pop().unwrap_or(Delivered::NotFound))
    }

    /// Sends one operator request. Fails with the world's error, as [`Control`] describes.
    pub async fn control(&self, control: Control) -> Result<Controlled, EngineError> {
        let (tenant, actor) = (self.tenant.clone(), self.actor.clone());
        Ok(self.world.control(ControlRequest { tenant, actor, control }).await?)
    }

    /// Returns everything about one run. Fails if it is unknown.
    pub async fn picture(&self, run: &RunId) -> Result<Picture, EngineError> {
        let found = self.world.picture(&self.tenant, run).await?;
        found.ok_or_else(|| EngineError::UnknownRun(run.to_string()))
    }

    /// Returns every row of a run's history, oldest first; empty for an unknown run.
    pub async fn history(&self, run: &RunId) -> Result<Vec<Event>, EngineError> {
        const PAGE: usize = 1_000;
        let mut history: Vec<Event> = Vec::new();
        loop {
            let after = history.last().map_or(0, |event| event.seq);
            let (tenant, run) = (self.tenant.clone(), run.clone());
            let page = self.world.history(HistoryQuery { tenant, run, after, limit: PAGE }).await?;
            let last = page.len() < PAGE;
            history.extend(page);
            if last {
                return Ok(history);
            }
        }
    }

    /// Creates or replaces a schedule. Fails if the rule or the target is invalid, the workflow is unknown,
    /// or the input does not fit it.
    pub async fn put_schedule(&self, new: NewSchedule) -> Result<Schedule, EngineError> {
        let cron =
            Cron::parse(&new.cron, &new.zone).map_err(|error| EngineError::Invalid(error.to_string()))?;
        match &new.target {
            ScheduleTarget::Task { name, options, .. } => check_task(name, options)?,
            ScheduleTarget::Workflow { workflow, input } => {
                let start = StartRun { workflow: workflow.clone(), ..StartRun::default() };
                self.check_input(&self.definition(&start).await?, input).await?;
            }
        }
        let target = match new.target {
            ScheduleTarget::Task { name, input, options } => {
                ScheduleTarget::Task { name, input: self.store(input).await?, options }
            }
            ScheduleTarget::Workflow { workflow, input } => {
                ScheduleTarget::Workflow { workflow, input: self.store(input).await? }
            }
        };
        let now = self.world.now().await?;
        let schedule = Schedule {
            name: new.name,
            cron: new.cron,
            zone: new.zone,
            target,
            catch_up: new.catch_up,
            overlap: new.overlap,
            declared: false,
            paused: false,
            next_at: cron.next_after(now),
            last_at: None,
            last_started: None,
            fired: 0,
            missed: 0,
        };
        self.control(Control::PutSchedule(schedule.clone())).await?;
        Ok(schedule)
    }

    /// Resumes a paused schedule with its next time from now; fire times missed since are skipped. Fails if
    /// it is unknown.
    pub async fn resume_schedule(&self, name: &str) -> Result<Controlled, EngineError> {
        let schedules = self.world.schedules(&self.tenant).await?;
        let schedule = schedules.into_iter().find(|schedule| schedule.name == name);
        let schedule = schedule.ok_or_else(|| EngineError::UnknownSchedule(name.to_owned()))?;
        let cron = Cron::parse(&schedule.cron, &schedule.zone)
            .map_err(|error| EngineError::Invalid(error.to_string()))?;
        let next_at = cron.next_after(self.world.now().await?);
        self.control(Control::ResumeSchedule { name: name.to_owned(), next_at }).await
    }

    /// Checks a value's size and moves a large one into a blob. Fails if it exceeds `MAX_PAYLOAD_BYTES`.
    pub async fn store(&self, payload: Payload) -> Result<Payload, EngineError> {
        let size = payload.size();
        if size > MAX_PAYLOAD_BYTES {
            return Err(EngineError::TooLarge { size, limit: MAX_PAYLOAD_BYTES });
        }
        let Some((blob, content)) = spill(&payload) else { return Ok(payload) };
        self.world.put_blob(&self.tenant, &blob, &content).await?;
        Ok(Payload::Blob(blob))
    }

    /// Returns a value as JSON text, inline or from its blob. Fails if the blob is missing or damaged.
    pub async fn load(&self, payload: &Payload) -> Result<String, EngineError> {
        match payload {
            Payload::Inline(raw) => Ok(raw.get().to_owned()),
            Payload::Blob(blob) => {
                let content = self.world.read_blob(&self.tenant, blob).await?;
                String::from_utf8(content.to_vec())
                    .map_err(|_| WorldError::Corrupt(format!("blob {} is not text", blob.hash)).into())
            }
        }
    }
}

fn check_task(name: &str, options: &TaskOptions) -> Result<(), EngineError> {
    if name.is_empty() || name.len() > 200 {
        return Err(EngineError::Invalid("a task's name has 1 to 200 characters".into()));
    }
    if options.queue.is_empty() || options.queue.len() > 200 {
        return Err(EngineError::Invalid("a queue's name has 1 to 200 characters".into()));
    }
    if options.label.as_ref().is_some_and(|label| !label::fits(label)) {
        return Err(EngineError::Invalid("a label has 1 to 100 characters".into()));
    }
    options.policy().check().map_err(|error| EngineError::Invalid(error.to_string()))
}

/// Returns a fresh id. Ids sort by time of creation.
pub fn fresh_id() -> String {
    uuid::Uuid::now_v7().to_string()
}
