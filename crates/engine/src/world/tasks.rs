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
    /// The run it answers to, and its number there. Standalone tasks have none.
    pub run: Option<(RunId, CommandId)>,
    pub name: String,
    pub input: Payload,
    pub options: TaskOptions,
    pub actor: Actor,
    pub trace: Option<String>,
    /// In a commit: the committing worker takes this task at once. It then has claim number 1, attempt 1,
    /// delivery 1.
    pub claim: bool,
}

impl NewTask {
    /// The name of what its run will be told; nothing of a task that stands alone.
    pub fn answer(&self) -> Option<MessageId> {
        self.run.as_ref().map(|(_, number)| MessageId::task(*number))
    }
}

/// A claim on a task: its number is checked by everything the holder sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskClaim {
    pub task: TaskId,
    pub claim: u64,
}

#[derive(Clone, Debug)]
pub struct ClaimTasks {
    pub tenant: TenantId,
    pub worker: WorkerId,
    /// Queues, each with the most tasks wanted from it.
    pub queues: Vec<(String, usize)>,
    /// Names this worker has handlers for; others stay in the queue. Empty means any.
    pub names: Vec<String>,
    /// Only tasks of this run and of the runs below it, whatever their deadline
    /// (`a_claim_may_be_for_tasks_of_one_run_and_those_below_it`).
    pub of: Option<RunId>,
    pub hold: Millis,
    /// Also give the rows of the runs the tasks belong to, for fused commits.
    pub with_runs: bool,
    /// Instead of ready tasks of these queues: tasks of any queue that are not running and whose deadline
    /// has passed.
    pub overdue: bool,
    pub ask: Ask,
}

#[derive(Clone, Debug)]
pub struct ClaimedTasks {
    pub at: Timestamp,
    pub tasks: Vec<ClaimedTask>,
    /// Each run once.
    pub runs: Vec<RunRow>,
}

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
    /// What the last delivery reported before it was lost.
    pub progress: Option<Payload>,
    pub created_at: Timestamp,
    pub deadline_at: Option<Timestamp>,
    pub trace: Option<String>,
}

#[derive(Clone, Debug)]
pub struct FinishTasks {
    pub tenant: TenantId,
    pub worker: WorkerId,
    pub finished: Vec<FinishedTask>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FinishedTask {
    pub task: TaskId,
    pub claim: u64,
    pub outcome: TaskOutcome,
    /// For the run's inbox. Absent for standalone tasks, retries, held tasks, and in a fused commit, which
    /// has consumed it already.
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
    /// Out of attempts: becomes a dead letter. With `hold` the run stays blocked with `dead_letter`.
    Exhausted {
        failure: Failure,
        hold: bool,
    },
    /// Ended because it was cancelled; no dead letter.
    Cancelled {
        failure: Failure,
    },
    /// Handed back unexecuted: ready at once, and this delivery does not count.
    Released,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    Done,
    /// The claim was taken over; nothing was written.
    Stale,
}

/// A worker as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerCard {
    pub id: WorkerId,
    pub host: String,
    pub pid: u32,
    pub version: String,
    pub queues: Vec<String>,
    pub tasks: Vec<String>,
    pub kinds: Vec<WorkflowKind>,
    pub workflows: Vec<String>,
    pub concurrency: u32,
    /// It promises to be heard of more often than this; a worker that is not is given up.
    pub silence: Millis,
}

#[derive(Clone, Debug)]
pub struct Extend {
    pub tenant: TenantId,
    /// Registers the worker when it is new, or was given up meanwhile.
    pub card: WorkerCard,
    pub running: u32,
    pub hold: Millis,
    pub tasks: Vec<Beat>,
    /// The worker stops: its card goes away.
    pub leaving: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Beat {
    pub claim: TaskClaim,
    pub progress: Option<Payload>,
}

#[derive(Clone, Debug)]
pub struct Extended {
    pub at: Timestamp,
    /// Claims that are no longer this worker's.
    pub lost: Vec<TaskId>,
    /// Running tasks somebody wants stopped.
    pub cancelled: Vec<TaskId>,
}
