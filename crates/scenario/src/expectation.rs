//! Compares an outcome with the expected one. Absent keys are not checked.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::outcome::{Ending, Outcome};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Expectation {
    pub status: Option<Ending>,
    #[serde(deserialize_with = "given")]
    pub output: Option<Value>,
    pub error: Option<Words>,
    pub rejected: Option<Words>,
    pub calls: Option<Vec<(String, Value)>>,
    pub order: Option<Vec<String>>,
    pub counts: BTreeMap<String, Whole>,
    pub before: Vec<(String, String)>,
    pub not_executed: Vec<String>,
    pub counter: Option<Whole>,
    pub waiting: Option<Vec<String>>,
    pub patch_rejected: Option<bool>,
    pub elapsed: Option<f64>,
}

/// A whole number, written as `1` or as `1.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "f64")]
pub struct Whole(i64);

impl TryFrom<f64> for Whole {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        match number.fract() == 0.0 && number.abs() < 9e15 {
            true => Ok(Self(number as i64)),
            false => Err(format!("{number} is no whole number")),
        }
    }
}

/// Distinguishes an expected `null` from a missing key, which expects nothing.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Expected codes and texts of an error.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Words {
    pub code: Several,
    pub contains: Several,
}

/// One text or a list of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Several {
    One(String),
    Many(Vec<String>),
}

impl Default for Several {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Several {
    fn list(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts,
        }
    }
}

impl Words {
    /// Whether an error with these codes and this text matches: any of the codes, and all of the parts of the
    /// text.
    fn fit(&self, codes: &[&str], text: &str) -> bool {
        let codes_fit =
            self.code.list().is_empty() || self.code.list().iter().any(|code| codes.contains(&code.as_str()));
        codes_fit && self.contains.list().iter().all(|part| text.contains(part.as_str()))
    }

    fn wanted(&self) -> String {
        let mut wanted = Vec::new();
        if !self.code.list().is_empty() {
            wanted.push(format!("code {}", self.code.list().join(" or ")));
        }
        wanted.extend(self.contains.list().iter().map(|part| format!("text {part:?}")));
        wanted.join(", ")
    }
}

impl Expectation {
    /// Returns the nodes that the expectation names, each with its key.
    pub fn names(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let counts = self.counts.keys().map(|name| ("counts", name));
        let before = self.before.iter().flat_map(|(a, b)| [a, b]).map(|name| ("before", name));
        counts.chain(before).chain(self.not_executed.iter().map(|name| ("not_executed", name)))
    }

    /// Returns a message for each difference: its key, the expected value and the actual one.
    pub fn problems(&self, outcome: &Outcome) -> Vec<String> {
        let mut problems = Vec::new();
        let mut differs = |key: &str, expected: String, happened: String| {
            problems.push(format!("{key}: expected {expected}, got {happened}"));
        };
        if let Some(status) = self.status
            && status != outcome.status
        {
            differs("status", word(&status), happened(outcome));
        }
        if let Some(output) = &self.output
            && !outcome.output.as_ref().is_some_and(|got| same(output, got))
        {
            match &outcome.output {
                None => differs("output", output.to_string(), "nothing".into()),
                Some(got) => {
                    for Difference { path, expected, got } in differences("output", output, got) {
                        differs(&path, expected, got);
                    }
                }
            }
        }
        if let Some(words) = &self.error {
            match &outcome.error {
                Some(error) => {
                    let text = format!("{}: {}", error.code, error.message);
                    if !words.fit(&[&error.code, &error.kind], &text) {
                        differs("error", words.wanted(), format!("{text} (type {})", error.kind));
                    }
                }
                None => differs("error", words.wanted(), "no error".into()),
            }
        }
        if let Some(words) = &self.rejected {
            // A compiler reports all problems together, so search for the text in all of them.
            let codes: Vec<&str> = outcome.rejected.iter().map(|found| found.code.as_str()).collect();
            let said: Vec<String> =
                outcome.rejected.iter().map(|found| format!("{}: {}", found.code, found.message)).collect();
            let said = said.join("; ");
            if outcome.rejected.is_empty() {
                differs("rejected", words.wanted(), "no refusal".into());
            } else if !words.fit(&codes, &said) {
                differs("rejected", words.wanted(), said);
            }
        }
        if let Some(calls) = &self.calls {
            let right = calls.len() == outcome.calls.len()
                && calls.iter().zip(&outcome.calls).all(|(a, b)| a.0 == b.0 && same(&a.1, &b.1));
            if !right {
                for Difference { path, expected, got } in
                    differences("calls", &json(calls), &json(&outcome.calls))
                {
                    differs(&path, expected, got);
                }
            }
        }
        if let Some(order) = &self.order
            && *order != outcome.order
        {
            differs("order", word(order), word(&outcome.order));
        }
        for (name, count) in &self.counts {
            let got = outcome.counts.get(name).copied().unwrap_or(0);
            if i64::try_from(got) != Ok(count.0) {
                differs(&format!("counts.{name}"), count.0.to_string(), got.to_string());
            }
        }
        for (first, then) in &self.before {
            let place = |name: &str| outcome.order.iter().position(|ran| ran == name);
            if !matches!((place(first), place(then)), (Some(a), Some(b)) if a < b) {
                differs("before", format!("{first} before {then}"), word(&outcome.order));
            }
        }
        for name in &self.not_executed {
            if outcome.counts.get(name).is_some_and(|count| *count > 0) {
                differs("not_executed", format!("{name} not to run"), word(&outcome.order));
            }
        }
        if let Some(counter) = self.counter
            && outcome.counter != Some(counter.0)
        {
            let got = outcome.counter.map_or("no counter".to_owned(), |counter| counter.to_string());
            differs("counter", counter.0.to_string(), got);
        }
        if let Some(waiting) = &self.waiting {
            let sorted = |names: &[String]| {
                let mut names = names.to_vec();
                names.sort_unstable();
                names.dedup();
                names
            };
            if sorted(waiting) != sorted(&outcome.waiting) {
                differs("waiting", word(waiting), word(&outcome.waiting));
            }
        }
        if let Some(rejected) = self.patch_rejected
            && rejected != outcome.patch_rejected
        {
            differs("patch_rejected", rejected.to_string(), outcome.patch_rejected.to_string());
        }
        if let Some(elapsed) = self.elapsed
            && (elapsed - outcome.elapsed).abs() > 1e-9
        {
            differs("elapsed", format!("{elapsed} s"), format!("{} s", outcome.elapsed));
        }
        problems
    }
}

