//! Reads the front matter of a file. Reading never fails as a whole: each mistake is reported at its
//! position, and all other settings are returned.

mod retries;

use rhythm_core::cron::Cron;
use rhythm_core::duration;
use rhythm_core::retry::RetryPolicy;
use rhythm_core::time::Millis;
use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::{DIAGNOSTIC_LIMIT, Diagnostic, excerpt};
use rhythm_syntax::did_you_mean::closest;
use rhythm_syntax::spanned_value::{Entry, Node, NodeKind, Reader, Unreadable};
use serde_json::Value;

use super::codes;
use super::lexer;
use super::tree::FrontMatter;

/// Longest front matter, in bytes.
pub const FRONT_MATTER_LIMIT: usize = 64 << 10;
/// Deepest nesting of values.
const DEPTH_LIMIT: usize = 64;

const KEYS: [&str; 9] =
    ["name", "description", "queue", "timeout", "cleanup_grace", "retries", "schedule", "input", "failures"];

/// All settings; `None` where the file sets nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    pub name: Option<String>,
    pub description: Option<String>,
    /// Default queue of tasks.
    pub queue: Option<String>,
    /// Default timeout of each attempt of a task.
    pub timeout: Option<Millis>,
    /// Default retry policy of tasks.
    pub retries: Option<RetryPolicy>,
    /// Schedule, in UTC, on which runs start.
    pub schedule: Option<Cron>,
    /// JSON Schema for the input of a run; reading does not check that it is a valid schema.
    pub input: Option<Value>,
    pub failures: Failures,
    /// Time limit for clean-up after the run's deadline.
    pub cleanup_grace: Option<Millis>,
}

/// Result of awaiting a failed task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Failures {
    /// The await throws.
    #[default]
    Throw,
    /// The await returns the outcome as a value, as if every call had `settle: true`.
    Values,
}

/// Result of reading: the settings that are valid, and diagnostics for the others.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    pub settings: Settings,
    pub diagnostics: Vec<Diagnostic>,
}

pub fn read(front_matter: &FrontMatter) -> Reading {
    let mut reading = Reading::default();
    if front_matter.text.len() > FRONT_MATTER_LIMIT {
        let begin = Span::new(front_matter.span.range().start, front_matter.span.range().start);
        reading.diagnostics.push(
            Diagnostic::new(codes::FRONT_MATTER, begin, format!("{} bytes", front_matter.text.len()))
                .titled("the front matter is too long")
                .helped(format!("at most {FRONT_MATTER_LIMIT} bytes")),
        );
        return reading;
    }
    match tree(front_matter) {
        Err(unreadable) => reading.diagnostics.push(refused(unreadable)),
        Ok(None) => {}
        Ok(Some(root)) => reading.take(&root),
    }
    reading.diagnostics.sort_by_key(|diagnostic| diagnostic.span);
    reading.diagnostics.truncate(DIAGNOSTIC_LIMIT);
    reading
}

/// Returns the settings of a source without parsing its program.
pub fn settings_of(source: &str) -> Settings {
    lexer::lex(source).front_matter.as_ref().map(read).unwrap_or_default().settings
}

/// Returns the span of the value at a path of keys and list indexes, from the outside in. If the path does
/// not exist, this is its nearest existing parent.
pub fn place_of<'p>(front_matter: &FrontMatter, path: impl IntoIterator<Item = &'p str>) -> Span {
    match tree(front_matter) {
        Ok(Some(root)) => root.follow(path).span,
        _ => front_matter.span,
    }
}

fn tree(front_matter: &FrontMatter) -> Result<Option<Node>, Unreadable> {
    let offset = front_matter.span.range().start;
    Reader { subject: "front matter", offset, depth: DEPTH_LIMIT }.yaml(&front_matter.text)
}

fn refused(unreadable: Unreadable) -> Diagnostic {
    let diagnostic = Diagnostic::new(codes::FRONT_MATTER, unreadable.span, unreadable.label);
    let diagnostic = match unreadable.title {
        Some(title) => diagnostic.titled(title),
        None => diagnostic,
    };
    let usual = || "front matter is YAML: a key, a colon, a space and a value on each line".to_owned();
    diagnostic.helped(unreadable.help.unwrap_or_else(usual))
}

impl Reading {
    fn take(&mut self, root: &Node) {
        match &root.kind {
            NodeKind::Scalar(Value::Null) => {}
            NodeKind::Mapping(entries) => entries.iter().for_each(|entry| self.entry(entry)),
            _ => self.wrong(
                root.span,
                "front matter is a list of keys",
                root.describe(),
                "write for example `name: orders`",
            ),
        }
    }

