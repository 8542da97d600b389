//! Requests about runs: creating, delivering, claiming, committing.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rhythm_core::event::Event;
use rhythm_core::fold::{End, RunState, Settled};
use rhythm_core::message::Message;
use rhythm_core::{
    Actor, Blocked, CommandId, CommitId, MessageId, Millis, Payload, RunId, Snapshot, TaskId, TenantId,
    TimerSpec, Timestamp, Version, WorkerId, WorkflowKind,
};
use serde::{Deserialize, Serialize};

use super::tasks::{FinishedTask, NewTask, TaskClaim};
use super::{WorldError, WorldResult};

/// Largest number of messages in one claim and in one commit.
pub const MESSAGES_PER_COMMIT: usize = 1_000;
/// Number of messages in a run's inbox from which on signals are refused. Other messages are still accepted.
pub const INBOX_LIMIT: u64 = 10_000;

/// Workflow versions to register.
#[derive(Clone, Debug)]
pub struct Register {
    pub tenant: TenantId,
    pub definitions: Vec<Definition>,
}

/// One version of a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    pub workflow: String,
    pub version: Version,
    pub kind: WorkflowKind,
    pub source: String,
    /// The compiled form and its format number; immutable with the version.
    pub compiled: Vec<u8>,
    pub format: u32,
}

/// Names a version of a workflow; without `version`, the current one.
#[derive(Clone, Debug)]
pub struct DefinitionQuery {
    pub tenant: TenantId,
    pub workflow: String,
    pub version: Option<Version>,
}

#[derive(Clone, Debug)]
pub struct CreateRuns {
    pub tenant: TenantId,
    pub runs: Vec<NewRun>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NewRun {
    pub id: RunId,
    pub workflow: String,
    pub version: Version,
    pub kind: WorkflowKind,
    pub input: Payload,
    pub priority: i32,
    /// The run becomes ready after this delay.
    pub delay: Millis,
    /// After this time a `deadline_reached` message arrives.
    pub deadline: Option<Millis>,
    /// Key/value pairs by which people find the run.
    pub labels: BTreeMap<String, String>,
    pub parent: Option<Parent>,
    pub actor: Actor,
    pub trace: Option<String>,
}

impl CreateRuns {
    /// Fails with `Invalid` for run ids that no world may accept.
    pub fn check(&self) -> WorldResult<()> {
        self.runs.iter().try_for_each(NewRun::check)
    }
}

impl NewRun {
    /// Fails with `Invalid` if the chosen id contains `.` or `:`. Children are named `PARENT.N` and tasks
    /// `RUN:N`, so such an id could collide with one of them
    /// (`a_chosen_run_id_cannot_be_that_of_a_child_or_task`).
    pub fn check(&self) -> WorldResult<()> {
        if self.parent.is_none() && self.id.as_str().contains(['.', ':']) {
            let id = self.id.as_str();
            return Err(WorldError::Invalid(format!("a run cannot be called {id:?}: leave out `.` and `:`")));
        }
        Ok(())
    }

    /// Returns the run as it is before its first commit.
    pub fn row(&self, tenant: &TenantId, created_at: Timestamp) -> RunRow {
        RunRow {
            id: self.id.clone(),
            tenant: tenant.clone(),
            workflow: self.workflow.clone(),
            version: self.version.clone(),
            kind: self.kind,
            state: RunState::default(),
            revision: 0,
            arrived: 0,
            paused: false,
            priority: self.priority,
            parent: self.parent.clone(),
            created_at,
        }
    }
}

/// The run and command a child answers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    pub run: RunId,
    pub child: CommandId,
}

/// Result of creating one run or task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creation {
    Created,
    /// The same run or task exists already; it may have ended.
    Exists,
    /// The id belongs to a run or task with another name or input.
    Conflict,
}

/// Messages from outside to deliver.
#[derive(Clone, Debug)]
pub struct Deliver {
    pub tenant: TenantId,
    pub deliveries: Vec<Delivery>,
}

/// One message for one run. The world overwrites `message.at` with the time of arrival.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    pub to: RunId,
    pub message: Message,
}

/// Result of one delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    Accepted,
    /// A message with that id reached the run before.
    Duplicate,
    NotFound,
    /// The run has ended.
    Ended,
    /// The message is a signal, and the run's inbox holds [`INBOX_LIMIT`] messages.
    Full,
}

/// Everything the engine needs to step a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    pub id: RunId,
    pub tenant: TenantId,
    pub workflow: String,
    pub version: Version,
    pub kind: WorkflowKind,
    /// Value of the fold after the last commit.
    pub state: RunState,
    /// Number of commits and operator writes.
    pub revision: u64,
    /// Number of deliveries and of other changes that must make a fused commit stale.
    pub arrived: u64,
    pub paused: bool,
    pub priority: i32,
    pub parent: Option<Parent>,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug)]
