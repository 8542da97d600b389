//! Requests of operators and background duties to a world.

use rhythm_core::cron::{CatchUp, Overlap};
use rhythm_core::event::EventData;
use rhythm_core::message::Message;
use rhythm_core::{
    Actor, Millis, Payload, RunId, TaskId, TaskOptions, TenantId, Timestamp, Version, WorkflowKind,
};
use rhythm_graph::NodeType;
use serde::{Deserialize, Serialize};

use super::WorldError;
use super::artifacts::{NewArtifact, NewTagMove, NewWorkflowPatch};
use super::runs::{CommitItem, Definition, NewRun};
use super::tasks::NewTask;

/// One request of an operator.
#[derive(Clone, Debug)]
pub struct ControlRequest {
    pub tenant: TenantId,
    pub actor: Actor,
    pub control: Control,
}

/// Requests of operators. Those about a run, letter, schedule or version that does not exist fail with
/// `NotFound`.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// Pauses a run at once: it is not stepped until it is resumed. Writes history and bumps the revision, so
    /// a commit already under way is refused. Idempotent.
    PauseRun {
        run: RunId,
        reason: String,
    },
    ResumeRun {
        run: RunId,
        reason: String,
    },
    /// Makes a quarantined run, or one without its version, ready again. Counts as a delivery, so a fused
    /// commit under way is refused.
    Unblock {
        run: RunId,
    },
    /// Writes one row into the history of a live run.
    Annotate {
        run: RunId,
        event: EventData,
    },
    PauseWorkflow {
        workflow: String,
    },
    ResumeWorkflow {
        workflow: String,
    },
    PauseQueue {
        queue: String,
    },
    ResumeQueue {
        queue: String,
    },
    /// Makes a failed run live again, with the snapshot from before its failure. Refused as conflict when the
    /// run has not failed, was compensated, or its revision changed.
    Reopen {
        run: RunId,
        revision: u64,
        reason: String,
        /// Dead letters that become tasks again, with fresh attempts.
        requeue: Vec<TaskId>,
        /// Messages put into the inbox again.
        redeliver: Vec<Message>,
        /// A new deadline for the run, and tasks to start again.
        fresh: Option<Box<FreshTime>>,
    },
    /// Moves the run to another version of its workflow. The commit holds the message of the change, its
    /// events and the new program's snapshot. A process that holds a claim on the run loses it, and its
    /// commits are refused. With `reopen` the run has failed and the same write reopens it; without, it is
    /// live. Refused as conflict when the revision changed or nothing was committed yet. Unchanged when this
    /// commit was written before (`a_version_is_changed_with_the_message_that_says_so`,
    /// `a_change_of_a_moved_run_is_refused`, `a_repeated_change_is_one`,
    /// `a_late_holder_of_a_changed_run_is_refused`, `a_paused_run_stays_paused_with_another_version`,
    /// `a_failed_run_is_opened_with_another_version`).
    ChangeVersion {
        run: RunId,
        version: Version,
        item: Box<CommitItem>,
        reopen: Option<Opening>,
    },
    /// Makes an ended run live again for this message alone, whatever its final status; its other messages
    /// and timers are dropped. Refused as conflict when the run has not ended, when its revision changed, or
    /// when one of its tasks is still open, because the run may have consumed that task's answer already
    /// (`an_ended_run_is_opened_to_take_back_what_it_did`, `taking_back_on_a_moved_revision_is_refused`,
    /// `nothing_is_taken_back_while_a_task_is_under_way`).
    TakeBack {
        run: RunId,
        revision: u64,
        reason: String,
        message: Box<Message>,
    },
    /// Creates a run that begins with a history, and writes its first commit, in one transaction. Unchanged
    /// when this run exists already. Refused as conflict when another run has its id, or when its workflow is
    /// paused (`a_fork_begins_where_its_history_ends`, `a_fork_does_not_start_but_goes_on`,
    /// `a_repeated_fork_changes_nothing`, `a_fork_of_a_paused_workflow_is_refused_whole`).
    Fork {
        run: Box<NewRun>,
        item: Box<CommitItem>,
    },
    /// Turns a dead letter into a task again, with fresh attempts and a claim number that keeps growing. For
    /// a task of a live run, only when the run is held for it. If the run has ended without reading the
    /// failure, the task becomes standalone (`a_requeued_task_of_a_run_that_is_over_stands_alone`). Conflict
    /// when the run handled the failure (`a_failure_the_run_handled_is_not_requeued`).
    RequeueDead {
        task: TaskId,
    },
    /// Ends the longer retention of a failed run. Refused as conflict when the run has not failed.
    DismissRun {
        run: RunId,
    },
    /// Removes an ended run and the ended runs below it: history, attempts, messages, letters and ids. A conflict while one of them is
    /// live or has a task under way, and, unless `letters` go too, while one has a pending letter
    /// (`a_deleted_run_leaves_nothing`, `what_is_in_use_is_not_deleted`).
    DeleteRun {
        run: RunId,
        letters: bool,
    },
    /// Drops a dead letter. `message` goes to the run that is held for it.
    DiscardDead {
        task: TaskId,
        message: Option<Message>,
    },
    /// Removes a queued standalone task, or asks a running one to stop.
    CancelTask {
        task: TaskId,
    },
    /// Stores a node type for graphs, or replaces it. Registered workflows keep the form they were compiled
    /// with.
    PutNodeType(NodeType),
    RemoveNodeType {
        name: String,
    },
    PutSchedule(Schedule),
    RemoveSchedule {
        name: String,
    },
    PauseSchedule {
        name: String,
    },
    ResumeSchedule {
        name: String,
        next_at: Option<Timestamp>,
    },
    /// Advances a schedule and starts its due runs and tasks, only if `expected` is still its next time.
    FireSchedule {
        name: String,
        expected: Timestamp,
        next_at: Option<Timestamp>,
        runs: Vec<NewRun>,
        tasks: Vec<NewTask>,
        /// Number of fire times that were skipped.
        missed: u64,
    },
    /// Keeps a blob that exists until it is removed; a removal lets the collector take it, unless something stored names it
    /// (`an_artifact_is_kept_until_it_is_removed`, `a_kept_blob_is_not_collected`, `what_is_not_there_cannot_be_kept`,
    /// `an_artifact_belongs_to_its_tenant`).
    PutArtifact(NewArtifact),
    RemoveArtifact {
        hash: String,
    },
    /// Points a tag at a version, or at nothing, if nobody moved it since the caller looked; otherwise a conflict. Unchanged
    /// when this very move was made before (`a_tag_moves_and_remembers_every_move`, `a_repeated_move_of_a_tag_is_one`,
    /// `a_tag_points_at_a_version_that_is_there`, `a_removed_tag_keeps_its_history`).
    MoveTag(NewTagMove),
    /// Stores a version and leaves what is current as it is: a workflow that had no version has no current one then. Unchanged
    /// when the version is there (`a_version_is_stored_beside_the_current_one`).
    StoreVersion(Box<Definition>),
    /// Stores a version made of another one and moves the tag, or what is current, from that one to it: all of it, or
    /// nothing and a conflict when somebody else moved it first. With a tag the current version stays as it is. Unchanged
    /// when this very patch was written before (`a_patched_version_is_current_and_kept_with_its_patch`,
    /// `a_patch_of_a_tagged_version_leaves_the_current_one`, `a_repeated_patch_of_a_workflow_is_one`).
    PatchWorkflow(Box<NewWorkflowPatch>),
}

