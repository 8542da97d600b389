//! Every option of a call, in one table. The checker warns about an unknown option; the machine refuses it.

/// A key of an options object.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    pub key: &'static str,
    pub takes: Takes,
    /// Whether it applies to children, too, not only to tasks.
    pub of_children: bool,
}

/// Type of an option's value.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    Anything,
    /// Seconds, or a text such as "10s". A key that ends with `_ms` takes milliseconds.
    Duration,
    OneOf(&'static [&'static str]),
    /// A number of attempts, or an object.
    Retries,
}

/// Options of `Task.run`. `Workflow.run` takes those that apply to children.
pub const WORK: &[Choice] = &[
    both("retries", Takes::Retries),
    both("timeout", Takes::Duration),
    both("deadline", Takes::Duration),
    of_tasks("queue", Takes::Anything),
    both("priority", Takes::Anything),
    of_tasks("key", Takes::Anything),
    both("label", Takes::Anything),
    both("delay", Takes::Duration),
    of_tasks("on_exhausted", Takes::OneOf(&["fail", "hold"])),
    both("settle", Takes::Anything),
    both("cancel", Takes::Anything),
    of_tasks("heartbeat_timeout", Takes::Duration),
];

/// Further options of `Task.map` and `Workflow.map`.
pub const MAP: &[Choice] = &[both("concurrency", Takes::Anything)];

/// Fields of a retry policy.
pub const RETRIES: &[Choice] = &[
    both("max_attempts", Takes::Anything),
    both("backoff", Takes::OneOf(&["constant", "linear", "exponential"])),
    both("initial_delay", Takes::Duration),
    both("max_delay", Takes::Duration),
    both("multiplier", Takes::Anything),
    both("no_retry_on", Takes::Anything),
    both("jitter", Takes::Anything),
];

/// Options of `Signal.when`.
pub const WHEN: &[Choice] = &[both("timeout", Takes::Duration), both("label", Takes::Anything)];

/// Options of `Timer.delay`, `Task.delay`, `sleep` and `Signal.next`.
pub const LABEL: &[Choice] = &[both("label", Takes::Anything)];

/// Options of groups of handles.
pub const GROUP: &[Choice] = &[both("cancel", Takes::Anything)];

const fn both(key: &'static str, takes: Takes) -> Choice {
    Choice { key, takes, of_children: true }
}

const fn of_tasks(key: &'static str, takes: Takes) -> Choice {
    Choice { key, takes, of_children: false }
}

impl Choice {
    /// Returns the option with an example value, for messages.
    pub fn example(&self) -> String {
        let value = match (self.takes, self.key) {
            (Takes::Duration, _) => "\"10s\"",
            (Takes::OneOf(values), _) => {
                return format!("{}: \"{}\"", self.key, values.first().unwrap_or(&""));
            }
            (Takes::Retries, _) => "{ max_attempts: 5 }",
            (Takes::Anything, "settle" | "cancel") => "true",
            (Takes::Anything, "queue" | "key" | "label") => "\"name\"",
            (Takes::Anything, "no_retry_on") => "[\"Declined\"]",
            (Takes::Anything, "multiplier") => "2",
            (Takes::Anything, "jitter") => "0.1",
            (Takes::Anything, _) => "5",
        };
        format!("{}: {value}", self.key)
    }

    /// Returns whether a written key means this option.
    pub fn is_written(&self, written: &str) -> bool {
        let plain = match self.takes {
            Takes::Duration => written.strip_suffix("_ms").unwrap_or(written),
            _ => written,
        };
        plain == self.key
    }
}

/// Returns the option that a written key means.
pub fn written(choices: &'static [Choice], key: &str) -> Option<&'static Choice> {
    choices.iter().find(|choice| choice.is_written(key))
}
