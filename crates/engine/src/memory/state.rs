//! State of the in-memory world, one set of maps per tenant.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rhythm_core::message::{Message, MessageBody};
use rhythm_core::run::Change;
use rhythm_core::{
    Actor, Blocked, CommandId, CommitId, Failure, MessageId, Millis, Payload, RunId, Status, TaskId,
    TenantId, Timestamp, Version, WorkerId,
};
use rhythm_graph::NodeType;

use crate::world::*;

#[derive(Default)]
pub struct State {
    tenants: BTreeMap<TenantId, Tenant>,
    /// Handles whose process is alive.
    pub alive: BTreeSet<u64>,
    /// Orders arrivals: queue places, messages, timers, tasks.
    counter: u64,
    /// Time never goes back before this.
    high_water: Timestamp,
    /// Wake-ups to send for the current request.
    pub hint: Hint,
}

#[derive(Default)]
pub struct Tenant {
    pub live: BTreeMap<RunId, Live>,
    pub ended: BTreeMap<RunId, Ended>,
    pub queue: BTreeMap<RunId, Place>,
    pub inbox: BTreeMap<RunId, Vec<Message>>,
    pub delivered: BTreeSet<(RunId, MessageId)>,
    pub timers: BTreeMap<(RunId, MessageId), Timer>,
    pub tasks: BTreeMap<TaskId, Task>,
    pub ended_tasks: BTreeMap<TaskId, TaskSummary>,
    pub attempts: Vec<Attempt>,
    pub dead: BTreeMap<TaskId, Letter>,
    pub events: BTreeMap<RunId, Vec<rhythm_core::event::Event>>,
    pub definitions: BTreeMap<(String, Version), Registered>,
    pub current: BTreeMap<String, Version>,
    /// How many versions of a workflow were ever registered.
    pub version_counts: BTreeMap<String, u64>,
    /// By hash.
    pub artifacts: BTreeMap<String, ArtifactRow>,
    /// Each with every move, oldest first.
    pub tags: BTreeMap<String, Vec<TagMove>>,
    pub workflow_patches: BTreeMap<String, Vec<WorkflowPatch>>,
    pub paused_workflows: BTreeSet<String>,
    pub paused_queues: BTreeSet<String>,
    pub node_types: BTreeMap<String, NodeType>,
    pub schedules: BTreeMap<String, Schedule>,
    pub workers: BTreeMap<WorkerId, Worker>,
    pub blobs: BTreeMap<String, Blob>,
}

pub struct Blob {
    pub content: Arc<[u8]>,
    /// When it was stored or last checked.
    pub seen_at: Timestamp,
    /// Whether the last check found no reference to it.
    pub unused: bool,
}

pub struct Registered {
    pub definition: Definition,
    pub number: u64,
    pub at: Timestamp,
}

/// A run that has not ended.
#[derive(Clone)]
pub struct Live {
    pub row: RunRow,
    pub input: Payload,
    pub actor: Actor,
    pub trace: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub deadline_at: Option<Timestamp>,
    pub claim: u64,
    pub claimed_by: Option<WorkerId>,
    pub last_commit: Option<CommitId>,
    pub blocked: Option<Blocked>,
    /// Quarantined: deliveries do not make it ready.
    pub aside: bool,
    pub deliveries: u32,
    pub updated_at: Timestamp,
    /// Reported as stuck since it last moved.
    pub stuck: bool,
    pub order: u64,
}

impl Live {
    /// Returns the run's status, by the transition table of `rhythm_core::run`.
    pub fn status(&self) -> Status {
        let resting = if self.last_commit.is_some() { Status::Waiting } else { Status::Pending };
        match &self.claimed_by {
            Some(_) => resting.after(Change::Claim, self.last_commit.is_some()).unwrap_or(Status::Running),
            None => resting,
        }
    }
}

pub struct Ended {
    pub run: Live,
    pub status: Status,
    pub output: Option<Payload>,
    pub failure: Option<Failure>,
    pub failed_by: Option<Message>,
    pub ended_at: Timestamp,
    pub dismissed_at: Option<Timestamp>,
}

/// A place in the run queue.
pub struct Place {
    pub priority: i32,
    pub ready_at: Timestamp,
    pub order: u64,
    /// When the claim on the run expires.
    pub claim_until: Option<Timestamp>,
    /// Request id of the claim.
    pub ask: u64,
}

pub struct Timer {
    pub due_at: Timestamp,
    pub order: u64,
    /// `None` for a delayed start.
    pub body: Option<MessageBody>,
}

impl Timer {
    /// Returns the timer's number; `None` for a deadline or a delayed start.
    pub fn programs_own(&self) -> Option<CommandId> {
        match &self.body {
            Some(MessageBody::TimerFired(fired)) => Some(fired.timer),
            _ => None,
        }
    }
}

pub struct Task {
    pub new: NewTask,
    pub state: TaskState,
    pub claim: u64,
    pub worker: Option<WorkerId>,
    pub claim_until: Timestamp,
    /// Request id of the claim; `None` if a commit claimed the task.
    pub ask: Option<u64>,
    pub attempt: u32,
    pub delivery: u32,
    pub cancel_requested: bool,
    pub progress: Option<Payload>,
    pub created_at: Timestamp,
    /// When it becomes due, became ready, was claimed or held.
    pub since: Timestamp,
    /// Orders ready tasks by age.
    pub due_at: Timestamp,
    pub deadline_at: Option<Timestamp>,
    pub order: u64,
    /// Whether its run goes on without it, whatever its outcome.
    pub absorbed: bool,
}