/// Returns the status, with the reason if there is one: for most problems this is enough.
fn happened(outcome: &Outcome) -> String {
    let status = word(&outcome.status);
    if let Some(error) = &outcome.error {
        return format!("{status} ({}: {})", error.code, error.message);
    }
    match outcome.rejected.first() {
        Some(found) => format!("{status} ({}: {})", found.code, found.message),
        None if !outcome.waiting.is_empty() => format!("{status} (for {})", outcome.waiting.join(", ")),
        None => status,
    }
}

fn word<T: serde::Serialize + ?Sized>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => text,
        Ok(value) => value.to_string(),
        Err(error) => error.to_string(),
    }
}

fn json<T: serde::Serialize + ?Sized>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// A path at which two values differ.
struct Difference {
    path: String,
    expected: String,
    got: String,
}

/// Largest number of differences shown.
const MOST_DIFFERENCES: usize = 10;

/// Returns the smallest parts in which two values differ, with their paths.
fn differences(path: &str, expected: &Value, got: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(path.to_owned(), Some(expected), Some(got), &mut found);
    found.truncate(MOST_DIFFERENCES);
    found
}

fn compare(path: String, expected: Option<&Value>, got: Option<&Value>, found: &mut Vec<Difference>) {
    match (expected, got) {
        (Some(a), Some(b)) if same(a, b) => {}
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                compare(format!("{path}.{key}"), a.get(key), b.get(key), found);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for place in 0..a.len().max(b.len()) {
                compare(format!("{path}[{place}]"), a.get(place), b.get(place), found);
            }
        }
        (expected, got) => {
            let shown = |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
            found.push(Difference { path, expected: shown(expected), got: shown(got) });
        }
    }
}

/// Compares by value: `2` equals `2.0`, and the order of keys does not matter.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a == b,
            _ => a.as_f64() == b.as_f64(),
        },
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::outcome::{Call, Fault};

    fn problems(expected: Value, outcome: &Outcome) -> Vec<String> {
        serde_json::from_value::<Expectation>(expected).unwrap().problems(outcome)
    }

    #[test]
    fn what_is_not_named_is_not_checked() {
        assert!(problems(json!({}), &Outcome::of(Ending::Failed)).is_empty());
    }

    #[test]
    fn what_is_refused_may_be_refused_for_several_reasons() {
        let found =
            |code: &str, message: &str| crate::Rejection { code: code.into(), message: message.into() };
        let outcome = Outcome::rejected(vec![found("A", "no node zz"), found("B", "no type tsk")]);
        let right = |expected: Value| problems(json!({"rejected": expected}), &outcome).is_empty();
        assert!(right(json!({"code": ["B", "C"], "contains": ["zz", "tsk"]})));
        assert!(!right(json!({"code": "C"})) && !right(json!({"contains": "tks"})));
    }

    #[test]
    fn numbers_compare_by_value_and_null_is_expected_too() {
        let outcome = Outcome { output: Some(json!({"n": 2.0, "a": [1]})), ..Outcome::of(Ending::Completed) };
        assert!(problems(json!({"output": {"a": [1.0], "n": 2}}), &outcome).is_empty());
        assert_eq!(problems(json!({"output": null}), &outcome).len(), 1);
        let nothing = Outcome { output: Some(Value::Null), ..outcome };
        assert!(problems(json!({"output": null}), &nothing).is_empty());
    }

    #[test]
    fn a_problem_names_its_key_what_was_expected_and_what_happened() {
        let fault = Fault { code: "X".into(), kind: "T".into(), message: "no stock".into() };
        let outcome = Outcome {
            error: Some(fault),
            calls: vec![Call("a".into(), json!({}))],
            order: vec!["a".into()],
            counts: BTreeMap::from([("a".into(), 1)]),
            elapsed: 2.0,
            ..Outcome::of(Ending::Failed)
        };
        let expected = json!({
            "status": "completed", "error": {"code": ["Y"]}, "calls": [["b", {}]], "order": [], "counts": {"a": 2},
            "before": [["b", "a"]], "not_executed": ["a"], "counter": 0, "waiting": ["task"], "elapsed": 3,
            "patch_rejected": true, "rejected": {"code": "Z"},
        });
        let found = problems(expected, &outcome);
        assert_eq!(found.len(), 12, "{found:#?}");
        assert_eq!(found[0], "status: expected completed, got failed (X: no stock)");
        let right =
            json!({"error": {"code": "T", "contains": ["X: no", "stock"]}, "status": "failed", "elapsed": 2});
        assert!(problems(right, &outcome).is_empty());
    }
}
