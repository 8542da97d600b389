//! What a program's front matter says about all its tasks.

use serde::{Deserialize, Serialize};

use crate::flow::front_matter::{Failures, Settings};
use crate::retry::RetryPolicy;
use crate::task::TaskOptions;
use crate::time::Millis;

/// What is absent is left to the task itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Defaults {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Per attempt.
    #[serde(with = "crate::duration::lenient_option", skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<RetryPolicy>,
    /// `failures: values`: an await of a task gives how it ended instead of throwing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub settle: bool,
}

impl Defaults {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
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
        }
    }
}
