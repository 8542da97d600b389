//! Defaults for all tasks of a program, from its front matter.

use rhythm_core::retry::RetryPolicy;
use rhythm_core::task::TaskOptions;
use rhythm_core::time::Millis;
use serde::{Deserialize, Serialize};

use crate::front_matter::{Failures, Settings};

/// Default options; an absent one leaves the choice to the task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Defaults {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Timeout of each attempt.
    #[serde(with = "rhythm_core::duration::lenient_option", skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<RetryPolicy>,
    /// `failures: values`: awaiting a failed task returns its outcome instead of throwing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub settle: bool,
    /// Time limit for clean-up after the run's deadline.
    #[serde(with = "rhythm_core::duration::lenient_option", skip_serializing_if = "Option::is_none")]
    pub cleanup_grace: Option<Millis>,
}

/// Default for programs that set none.
const CLEANUP_GRACE: Millis = Millis::from_secs(300);

impl Defaults {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn cleanup_grace(&self) -> Millis {
        self.cleanup_grace.unwrap_or(CLEANUP_GRACE)
    }

    /// Returns the options of a task that sets none.
    pub fn options(&self) -> TaskOptions {
        let mut options = TaskOptions::default();
        if let Some(queue) = &self.queue {
            options.queue.clone_from(queue);
        }
        options.timeout = self.timeout;
        options.retries.clone_from(&self.retries);
        options
    }
}

impl From<&Settings> for Defaults {
    fn from(settings: &Settings) -> Self {
        Self {
            queue: settings.queue.clone(),
            timeout: settings.timeout,
            retries: settings.retries.clone(),
            settle: settings.failures == Failures::Values,
            cleanup_grace: settings.cleanup_grace,
        }
    }
}
