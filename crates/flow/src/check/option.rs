//! Checks options of calls that are written out as an object: unknown keys and invalid values.

use rhythm_core::duration;
use rhythm_syntax::diagnostic::Diagnostic;
use rhythm_syntax::did_you_mean::closest;

use super::Checker;
use super::call::LibraryCall;
use super::expression::bare;
use crate::codes;
use crate::library::{Combinator, Effect};
use crate::machine::{Unit, length_refusal, refusal};
use crate::option::{Choice, GROUP, LABEL, MAP, RETRIES, Takes, WHEN, WORK};
use crate::tree::{Expression, ExpressionKind, Property, PropertyValue};
use crate::value::Value;

impl<'t> Checker<'t> {
    /// Checks the options of a call and its duration arguments.
    pub(super) fn call_options(&mut self, call: LibraryCall<'t>) {
        let any = |_: &Choice| true;
        let (at, choices, taken): (_, _, fn(&Choice) -> bool) = match call.function.effect() {
            Some(Effect::RunTask | Effect::MapTask) => (2, WORK, any),
            Some(Effect::RunWorkflow | Effect::MapWorkflow) => (2, WORK, |choice| choice.of_children),
            Some(Effect::SignalWhen) => (1, WHEN, any),
            Some(Effect::SignalNext) => (1, LABEL, any),
            Some(Effect::Group(combinator)) if combinator != Combinator::AllSettled => (1, GROUP, any),
            Some(Effect::DelaySeconds) => {
                self.duration(call.arguments.first(), Unit::Seconds, call.function.name);
                (1, LABEL, any)
            }
            Some(Effect::DelayMilliseconds) => {
                self.duration(call.arguments.first(), Unit::Milliseconds, call.function.name);
                (1, LABEL, any)
            }
            Some(Effect::Timeout) => {
                return self.duration(call.arguments.get(1), Unit::Seconds, call.function.name);
            }
            _ => return,
        };
        if let Some(options) = call.arguments.get(at) {
            let maps = matches!(call.function.effect(), Some(Effect::MapTask | Effect::MapWorkflow));
            let more = if maps { MAP } else { &[] };
            let keys = choices.iter().filter(|choice| taken(choice)).chain(more);
            let keys: Vec<&'static Choice> = keys.collect();
            self.options(options, choices, &keys, call.function.name);
        }
    }

    /// Refuses `concurrency` for a group of handles. A handle is already started, so only a map can limit
    /// concurrency.
    pub(super) fn concurrency_of_handles(&mut self, call: LibraryCall<'t>) -> bool {
        let (Some(_), Some(options)) = (call.function.combinator(), call.arguments.get(1)) else {
            return false;
        };
        let ExpressionKind::Object(properties) = &bare(options).kind else { return false };
        let Some(property) = properties.iter().find(|property| property.key.text == "concurrency") else {
            return false;
        };
        self.report.add(codes::CONCURRENCY, || {
            let name = call.function.name;
            Diagnostic::new(codes::CONCURRENCY, property.key.span, "all of them were started already")
                .titled(format!("`{name}` cannot bound how many run at a time"))
                .helped("write `Task.map(name, list, { concurrency: 10 })`: it starts the next when one has ended")
        });
        true
    }

    /// Checks an options object. `keys` are the entries of the table `among` that the owner accepts.
    fn options(
        &mut self,
        options: &'t Expression,
        among: &'static [Choice],
        keys: &[&'static Choice],
        owner: &str,
    ) {
        let ExpressionKind::Object(properties) = &bare(options).kind else { return };
        for property in properties {
            match keys.iter().find(|choice| choice.is_written(&property.key.text)) {
                None => self.unknown_option(property, keys, owner),
                Some(choice) => match &property.value {
                    PropertyValue::Given(value) => {
                        let of_map = MAP.iter().any(|own| own.key == choice.key);
                        self.option_value(property, value, if of_map { MAP } else { among }, choice);
                    }
                    PropertyValue::Shorthand(_) => {}
                },
            }
        }
    }

    fn option_value(
        &mut self,
        property: &'t Property,
        value: &'t Expression,
        among: &'static [Choice],
        choice: &'static Choice,
    ) {
        match (choice.takes, &bare(value).kind) {
            (Takes::Retries, ExpressionKind::Object(_)) => {
                let before = self.report.count();
                self.options(value, RETRIES, &RETRIES.iter().collect::<Vec<_>>(), "retries");
                if self.report.count() > before {
                    return;
                }
            }
            (Takes::OneOf(values), ExpressionKind::Text(text)) if !values.contains(&text.as_str()) => {
                return self.none_of(value, text, values);
            }
            _ => {}
        }
        let Some(constant) = self.constant_value(value) else { return };
        let Some(title) = refusal(among, &property.key.text, &constant) else { return };
        match (choice.takes, &constant) {
            (Takes::Duration, Value::Text(text)) if duration::parse(text).is_err() => {
                self.no_duration(value, text);
            }
            _ => self.sure_to_throw(value, title, format!("write for example `{}`", choice.example())),
        }
    }

    fn none_of(&mut self, value: &'t Expression, text: &str, values: &'static [&'static str]) {
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

    fn duration(&mut self, value: Option<&'t Expression>, unit: Unit, function: &str) {
        let Some(value) = value else { return };
        match self.constant_value(value) {
            Some(Value::Text(text)) if duration::parse(&text).is_err() => self.no_duration(value, &text),
            Some(constant) => {
                if let Some(title) = length_refusal(&constant, unit, function) {
                    self.sure_to_throw(value, title, "write a number, or a text such as `\"10s\"`");
                }
            }
            None => {}
        }
    }

    fn no_duration(&mut self, value: &'t Expression, text: &str) {
        let Err(problem) = duration::parse(text) else { return };
        self.report.add(codes::OPTION_VALUE, || {
            Diagnostic::new(codes::OPTION_VALUE, value.span, "not a duration")
                .titled("this is not a duration")
                .helped(problem.to_string())
        });
    }
}

/// Returns our name for an option that other systems call differently. The keys available decide between two
/// candidates.
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
        "title" | "description" | "display_name" | "displayName" => &["label"],
        "onExhausted" => &["on_exhausted"],
        "timeoutMs" | "start_to_close_timeout" => &["timeout"],
        "schedule_to_close_timeout" => &["deadline"],
        _ => return None,
    };
    keys.iter().map(|choice| choice.key).find(|key| meant.contains(key))
}
