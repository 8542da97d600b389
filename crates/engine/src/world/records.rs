//! What people may ask: reads for listings, `explain` and `verify`. Never on the hot path.

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
use super::tasks::WorkerCard;

#[async_trait]
pub trait Records: Send + Sync {
    /// Newest first.
    async fn list_runs(&self, query: RunQuery) -> WorldResult<Page<RunSummary>>;
    /// Everything about one run, live or ended.
    async fn picture(&self, tenant: &TenantId, run: &RunId) -> WorldResult<Option<Picture>>;
    /// History rows after `after`, oldest first.
    async fn history(&self, query: HistoryQuery) -> WorldResult<Vec<Event>>;
    /// Ended attempts of a run's tasks that were not the last word, oldest first.
    async fn attempts(&self, tenant: &TenantId, run: &RunId) -> WorldResult<Vec<AttemptRow>>;
    /// Open and finished standalone tasks, and open tasks of runs; newest first.
    async fn list_tasks(&self, query: TaskQuery) -> WorldResult<Page<TaskSummary>>;
    async fn task(&self, tenant: &TenantId, task: &TaskId) -> WorldResult<Option<TaskSummary>>;
    /// Newest first. Failures that runs have handled, and letters somebody has decided about, only where they are asked for
    /// (`a_failure_the_run_handled_is_no_dead_letter`, `a_letter_keeps_what_became_of_it`).
    async fn list_dead(&self, query: DeadQuery) -> WorldResult<Page<DeadLetter>>;
    /// Newest first (`a_walk_through_approvals_meets_each_once`). Pending ones are found through runs that have not ended:
    /// what was decided long ago costs them nothing.
    async fn list_approvals(&self, query: ApprovalQuery) -> WorldResult<Page<ApprovalRow>>;
    /// What became of one question (`an_approval_tells_what_became_of_it`).
    async fn approval(
        &self,
        tenant: &TenantId,
        run: &RunId,
        approval: CommandId,
    ) -> WorldResult<Option<ApprovalRow>>;
    /// Every worker that did not say it leaves and was not given up yet. The reader judges which of them live: nobody gives up
    /// the last worker of a world (`a_reader_sees_that_a_process_is_gone`, `a_reader_sees_that_a_worker_is_silent`).
    async fn workers(&self, tenant: &TenantId) -> WorldResult<Vec<WorkerRow>>;
    /// What is ready and nothing holds up, by what it needs (`ready_work_is_told_by_what_it_needs`).
    async fn ready_work(&self, tenant: &TenantId) -> WorldResult<Vec<ReadyWork>>;
    /// A queue counts live workers only.
    async fn queues(&self, tenant: &TenantId) -> WorldResult<Vec<QueueRow>>;
    async fn schedules(&self, tenant: &TenantId) -> WorldResult<Vec<Schedule>>;
    /// Those that were put, by name (`a_node_type_is_kept_as_it_was_put`).
    async fn node_types(&self, tenant: &TenantId) -> WorldResult<Vec<NodeType>>;
    async fn workflows(&self, tenant: &TenantId) -> WorldResult<Vec<WorkflowRow>>;
    /// Every version of a workflow, the one registered last first (`versions_are_listed_with_their_open_runs`).
    async fn versions(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<VersionRow>>;
    /// The number and the hash of every version of a workflow, oldest first
    /// (`versions_are_numbered_in_the_order_of_their_registration`).
    async fn version_numbers(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<NumberedVersion>>;
    /// Content that is kept until it is removed, newest first (`an_artifact_is_kept_until_it_is_removed`).
    async fn artifacts(&self, tenant: &TenantId) -> WorldResult<Vec<ArtifactRow>>;
    /// The last move of every tag that points somewhere, by name.
    async fn tags(&self, tenant: &TenantId) -> WorldResult<Vec<TagMove>>;
    /// The moves of a tag, the last one first.
    async fn tag_history(&self, tenant: &TenantId, tag: &str, limit: usize) -> WorldResult<Vec<TagMove>>;
    /// Every patch of a workflow, oldest first.
    async fn workflow_patches(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<WorkflowPatch>>;
    /// Looks through what is stored, of all tenants, for content that does not fit its checksum (`what_is_stored_well_is_no_damage`;
    /// damage itself is done by tests of the worlds). A page may be empty and not the last.
    async fn damage(&self, query: DamageQuery) -> WorldResult<Page<Damage>>;
    /// Facts for `rhythm db status` and `doctor`.
    async fn health(&self) -> WorldResult<Health>;
}

/// Some rows, and where the next page begins.
#[derive(Clone, Debug, Serialize)]
pub struct Page<T> {
    pub rows: Vec<T>,
    /// Opaque; pass it on to get the next page.
    pub next: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub struct RunQuery {
    pub tenant: TenantId,
    pub status: Option<Status>,
    pub workflow: Option<String>,
    pub tag: Option<(String, String)>,
    pub parent: Option<RunId>,
    /// Only runs with a blocked code.
    pub blocked: bool,
    pub cursor: Option<String>,
    pub limit: usize,
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
    pub tags: BTreeMap<String, String>,
    pub parent: Option<Parent>,
    pub created_at: Timestamp,
    /// When something was last written.
    pub updated_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub deadline_at: Option<Timestamp>,
    pub revision: u64,
    pub seq: u64,
    /// What it failed with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// One run with all that is around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    pub summary: RunSummary,
    pub row: RunRow,
    pub input: Payload,
    pub output: Option<Payload>,
    pub failure: Option<Failure>,
    /// The message that failed the run.
    pub failed_by: Option<Message>,
    /// When somebody said that this failed run need not be kept.
    pub dismissed_at: Option<Timestamp>,
    pub workflow_paused: bool,
    /// Whether the run sits in the queue of runs, since when, and who holds it.
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
    /// A graph that has ended and took back what it did, or some of it: what it would go on from is no longer so.
    pub fn is_compensated(&self) -> bool {
        self.summary.status.is_final() && self.summary.compensation != Compensation::None
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimerRow {
    /// Absent for the run's own deadline and delayed start.
    pub timer: Option<CommandId>,
    pub what: String,
    pub due_at: Timestamp,
}

#[derive(Clone, Debug)]
pub struct HistoryQuery {
    pub tenant: TenantId,
    pub run: RunId,
    pub after: u64,
    pub limit: usize,
}

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
    /// Out of attempts, its run held.
    Held,
    Completed,
    Failed,
    Cancelled,
}

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
    /// When it becomes due, or became ready, or was claimed, or ended.
    pub since: Timestamp,
    pub deadline_at: Option<Timestamp>,
    pub output: Option<Payload>,
    pub failure: Option<Failure>,
}

#[derive(Clone, Debug, Default)]
pub struct DeadQuery {
    pub tenant: TenantId,
    pub task: Option<TaskId>,
    pub run: Option<RunId>,
    pub queue: Option<String>,
    /// Empty: those somebody still has to decide about.
    pub statuses: BTreeSet<LetterStatus>,
    pub cursor: Option<String>,
    pub limit: usize,
}

/// How a failed task stands with whoever has to decide about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LetterStatus {
    /// It is a dead letter.
    Pending,
    /// Its run dealt with the failure: there is nothing to decide.
    Handled,
    /// It was run again.
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

/// What a failure came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Its run goes on, or may, and has not looked at it.
    Undecided,
    Handled,
    /// Its run failed of it.
    FailedRun,
    /// Its run waits until somebody decides.
    Held,
    /// Its run is over and never looked.
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
    /// Absent where a task failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
}

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
    /// Its run is held for it.
    pub held: bool,
    pub fate: Fate,
    pub status: LetterStatus,
    /// Every failure of the task and every decision about it, oldest first.
    pub history: Vec<LetterChange>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerRow {
    pub card: WorkerCard,
    pub started_at: Timestamp,
    pub beat_at: Timestamp,
    pub running: u32,
    /// It has been heard of in time, and its process is there.
    pub live: bool,
}

impl WorkerRow {
    /// What a reader says of a worker whose process is there, or not.
    pub fn judged(self, process_is_there: bool, now: Timestamp) -> Self {
        let live = process_is_there && now.since(self.beat_at) <= self.card.silence;
        Self { live, ..self }
    }
}

/// What a worker must be able to do for some work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    Run { kind: WorkflowKind, workflow: String },
    Task { queue: String, name: String },
}

impl Need {
    pub fn is_met_by(&self, card: &WorkerCard) -> bool {
        match self {
            Self::Run { kind, workflow } => card.kinds.contains(kind) || card.workflows.contains(workflow),
            Self::Task { queue, name } => card.queues.contains(queue) && card.tasks.contains(name),
        }
    }
}

/// Work of one kind that is ready, that nobody has claimed and that no pause holds up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyWork {
    pub need: Need,
    pub count: u64,
    /// Since when the oldest of it has been ready.
    pub oldest: Timestamp,
}

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
    /// For the first time.
    pub registered_at: Timestamp,
    /// New runs start with it.
    pub current: bool,
    /// Runs of it that have not ended.
    pub open_runs: u64,
}

/// What is looked through for damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    Snapshots,
    Blobs,
}

#[derive(Clone, Debug)]
pub struct DamageQuery {
    pub stored: Stored,
    pub cursor: Option<String>,
    /// Things looked at, damaged or not.
    pub limit: usize,
}

/// A run whose snapshot is damaged, or a blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    pub tenant: TenantId,
    /// The id of the run, or the hash of the blob.
    pub name: String,
    pub detail: String,
}

/// How a database is.
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
    /// Ended runs with pending letters: they are kept until somebody decides.
    pub kept_runs: u64,
    pub bytes: Option<u64>,
    /// Problems found, each with what to do. Empty when all is well.
    pub findings: Vec<String>,
}
