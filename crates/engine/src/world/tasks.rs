//! Requests about tasks: enqueueing, claiming, finishing, heartbeats.

use rhythm_core::message::Message;
use rhythm_core::{
    Actor, CommandId, Failure, MessageId, Millis, Payload, RunId, TaskId, TaskOptions, TenantId, Timestamp,
    WorkerId, WorkflowKind,
};
use serde::{Deserialize, Serialize};

use super::runs::{Ask, RunRow};

#[derive(Clone, Debug)]
pub struct EnqueueTasks {
    pub tenant: TenantId,
    pub tasks: Vec<NewTask>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NewTask {
    pub id: TaskId,
    /// The run it answers to, and its number there. `None` for standalone tasks.
    pub run: Option<(RunId, CommandId)>,
    pub name: String,
    pub input: Payload,
    pub options: TaskOptions,
    pub actor: Actor,
    pub trace: Option<String>,
    /// In a commit: the committing worker claims this task at once, with claim number 1, attempt 1 and
    /// delivery 1.
    pub claim: bool,
}

impl NewTask {
    /// Returns the id of the message that answers the run; `None` for a standalone task.
    pub fn answer(&self) -> Option<MessageId> {
        self.run.as_ref().map(|(_, number)| MessageId::task(*number))
    }
}

/// A claim on a task. Every request of the holder is checked against its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskClaim {
    pub task: TaskId,
    pub claim: u64,
}

#[derive(Clone, Debug)]
pub struct ClaimTasks {
    pub tenant: TenantId,
    pub worker: WorkerId,
    /// Queues, each with the largest number of tasks wanted from it.
    pub queues: Vec<(String, usize)>,
    /// Names this worker has handlers for; other tasks stay in the queue. Empty means any.
    pub names: Vec<String>,
    /// Only tasks of this run and of the runs below it, whatever their deadline
    /// (`a_claim_may_be_for_tasks_of_one_run_and_those_below_it`).
    pub of: Option<RunId>,
    pub hold: Millis,
    /// Whether to return the rows of the tasks' runs too, for fused commits.
    pub with_runs: bool,
    /// Claims tasks past their deadline that are not running, from any queue, instead of ready tasks.
    pub overdue: bool,
    pub ask: Ask,
}

/// Tasks claimed by one call, with the world's time.
#[derive(Clone, Debug)]
pub struct ClaimedTasks {
    pub at: Timestamp,
    pub tasks: Vec<ClaimedTask>,
    /// Each run once.
    pub runs: Vec<RunRow>,
}

/// A claimed task, with everything needed to perform one attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimedTask {
    pub id: TaskId,
    pub run: Option<(RunId, CommandId)>,
    pub name: String,
    pub input: Payload,
    pub options: TaskOptions,
    pub claim: u64,
    /// Grows when an attempt has ended.
    pub attempt: u32,
    /// Grows at each claim, before execution; starts again with each attempt.
    pub delivery: u32,
    /// Progress that the last delivery reported before its claim was lost.
    pub progress: Option<Payload>,
    pub created_at: Timestamp,
    pub deadline_at: Option<Timestamp>,
    pub trace: Option<String>,
}

/// Ended attempts to write.
#[derive(Clone, Debug)]
pub struct FinishTasks {
    pub tenant: TenantId,
    pub worker: WorkerId,
    pub finished: Vec<FinishedTask>,
}

/// An ended attempt. It is written only if `claim` is current.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedTask {
    pub task: TaskId,
    pub claim: u64,
    pub outcome: TaskOutcome,
    /// Message for the run's inbox. `None` for standalone tasks, retries, held tasks, and in a fused commit,
    /// which has consumed the message already.
    pub message: Option<Message>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TaskOutcome {
    Completed {
        output: Payload,
    },
    /// This attempt failed; the next one becomes due after the delay.
    Retry {
        failure: Failure,
        delay: Millis,
    },
    /// Out of attempts: becomes a dead letter. With `hold` the run is blocked as `dead_letter`.
    Exhausted {
        failure: Failure,
        hold: bool,
    },
    /// Ended because it was cancelled; no dead letter.
    Cancelled {
        failure: Failure,
    },
    /// Returned without being executed: ready at once, and this delivery does not count.
    Released,
}

/// Result of ending one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    Done,
    /// The claim is not current; nothing was written.
    Stale,
}

/// A worker's description of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerRegistration {
    pub id: WorkerId,
    pub host: String,
    pub pid: u32,
    pub version: String,
    pub queues: Vec<String>,
    pub tasks: Vec<String>,
    pub kinds: Vec<WorkflowKind>,
    pub workflows: Vec<String>,
    pub concurrency: u32,
    /// Heartbeat timeout: the worker is given up when it has sent no heartbeat for this long.
    pub silence: Millis,
}

/// A heartbeat.
#[derive(Clone, Debug)]
pub struct Extend {
    pub tenant: TenantId,
    /// Registers the worker if it is new or was given up since.
    pub card: WorkerRegistration,
    pub running: u32,
    pub hold: Millis,
    pub tasks: Vec<Beat>,
    /// Whether the worker stops: its registration is removed.
    pub leaving: bool,
}

/// Heartbeat of one running task, with its latest progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Beat {
    pub claim: TaskClaim,
    pub progress: Option<Payload>,
}

/// Answer to a heartbeat, with the world's time.
#[derive(Clone, Debug)]
pub struct Extended {
    pub at: Timestamp,
    /// Tasks whose claim this worker no longer holds.
    pub lost: Vec<TaskId>,
    /// Running tasks that were asked to stop.
    pub cancelled: Vec<TaskId>,
}