/// Parameters for reopening a failed run, as in [`Control::Reopen`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Opening {
    pub reason: String,
    pub requeue: Vec<TaskId>,
    pub redeliver: Vec<Message>,
    pub fresh: Option<Box<FreshTime>>,
}

/// Result of a control request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controlled {
    Done,
    /// The state was already as requested.
    Unchanged,
}

/// A rule that starts runs or tasks at cron times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    pub name: String,
    pub cron: String,
    pub zone: String,
    pub target: ScheduleTarget,
    pub catch_up: CatchUp,
    pub overlap: Overlap,
    /// Declared in the front matter of its workflow: registering a version adds or removes it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub declared: bool,
    #[serde(default)]
    pub paused: bool,
    /// Absent when the rule never fires again.
    pub next_at: Option<Timestamp>,
    #[serde(default)]
    pub last_at: Option<Timestamp>,
    /// Run or task id that the last fire started.
    #[serde(default)]
    pub last_started: Option<String>,
    #[serde(default)]
    pub fired: u64,
    #[serde(default)]
    pub missed: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "schedules are few, and this one is taken apart where it fires"
)]
pub enum ScheduleTarget {
    Workflow { workflow: String, input: Payload },
    Task { name: String, input: Payload, options: TaskOptions },
}

/// Conflict: a run with an open task cannot be compensated.
pub fn still_open(task: &TaskId, run: &RunId) -> WorldError {
    WorldError::Conflict(format!(
        "task {task} of run {run} is still open; wait for it, or cancel or discard it"
    ))
}

