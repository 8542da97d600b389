//! A task as its program asks for it: outside work done by a worker, with everything that governs its
//! attempts. Retries live in the task; the run gets one final message.

use serde::{Deserialize, Serialize};

use crate::id::{CommandId, TaskId};
use crate::payload::Payload;
use crate::retry::RetryPolicy;
use crate::time::Millis;

/// Tasks and children of one run under way at a time.
pub const MAX_OPEN: usize = 50_000;

/// The queue of tasks that name none.
pub const DEFAULT_QUEUE: &str = "default";
/// How long one attempt may take unless the task says otherwise.
pub const DEFAULT_TIMEOUT: Millis = Millis::from_secs(10 * 60);
/// More deliveries of one attempt than this end it as `POISON`.
pub const MAX_DELIVERIES: u32 = 5;

/// What happens to the run when a task is out of attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnExhausted {
    /// The run gets the failure.
    #[default]
    Fail,
    /// The run waits, blocked with reason `dead_letter`, until somebody requeues or discards the letter.
    Hold,
}

/// What governs a task's attempts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TaskOptions {
    #[serde(skip_serializing_if = "is_default_queue")]
    pub queue: String,
    /// Higher goes first.
    #[serde(skip_serializing_if = "is_default")]
    pub priority: i32,
    #[serde(with = "crate::duration::lenient", skip_serializing_if = "is_default")]
    pub delay: Millis,
    /// See [`Self::policy`] for those that say nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<RetryPolicy>,
    /// Per attempt; see [`Self::longest_attempt`] for those that say nothing.
    #[serde(with = "crate::duration::lenient_option", skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    /// Over all attempts, from the moment the task is created.
    #[serde(with = "crate::duration::lenient_option", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Millis>,
    /// The handler must report progress this often.
    #[serde(with = "crate::duration::lenient_option", skip_serializing_if = "Option::is_none")]
    pub heartbeat_timeout: Option<Millis>,
    #[serde(skip_serializing_if = "is_default")]
    pub on_exhausted: OnExhausted,
    /// What the workflow wants outside services to recognise the work by, instead of the key derived from run and
    /// number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// A text for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The item of a list it is about, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
    /// Of a fork: the task of its origin that asked for the same work. Outside services know that work by its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stands_for: Option<TaskId>,
}

// Defaults are left out of the stored form: most tasks then carry `{}`.

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
    /// How long one attempt may take.
    pub fn longest_attempt(&self) -> Millis {
        self.timeout.unwrap_or(DEFAULT_TIMEOUT)
    }

    /// How often and when it is tried again.
    pub fn policy(&self) -> RetryPolicy {
        self.retries.clone().unwrap_or_default()
    }

    /// What nobody said about this task is as its handler was registered with.
    pub fn fall_back_on(&mut self, defaults: &TaskDefaults) {
        self.retries = self.retries.take().or_else(|| defaults.retries.clone());
        self.timeout = self.timeout.or(defaults.timeout);
        self.heartbeat_timeout = self.heartbeat_timeout.or(defaults.heartbeat_timeout);
    }
}

/// What a handler says about the tasks it handles, where neither the task nor its workflow does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskDefaults {
    pub retries: Option<RetryPolicy>,
    /// Per attempt.
    pub timeout: Option<Millis>,
    /// It reports progress this often.
    pub heartbeat_timeout: Option<Millis>,
}

/// A task a program asks for.
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
