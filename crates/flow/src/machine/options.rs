//! Reads the options of tasks, children and waits, and their durations.

use rhythm_core::duration;
use rhythm_core::label::{MAX_LABEL, fits};
use rhythm_core::retry::{Backoff, RetryPolicy};
use rhythm_core::task::{OnExhausted, TaskOptions};
use rhythm_core::time::Millis;

use super::Machine;
use super::handle::Manner;
use crate::limits::MAX_VALUE_DEPTH;
use crate::option::{Choice, RETRIES, WORK, written};
use crate::runtime_error::{Evaluated, Stop, short, wrong_argument};
use crate::value::{Number, Object, Value};

/// Unit of a number without a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Milliseconds,
}

/// Options of `Task.run` and `Workflow.run`.
#[derive(Clone, Debug)]
pub struct Options {
    pub task: TaskOptions,
    pub how: Manner,
    /// The options that were given, to refuse those that do not apply.
    pub given: Vec<&'static Choice>,
}

impl Machine<'_> {
    pub fn options(&mut self, function: &str, given: Option<Value>) -> Evaluated<Options> {
        let defaults = &self.flow.code.defaults;
        let mut options = Options {
            task: defaults.options(),
            how: Manner { settle: defaults.settle, ..Manner::default() },
            given: Vec::new(),
        };
        let Some(object) = self.option_object(function, given)? else { return Ok(options) };
        for (key, value) in object.iter() {
            options.set(key, value)?;
        }
        if let Some(Err(error)) = options.task.retries.as_ref().map(RetryPolicy::check) {
            return wrong_argument(format!("option `retries` of {function}: {error}"));
        }
        Ok(options)
    }

    /// Returns the options object; absent and null mean no options.
    pub fn option_object(&mut self, function: &str, given: Option<Value>) -> Evaluated<Option<Object>> {
        match given.map(|value| self.look(value)).transpose()? {
            None | Some(Value::Null) => Ok(None),
            Some(value @ Value::Object(_)) => match self.look_inside(value)? {
                Value::Object(object) => Ok(Some(object)),
                _ => Ok(None),
            },
            Some(other) => {
                wrong_argument(format!("the options of {function} are an object, not {}", other.described()))
            }
        }
    }
}

/// Returns the message that a call with this option would throw, as far as one option decides it. The checker
/// uses this before there is a run.
pub fn refusal(choices: &[Choice], key: &str, value: &Value) -> Option<String> {
    let tried = match choices.first().map(|choice| choice.key) {
        Some("retries") => {
            let mut options =
                Options { task: TaskOptions::default(), how: Manner::default(), given: Vec::new() };
            let set = options.set(key, value);
            let policy = options.task.retries.as_ref().map(RetryPolicy::check);
            match policy.filter(|_| set.is_ok()) {
                Some(Err(error)) => wrong_argument(format!("option `retries`: {error}")),
                _ => set,
            }
        }
        Some("max_attempts") => Object::of([(key, value.clone())])
            .map_err(Stop::from)
            .and_then(|policy| retries(&mut RetryPolicy::default(), &Value::Object(policy))),
        Some("timeout" | "label") if key == "label" => label(value).map(|_| ()),
        Some("timeout") => optional_length(value, unit_of(key).1, key).map(|_| ()),
        Some("cancel") => flag(value, key).map(|_| ()),
        Some("concurrency") => at_once(value).map(|_| ()),
        _ => Ok(()),
    };
    thrown_message(tried)
}

/// Returns the message that a call with this duration would throw.
pub fn length_refusal(value: &Value, unit: Unit, what: &str) -> Option<String> {
    thrown_message(length(value, unit, what))
}

fn thrown_message<T>(tried: Evaluated<T>) -> Option<String> {
    match tried {
        Err(Stop::Thrown(error)) => Some(error.message.to_string()),
        _ => None,
    }
}

impl Options {
    /// Refuses options that do not apply to children.
    pub fn check_for_children(&self, function: &str) -> Evaluated<()> {
        let Some(other) = self.given.iter().find(|choice| !choice.of_children) else { return Ok(()) };
        let taken = WORK.iter().filter(|choice| choice.of_children).map(|choice| choice.key);
        let (other, taken) = (other.key, taken.collect::<Vec<_>>().join(", "));
        wrong_argument(format!("{function} takes no option `{other}`; it takes {taken}"))
    }

