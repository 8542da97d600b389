//! Options of a task: queue, priority, retries, timeout, deadline, label.

use clap::Args;
use rhythm_core::TaskOptions;

use crate::errors::CliResult;
use crate::input;

#[derive(Clone, Debug, Default, Args)]
pub struct OptionArgs {
    /// The queue to wait in [default: default]
    #[arg(long, value_name = "NAME")]
    pub queue: Option<String>,
    /// Higher goes first [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = input::priority)]
    pub priority: Option<i32>,
    /// How often to try in all: a number (1 means no retry), or a policy as JSON [default: 3]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub retries: Option<String>,
    /// How long one attempt may take [default: 10m]
    #[arg(long, value_name = "DURATION")]
    pub timeout: Option<String>,
    /// How long all attempts may take together
    #[arg(long, value_name = "DURATION")]
    pub deadline: Option<String>,
    /// A text for people, at most 100 characters
    #[arg(long, value_name = "TEXT", value_parser = input::label)]
    pub label: Option<String>,
}

impl OptionArgs {
    pub fn is_empty(&self) -> bool {
        let texts = [&self.queue, &self.retries, &self.timeout, &self.deadline, &self.label];
        self.priority.is_none() && texts.iter().all(|text| text.is_none())
    }

    pub fn options(&self) -> CliResult<TaskOptions> {
        let usual = TaskOptions::default();
        Ok(TaskOptions {
            queue: self.queue.clone().unwrap_or(usual.queue),
            priority: self.priority.unwrap_or(usual.priority),
            retries: self.retries.as_deref().map(input::retries).transpose()?,
            timeout: input::optional_duration("--timeout", self.timeout.as_deref())?.or(usual.timeout),
            deadline: input::optional_duration("--deadline", self.deadline.as_deref())?,
            label: self.label.clone(),
            ..TaskOptions::default()
        })
    }
}
