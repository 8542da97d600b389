//! Reads for listings, `explain` and `verify`. Never on the hot path.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use rhythm_core::event::Event;
use rhythm_core::message::Message;
use rhythm_core::{
    Actor, Blocked, CommandId, Compensation, Failure, Payload, RunId, Status, TaskId, TaskOptions, TenantId,
    Timestamp, Version, WorkflowKind,
};
use rhythm_graph::NodeType;
use serde::{Deserialize, Serialize};

use super::approvals::{ApprovalQuery, ApprovalRow};
use super::artifacts::{ArtifactRow, TagMove, WorkflowPatch};
use super::control::Schedule;
use super::error::WorldResult;
use super::runs::{Parent, RunRow};
use super::tasks::WorkerRegistration;

#[async_trait]
pub trait Records: Send + Sync {
    /// Returns runs, newest first.
    async fn list_runs(&self, query: RunQuery) -> WorldResult<Page<RunSummary>>;
    /// Returns everything about one run, live or ended; `None` if there is no such run.
    async fn picture(&self, tenant: &TenantId, run: &RunId) -> WorldResult<Option<Picture>>;
    /// Returns history rows after `after`, oldest first.
    async fn history(&self, query: HistoryQuery) -> WorldResult<Vec<Event>>;
    /// Returns the attempts of a run's tasks that failed and led to a retry, oldest first.
    async fn attempts(&self, tenant: &TenantId, run: &RunId) -> WorldResult<Vec<AttemptRow>>;
    /// Returns open and finished standalone tasks, and open tasks of runs; newest first.
    async fn list_tasks(&self, query: TaskQuery) -> WorldResult<Page<TaskSummary>>;
    async fn task(&self, tenant: &TenantId, task: &TaskId) -> WorldResult<Option<TaskSummary>>;
    /// Returns dead letters, newest first. Failures that runs handled, and letters that were decided, only if
    /// the query names those statuses (`a_failure_the_run_handled_is_no_dead_letter`,
    /// `a_letter_keeps_what_became_of_it`).
    async fn list_dead(&self, query: DeadQuery) -> WorldResult<Page<DeadLetter>>;
    /// Returns approvals, newest first (`a_walk_through_approvals_meets_each_once`). Pending ones are found
    /// through live runs, so old decisions do not slow that query down.
    async fn list_approvals(&self, query: ApprovalQuery) -> WorldResult<Page<ApprovalRow>>;
    /// Returns one approval with its state (`an_approval_tells_what_became_of_it`).
    async fn approval(
        &self,
        tenant: &TenantId,
        run: &RunId,
        approval: CommandId,
    ) -> WorldResult<Option<ApprovalRow>>;
    /// Returns every worker that did not sign off and was not given up. Whether it is live is computed at the
    /// read: a sweep runs only in a process, so the last worker of a world is never given up
    /// (`a_reader_sees_that_a_process_is_gone`, `a_reader_sees_that_a_worker_is_silent`).
    async fn workers(&self, tenant: &TenantId) -> WorldResult<Vec<WorkerRow>>;
    /// Returns ready, unclaimed and unpaused work, grouped by the worker it needs
    /// (`ready_work_is_told_by_what_it_needs`).
    async fn ready_work(&self, tenant: &TenantId) -> WorldResult<Vec<ReadyWork>>;
    /// Returns the queues; each counts live workers only.
    async fn queues(&self, tenant: &TenantId) -> WorldResult<Vec<QueueRow>>;
    async fn schedules(&self, tenant: &TenantId) -> WorldResult<Vec<Schedule>>;
    /// Returns the stored node types by name (`a_node_type_is_kept_as_it_was_put`).
    async fn node_types(&self, tenant: &TenantId) -> WorldResult<Vec<NodeType>>;
    async fn workflows(&self, tenant: &TenantId) -> WorldResult<Vec<WorkflowRow>>;
    /// Returns every version of a workflow, the last registered first
    /// (`versions_are_listed_with_their_open_runs`).
    async fn versions(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<VersionRow>>;
    /// The number and the hash of every version of a workflow, oldest first
    /// (`versions_are_numbered_in_the_order_of_their_registration`).
    async fn version_numbers(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<NumberedVersion>>;
    /// Content that is kept until it is removed, newest first (`an_artifact_is_kept_until_it_is_removed`).
    async fn artifacts(&self, tenant: &TenantId) -> WorldResult<Vec<ArtifactRow>>;
    /// The last move of every tag that points somewhere, by name.
    async fn tags(&self, tenant: &TenantId) -> WorldResult<Vec<TagMove>>;
    /// Returns the moves of a tag, newest first.
    async fn tag_history(&self, tenant: &TenantId, tag: &str, limit: usize) -> WorldResult<Vec<TagMove>>;
    /// Returns every patch of a workflow, oldest first.
    async fn workflow_patches(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<WorkflowPatch>>;
    /// Scans stored content of all tenants for checksum mismatches (`what_is_stored_well_is_no_damage`; tests
    /// of the worlds cause real damage). A page may be empty without being the last.
    async fn damage(&self, query: DamageQuery) -> WorldResult<Page<Damage>>;
    /// Returns facts for `rhythm db status` and `doctor`.
    async fn health(&self) -> WorldResult<Health>;
}

/// One page of rows, and the cursor of the next page.
#[derive(Clone, Debug, Serialize)]
pub struct Page<T> {
    pub rows: Vec<T>,
    /// Opaque; pass it on to get the next page.
    pub next: Option<String>,
}

/// Selects runs. Fields that are `None` do not restrict.
#[derive(Clone, Debug, Default)]
pub struct RunQuery {
    pub tenant: TenantId,
    pub status: Option<Status>,
    pub workflow: Option<String>,
    /// Only runs that have all of these.
    pub labels: Vec<WantedLabel>,
    pub parent: Option<RunId>,
    /// Only runs with a blocked code.
    pub blocked: bool,
    pub cursor: Option<String>,
    pub limit: usize,
}

/// A label that a run must have: any value of the key, or exactly this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedLabel {
    pub key: String,
    pub value: Option<String>,
}

impl WantedLabel {
    /// Wants exactly this value.
    pub fn equal(key: &str, value: &str) -> Self {
        Self { key: key.to_owned(), value: Some(value.to_owned()) }
    }

    /// Wants the key, with any value.
    pub fn present(key: &str) -> Self {
        Self { key: key.to_owned(), value: None }
    }

    pub fn is_among(&self, labels: &BTreeMap<String, String>) -> bool {
        let found = labels.get(&self.key);
        found.is_some_and(|found| self.value.as_ref().is_none_or(|value| found == value))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    pub id: RunId,
    pub workflow: String,
    pub version: Version,
    pub kind: WorkflowKind,
    pub status: Status,
    pub paused: bool,
    pub blocked: Option<Blocked>,
    pub compensation: Compensation,
    pub cancelling: bool,
    pub priority: i32,
    pub labels: BTreeMap<String, String>,
    pub parent: Option<Parent>,
    pub created_at: Timestamp,
    /// Time of the last write to the run.
    pub updated_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub deadline_at: Option<Timestamp>,
    pub revision: u64,
    pub seq: u64,
    /// Failure of a failed run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// One run with its tasks, timers, children, inbox and dead letters.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    pub summary: RunSummary,
    pub row: RunRow,
    pub input: Payload,
    pub output: Option<Payload>,
    pub failure: Option<Failure>,
    /// The message that failed the run.
    pub failed_by: Option<Message>,
    /// When an operator dismissed this failed run.
    pub dismissed_at: Option<Timestamp>,
    pub workflow_paused: bool,
    /// Since when the run has been in the run queue; `None` if it is not there.
    pub ready_since: Option<Timestamp>,
    pub claimed_by: Option<String>,
    /// At most 100 of each.
    pub tasks: Vec<TaskSummary>,
    pub timers: Vec<TimerRow>,
    pub children: Vec<RunSummary>,
    pub inbox: Vec<Message>,
    pub dead: Vec<DeadLetter>,
}

impl Picture {
    /// Returns whether the run has ended and compensated, fully or partly. Its snapshot no longer describes
    /// its effects then, so it cannot go on from there.
    pub fn is_compensated(&self) -> bool {
        self.summary.status.is_final() && self.summary.compensation != Compensation::None
    }
}

/// An open timer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimerRow {
    /// `None` for the run's own deadline and delayed start.
    pub timer: Option<CommandId>,
    pub what: String,
    pub due_at: Timestamp,
}

/// Selects rows of one run's history.
#[derive(Clone, Debug)]
pub struct HistoryQuery {
    pub tenant: TenantId,
    pub run: RunId,
    pub after: u64,
    pub limit: usize,
}

/// A failed attempt that was followed by a retry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptRow {
    pub task: TaskId,
    pub attempt: u32,
    pub delivery: u32,
    pub worker: String,
    pub ended_at: Timestamp,
    pub failure: Failure,
    pub next_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// Due later.
    Delayed,
    Ready,
    Running,
    /// Out of attempts; its run is held until an operator decides.
    Held,
    Completed,
    Failed,
    Cancelled,
}

/// Selects tasks. Fields that are `None` do not restrict.
#[derive(Clone, Debug, Default)]
pub struct TaskQuery {
    pub tenant: TenantId,
    pub state: Option<TaskState>,
    pub queue: Option<String>,
    pub name: Option<String>,
    pub cursor: Option<String>,
    pub limit: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskSummary {
    pub id: TaskId,
    pub run: Option<RunId>,
    pub name: String,
    pub state: TaskState,
    pub input: Payload,
    pub options: TaskOptions,
    pub attempt: u32,
    pub delivery: u32,
    pub worker: Option<String>,
    pub cancel_requested: bool,
    pub progress: Option<Payload>,
    pub created_at: Timestamp,
    /// When it becomes due, became ready, was claimed, or ended, depending on the state.
    pub since: Timestamp,
    pub deadline_at: Option<Timestamp>,
    pub output: Option<Payload>,
    pub failure: Option<Failure>,
}

/// Selects failures of tasks. Fields that are `None` do not restrict.
#[derive(Clone, Debug, Default)]
pub struct DeadQuery {
    pub tenant: TenantId,
    pub task: Option<TaskId>,
    pub run: Option<RunId>,
    pub queue: Option<String>,
    /// Empty: pending letters only.
    pub statuses: BTreeSet<LetterStatus>,
    pub cursor: Option<String>,
    pub limit: usize,
}

/// Status of a failed task for the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LetterStatus {
    /// A dead letter that waits for a decision.
    Pending,
    /// The run handled the failure: there is nothing to decide.
    Handled,
    /// An operator requeued it.
    Reprocessed,
    Discarded,
}

impl LetterStatus {
    pub const ALL: [Self; 4] = [Self::Pending, Self::Handled, Self::Reprocessed, Self::Discarded];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Handled => "handled",
            Self::Reprocessed => "reprocessed",
            Self::Discarded => "discarded",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

/// Effect of a final task failure on its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The run is live, or can be reopened, and has not consumed the failure.
    Undecided,
    Handled,
    /// The failure failed its run.
    FailedRun,
    /// The run waits until an operator decides.
    Held,
    /// The run ended without consuming the failure.
    Unread,
    /// The task belonged to no run.
    Standalone,
}

impl Fate {
    pub const ALL: [Self; 6] =
        [Self::Undecided, Self::Handled, Self::FailedRun, Self::Held, Self::Unread, Self::Standalone];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Undecided => "undecided",
            Self::Handled => "handled",
            Self::FailedRun => "failed_run",
            Self::Held => "held",
            Self::Unread => "unread",
            Self::Standalone => "standalone",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fate| fate.as_str() == text)
    }
}

