//! What a program's front matter says about all its tasks.

use rhythm_core::retry::RetryPolicy;
use rhythm_core::task::TaskOptions;
use rhythm_core::time::Millis;
use serde::{Deserialize, Serialize};

use crate::front_matter::{Failures, Settings};

/// What is absent is left to the task itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Defaults {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Per attempt.
    #[serde(with = "rhythm_core::duration::lenient_option", skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<RetryPolicy>,
    /// `failures: values`: an await of a task gives how it ended instead of throwing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub settle: bool,
    /// How long clean-up may take once the run's deadline has passed.
    #[serde(with = "rhythm_core::duration::lenient_option", skip_serializing_if = "Option::is_none")]
    pub cleanup_grace: Option<Millis>,
}

/// Of programs that say nothing else.
const CLEANUP_GRACE: Millis = Millis::from_secs(300);

impl Defaults {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn cleanup_grace(&self) -> Millis {
        self.cleanup_grace.unwrap_or(CLEANUP_GRACE)
    }

    /// The options of a task that has none of its own.
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
