//! The World contract: every operation the engine needs from a backend. Methods take and return batches, one
//! struct each, without default bodies. A world stores and fences; it never looks inside a snapshot and
//! decides no policy. Each promise below names the conformance test (`conformance/`) that every world runs.
//!
//! Vocabulary: a *live* run has not ended; a *ready* run has work to do now and is in the world's run queue;
//! a *claim* is a time-limited exclusive right with a number that only grows.

mod approvals;
mod artifacts;
mod control;
mod error;
mod records;
mod runs;
mod tasks;

use std::sync::Arc;

use async_trait::async_trait;
use rhythm_core::{BlobRef, TenantId, Timestamp};
use tokio::sync::watch;

pub use approvals::*;
pub use artifacts::*;
pub use control::*;
pub use error::{WorldError, WorldResult};
pub use records::*;
pub use runs::*;
pub use tasks::*;

/// A backend.
///
/// 1. `commit` is atomic per run. It is refused when the revision has changed; items of a batch succeed or
///    fail independently (`a_commit_writes_all_of_a_transition`, `a_commit_on_a_moved_revision_is_stale`,
///    `items_of_a_batch_fail_alone`, `a_fold_of_many_messages_is_one_commit`). It is also refused when a blob
///    it refers to does not exist (`a_commit_that_refers_to_a_collected_blob_is_refused`,
///    `a_commit_keeps_its_blobs_from_a_collector_that_is_about_to_take_them`,
///    `of_a_commit_and_a_collector_one_wins`, `first_commits_and_forks_need_their_blobs_too`,
///    `a_fused_commit_needs_its_blobs_too`).
/// 2. Claims are fenced by a number that only grows (`a_stale_claim_cannot_commit`,
///    `a_stale_task_claim_cannot_finish`, `a_taken_over_task_refuses_its_old_holder`).
/// 3. A repeated commit returns the original answer; a repeated claim returns what the first call claimed
///    (`a_repeated_commit_gets_the_original_answer`, `a_repeated_final_commit_gets_the_original_answer`,
///    `a_repeated_claim_gets_the_runs_it_took`, `a_repeated_claim_gets_the_tasks_it_took`).
/// 4. Messages are consumed once, in arrival order, deduplicated by id. A signal waits until the run awaits
///    its name (`messages_arrive_in_order_and_once`, `a_consumed_message_is_not_delivered_again`,
///    `signals_wait_until_asked_for`, `a_withdrawn_wait_takes_no_signal`).
/// 5. The fused commit finishes a task, steps its run and claims the next task in one write
///    (`a_fused_commit_finishes_steps_and_claims`, `a_fused_commit_is_refused_when_the_run_is_claimed`,
///    `a_fused_commit_is_refused_after_a_delivery`, `a_fused_commit_needs_a_current_task_claim`). It can also
///    be the first commit of a run and create it (`a_run_begins_with_its_first_commit`,
///    `a_first_commit_of_a_known_run_is_refused`, `of_two_who_begin_a_run_one_does`).
/// 6. Timers are never early and fire once (`a_timer_is_never_early_and_fires_once`, `time_never_goes_back`),
///    also when a fused commit fires them (`due_timers_fire_with_the_commits_of_their_runs`,
///    `a_timer_that_a_sweep_fired_is_not_fired_again`, `of_two_who_wake_up_what_is_due_one_does`).
/// 7. Wake-ups are hints (`work_wakes_up_other_handles`); polling suffices (`polling_alone_finds_all_work`).
/// 8. Queue order is priority, then age. Work is not claimed before it is due
///    (`tasks_come_by_priority_then_age`, `a_delayed_task_is_not_claimed_early`,
///    `two_claimers_never_share_a_task`).
/// 9. Acknowledged work survives a restart (`acknowledged_work_survives_reopening`,
///    `finished_runs_stay_readable_until_retention`).
/// 10. When two callers move a tag, or the current version of a workflow, from the same state, one succeeds
///     and the other gets a conflict (`of_two_moves_of_a_tag_one_wins`,
///     `of_two_patches_of_one_version_one_wins`, `of_two_patches_of_one_tag_one_wins`,
///     `what_was_registered_meanwhile_is_not_overwritten`).
#[async_trait]
pub trait World: Records {
    /// Returns the world's time. Claims, heartbeats, commits and upkeep return it too.
    async fn now(&self) -> WorldResult<Timestamp>;

    /// Stores workflow versions and makes each the current one of its name. Idempotent.
    async fn register(&self, request: Register) -> WorldResult<()>;

    /// Returns one version of a workflow, by default the current one; `None` if there is no such version.
    async fn definition(&self, request: DefinitionQuery) -> WorldResult<Option<Definition>>;

    /// Creates runs, one answer each. An id that exists is left unchanged: `Exists` or `Conflict`.
    async fn create_runs(&self, request: CreateRuns) -> WorldResult<Vec<Creation>>;

    /// Enqueues standalone tasks, one answer each. An id that exists is left unchanged: `Exists` or
    /// `Conflict`.
    async fn enqueue_tasks(&self, request: EnqueueTasks) -> WorldResult<Vec<Creation>>;

    /// Puts messages from outside into inboxes: signals, cancels, decisions, patches. One answer each.
    async fn deliver(&self, request: Deliver) -> WorldResult<Vec<Delivered>>;

