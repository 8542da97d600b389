//! Watches one attempt from outside: timeout, deadline, heartbeats, and the reaction to a cancellation.

use rhythm_core::failure::codes;
use rhythm_core::{Failure, Millis, Timestamp};

use super::{Attempt, Cancellation, Finished, TaskContext};
use crate::world::ClaimedTask;

/// A watched attempt. Times are on the process's own counter.
pub struct Watch {
    task: ClaimedTask,
    context: TaskContext,
    timeout_at: u64,
    deadline_at: Option<u64>,
    beats: u64,
    beat_at: u64,
    cancelled_at: Option<u64>,
}

impl Watch {
    /// `now` is on the process's own counter, `world_now` on the world's clock.
    pub fn new(attempt: &Attempt, now: u64, world_now: Timestamp) -> Self {
        let task = &attempt.task;
        let left = task.deadline_at.map(|deadline| deadline.since(world_now).as_u64());
        Self {
            timeout_at: now.saturating_add(task.options.longest_attempt().as_u64()),
            deadline_at: left.map(|left| now.saturating_add(left)),
            beats: 0,
            beat_at: now,
            cancelled_at: None,
            task: task.clone(),
            context: attempt.context.clone(),
        }
    }

    /// Returns `Some` if the attempt must be aborted now, with its result unless it ended by itself at the
    /// same moment.
    pub fn look(&mut self, now: u64, grace: Millis) -> Option<Option<Finished>> {
        let failure = self.verdict(now, grace)?;
        let first = self.context.end();
        Some(first.then(|| Finished { task: self.task.clone(), result: Err(failure) }))
    }

    /// Whether the attempt's end was reported.
    pub fn is_over(&self) -> bool {
        self.context.has_ended()
    }

    fn verdict(&mut self, now: u64, grace: Millis) -> Option<Failure> {
        let beats = self.context.beats();
        if beats != self.beats {
            self.beats = beats;
            self.beat_at = now;
        }
        if let Some(reason) = self.context.cancellation() {
            let since = *self.cancelled_at.get_or_insert(now);
            if reason == Cancellation::Lost || now.saturating_sub(since) >= grace.as_u64() {
                return Some(Failure::cancelled("the handler did not stop in time"));
            }
        }
        if self.deadline_at.is_some_and(|deadline| now >= deadline) {
            let message = "the task's deadline passed while an attempt was running";
            return Some(Failure::permanent(codes::DEADLINE_EXCEEDED, message));
        }
        if now >= self.timeout_at {
            let message = format!("the attempt took longer than {}", self.task.options.longest_attempt());
            return Some(Failure::new(codes::TIMEOUT, message));
        }
        let silent_for = self.task.options.heartbeat_timeout?;
        if now.saturating_sub(self.beat_at) >= silent_for.as_u64() {
            let message = format!("no heartbeat for {silent_for}");
            return Some(Failure::new(codes::HEARTBEAT_TIMEOUT, message));
        }
        None
    }
}