    /// Drops the retries and the timeout of the front matter, which apply to tasks only.
    pub fn settle_for_children(&mut self) {
        let given = |key: &str| self.given.iter().any(|choice| choice.key == key);
        let mut retries = match given("retries") {
            true => self.task.policy(),
            false => RetryPolicy { max_attempts: 1, ..RetryPolicy::default() },
        };
        // Each run retries its children alone, so there is no thundering herd to spread.
        retries.jitter = 0.0;
        if !given("timeout") {
            self.task.timeout = None;
        }
        self.task.retries = Some(retries);
    }

    fn set(&mut self, key: &str, value: &Value) -> Evaluated<()> {
        let Some(choice) = written(WORK, key) else {
            let known: Vec<&str> = WORK.iter().map(|choice| choice.key).collect();
            let (key, known) = (short(key), known.join(", "));
            return wrong_argument(format!("there is no option `{key}`; there are {known}"));
        };
        self.given.push(choice);
        let (_, unit) = unit_of(key);
        let task = &mut self.task;
        match choice.key {
            "retries" => retries(task.retries.get_or_insert_default(), value)?,
            "timeout" => task.timeout = optional_length(value, unit, key)?,
            "deadline" => task.deadline = optional_length(value, unit, key)?,
            "heartbeat_timeout" => task.heartbeat_timeout = optional_length(value, unit, key)?,
            "delay" => task.delay = length(value, unit, key)?,
            "queue" => task.queue = word(value, key, 200)?,
            "key" => task.key = Some(word(value, key, 200)?),
            "label" => task.label = Some(label(value)?),
            "priority" => task.priority = priority(value)?,
            "on_exhausted" => {
                task.on_exhausted = match value {
                    Value::Text(text) if **text == *"fail" => OnExhausted::Fail,
                    Value::Text(text) if **text == *"hold" => OnExhausted::Hold,
                    _ => return wrong_argument("option `on_exhausted` is \"fail\" or \"hold\""),
                }
            }
            "settle" => self.how.settle = flag(value, key)?,
            "cancel" => self.how.cancel = flag(value, key)?,
            _ => {}
        }
        Ok(())
    }
}

/// Returns the name of a duration option without its suffix, and the unit of a plain number in it.
pub fn unit_of(key: &str) -> (&str, Unit) {
    match key.strip_suffix("_ms") {
        Some(name) => (name, Unit::Milliseconds),
        None => (key, Unit::Seconds),
    }
}

/// Reads a duration: a number, or a text such as `"1h30m"`.
pub fn length(value: &Value, unit: Unit, what: &str) -> Evaluated<Millis> {
    let number = match value {
        Value::Number(number) => *number,
        Value::Text(text) if text.len() > 100 => {
            return wrong_argument(format!("`{what}`: {:?} is no length of time", short(text)));
        }
        Value::Text(text) => {
            return match duration::parse(text) {
                Ok(length) => Ok(length),
                Err(error) => wrong_argument(format!("`{what}`: {error}")),
            };
        }
        other => {
            let message = "is a number or a text such as \"1h30m\", not";
            return wrong_argument(format!("`{what}` {message} {}", other.described()));
        }
    };
    let millis = match (number, unit) {
        (Number::Integer(count), Unit::Seconds) => {
            u64::try_from(count).ok().and_then(|n| n.checked_mul(1000))
        }
        (Number::Integer(count), Unit::Milliseconds) => u64::try_from(count).ok(),
        (Number::Float(count), Unit::Seconds) => rounded(count * 1000.0),
        (Number::Float(count), Unit::Milliseconds) => rounded(count),
    };
    match millis {
        Some(millis) => Ok(Millis(millis)),
        None => wrong_argument(format!("`{what}` cannot be {number}: it is no length of time")),
    }
}

fn rounded(millis: f64) -> Option<u64> {
    let millis = millis.round();
    // 2^64 as a double: below it the cast is exact.
    (0.0..18_446_744_073_709_551_616.0).contains(&millis).then_some(millis as u64)
}

pub fn optional_length(value: &Value, unit: Unit, what: &str) -> Evaluated<Option<Millis>> {
    match value {
        Value::Null => Ok(None),
        value => length(value, unit, what).map(Some),
    }
}

