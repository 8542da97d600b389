//! The options of calls, where they are written out: keys nobody reads, values nobody understands.

use super::Checker;
use super::call::LibraryCall;
use super::expression::bare;
use crate::duration;
use crate::flow::codes;
use crate::flow::diagnostic::Diagnostic;
use crate::flow::library::{Combinator, Effect};
use crate::flow::option::{Choice, GROUP, RETRIES, Takes, WHEN, WORK};
use crate::flow::similar::closest;
use crate::flow::tree::{Expression, ExpressionKind, Property, PropertyValue};

impl<'t> Checker<'t> {
    /// The options of a call, and the durations it is given.
    pub(super) fn call_options(&mut self, call: LibraryCall<'t>) {
        let any = |_: &Choice| true;
        let (at, choices, taken): (_, _, fn(&Choice) -> bool) = match call.function.effect() {
            Some(Effect::RunTask) => (2, WORK, any),
            Some(Effect::RunWorkflow) => (2, WORK, |choice| choice.of_children),
            Some(Effect::SignalWhen) => (1, WHEN, any),
            Some(Effect::Group(combinator)) if combinator != Combinator::AllSettled => (1, GROUP, any),
            Some(Effect::DelaySeconds | Effect::DelayMilliseconds) => {
                return self.duration(call.arguments.first());
            }
            Some(Effect::Timeout) => return self.duration(call.arguments.get(1)),
            _ => return,
        };
        if let Some(options) = call.arguments.get(at) {
            let keys: Vec<&'static Choice> = choices.iter().filter(|choice| taken(choice)).collect();
            self.options(options, &keys, call.function.name);
        }
    }

    fn options(&mut self, options: &'t Expression, keys: &[&'static Choice], owner: &str) {
        let ExpressionKind::Object(properties) = &bare(options).kind else { return };
        for property in properties {
            match keys.iter().find(|choice| choice.is_written(&property.key.text)) {
                None => self.unknown_option(property, keys, owner),
                Some(choice) => match &property.value {
                    PropertyValue::Given(value) => self.option_value(value, choice.takes),
                    PropertyValue::Shorthand(_) => {}
                },
            }
        }
    }

    fn option_value(&mut self, value: &'t Expression, takes: Takes) {
        match takes {
            Takes::Anything => {}
            Takes::Duration => self.duration(Some(value)),
            Takes::Retries => self.options(value, &RETRIES.iter().collect::<Vec<_>>(), "retries"),
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

    fn unknown_option(&mut self, property: &'t Property, keys: &[&'static Choice], owner: &str) {
        let written = self.brief(property.key.span, "..");
        self.report.add(codes::UNKNOWN_OPTION, || {
            let key = &property.key.text;
            let names = keys.iter().map(|choice| choice.key);
            let help = match closest(key, names.clone()).or_else(|| other_name(key, keys)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let all: Vec<String> = names.map(|key| format!("`{key}`")).collect();
                    format!("it has {}", all.join(", "))
                }
            };
            Diagnostic::new(codes::UNKNOWN_OPTION, property.key.span, "this call will throw `WRONG_ARG_TYPE`")
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

/// Names other systems have for the same; which of two is meant depends on what there is.
fn other_name(key: &str, keys: &[&'static Choice]) -> Option<&'static str> {
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
    keys.iter().map(|choice| choice.key).find(|key| meant.contains(key))
}
