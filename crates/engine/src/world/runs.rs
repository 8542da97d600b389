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

/// The most messages one claim carries and one commit consumes.
pub const MESSAGES_PER_COMMIT: usize = 1_000;
/// The most messages from outside that may wait for one run.
pub const INBOX_LIMIT: u64 = 10_000;

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
    /// The run becomes ready this much later.
    pub delay: Millis,
    /// After this time a `deadline_reached` message arrives.
    pub deadline: Option<Millis>,
    pub tags: BTreeMap<String, String>,
    pub parent: Option<Parent>,
    pub actor: Actor,
    pub trace: Option<String>,
}

impl CreateRuns {
    /// Every world refuses what this does.
    pub fn check(&self) -> WorldResult<()> {
        self.runs.iter().try_for_each(NewRun::check)
    }
}

impl NewRun {
    /// Children are named after their parent with a `.`, tasks after their run with a `:`: no other run may be
    /// (`a_chosen_run_id_cannot_be_that_of_a_child_or_task`).
    pub fn check(&self) -> WorldResult<()> {
        if self.parent.is_none() && self.id.as_str().contains(['.', ':']) {
            let id = self.id.as_str();
            return Err(WorldError::Invalid(format!("a run cannot be called {id:?}: leave out `.` and `:`")));
        }
        Ok(())
    }

    /// The run as it is before its first commit.
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

/// What became of a creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creation {
    Created,
    /// The same thing is there already (also when it has ended).
    Exists,
    /// Something else is there: other name or other input.
    Conflict,
}

#[derive(Clone, Debug)]
pub struct Deliver {
    pub tenant: TenantId,
    pub deliveries: Vec<Delivery>,
}

/// One message for one run. The world stamps its arrival: `message.at` is overwritten.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    pub to: RunId,
    pub message: Message,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    Accepted,
    /// A message of that id reached the run before.
    Duplicate,
    NotFound,
    /// The run has ended.
    Ended,
    /// Too many messages wait for this run.
    Full,
}

/// What the engine needs to know of a run to step it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    pub id: RunId,
    pub tenant: TenantId,
    pub workflow: String,
    pub version: Version,
    pub kind: WorkflowKind,
    /// The fold's value after the last commit.
    pub state: RunState,
    /// Counts commits and operators' writes.
    pub revision: u64,
    /// Counts deliveries, and whatever else a fused commit must have seen.
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
    /// Kinds this process can step whatever the workflow.
    pub kinds: Vec<WorkflowKind>,
    /// Workflows whose code this process has.
    pub workflows: Vec<String>,
    /// Only this run and the runs below it (`a_claim_may_be_for_one_run_and_those_below_it`).
    pub of: Option<RunId>,
    pub limit: usize,
    pub hold: Millis,
    pub ask: Ask,
}

/// Names one call that claims, among all of its worker. With `again` the answer to it was lost: what it took and still
/// holds is given once more, with the claims and deliveries it had; only when there is none it is a first call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    pub number: u64,
    pub again: bool,
}

