//! The scripted answers of tasks.

use std::collections::BTreeMap;

use rhythm_core::failure::codes;
use rhythm_core::{Failure, Millis, Payload};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Name of the script for every task without its own.
pub const ANY: &str = "*";

/// The scripted end of one attempt.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Answer {
    pub ok: Option<Box<RawValue>>,
    pub err: Option<Error>,
    pub never: bool,
    /// Virtual seconds between the start of the attempt and its end.
    #[serde(deserialize_with = "moment")]
    pub after: f64,
}

/// Reads a number of seconds. Fails if it is negative.
pub fn moment<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    match seconds >= 0.0 {
        true => Ok(seconds),
        false => Err(serde::de::Error::custom(format!("{seconds} s is before the start"))),
    }
}

/// A failure in a scenario. A text is its message.
#[derive(Clone, Debug)]
pub enum Error {
    Message(String),
    Whole(WholeError),
    /// A real failure that the scenario did not script.
    Made(Box<Failure>),
}

impl<'de> Deserialize<'de> for Error {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(message) => Ok(Self::Message(message)),
            // Read on its own, so that the error names the wrong key.
            whole => serde_json::from_value(whole).map(Self::Whole).map_err(serde::de::Error::custom),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WholeError {
    #[serde(default)]
    pub message: String,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub code: Option<String>,
    #[serde(default = "yes")]
    pub retryable: bool,
    pub data: Option<Value>,
}

fn yes() -> bool {
    true
}

impl Answer {
    /// Returns an answer that the scenario did not script. It ends the attempt at once.
    pub fn given(value: &Value) -> Self {
        Self { ok: serde_json::value::to_raw_value(value).ok(), ..Self::default() }
    }

    pub fn failed(failure: Failure) -> Self {
        Self { err: Some(Error::Made(Box::new(failure))), ..Self::default() }
    }

    /// Returns an error if the answer ends the attempt in more than one way.
    pub fn mistake(&self) -> Option<&'static str> {
        let ways = [self.ok.is_some(), self.err.is_some(), self.never];
        let several = ways.into_iter().filter(|way| *way).count() > 1;
        several.then_some("an attempt ends in one way: write one of `ok`, `err` and `never`")
    }

    pub fn delay(&self) -> Millis {
        seconds(self.after)
    }

    /// Returns the result of the attempt, or `None` if it never ends.
    pub fn result(&self) -> Option<Result<Payload, Failure>> {
        if self.never {
            return None;
        }
        Some(match &self.err {
            Some(error) => Err(error.failure()),
            None => Ok(payload(self.ok.as_deref())),
        })
    }
}

impl Error {
    fn failure(&self) -> Failure {
        match self {
            Self::Message(message) => Failure::new(codes::FAILED, message),
            Self::Made(failure) => Failure::clone(failure),
            Self::Whole(error) => {
                let code = error.code.as_ref().or(error.kind.as_ref()).map_or(codes::FAILED, String::as_str);
                let kind = error.kind.clone().unwrap_or_else(|| code.to_owned());
                let (retryable, data) =
                    (error.retryable, error.data.as_ref().and_then(|data| Payload::of(data).ok()));
                Failure { kind, retryable, data, ..Failure::new(code, &error.message) }
            }
        }
    }
}

/// Converts a scripted value without changing its text. A missing value is null.
pub fn payload(value: Option<&RawValue>) -> Payload {
    value.map_or_else(Payload::null, |value| Payload::Inline(value.to_owned().into()))
}

/// Converts seconds to whole milliseconds. Negative values and NaN become 0.
pub fn seconds(seconds: f64) -> Millis {
    Millis((seconds.max(0.0) * 1_000.0).round() as u64)
}

/// The answers of all tasks. Each attempt of a name takes the next one.
#[derive(Clone, Debug, Default)]
pub struct Script {
    answers: BTreeMap<String, Vec<Answer>>,
    taken: BTreeMap<String, usize>,
}

impl Script {
    pub fn new(answers: BTreeMap<String, Vec<Answer>>) -> Self {
        Self { answers, taken: BTreeMap::new() }
    }

    /// Whether the scenario scripts this name itself, not only `*`.
    pub fn names(&self, name: &str) -> bool {
        self.answers.contains_key(name)
    }

    /// Whether the scenario scripts this task, by its name or by `*`.
    pub fn answers_for(&self, name: &str) -> bool {
        self.names(name) || self.names(ANY)
    }

    /// Returns the scripted names that no attempt has used.
    pub fn unasked(&self) -> impl Iterator<Item = &str> {
        self.answers.keys().map(String::as_str).filter(|name| !self.taken.contains_key(*name))
    }

    /// Returns the next answer of this task; the last one repeats. Returns `None` for a task without a
    /// script.
    pub fn next(&mut self, name: &str) -> Option<Answer> {
        let answers = self.answers.get(name).or_else(|| self.answers.get(ANY))?;
        let taken = self.taken.entry(name.to_owned()).or_default();
        let answer = answers.get(*taken).or_else(|| answers.last())?;
        *taken += 1;
        Some(answer.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_attempt_takes_the_next_answer_and_the_last_one_repeats() {
        let answers = json!({"a": [{"ok": 1}, {"ok": 2}], "*": [{"err": "no"}]});
        let mut script = Script::new(serde_json::from_value(answers).unwrap());
        let mut next = |name| script.next(name).and_then(|answer| answer.result()).unwrap();
        assert_eq!(next("a").unwrap().text(), Some("1"));
        assert_eq!(next("a").unwrap().text(), Some("2"));
        assert_eq!(next("a").unwrap().text(), Some("2"));
        assert_eq!(next("b").unwrap_err(), Failure::new("FAILED", "no"));
    }

    #[test]
    fn an_unknown_task_has_no_answer() {
        assert!(Script::default().next("a").is_none());
    }

    #[test]
    fn a_failure_takes_its_type_for_its_code() {
        let error: Answer =
            serde_json::from_value(json!({"err": {"message": "m", "type": "T", "retryable": false}}))
                .unwrap();
        let failure = error.result().unwrap().unwrap_err();
        assert_eq!((failure.code.as_str(), failure.kind.as_str(), failure.retryable), ("T", "T", false));
    }
}
