//! What operators and background duties ask of a world.

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

#[derive(Clone, Debug)]
pub struct ControlRequest {
    pub tenant: TenantId,
    pub actor: Actor,
    pub control: Control,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// Takes effect at once: nothing steps the run until it is resumed. Writes history and bumps the
    /// revision, so a transition under way is refused. Idempotent.
    PauseRun {
        run: RunId,
        reason: String,
    },
    ResumeRun {
        run: RunId,
        reason: String,
    },
    /// Makes a run that was set aside (quarantined, no version) ready again. To a fused commit that is a delivery.
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
    /// A failed run waits again, with the snapshot from before its failure. Refused as conflict when the run
    /// is not failed, is compensated, or its revision moved.
    Reopen {
        run: RunId,
        revision: u64,
        reason: String,
        /// Dead letters that become tasks again, with fresh attempts.
        requeue: Vec<TaskId>,
        /// Messages put into the inbox again.
        redeliver: Vec<Message>,
        /// Time to do it in.
        fresh: Option<Box<FreshTime>>,
    },
    /// The run goes on with another version of its workflow: the commit holds that message, its events and the snapshot of
    /// the new program. Whoever holds the run loses it, and what it sends is refused. With `reopen` the run has failed and is
    /// opened by the same write, else it is live. Refused as conflict when its revision moved or nothing was committed yet;
    /// unchanged when this very commit was written before (`a_version_is_changed_with_the_message_that_says_so`,
    /// `a_change_of_a_moved_run_is_refused`, `a_repeated_change_is_one`, `a_late_holder_of_a_changed_run_is_refused`,
    /// `a_paused_run_stays_paused_with_another_version`, `a_failed_run_is_opened_with_another_version`).
    ChangeVersion {
        run: RunId,
        version: Version,
        item: Box<CommitItem>,
        reopen: Option<Opening>,
    },
    /// A run that has ended, however it did, waits again, for this message alone: what else waits for it, messages and timers,
    /// is dropped. Refused as conflict when the run has not ended, its revision moved or a task of it is open, whose answer
    /// it may have consumed already (`an_ended_run_is_opened_to_take_back_what_it_did`,
    /// `taking_back_on_a_moved_revision_is_refused`, `nothing_is_taken_back_while_a_task_is_under_way`).
    TakeBack {
        run: RunId,
        revision: u64,
        reason: String,
        message: Box<Message>,
    },
    /// A run that begins with a history: it is created, and its first commit written, in one. Unchanged when the run is
    /// there already; a conflict when another one is, or when its workflow is paused
    /// (`a_fork_begins_where_its_history_ends`, `a_fork_does_not_start_but_goes_on`, `a_repeated_fork_changes_nothing`,
    /// `a_fork_of_a_paused_workflow_is_refused_whole`).
    Fork {
        run: Box<NewRun>,
        item: Box<CommitItem>,
    },
    /// A dead letter becomes a task again with fresh attempts, its claim number still growing. For tasks of
    /// live runs only when the run is held for it; a task whose run has ended without looking at its failure stands alone from
    /// then on (`a_requeued_task_of_a_run_that_is_over_stands_alone`). What the run handled is a conflict
    /// (`a_failure_the_run_handled_is_not_requeued`).
    RequeueDead {
        task: TaskId,
    },
    /// A failed run need not be kept longer than others. Refused as conflict when the run has not failed.
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
    /// A type of node for graphs, or another form of one. What is registered already keeps the form it was compiled with.
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
    /// Moves a schedule on and starts what it is due to start, only if `expected` is still its next time.
    FireSchedule {
        name: String,
        expected: Timestamp,
        next_at: Option<Timestamp>,
        runs: Vec<NewRun>,
        tasks: Vec<NewTask>,
        /// Fire times that were passed over.
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

/// How a failed run is opened, as [`Control::Reopen`] does it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Opening {
    pub reason: String,
    pub requeue: Vec<TaskId>,
    pub redeliver: Vec<Message>,
    pub fresh: Option<Box<FreshTime>>,
}

/// What became of a control request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controlled {
    Done,
    /// It was so already.
    Unchanged,
}

/// A rule that starts something again and again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    pub name: String,
    pub cron: String,
    pub zone: String,
    pub target: ScheduleTarget,
    pub catch_up: CatchUp,
    pub overlap: Overlap,
    /// It stands in the front matter of its workflow, and comes and goes with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub declared: bool,
    #[serde(default)]
    pub paused: bool,
    /// Absent when the rule never fires again.
    pub next_at: Option<Timestamp>,
    #[serde(default)]
    pub last_at: Option<Timestamp>,
    /// What the last fire started: a run or task id.
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

/// Why a run is not opened to take back what it did.
pub fn still_open(task: &TaskId, run: &RunId) -> WorldError {
    WorldError::Conflict(format!(
        "task {task} of run {run} is still open; wait for it, or cancel or discard it"
    ))
}

/// What a run that has outlived its deadline goes on with.
#[derive(Clone, Debug, PartialEq)]
pub struct FreshTime {
    /// From now on. A deadline that had passed before and was not consumed yet is forgotten.
    pub deadline: Millis,
    /// Tasks that ended with the run, under the names they had: what they answered then is withdrawn, unless it was consumed.
    /// Their claims go on above all that were ever given. Refused as conflict while one of them is still open.
    pub tasks: Vec<NewTask>,
}

