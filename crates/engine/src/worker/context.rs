//! The handler's interface to its attempt: identity, keys, progress, heartbeat, cancellation.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rhythm_core::{Payload, RunId, TaskId, Timestamp};
use tokio::sync::watch;

use crate::world::ClaimedTask;

/// Why an attempt should stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancellation {
    /// The task or its run was cancelled.
    Requested,
    /// Another worker may hold the task now; the result of this attempt is dropped.
    Lost,
    /// The worker is shutting down.
    Shutdown,
    /// The input could not be loaded; the attempt did not begin.
    Unready,
}

/// Passed to every handler; cheap to clone.
#[derive(Clone)]
pub struct TaskContext(Arc<Inner>);

struct Inner {
    task: TaskId,
    run: Option<RunId>,
    name: String,
    queue: String,
    /// The `key` the workflow gave the task, if any.
    key: Option<String>,
    /// In a fork: the task of its origin that asked for the same work.
    stands_for: Option<TaskId>,
    attempt: u32,
    delivery: u32,
    claim: u64,
    last_progress: Option<Payload>,
    deadline_at: Option<Timestamp>,
    trace: Option<String>,
    cancel: watch::Sender<Option<Cancellation>>,
    /// Progress that no heartbeat has sent yet.
    progress: Mutex<Option<Payload>>,
    /// Number of heartbeats of the handler; the driver watches it change.
    beats: AtomicU64,
    /// Set by the first reporter of the attempt's end.
    ended: AtomicBool,
}

impl TaskContext {
    pub(crate) fn new(task: &ClaimedTask) -> Self {
        Self(Arc::new(Inner {
            task: task.id.clone(),
            run: task.run.as_ref().map(|(run, _)| run.clone()),
            name: task.name.clone(),
            queue: task.options.queue.clone(),
            key: task.options.key.clone(),
            stands_for: task.options.stands_for.clone(),
            attempt: task.attempt,
            delivery: task.delivery,
            claim: task.claim,
            last_progress: task.progress.clone(),
            deadline_at: task.deadline_at,
            trace: task.trace.clone(),
            cancel: watch::channel(None).0,
            progress: Mutex::default(),
            beats: AtomicU64::new(0),
            ended: AtomicBool::new(false),
        }))
    }

    pub fn task_id(&self) -> &TaskId {
        &self.0.task
    }

    /// The run this task belongs to, if any.
    pub fn run_id(&self) -> Option<&RunId> {
        self.0.run.as_ref()
    }

    pub fn name(&self) -> &str {
        &self.0.name
    }

    pub fn queue(&self) -> &str {
        &self.0.queue
    }

    /// 1 for the first attempt; grows when an attempt has ended.
    pub fn attempt(&self) -> u32 {
        self.0.attempt
    }

    /// 1, plus one for every delivery of this attempt that was lost with its worker.
    pub fn delivery(&self) -> u32 {
        self.0.delivery
    }

    /// Fencing token: grows with every delivery of the task. A service that refuses a lower number than it
    /// has seen refuses workers that lost their claim.
    pub fn claim(&self) -> u64 {
        self.0.claim
    }

    /// Deadline of the whole task, over all attempts.
    pub fn deadline_at(&self) -> Option<Timestamp> {
        self.0.deadline_at
    }

    /// W3C trace context of the caller that requested the task.
    pub fn trace(&self) -> Option<&str> {
        self.0.trace.as_deref()
    }

    /// Returns the key of this attempt, the same for all its deliveries: pass it to services that deduplicate
    /// requests. If the workflow gave the task a `key`, returns that for all attempts.
    pub fn idempotency_key(&self) -> String {
        self.0.key.clone().unwrap_or_else(|| self.0.task.attempt_key(self.0.attempt))
    }

    /// Returns a key that is the same for all attempts: the `key` the workflow gave the task, or the task's
    /// id. In a fork, a task that asks for the same work as a task of the origin has that task's key.
    pub fn stable_key(&self) -> &str {
        let task = self.0.stands_for.as_ref().unwrap_or(&self.0.task);
        self.0.key.as_deref().unwrap_or(task.as_str())
    }

    /// Progress that an earlier delivery of this task reported before it was lost.
    pub fn last_progress(&self) -> Option<&Payload> {
        self.0.last_progress.as_ref()
    }

    /// Reports that the handler is alive.
    pub fn heartbeat(&self) {
        self.0.beats.fetch_add(1, Ordering::Relaxed);
    }

    /// Reports that the handler is alive, and its progress, which a later delivery can read. Progress above
    /// 64 KiB is dropped with a warning.
    pub fn report(&self, progress: Payload) {
        self.heartbeat();
        if progress.size() > rhythm_core::payload::INLINE_MAX_BYTES as u64 {
            tracing::warn!(task = %self.0.task, bytes = progress.size(), "progress is too large to be kept");
            return;
        }
        *self.0.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }

    /// Whether the attempt should stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancel.borrow().is_some()
    }

    /// Resolves when the attempt should stop.
    pub async fn cancelled(&self) -> Cancellation {
        let mut changes = self.0.cancel.subscribe();
        loop {
            if let Some(reason) = *changes.borrow_and_update() {
                return reason;
            }
            if changes.changed().await.is_err() {
                // The sender lives in `self`, so this is unreachable; waiting for ever is the safe answer.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Asks the handler to stop. The first reason wins, but a lost claim overrides every other.
    pub fn cancel(&self, reason: Cancellation) {
        self.0.cancel.send_if_modified(|current| {
            let changes = current.is_none() || (reason == Cancellation::Lost && *current != Some(reason));
            if changes {
                *current = Some(reason);
            }
            changes
        });
    }

    pub(crate) fn cancellation(&self) -> Option<Cancellation> {
        *self.0.cancel.borrow()
    }

    pub(crate) fn take_progress(&self) -> Option<Payload> {
        self.0.progress.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Marks the attempt as ended. Returns whether the caller was the first.
    pub fn end(&self) -> bool {
        !self.0.ended.swap(true, Ordering::SeqCst)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.0.ended.load(Ordering::SeqCst)
    }

    pub(crate) fn beats(&self) -> u64 {
        self.0.beats.load(Ordering::Relaxed)
    }
}