pub struct Attempt {
    pub run: Option<RunId>,
    pub row: AttemptRow,
}

pub struct Letter {
    /// [`Tenant::fate`] computes its fate when it is read.
    pub letter: DeadLetter,
    /// Whether the run reported that this failure failed it.
    pub failed_run: bool,
    /// Keeps growing when the task is requeued.
    pub claim: u64,
    pub new: NewTask,
    pub order: u64,
}

pub struct Worker {
    pub card: WorkerRegistration,
    pub handle: u64,
    pub started_at: Timestamp,
    pub beat_at: Timestamp,
    pub running: u32,
    pub missing_since: Option<Timestamp>,
}

impl State {
    pub fn tenant(&mut self, tenant: &TenantId) -> &mut Tenant {
        self.tenants.entry(tenant.clone()).or_default()
    }

    pub fn tenant_ids(&self) -> Vec<TenantId> {
        self.tenants.keys().cloned().collect()
    }

    pub fn tenants(&self) -> impl Iterator<Item = &Tenant> {
        self.tenants.values()
    }

    pub fn next_order(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    pub fn advance_time(&mut self, host: Timestamp) -> Timestamp {
        self.high_water = self.high_water.max(host);
        self.high_water
    }

    pub fn open_handle(&mut self) -> u64 {
        let id = self.next_order();
        self.alive.insert(id);
        id
    }

    pub fn close_handle(&mut self, id: u64) {
        self.alive.remove(&id);
    }

    pub fn create_run(&mut self, tenant_id: &TenantId, new: NewRun, now: Timestamp) -> Creation {
        let order = self.next_order();
        let tenant = self.tenant(tenant_id);
        let known = tenant.live.get(&new.id).or_else(|| tenant.ended.get(&new.id).map(|ended| &ended.run));
        if let Some(run) = known {
            let same = run.row.workflow == new.workflow && run.input == new.input;
            return if same { Creation::Exists } else { Creation::Conflict };
        }
        let id = new.id.clone();
        let deadline_at = new.deadline.map(|deadline| now.plus(deadline));
        if let Some(due_at) = deadline_at {
            let timer = Timer { due_at, order, body: Some(MessageBody::DeadlineReached) };
            tenant.timers.insert((id.clone(), MessageId::deadline()), timer);
        }
        let row = new.row(tenant_id, now);
        let live = Live {
            row,
            input: new.input,
            actor: new.actor,
            trace: new.trace,
            labels: new.labels,
            deadline_at,
            claim: 0,
            claimed_by: None,
            last_commit: None,
            blocked: None,
            aside: false,
            deliveries: 0,
            updated_at: now,
            stuck: false,
            order,
        };
        tenant.live.insert(id.clone(), live);
        if new.delay == Millis::ZERO {
            self.make_ready(tenant_id, &id, now);
        } else {
            let timer = Timer { due_at: now.plus(new.delay), order, body: None };
            tenant.timers.insert((id, MessageId::start()), timer);
        }
        Creation::Created
    }

    /// Puts a live run into the queue, unless it is there, is paused, quarantined, or starts later.
    pub fn make_ready(&mut self, tenant_id: &TenantId, run: &RunId, at: Timestamp) {
        let start = (run.clone(), MessageId::start());
        let tenant = self.tenant(tenant_id);
        let aside = tenant.live.get(run).is_some_and(|live| live.aside);
        if !aside && !tenant.timers.contains_key(&start) {
            self.make_ready_now(tenant_id, run, at);
        }
    }

    /// Puts a live run into the queue for a message that ends it, even before its delayed start or in
    /// quarantine.
    pub fn make_ready_now(&mut self, tenant_id: &TenantId, run: &RunId, at: Timestamp) {
        let order = self.next_order();
        let tenant = self.tenant(tenant_id);
        let Some(live) = tenant.live.get(run) else { return };
        if live.row.paused {
            return;
        }
        let place = Place { priority: live.row.priority, ready_at: at, order, claim_until: None, ask: 0 };
        tenant.queue.entry(run.clone()).or_insert(place);
        self.hint.runs = true;
    }
}

impl Tenant {
    pub fn register(&mut self, definitions: Vec<Definition>, at: Timestamp) {
        for definition in definitions {
            let (workflow, version) = (definition.workflow.clone(), definition.version.clone());
            self.current.insert(workflow, version);
            self.keep_version(definition, at);
        }
    }

    /// Stores a version unless it is known, and numbers it. Tells whether it is new.
    pub fn keep_version(&mut self, definition: Definition, at: Timestamp) -> bool {
        let key = (definition.workflow.clone(), definition.version.clone());
        if self.definitions.contains_key(&key) {
            return false;
        }
        let count = self.version_counts.entry(key.0.clone()).or_default();
        *count += 1;
        self.definitions.insert(key, Registered { definition, number: *count, at });
        true
    }

    pub fn definition(&self, workflow: &str, version: Option<&Version>) -> Option<Definition> {
        let version = version.or_else(|| self.current.get(workflow))?;
        let found = self.definitions.get(&(workflow.to_owned(), version.clone()))?;
        Some(found.definition.clone())
    }

    /// Whether the run can consume the message in its current state.
    pub fn consumable(live: &Live, message: &Message) -> bool {
        message.body.signal_name().is_none_or(|name| live.row.state.awaiting.contains(name))
    }
}