/// New deadline and tasks of a reopened run.
#[derive(Clone, Debug, PartialEq)]
pub struct FreshTime {
    /// Counted from now. A `deadline_reached` message that was not consumed yet is removed.
    pub deadline: Millis,
    /// Tasks that ended with the run, under their old ids. An answer of theirs that was not consumed is
    /// withdrawn. Their claim numbers continue above every number given before. Refused as conflict while one
    /// of them is still open.
    pub tasks: Vec<NewTask>,
}

impl FreshTime {
    /// Returns the ids of the tasks that start again.
    pub fn anew(fresh: &Option<Box<Self>>) -> impl Iterator<Item = &TaskId> {
        fresh.iter().flat_map(|fresh| &fresh.tasks).map(|task| &task.id)
    }

    /// Claim number from which the tasks continue: between two changes of its run, a task is handed out far
    /// fewer than 2^20 times.
    pub fn claim(revision: u64) -> u64 {
        revision.saturating_mul(1 << 20)
    }
}

/// Reason shown for a ready run that no live worker can step.
pub fn unserved_run(kind: WorkflowKind, workflow: &str) -> String {
    format!("no live worker can step {} workflow {workflow}", kind.as_str())
}

/// Reason shown for a ready task that no live worker can do.
pub fn unserved_task(name: &str, queue: &str) -> String {
    format!("no live worker of queue {queue} has a handler for task {name}")
}

/// Conflict: a failure that its run handled is not requeued, because the task's effect would add to the run's
/// reaction.
pub fn handled_already(task: &TaskId) -> WorldError {
    WorldError::Conflict(format!("the run of task {task} handled its failure: it is no dead letter"))
}

/// Conflict or not found: only failed runs can be dismissed.
pub fn not_failed(run: &RunId, known: bool) -> WorldError {
    match known {
        true => WorldError::Conflict(format!("run {run} has not failed")),
        false => WorldError::NotFound(format!("run {run}")),
    }
}