pub struct ClaimRuns {
    pub tenant: TenantId,
    pub worker: WorkerId,
    /// Kinds this process can step, for every workflow.
    pub kinds: Vec<WorkflowKind>,
    /// Further workflows this process can step.
    pub workflows: Vec<String>,
    /// Only this run and the runs below it (`a_claim_may_be_for_one_run_and_those_below_it`).
    pub of: Option<RunId>,
    pub limit: usize,
    pub hold: Millis,
    pub ask: Ask,
}

/// Identifies one claiming call among all of its worker. `again` repeats a call whose answer was lost: it
/// returns the runs or tasks the first call claimed and the worker still holds, with the same claim numbers
/// and delivery counts. If there are none, it counts as a first call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    pub number: u64,
    pub again: bool,
}

/// Runs claimed by one call, with the world's time.
#[derive(Clone, Debug)]
pub struct ClaimedRuns {
    pub at: Timestamp,
    pub runs: Vec<ClaimedRun>,
}

/// A claimed run with its waiting messages.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimedRun {
    pub run: RunRow,
    pub claim: u64,
    /// In arrival order; the first message of a new run is its start. If there are more than
    /// [`MESSAGES_PER_COMMIT`], messages that can be consumed now come before signals the run does not await.
    pub messages: Vec<Message>,
    /// Whether more messages wait than are listed.
    pub more: bool,
    /// Claims since the last commit or orderly release, this one included.
    pub deliveries: u32,
}

/// Selects sleeping runs whose timers are due.
#[derive(Clone, Debug)]
pub struct FindDue {
    pub tenant: TenantId,
    /// As in [`ClaimRuns`].
    pub kinds: Vec<WorkflowKind>,
    pub workflows: Vec<String>,
    /// Number of first due timers to skip, because other processes may be working on them.
    pub skip: usize,
    /// Number of due timers to read after those.
    pub limit: usize,
}

/// Sleeping runs whose timer is due, with the world's time.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundDue {
    pub at: Timestamp,
    /// Ordered by due time.
    pub runs: Vec<DueRun>,
}

/// A sleeping run and its due timer.
#[derive(Clone, Debug, PartialEq)]
pub struct DueRun {
    pub run: RunRow,
    pub timer: CommandId,
}

/// Transitions to write and claims to give back. Each item is atomic by itself.
#[derive(Clone, Debug)]
pub struct Commit {
    pub tenant: TenantId,
    pub worker: WorkerId,
    /// Duration of the claims on new tasks.
    pub hold: Millis,
    pub items: Vec<CommitItem>,
    /// Claims given back without a transition.
    pub released: Vec<ReleasedRun>,
}

/// Condition under which an item may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// The caller holds this claim on the run.
    Claim(u64),
    /// The caller holds the claims of `finished`, no process holds the run, its workflow is not paused, and
    /// `arrived` has not changed since the caller read it.
    Fused,
}

/// The result of folding some messages, written completely or not at all.
#[derive(Clone, Debug, PartialEq)]
pub struct CommitItem {
    pub run: RunId,
    /// Creates the run with this commit, at `created_at`; the run was never in the run queue. The item is
    /// stale if the id exists or the workflow is paused. Only under [`Fence::Fused`] and without a delay.
    pub new: Option<Box<NewRun>>,
    /// With `new`: the item is also stale if another version of the workflow is current.
    pub if_current: bool,
    /// When the run was created, if the caller knows. Worlds that partition history by it then skip the
    /// lookup.
    pub created_at: Option<Timestamp>,
    /// Chosen by the caller; a repeated id gets the first answer.
    pub commit: CommitId,
    pub fence: Fence,
    /// The revision the fold started from.
    pub revision: u64,
    /// Deliveries the caller has seen. Under [`Fence::Claim`] a larger stored number only keeps the run
    /// ready.
    pub arrived: u64,
    /// Messages to remove from the inbox. Ids that are not there (the start, a fused result) are no error.
    pub consumed: Vec<MessageId>,
    /// Due timers that fire with this commit (fused): their messages were never in the inbox.
    pub fired: Vec<CommandId>,
    /// Attempts that end with this commit (fused). Every claim among them must be current.
    pub finished: Vec<FinishedTask>,
    pub events: Vec<Event>,
    /// The fold's new value.
    pub state: RunState,
    pub end: Option<End>,
    /// With [`End::Failed`]: the message that failed the run, kept for reopening it.
    pub failed_by: Option<Message>,
    /// Messages that can be consumed now remain in the inbox: keep the run ready.
    pub more: bool,
    pub tasks: Vec<NewTask>,
    pub timers: Vec<TimerSpec>,
    pub children: Vec<NewRun>,
    /// Messages for other runs, or later ones for this run. Dropped when the target does not exist or has
    /// ended otherwise than by failure.
    pub deliveries: Vec<Delivery>,
    /// Applied before anything new is written. A queued task is removed, and a `CANCELLED` answer goes to the
    /// run's inbox; a running one is asked to stop.
    pub cancel_tasks: Vec<TaskId>,
    pub cancel_timers: Vec<CommandId>,
    /// Cancel every open task of the run and send this message to every live child.
    pub cancel_open: Option<Message>,
    /// Hashes of the blobs the item refers to: in its rows, messages, tasks and children, and in its snapshot
    /// where the previous snapshot did not. All must exist. The same transaction marks them as used, so that
    /// no collector removes them before the item is written.
    pub blobs: Vec<String>,
    /// Verdicts of the run on task failures, applied after `finished`. A handled failure leaves no dead
    /// letter, and a task that is still open will not leave one
    /// (`a_failure_the_run_handled_is_no_dead_letter`, `a_task_that_lost_a_race_leaves_no_dead_letter`).
    pub settled: Vec<Settled>,
}