impl FreshTime {
    /// The tasks that begin anew.
    pub fn anew(fresh: &Option<Box<Self>>) -> impl Iterator<Item = &TaskId> {
        fresh.iter().flat_map(|fresh| &fresh.tasks).map(|task| &task.id)
    }

    /// The claim its tasks go on from: each is handed out far less often than this between two changes of its run.
    pub fn claim(revision: u64) -> u64 {
        revision.saturating_mul(1 << 20)
    }
}

/// What is said of a run that is ready and that no worker can step.
pub fn unserved_run(kind: WorkflowKind, workflow: &str) -> String {
    format!("no live worker can step {} workflow {workflow}", kind.as_str())
}

/// What is said of a task that no worker can do.
pub fn unserved_task(name: &str, queue: &str) -> String {
    format!("no live worker of queue {queue} has a handler for task {name}")
}

/// Why a failure is not requeued that its run has dealt with: the task's effect would come beside what the run did instead.
pub fn handled_already(task: &TaskId) -> WorldError {
    WorldError::Conflict(format!("the run of task {task} handled its failure: it is no dead letter"))
}

/// Why a run is not dismissed.
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

/// Why the version of a run is not changed.
pub fn not_begun(run: &RunId) -> WorldError {
    WorldError::Conflict(format!("run {run} has not begun; cancel it, and start it with that version"))
}

/// How much more a sweep makes ready beside what is ready already: a storm of timers is no longer a line than `limit`,
/// so that work that comes meanwhile gets its turn soon. Never nothing: those in the line may be waiting for a worker
/// that does not come.
pub fn room_beside(ready: usize, limit: usize) -> usize {
    limit.saturating_sub(ready).max(limit.div_ceil(100))
}

/// One background duty.
#[derive(Clone, Debug, PartialEq)]
pub enum Upkeep {
    /// The heartbeat of a world, every second: due timers and delayed tasks and starts become ready, claims of
    /// dead, silent (no heartbeat for as long as they promised) or expired holders are freed, and the answer tells
    /// whether there is work. Of what is due so much becomes ready that about so many runs and tasks are
    /// (`room_beside`). A live run whose queue place got lost is not its concern.
    Sweep { runs: usize, tasks: usize },
    /// Removes what ended longer ago than `keep`, at most `limit` runs and tasks where rows are deleted one
    /// by one; worlds with partitions drop them whole instead. Failed runs stay for `keep_failed`, if that is longer, unless
    /// somebody dismissed them; pending letters stay, each with its run and the runs above it
    /// (`a_pending_letter_keeps_its_run_and_the_runs_above_it`, `a_failed_run_is_kept_longer_unless_it_is_dismissed`,
    /// `a_pending_letter_of_a_standalone_task_is_kept`).
    Retain { keep: Millis, keep_failed: Millis, limit: usize },
    /// Makes room ahead: next months' partitions and the like.
    Prepare,
    /// Finds live runs that nothing will wake up: not ready, not paused, not blocked, nothing open, no signal
    /// awaited, untouched for `idle` and not reported before.
    FindStuck { idle: Millis, limit: usize },
    /// Marks runs that have been ready for `idle` and no worker can step, and those with a task that has been ready that long and
    /// no worker of its queue has a handler for; unmarks those somebody can help again
    /// (`ready_runs_nobody_can_step_are_marked`, `runs_with_a_task_nobody_can_do_are_marked`).
    MarkUnserved { idle: Millis, limit: usize },
    /// Schedules whose time has come, and when the next one is due (`the_next_schedule_is_told`).
    DueSchedules { limit: usize },
    /// Looks at blobs that were stored or looked at longer ago than `grace`, at most `limit` of them. One that nothing
    /// stored names is marked, and removed when that is still so at the next look; storing it again makes it a new one
    /// (`what_anything_names_is_never_collected`, `what_nothing_names_is_collected_after_the_grace`,
    /// `a_blob_stored_again_is_not_collected`, `blobs_are_collected_in_small_pieces`).
    CollectBlobs { grace: Millis, limit: usize },
}

impl Upkeep {
    /// A sweep with the same limit for runs and for tasks.
    pub fn sweep(limit: usize) -> Self {
        Self::Sweep { runs: limit, tasks: limit }
    }
}

#[derive(Clone, Debug, Default)]
pub struct UpkeepReport {
    pub at: Timestamp,
    /// Ready runs exist (of any tenant).
    pub runs_ready: bool,
    /// Ready tasks exist.
    pub tasks_ready: bool,
    /// When the next timer, delayed task or delayed start is due; while more is due than was taken, since when it has been.
    pub next_due: Option<Timestamp>,
    /// How many things the duty changed.
    pub changed: u64,
    pub stuck: Vec<(TenantId, RunId)>,
    /// Runs that were marked as unserved now, and why.
    pub unserved: Vec<(TenantId, RunId, String)>,
    pub schedules: Vec<(TenantId, Schedule)>,
    /// When the first schedule fires that was not due yet; told with those that are due only.
    pub next_schedule: Option<Timestamp>,
}