/// Why an ended run is not deleted.
#[derive(Clone, Copy, Debug)]
pub enum InUse<'a> {
    Live(&'a str),
    Task(&'a str),
    Letter(&'a str),
}

/// Names what stands in the way of deleting a run, and what to do about it.
pub fn in_use(run: &RunId, by: InUse<'_>) -> WorldError {
    WorldError::Conflict(match by {
        InUse::Live(live) if live == run.as_str() => format!("run {run} has not ended; cancel it first"),
        InUse::Live(live) => format!("run {live} below run {run} has not ended; cancel it first"),
        InUse::Task(task) => format!("task {task} is still under way; wait for it, or cancel it"),
        InUse::Letter(task) => format!(
            "nobody has decided about dead letter {task}; requeue or discard it, or delete it with the run (--with-letters)"
        ),
    })
}

/// Why a letter is not requeued whose run goes on, or failed of something else as well.
pub fn gone_past(task: &TaskId) -> WorldError {
    WorldError::Conflict(format!("the run of task {task} has gone on without it; discard the letter instead"))
}

/// Conflict: a run that has committed nothing yet cannot change its version.
pub fn not_begun(run: &RunId) -> WorldError {
    WorldError::Conflict(format!("run {run} has not begun; cancel it, and start it with that version"))
}

/// Returns how many more items a sweep may make ready when `ready` are ready already. The quota keeps the
/// queue near `limit` in a timer burst, so that other work is not stuck behind it. It is at least 1 % of
/// `limit`: the ready items may need a worker that never comes.
pub fn sweep_quota(ready: usize, limit: usize) -> usize {
    limit.saturating_sub(ready).max(limit.div_ceil(100))
}

/// One background duty.
#[derive(Clone, Debug, PartialEq)]
pub enum Upkeep {
    /// A world's regular duty, every second: due timers, delayed tasks and delayed starts become ready;
    /// claims of dead, silent (past their own heartbeat timeout) or expired holders are freed; the report
    /// says whether there is work. `runs` and `tasks` limit how many are ready afterwards (`sweep_quota`). A
    /// sweep does not look for live runs that lost their place in the run queue.
    Sweep { runs: usize, tasks: usize },
    /// Removes runs and tasks that ended longer than `keep` ago. Worlds that delete rows one by one remove at
    /// most `limit` runs and tasks; worlds with partitions drop whole partitions. Failed runs stay for
    /// `keep_failed`, if that is longer, unless dismissed. Pending letters stay, each with its run and the
    /// ancestors of that run (`a_pending_letter_keeps_its_run_and_the_runs_above_it`,
    /// `a_failed_run_is_kept_longer_unless_it_is_dismissed`,
    /// `a_pending_letter_of_a_standalone_task_is_kept`).
    Retain { keep: Millis, keep_failed: Millis, limit: usize },
    /// Prepares storage that will be needed, such as next months' partitions.
    Prepare,
    /// Finds live runs that nothing will wake up: not ready, not paused, not blocked, nothing open, no signal
    /// awaited, untouched for `idle` and not reported before.
    FindStuck { idle: Millis, limit: usize },
    /// Marks runs that have been ready for `idle` without a worker that can step them, and runs with a task
    /// that has been ready that long without a worker of its queue that has the handler. Unmarks runs that a
    /// worker can serve again (`ready_runs_nobody_can_step_are_marked`,
    /// `runs_with_a_task_nobody_can_do_are_marked`).
    MarkUnserved { idle: Millis, limit: usize },
    /// Returns due schedules, and when the next one is due (`the_next_schedule_is_told`).
    DueSchedules { limit: usize },
    /// Checks at most `limit` blobs that were stored or checked longer than `grace` ago. A blob that nothing
    /// stored refers to is marked, and removed if the next check still finds no reference. Storing it again
    /// removes the mark (`what_anything_names_is_never_collected`,
    /// `what_nothing_names_is_collected_after_the_grace`, `a_blob_stored_again_is_not_collected`,
    /// `blobs_are_collected_in_small_pieces`).
    CollectBlobs { grace: Millis, limit: usize },
}

impl Upkeep {
    /// A sweep with the same limit for runs and for tasks.
    pub fn sweep(limit: usize) -> Self {
        Self::Sweep { runs: limit, tasks: limit }
    }
}

/// Result of a background duty. Each duty sets only the fields it is about.
#[derive(Clone, Debug, Default)]
pub struct UpkeepReport {
    pub at: Timestamp,
    /// Whether there are ready runs, of any tenant.
    pub runs_ready: bool,
    /// Whether there are ready tasks.
    pub tasks_ready: bool,
    /// When the next timer, delayed task or delayed start is due. If more is due than this sweep took, the
    /// due time of the first one left.
    pub next_due: Option<Timestamp>,
    /// Number of things the duty changed.
    pub changed: u64,
    pub stuck: Vec<(TenantId, RunId)>,
    /// Runs newly marked as unserved, each with the reason.
    pub unserved: Vec<(TenantId, RunId, String)>,
    pub schedules: Vec<(TenantId, Schedule)>,
    /// When the first schedule fires that was not due yet. Only set by [`Upkeep::DueSchedules`].
    pub next_schedule: Option<Timestamp>,
}