/// Reads the number of items of a map that may be open at a time.
pub fn at_once(value: &Value) -> Evaluated<u64> {
    match value {
        Value::Number(Number::Integer(count @ 1..=1000)) => Ok(*count as u64),
        _ => wrong_argument("option `concurrency` is a whole number from 1 to 1000"),
    }
}

pub fn flag(value: &Value, what: &str) -> Evaluated<bool> {
    match value {
        Value::Boolean(flag) => Ok(*flag),
        other => wrong_argument(format!("option `{what}` is true or false, not {}", other.described())),
    }
}

/// Reads a label.
pub fn label(value: &Value) -> Evaluated<String> {
    match value {
        Value::Text(text) if fits(text) => Ok(text.to_string()),
        Value::Text(_) => wrong_argument(format!("option `label` has 1 to {MAX_LABEL} characters")),
        other => wrong_argument(format!("option `label` is a string, not {}", other.described())),
    }
}

fn word(value: &Value, what: &str, longest: usize) -> Evaluated<String> {
    match value {
        Value::Text(text) if !text.is_empty() && text.len() <= longest => Ok(text.to_string()),
        Value::Text(_) => wrong_argument(format!("option `{what}` has 1 to {longest} characters")),
        other => wrong_argument(format!("option `{what}` is a string, not {}", other.described())),
    }
}

fn priority(value: &Value) -> Evaluated<i32> {
    match value {
        Value::Number(Number::Integer(number)) if i32::try_from(*number).is_ok() => Ok(*number as i32),
        _ => wrong_argument("option `priority` is a whole number, higher goes first"),
    }
}

/// Reads a number of attempts or a policy; fields it leaves out keep their value.
fn retries(policy: &mut RetryPolicy, value: &Value) -> Evaluated<()> {
    let object = match value {
        Value::Number(_) => {
            policy.max_attempts = attempts(value)?;
            return Ok(());
        }
        Value::Object(object) => object,
        other => {
            let message = "option `retries` is a number of attempts or a policy such as { max_attempts: 5 }";
            return wrong_argument(format!("{message}, not {}", other.described()));
        }
    };
    for (key, value) in object.iter() {
        let Some(choice) = written(RETRIES, key) else {
            return wrong_argument(format!("a retry policy has no `{}`", short(key)));
        };
        let (_, unit) = unit_of(key);
        match choice.key {
            "max_attempts" => policy.max_attempts = attempts(value)?,
            "backoff" => {
                policy.backoff = match value {
                    Value::Text(text) if **text == *"constant" => Backoff::Constant,
                    Value::Text(text) if **text == *"linear" => Backoff::Linear,
                    Value::Text(text) if **text == *"exponential" => Backoff::Exponential,
                    _ => return wrong_argument("`backoff` is \"constant\", \"linear\" or \"exponential\""),
                }
            }
            "initial_delay" => policy.initial_delay = length(value, unit, key)?,
            "max_delay" => policy.max_delay = length(value, unit, key)?,
            "multiplier" => policy.multiplier = fraction(value, key)?,
            "jitter" => policy.jitter = fraction(value, key)?,
            "no_retry_on" => policy.no_retry_on = words(value)?,
            _ => {}
        }
    }
    // A call that only lowers the largest delay lowers the first delay, too.
    if object.get("initial_delay").is_none() && object.get("initial_delay_ms").is_none() {
        policy.initial_delay = policy.initial_delay.min(policy.max_delay);
    }
    Ok(())
}

fn attempts(value: &Value) -> Evaluated<u32> {
    match value {
        Value::Number(Number::Integer(number)) if u32::try_from(*number).is_ok() => Ok(*number as u32),
        _ => wrong_argument("the number of attempts is a whole number from 1"),
    }
}

fn fraction(value: &Value, what: &str) -> Evaluated<f64> {
    match value {
        Value::Number(number) => Ok(number.as_f64()),
        other => wrong_argument(format!("`{what}` is a number, not {}", other.described())),
    }
}

fn words(value: &Value) -> Evaluated<Vec<String>> {
    let message = "`no_retry_on` is a list of error types";
    let Value::List(list) = value else { return wrong_argument(message) };
    if list.len() > usize::from(MAX_VALUE_DEPTH) {
        return wrong_argument("`no_retry_on` names at most 100 error types");
    }
    let word = |item: &Value| match item {
        Value::Text(text) => Ok(text.to_string()),
        _ => wrong_argument(message),
    };
    list.items().iter().map(word).collect()
}