    fn entry(&mut self, entry: &Entry) {
        match entry.key.as_str() {
            "name" => self.settings.name = self.text(entry),
            "description" => self.settings.description = self.text(entry),
            "queue" => self.settings.queue = self.text(entry),
            "timeout" => self.settings.timeout = self.length(&entry.value, "timeout"),
            "cleanup_grace" => self.settings.cleanup_grace = self.length(&entry.value, "cleanup_grace"),
            "retries" => self.settings.retries = self.retries(&entry.value),
            "schedule" => self.settings.schedule = self.schedule(entry),
            "input" => self.settings.input = self.input(entry),
            "failures" => self.settings.failures = self.failures(entry),
            _ => self.unknown(entry, &KEYS),
        }
    }

    fn wrong(&mut self, span: Span, title: &str, label: &str, help: &str) {
        self.diagnostics
            .push(Diagnostic::new(codes::FRONT_MATTER_VALUE, span, label).titled(title).helped(help));
    }

    fn unknown(&mut self, entry: &Entry, keys: &[&str]) {
        let diagnostic = Diagnostic::new(codes::UNKNOWN_KEY, entry.key_span, "is not known")
            .titled(format!("there is no key `{}`", excerpt(&entry.key)));
        self.diagnostics.push(match closest(&entry.key, keys.iter().copied()) {
            Some(key) => diagnostic.helped(format!("did you mean `{key}`?")),
            None => diagnostic.helped(format!("the keys are {}", keys.join(", "))),
        });
    }

    /// Reads a text that is not empty.
    fn text(&mut self, entry: &Entry) -> Option<String> {
        let key = &entry.key;
        match &entry.value.kind {
            NodeKind::Scalar(Value::String(text)) if !text.trim().is_empty() => Some(text.clone()),
            NodeKind::Scalar(Value::Number(_) | Value::Bool(_)) => {
                let title = format!("`{key}` is a string");
                self.wrong(entry.value.span, &title, entry.value.describe(), "put it in quotes");
                None
            }
            _ => {
                let found = match &entry.value.kind {
                    NodeKind::Scalar(Value::String(_)) => "empty",
                    _ => entry.value.describe(),
                };
                let help = format!("write `{key}: ` and a text, or leave the line out");
                self.wrong(entry.value.span, &format!("`{key}` is a string"), found, &help);
                None
            }
        }
    }

    /// Reads a duration; a bare number is in seconds.
    fn length(&mut self, node: &Node, key: &str) -> Option<Millis> {
        let help = format!("write for example `{key}: 30s` or `{key}: 1h30m`; a bare number is in seconds");
        let label = match &node.kind {
            NodeKind::Scalar(Value::String(text)) => match duration::parse(text) {
                Ok(length) => return Some(length),
                Err(error) => error.to_string(),
            },
            NodeKind::Scalar(number @ Value::Number(_)) => match duration::lenient::deserialize(number) {
                Ok(length) => return Some(length),
                Err(_) => "is not a length of time".to_owned(),
            },
            _ => node.describe().to_owned(),
        };
        self.wrong(node.span, &format!("`{key}` is a length of time"), &label, &help);
        None
    }

    fn schedule(&mut self, entry: &Entry) -> Option<Cron> {
        let title = "`schedule` is a cron rule";
        let help = "write for example `schedule: \"0 9 * * MON-FRI\"`; times are in UTC";
        let Some(text) = self.text(entry) else {
            if let Some(last) = self.diagnostics.last_mut() {
                last.help = Some(help.to_owned());
            }
            return None;
        };
        match Cron::parse(&text, "UTC") {
            Ok(cron) => Some(cron),
            Err(error) => {
                self.wrong(entry.value.span, title, &error.to_string(), help);
                None
            }
        }
    }

    fn input(&mut self, entry: &Entry) -> Option<Value> {
        if matches!(entry.value.kind, NodeKind::Mapping(_) | NodeKind::Scalar(Value::Bool(_))) {
            return Some(entry.value.to_json());
        }
        let help = "write for example `input: { type: object, required: [orderId] }`";
        self.wrong(entry.value.span, "`input` is a JSON Schema", entry.value.describe(), help);
        None
    }

    fn failures(&mut self, entry: &Entry) -> Failures {
        match &entry.value.kind {
            NodeKind::Scalar(Value::String(text)) if text == "values" => Failures::Values,
            NodeKind::Scalar(Value::String(text)) if text == "throw" => Failures::Throw,
            _ => {
                let help = "write `failures: values` to get failures as values, or leave the line out";
                self.wrong(entry.value.span, "`failures` is `values` or `throw`", "neither of them", help);
                Failures::default()
            }
        }
    }
}

#[cfg(test)]
mod tests;
