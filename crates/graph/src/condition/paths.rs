//! The fields a condition reads, for messages: which field is missing, and which one may be.

use std::fmt;

use serde_json::Value;

use super::cel::walk;
use super::scope::Scope;

/// Characters shown of a value.
const SHOWN: usize = 120;

/// A field of the values that a condition reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    pub origin: Origin,
    pub steps: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Output,
    Inputs,
    /// The output of a node that ended before.
    Node(String),
}

/// A field that is negated without a check that it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    pub path: Path,
    pub operator: &'static str,
}

impl Path {
    pub fn then(mut self, step: &str) -> Self {
        self.steps.push(step.to_owned());
        self
    }

    /// Returns whether this is the other path or a part below it.
    pub fn reaches(&self, other: &Self) -> bool {
        self.origin == other.origin && self.steps.starts_with(&other.steps)
    }

    /// Describes the value at this path, or the last value that exists on the way to it.
    fn look(&self, scope: &Scope<'_>) -> String {
        let value = match &self.origin {
            Origin::Output => Some(scope.output),
            Origin::Inputs => Some(scope.inputs),
            Origin::Node(node) => scope.context.get(node.as_str()).map(|past| past.output),
        };
        let Some(value) = value else { return format!("`{self}` is not there: the node has not run") };
        if let Some(found) = walk(value, &self.steps) {
            return format!("`{self}` is {}", shown(found));
        }
        let reached = (0..self.steps.len()).rev().find(|count| walk(value, &self.steps[..*count]).is_some());
        let reached = &self.steps[..reached.unwrap_or_default()];
        let there = Self { origin: self.origin.clone(), steps: reached.to_vec() };
        let last = walk(value, reached).map(shown).unwrap_or_default();
        format!("`{self}` is not there, `{there}` is {last}")
    }

    fn is_there(&self, scope: &Scope<'_>) -> bool {
        match &self.origin {
            Origin::Output => walk(scope.output, &self.steps),
            Origin::Inputs => walk(scope.inputs, &self.steps),
            Origin::Node(node) => {
                scope.context.get(node.as_str()).and_then(|past| walk(past.output, &self.steps))
            }
        }
        .is_some()
    }
}

impl fmt::Display for Path {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Output => to.write_str("output")?,
            Origin::Inputs => to.write_str("inputs")?,
            Origin::Node(node) => write!(to, "ctx.{node}.output")?,
        }
        self.steps.iter().try_for_each(|step| match step.parse::<u64>() {
            Ok(place) => write!(to, "[{place}]"),
            Err(_) => write!(to, ".{step}"),
        })
    }
}

/// Describes the fields a condition read that could not be evaluated: the missing ones, or else the first
/// three.
pub fn told(paths: &[Path], scope: &Scope<'_>) -> String {
    let missing: Vec<&Path> = paths.iter().filter(|path| !path.is_there(scope)).collect();
    let told = if missing.is_empty() { paths.iter().take(3).collect() } else { missing };
    let told: Vec<String> = told.into_iter().map(|path| path.look(scope)).collect();
    told.join("; ")
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text,
    }
}

/// Returns a condition as one line of text.
pub fn written(source: &Value) -> String {
    let text = |key: &str| source.get(key).and_then(Value::as_str);
    match (text("expression"), text("query"), text("operator")) {
        (Some(expression), ..) => expression.to_owned(),
        (None, Some(query), Some(operator)) => {
            let value = source.get("value").map(|value| format!(" {}", shown(value)));
            format!("{query} {operator}{}", value.unwrap_or_default())
        }
        _ => shown(source),
    }
}
