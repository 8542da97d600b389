//! The options of calls, where they are written out: keys nobody reads, values nobody understands.

use super::Checker;
use super::call::LibraryCall;
use super::expression::bare;
use crate::duration;
use crate::flow::codes;
use crate::flow::diagnostic::Diagnostic;
use crate::flow::library::{Combinator, Effect};
use crate::flow::similar::closest;
use crate::flow::tree::{Expression, ExpressionKind, Property, PropertyValue};

/// A key and what belongs there.
type Key = (&'static str, Takes);

#[derive(Clone, Copy)]
enum Takes {
    Anything,
    /// Seconds or a text such as "10s"; with `_ms` at the end of its key, milliseconds.
    Duration,
    OneOf(&'static [&'static str]),
    /// A number of attempts, or an object.
    Retries,
}

const WORK: &[Key] = &[
    ("retries", Takes::Retries),
    ("timeout", Takes::Duration),
    ("deadline", Takes::Duration),
    ("queue", Takes::Anything),
    ("priority", Takes::Anything),
    ("key", Takes::Anything),
    ("delay", Takes::Duration),
    ("on_exhausted", Takes::OneOf(&["fail", "hold"])),
    ("settle", Takes::Anything),
    ("cancel", Takes::Anything),
    ("heartbeat_timeout", Takes::Duration),
];

const RETRIES: &[Key] = &[
    ("max_attempts", Takes::Anything),
    ("backoff", Takes::OneOf(&["constant", "linear", "exponential"])),
    ("initial_delay", Takes::Duration),
    ("max_delay", Takes::Duration),
    ("multiplier", Takes::Anything),
    ("no_retry_on", Takes::Anything),
    ("jitter", Takes::Anything),
];

const WHEN: &[Key] = &[("timeout", Takes::Duration)];

const GROUP: &[Key] = &[("cancel", Takes::Anything)];

impl<'t> Checker<'t> {
    /// The options of a call, and the durations it is given.
    pub(super) fn call_options(&mut self, call: LibraryCall<'t>) {
        let (at, keys) = match call.function.effect() {
            Some(Effect::RunTask | Effect::RunWorkflow) => (2, WORK),
            Some(Effect::SignalWhen) => (1, WHEN),
            Some(Effect::Group(combinator)) if combinator != Combinator::AllSettled => (1, GROUP),
            Some(Effect::DelaySeconds | Effect::DelayMilliseconds) => {
                return self.duration(call.arguments.first());
            }
            Some(Effect::Timeout) => return self.duration(call.arguments.get(1)),
            _ => return,
        };
        if let Some(options) = call.arguments.get(at) {
            self.options(options, keys, call.function.name);
        }
    }

    fn options(&mut self, options: &'t Expression, keys: &'static [Key], owner: &str) {
        let ExpressionKind::Object(properties) = &bare(options).kind else { return };
        for property in properties {
            let found = keys.iter().find(|(key, takes)| is_key(&property.key.text, key, *takes));
            match found {
                None => self.unknown_option(property, keys, owner),
                Some((_, takes)) => match &property.value {
                    PropertyValue::Given(value) => self.option_value(value, *takes),
                    PropertyValue::Shorthand(_) => {}
                },
            }
        }
    }

    fn option_value(&mut self, value: &'t Expression, takes: Takes) {
        match takes {
            Takes::Anything => {}
            Takes::Duration => self.duration(Some(value)),
            Takes::Retries => self.options(value, RETRIES, "retries"),
            Takes::OneOf(values) => {
                if let ExpressionKind::Text(text) = &bare(value).kind
                    && !values.contains(&text.as_str())
                {
                    let written = self.brief(value.span, "..");
                    self.report.add(codes::OPTION_VALUE, || {
                        let near = closest(text, values.iter().copied());
                        let all: Vec<String> = values.iter().map(|value| format!("`\"{value}\"`")).collect();
                        let help = match near {
                            Some(near) => format!("did you mean `\"{near}\"`?"),
                            None => format!("write {}", all.join(" or ")),
                        };
                        Diagnostic::new(codes::OPTION_VALUE, value.span, "not one of the values")
                            .titled(format!("`{written}` means nothing here"))
                            .helped(help)
                    });
                }
            }
        }
    }

    fn unknown_option(&mut self, property: &'t Property, keys: &'static [Key], owner: &str) {
        let written = self.brief(property.key.span, "..");
        self.report.add(codes::UNKNOWN_OPTION, || {
            let key = &property.key.text;
            let names = keys.iter().map(|(key, _)| *key);
            let help = match closest(key, names.clone()).or_else(|| other_name(key, keys)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let all: Vec<String> = names.map(|key| format!("`{key}`")).collect();
                    format!("it has {}", all.join(", "))
                }
            };
            Diagnostic::new(codes::UNKNOWN_OPTION, property.key.span, "nothing reads this")
                .titled(format!("`{owner}` has no option `{written}`"))
                .helped(help)
        });
    }

    fn duration(&mut self, value: Option<&'t Expression>) {
        let Some(value) = value.map(bare) else { return };
        if let ExpressionKind::Text(text) = &value.kind
            && let Err(problem) = duration::parse(text)
        {
            self.report.add(codes::OPTION_VALUE, || {
                Diagnostic::new(codes::OPTION_VALUE, value.span, "not a duration")
                    .titled("this is not a duration")
                    .helped(problem.to_string())
            });
        }
    }
}

fn is_key(written: &str, key: &str, takes: Takes) -> bool {
    let plain = match takes {
        Takes::Duration => written.strip_suffix("_ms").unwrap_or(written),
        _ => written,
    };
    plain == key
}

/// Names other systems have for the same; which of two is meant depends on what there is.
fn other_name(key: &str, keys: &[Key]) -> Option<&'static str> {
    let meant: &[&str] = match key {
        "retry" | "maxRetries" | "max_retries" => &["retries", "max_attempts"],
        "attempts" | "maxAttempts" | "limit" | "times" | "count" => &["retries", "max_attempts"],
        "strategy" => &["backoff"],
        "initialDelay" | "interval" | "initial_interval" => &["initial_delay"],
        "maxDelay" | "max_interval" => &["max_delay"],
        "factor" | "coefficient" => &["multiplier"],
        "nonRetryable" | "non_retryable" | "noRetryOn" => &["no_retry_on"],
        "idempotency_key" | "idempotencyKey" | "id" => &["key"],
        "task_queue" | "taskQueue" => &["queue"],
        "onExhausted" => &["on_exhausted"],
        "timeoutMs" | "start_to_close_timeout" => &["timeout"],
        "schedule_to_close_timeout" => &["deadline"],
        _ => return None,
    };
    keys.iter().map(|(key, _)| *key).find(|key| meant.contains(key))
}
