//! A task as its program requests it: outside work done by a worker, with the options for its attempts.
//! Retries happen within the task; the run gets one final message.

use serde::{Deserialize, Serialize};

use crate::id::{CommandId, TaskId};
use crate::payload::Payload;
use crate::retry::RetryPolicy;
use crate::time::Millis;

/// Maximum number of tasks and children of one run that are open at a time.
pub const MAX_OPEN: usize = 50_000;

/// Queue of tasks that name no queue.
pub const DEFAULT_QUEUE: &str = "default";
/// Time limit of one attempt when the task sets none.
pub const DEFAULT_TIMEOUT: Millis = Millis::from_secs(10 * 60);
/// Maximum number of deliveries of one attempt. One more ends it as `POISON`.
pub const MAX_DELIVERIES: u32 = 5;

/// Effect on the run when a task is out of attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnExhausted {
    /// Delivers the failure to the run.
    #[default]
    Fail,
    /// Blocks the run with reason `dead_letter` until a person requeues or discards the dead letter.
    Hold,
}

/// Options for a task's attempts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TaskOptions {
    #[serde(skip_serializing_if = "is_default_queue")]
    pub queue: String,
    /// Tasks with a higher priority are claimed first.
    #[serde(skip_serializing_if = "is_default")]
    pub priority: i32,
    #[serde(with = "crate::duration::lenient", skip_serializing_if = "is_default")]
    pub delay: Millis,
    /// Retry policy; [`Self::policy`] gives the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<RetryPolicy>,
    /// Time limit of one attempt; [`Self::longest_attempt`] gives the default.
    #[serde(with = "crate::duration::lenient_option", skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    /// Time limit over all attempts, counted from the creation of the task.
    #[serde(with = "crate::duration::lenient_option", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Millis>,
    /// Longest pause allowed between two progress reports of the handler.
    #[serde(with = "crate::duration::lenient_option", skip_serializing_if = "Option::is_none")]
    pub heartbeat_timeout: Option<Millis>,
    #[serde(skip_serializing_if = "is_default")]
    pub on_exhausted: OnExhausted,
    /// Idempotency key that the workflow chose for outside services, instead of the key derived from run and
    /// number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Text shown to people beside the task's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Index, from 0, of the list item this task works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
    /// In a fork: the task of the origin run that requested the same work. Outside services know the work by
    /// that task's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stands_for: Option<TaskId>,
}

// Default values are left out of the stored form, so most tasks store `{}`.

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_default_queue(queue: &str) -> bool {
    queue == DEFAULT_QUEUE
}

impl Default for TaskOptions {
    fn default() -> Self {
        Self {
            queue: DEFAULT_QUEUE.to_owned(),
            priority: 0,
            delay: Millis::ZERO,
            retries: None,
            timeout: None,
            deadline: None,
            heartbeat_timeout: None,
            on_exhausted: OnExhausted::Fail,
            key: None,
            label: None,
            item: None,
            stands_for: None,
        }
    }
}

impl TaskOptions {
    /// Returns the time limit of one attempt.
    pub fn longest_attempt(&self) -> Millis {
        self.timeout.unwrap_or(DEFAULT_TIMEOUT)
    }

    /// Returns the retry policy.
    pub fn policy(&self) -> RetryPolicy {
        self.retries.clone().unwrap_or_default()
    }

    /// Fills in the handler's defaults for retries, timeout and heartbeat timeout where the task sets none.
    pub fn fall_back_on(&mut self, defaults: &TaskDefaults) {
        self.retries = self.retries.take().or_else(|| defaults.retries.clone());
        self.timeout = self.timeout.or(defaults.timeout);
        self.heartbeat_timeout = self.heartbeat_timeout.or(defaults.heartbeat_timeout);
    }
}

/// Defaults of a handler, for tasks and workflows that set none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskDefaults {
    pub retries: Option<RetryPolicy>,
    /// Time limit of one attempt.
    pub timeout: Option<Millis>,
    /// Longest pause allowed between two progress reports.
    pub heartbeat_timeout: Option<Millis>,
}

/// A task that a program requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskSpec {
    pub task: CommandId,
    pub name: String,
    pub input: Payload,
    #[serde(default)]
    pub options: TaskOptions,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_options_are_stored_as_nothing_and_come_back() {
        let stored = serde_json::to_string(&TaskOptions::default()).unwrap();
        assert_eq!(stored, "{}");
        assert_eq!(serde_json::from_str::<TaskOptions>(&stored).unwrap(), TaskOptions::default());
    }

    #[test]
    fn a_handler_fills_in_what_nobody_said() {
        let policy = |max_attempts| Some(RetryPolicy { max_attempts, ..RetryPolicy::default() });
        let defaults = TaskDefaults { retries: policy(9), timeout: Some(Millis(5)), heartbeat_timeout: None };
        let usual = RetryPolicy::default().max_attempts;
        let mut said = TaskOptions { retries: policy(usual), ..TaskOptions::default() };
        said.fall_back_on(&defaults);
        assert_eq!((said.policy().max_attempts, said.timeout), (usual, Some(Millis(5))));
        let mut silent = TaskOptions { timeout: Some(Millis(7)), ..TaskOptions::default() };
        silent.fall_back_on(&defaults);
        assert_eq!((silent.policy().max_attempts, silent.longest_attempt()), (9, Millis(7)));
    }

    #[test]
    fn options_are_read_leniently_but_unknown_ones_are_refused() {
        let options: TaskOptions =
            serde_json::from_str(r#"{"retries": 5, "timeout": 2.5, "deadline": "1h"}"#).unwrap();
        assert_eq!(options.policy().max_attempts, 5);
        assert_eq!(options.timeout, Some(Millis(2_500)));
        assert_eq!(options.deadline, Some(Millis::from_secs(3_600)));
        assert!(serde_json::from_str::<TaskOptions>(r#"{"retrys": 5}"#).is_err());
    }
}