/// One change of a letter's status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LetterChange {
    pub status: LetterStatus,
    pub at: Timestamp,
    /// `None` when the change is the failure of the task itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
}

/// The record of a task that ran out of attempts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    pub task: TaskId,
    pub run: Option<RunId>,
    /// The task's number within its run.
    pub number: Option<CommandId>,
    pub name: String,
    pub input: Payload,
    pub options: TaskOptions,
    pub failure: Failure,
    pub attempts: u32,
    pub died_at: Timestamp,
    /// Whether its run is held for it.
    pub held: bool,
    pub fate: Fate,
    pub status: LetterStatus,
    /// Every failure of the task and every decision about it, oldest first.
    pub history: Vec<LetterChange>,
}

/// A registered worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerRow {
    pub card: WorkerRegistration,
    pub started_at: Timestamp,
    pub beat_at: Timestamp,
    pub running: u32,
    /// Its last heartbeat is recent enough and its process holds its liveness mark.
    pub live: bool,
}

impl WorkerRow {
    /// Sets `live` from whether the process exists and the last heartbeat is within its timeout.
    pub fn judged(self, process_is_there: bool, now: Timestamp) -> Self {
        let live = process_is_there && now.since(self.beat_at) <= self.card.silence;
        Self { live, ..self }
    }
}