    /// Claims ready runs and returns them with the messages in their inboxes.
    async fn claim_runs(&self, request: ClaimRuns) -> WorldResult<ClaimedRuns>;

    /// Returns sleeping runs whose timer is due, without writing or claiming. The caller steps such a run and
    /// commits under [`Fence::Fused`] with the timer among `fired`; in a timer burst that costs less than a
    /// sweep, a claim and a commit. Reads the first due timers of all tenants and kinds. Returns only runs
    /// that this caller could claim if they were ready and that have no earlier due timer; a sweep handles
    /// the others.
    async fn find_due(&self, request: FindDue) -> WorldResult<FoundDue>;

    /// Claims ready tasks, or with `overdue` tasks whose deadline has passed.
    async fn claim_tasks(&self, request: ClaimTasks) -> WorldResult<ClaimedTasks>;

    /// Writes transitions, each fenced and atomic. Besides it only [`Control::ChangeVersion`] and
    /// [`Control::Fork`] step a run.
    async fn commit(&self, request: Arc<Commit>) -> WorldResult<Committed>;

    /// Ends attempts without stepping their runs. A claim that is not current gets `Stale`.
    async fn finish_tasks(&self, request: FinishTasks) -> WorldResult<Vec<Finish>>;

    /// A worker's heartbeat: renews its claims, stores progress, returns cancelled tasks and lost claims.
    async fn extend(&self, request: Extend) -> WorldResult<Extended>;

    /// Applies one operator request. Fails with `NotFound` or `Conflict`; see [`Control`].
    async fn control(&self, request: ControlRequest) -> WorldResult<Controlled>;

    /// Stores immutable content under its hash. Idempotent.
    async fn put_blob(&self, tenant: &TenantId, blob: &BlobRef, content: &[u8]) -> WorldResult<()>;

    /// Returns content by hash. The size in `blob` may be unknown. Fails with `NotFound` if there is no such
    /// blob, and with `Corrupt` if the content does not match the hash.
    async fn read_blob(&self, tenant: &TenantId, blob: &BlobRef) -> WorldResult<Arc<[u8]>>;

    /// Returns the counters of wake-ups. Wake-ups are hints: they may be lost or doubled.
    fn wakeups(&self) -> Wakeups;

    /// Batch size during a timer burst: how many runs, and how many tasks, become ready or wake up together.
    /// Other work waits behind one batch, so the size is the smallest that still spreads the fixed cost of a
    /// claim and a commit.
    fn timer_batch_size(&self) -> usize;

    /// Performs one background duty. Safe to run in every process at once.
    async fn upkeep(&self, request: Upkeep) -> WorldResult<UpkeepReport>;
}

/// Counters that change when there may be new work since the reader last looked.
#[derive(Clone, Debug)]
pub struct Wakeups {
    pub runs: watch::Receiver<u64>,
    pub tasks: watch::Receiver<u64>,
    pub cancels: watch::Receiver<u64>,
}

/// The sending side of [`Wakeups`], for worlds.
#[derive(Debug)]
pub struct WakeupSenders {
    runs: watch::Sender<u64>,
    tasks: watch::Sender<u64>,
    cancels: watch::Sender<u64>,
}

impl Default for WakeupSenders {
    fn default() -> Self {
        Self { runs: watch::channel(0).0, tasks: watch::channel(0).0, cancels: watch::channel(0).0 }
    }
}

impl WakeupSenders {
    /// Returns receivers of these counters.
    pub fn subscribe(&self) -> Wakeups {
        Wakeups {
            runs: self.runs.subscribe(),
            tasks: self.tasks.subscribe(),
            cancels: self.cancels.subscribe(),
        }
    }

    /// Changes the counters of the announced kinds of work.
    pub fn send(&self, hint: Hint) {
        let bump = |sender: &watch::Sender<u64>| sender.send_modify(|count| *count = count.wrapping_add(1));
        if hint.runs {
            bump(&self.runs);
        }
        if hint.tasks {
            bump(&self.tasks);
        }
        if hint.cancels {
            bump(&self.cancels);
        }
    }
}

/// Kinds of work a wake-up announces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    pub runs: bool,
    pub tasks: bool,
    pub cancels: bool,
}

impl Hint {
    pub const ALL: Hint = Hint { runs: true, tasks: true, cancels: true };

    pub fn is_empty(self) -> bool {
        self == Hint::default()
    }

    /// Returns a hint that announces the work of both.
    pub fn and(self, other: Hint) -> Hint {
        Hint {
            runs: self.runs || other.runs,
            tasks: self.tasks || other.tasks,
            cancels: self.cancels || other.cancels,
        }
    }
}

/// Source of a world's time, when a test injects it.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

/// Clock that moves only when a test sets it.
#[derive(Debug, Default)]
pub struct ManualClock(std::sync::atomic::AtomicI64);

impl ManualClock {
    /// Creates a clock that shows `start`.
    pub fn at(start: Timestamp) -> Arc<Self> {
        Arc::new(Self(std::sync::atomic::AtomicI64::new(start.millis())))
    }

    pub fn advance(&self, by: rhythm_core::Millis) {
        self.0.fetch_add(by.as_u64() as i64, std::sync::atomic::Ordering::SeqCst);
    }

    pub fn set(&self, to: Timestamp) {
        self.0.store(to.millis(), std::sync::atomic::Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(std::sync::atomic::Ordering::SeqCst))
    }
}