#[derive(Clone, Debug)]
pub struct ClaimedRuns {
    pub at: Timestamp,
    pub runs: Vec<ClaimedRun>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ClaimedRun {
    pub run: RunRow,
    pub claim: u64,
    /// In arrival order; the first one of a new run is its start. Those that could be consumed at once come
    /// before signals nobody asked for when there are more than [`MESSAGES_PER_COMMIT`].
    pub messages: Vec<Message>,
    /// More messages wait than are listed.
    pub more: bool,
    /// Claims since the last commit or orderly release, this one included.
    pub deliveries: u32,
}

/// Which runs that sleep until a timer are looked for.
#[derive(Clone, Debug)]
pub struct FindDue {
    pub tenant: TenantId,
    /// As in [`ClaimRuns`].
    pub kinds: Vec<WorkflowKind>,
    pub workflows: Vec<String>,
    /// So many of the first timers that are due are passed over: others may be busy with them.
    pub skip: usize,
    /// So many of those that follow are looked at.
    pub limit: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FoundDue {
    pub at: Timestamp,
    /// By due time.
    pub runs: Vec<DueRun>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DueRun {
    pub run: RunRow,
    pub timer: CommandId,
}

#[derive(Clone, Debug)]
pub struct Commit {
    pub tenant: TenantId,
    pub worker: WorkerId,
    /// How long the claims on new tasks hold.
    pub hold: Millis,
    pub items: Vec<CommitItem>,
    /// Claims given back without a transition.
    pub released: Vec<ReleasedRun>,
}

/// What allows an item to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// The caller holds this claim on the run.
    Claim(u64),
    /// The caller holds the claims of `finished`, nobody holds the run, its workflow is not paused, and
    /// `arrived` is as it saw it.
    Fused,
}

/// The fold of some messages, to be written whole or not at all.
#[derive(Clone, Debug, PartialEq)]
pub struct CommitItem {
    pub run: RunId,
    /// The run does not exist: it is created with this commit, at `created_at`, and has no place in the queue before. An id
    /// that is known, or a workflow that is paused, makes the item stale. Under [`Fence::Fused`], without a delay.
    pub new: Option<Box<NewRun>>,
    /// With `new`: the item is also stale when another version of the workflow is current.
    pub if_current: bool,
    /// When the run was created, if the caller knows: worlds that keep histories by that need not look it up.
    pub created_at: Option<Timestamp>,
    /// Chosen by the caller; a repeated id gets the first answer.
    pub commit: CommitId,
    pub fence: Fence,
    /// The revision the fold started from.
    pub revision: u64,
    /// The deliveries the caller has seen. Under [`Fence::Claim`] a larger number only keeps the run ready.
    pub arrived: u64,
    /// Messages to take out of the inbox. Ids that are not there (the start, a fused result) are no error.
    pub consumed: Vec<MessageId>,
    /// Timers that are due and fire with this commit (fused): their messages were never in the inbox.
    pub fired: Vec<CommandId>,
    /// Attempts that end with this commit (fused). Every claim among them must be current.
    pub finished: Vec<FinishedTask>,
    pub events: Vec<Event>,
    /// The fold's new value.
    pub state: RunState,
    pub end: Option<End>,
    /// With [`End::Failed`]: the message that failed the run, kept for reopening it.
    pub failed_by: Option<Message>,
    /// The caller left messages in the inbox that can be consumed now: keep the run ready.
    pub more: bool,
    pub tasks: Vec<NewTask>,
    pub timers: Vec<TimerSpec>,
    pub children: Vec<NewRun>,
    /// Messages for other runs, or later ones for this run. Dropped when the target is gone or has ended
    /// otherwise than by failure.
    pub deliveries: Vec<Delivery>,
    /// Applied before anything new is written. A queued task is removed and answers `CANCELLED` to the run's
    /// inbox; a running one is asked to stop.
    pub cancel_tasks: Vec<TaskId>,
    pub cancel_timers: Vec<CommandId>,
    /// Also cancel every open task of the run and send this to every live child.
    pub cancel_open: Option<Message>,
    /// Hashes of the blobs that the item refers to: in its rows, messages, tasks and children, and in its snapshot as far as the
    /// one before did not. All must exist; they are marked as used in the same transaction, so that no collector takes them
    /// before the item is written.
    pub blobs: Vec<String>,
    /// What the run made of failures, after `finished`. The letter of a handled one is none any more, and a task that is
    /// still open will leave none (`a_failure_the_run_handled_is_no_dead_letter`,
    /// `a_task_that_lost_a_race_leaves_no_dead_letter`).
    pub settled: Vec<Settled>,
}

impl CommitItem {
    /// A commit that changes nothing but the revision yet.
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

    /// The consumed messages that can be in the inbox at all: the results and timers of this very commit never were, nor was
    /// the start of a run that was not reopened since.
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

#[derive(Clone, Debug, PartialEq)]
pub struct ReleasedRun {
    pub run: RunId,
    pub claim: u64,
    pub outcome: ReleaseOutcome,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ReleaseOutcome {
    /// Nothing to do before the next delivery. Stays ready when `arrived` moved past the number.
    Idle { arrived: u64 },
    /// Ready again later, blocked until then.
    Later { after: Millis, blocked: Option<Blocked> },
    /// Set aside until somebody retries it.
    Aside(Blocked),
}

#[derive(Clone, Debug)]
pub struct Committed {
    pub at: Timestamp,
    /// One for each item, in order.
    pub outcomes: Vec<CommitOutcome>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CommitOutcome {
    Done(Done),
    /// The fence did not hold; nothing was written.
    Stale,
    /// Blobs that the item refers to do not exist; nothing was written. The same commit is accepted once they are stored.
    Missing(Vec<String>),
}

impl CommitOutcome {
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done(_))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    pub revision: u64,
    /// Deliveries counted by now; more than the item saw means that the run is ready again.
    pub arrived: u64,
    /// The new tasks this worker now holds: those marked `claim` whose queue is not paused.
    pub claimed: Vec<TaskClaim>,
}

/// All that a program may know of a run, as the fold wants it.
impl RunRow {
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

    pub fn awaiting(&self) -> &BTreeSet<String> {
        &self.state.awaiting
    }
}