/// Ability a worker needs for some work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    Run { kind: WorkflowKind, workflow: String },
    Task { queue: String, name: String },
}

impl Need {
    /// Whether this worker can do the work.
    pub fn is_met_by(&self, card: &WorkerRegistration) -> bool {
        match self {
            Self::Run { kind, workflow } => card.kinds.contains(kind) || card.workflows.contains(workflow),
            Self::Task { queue, name } => card.queues.contains(queue) && card.tasks.contains(name),
        }
    }
}

/// Ready work with one need that is unclaimed and not paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyWork {
    pub need: Need,
    pub count: u64,
    /// Time at which the oldest of it became ready.
    pub oldest: Timestamp,
}

/// Counts of one task queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueRow {
    pub name: String,
    pub paused: bool,
    pub ready: u64,
    pub delayed: u64,
    pub running: u64,
    pub held: u64,
    pub oldest_ready_at: Option<Timestamp>,
    pub workers: u64,
}

/// A workflow with its current version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkflowRow {
    pub workflow: String,
    pub kind: WorkflowKind,
    pub version: Version,
    /// That of the version.
    pub number: u64,
    pub versions: u64,
    pub paused: bool,
    pub registered_at: Timestamp,
}

/// A version and its number within its workflow: 1, 2, 3 ... in the order of first registration, never given twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberedVersion {
    pub number: u64,
    pub version: Version,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersionRow {
    /// 1, 2, 3 ... within the workflow, in the order of first registration.
    pub number: u64,
    pub version: Version,
    pub kind: WorkflowKind,
    /// When it was first registered.
    pub registered_at: Timestamp,
    /// Whether new runs start with it.
    pub current: bool,
    /// Number of its runs that have not ended.
    pub open_runs: u64,
}

/// Kinds of stored content that are checked for damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    Snapshots,
    Blobs,
}

/// Selects stored content to check.
#[derive(Clone, Debug)]
pub struct DamageQuery {
    pub stored: Stored,
    pub cursor: Option<String>,
    /// Largest number of items checked, damaged or not.
    pub limit: usize,
}

/// A damaged blob, or a run whose snapshot is damaged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    pub tenant: TenantId,
    /// Id of the run, or hash of the blob.
    pub name: String,
    pub detail: String,
}

/// Counts and problems of a database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Health {
    pub world: String,
    pub server: String,
    pub schema: i64,
    pub schema_known: i64,
    pub live_runs: u64,
    pub ended_runs: u64,
    pub open_tasks: u64,
    pub timers: u64,
    pub dead_letters: u64,
    /// Ended runs with pending letters: retention keeps them until an operator decides.
    pub kept_runs: u64,
    pub bytes: Option<u64>,
    /// Problems found, each with advice. Empty when there are none.
    pub findings: Vec<String>,
}