impl CommitItem {
    /// Returns a commit that changes only the revision.
    pub fn new(run: RunId, commit: CommitId, fence: Fence, state: RunState) -> Self {
        Self {
            run,
            new: None,
            if_current: false,
            created_at: None,
            commit,
            fence,
            revision: 0,
            arrived: 0,
            consumed: Vec::new(),
            fired: Vec::new(),
            finished: Vec::new(),
            events: Vec::new(),
            state,
            end: None,
            failed_by: None,
            more: false,
            tasks: Vec::new(),
            timers: Vec::new(),
            children: Vec::new(),
            deliveries: Vec::new(),
            cancel_tasks: Vec::new(),
            cancel_timers: Vec::new(),
            cancel_open: None,
            blobs: Vec::new(),
            settled: Vec::new(),
        }
    }

    /// Returns the consumed messages that may be in the inbox. Results and timers of this commit never were
    /// there, nor was the start of a run at revision 0.
    pub fn taken_out(&self) -> impl Iterator<Item = &MessageId> {
        let numbers = self.finished.iter().filter_map(|finished| finished.task.as_str().rsplit_once(':'));
        let finished_here: HashSet<&str> = numbers.map(|(_, number)| number).collect();
        let fired_here: Vec<MessageId> = self.fired.iter().copied().map(MessageId::timer).collect();
        self.consumed.iter().filter(move |message| match message.as_str().strip_prefix("task:") {
            Some(number) => !finished_here.contains(number),
            None => (message.as_str() != "start" || self.revision > 0) && !fired_here.contains(message),
        })
    }
}

/// A claim on a run that is given back without a transition.
#[derive(Clone, Debug, PartialEq)]
pub struct ReleasedRun {
    pub run: RunId,
    pub claim: u64,
    pub outcome: ReleaseOutcome,
}

/// Next state of a run whose claim is given back.
#[derive(Clone, Debug, PartialEq)]
pub enum ReleaseOutcome {
    /// Nothing to do before the next delivery. The run stays ready if its `arrived` is larger than this
    /// number.
    Idle { arrived: u64 },
    /// Ready again later, blocked until then.
    Later { after: Millis, blocked: Option<Blocked> },
    /// Quarantined until an operator retries it.
    Aside(Blocked),
}

/// Results of a commit, with the world's time.
#[derive(Clone, Debug)]
pub struct Committed {
    pub at: Timestamp,
    /// One for each item, in order.
    pub outcomes: Vec<CommitOutcome>,
}

/// Result of one item.
#[derive(Clone, Debug, PartialEq)]
pub enum CommitOutcome {
    Done(Done),
    /// The fence did not hold; nothing was written.
    Stale,
    /// Blobs the item refers to do not exist; nothing was written. The same commit is accepted once they are
    /// stored.
    Missing(Vec<String>),
}

impl CommitOutcome {
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done(_))
    }
}

/// State of the run after a written item.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    pub revision: u64,
    /// Current number of deliveries; more than the item saw means that the run is ready again.
    pub arrived: u64,
    /// The new tasks this worker now holds: those marked `claim` whose queue is not paused.
    pub claimed: Vec<TaskClaim>,
}

impl RunRow {
    /// Returns the facts a program may read about its run.
    pub fn facts(&self) -> rhythm_core::program::RunFacts {
        rhythm_core::program::RunFacts {
            run: self.id.clone(),
            tenant: self.tenant.clone(),
            workflow: self.workflow.clone(),
            version: self.version.clone(),
            created_at: self.created_at,
        }
    }

    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.state.snapshot.as_ref()
    }

    /// Returns the names of signals and marks the run awaits.
    pub fn awaiting(&self) -> &BTreeSet<String> {
        &self.state.awaiting
    }
}
