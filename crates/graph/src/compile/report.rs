//! Collects diagnostics and reads the small values of a document, with a diagnostic for each value of the
//! wrong form. Null counts as absent.

use rhythm_core::duration;
use rhythm_core::time::Millis;
use rhythm_syntax::Code;
use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::{DIAGNOSTIC_LIMIT, Diagnostic, Severity, excerpt};
use rhythm_syntax::did_you_mean::closest;
use rhythm_syntax::spanned_value::{Entry, Node, NodeKind};
use serde_json::Value;

use crate::codes;

#[derive(Default)]
pub struct Report {
    diagnostics: Vec<Diagnostic>,
}

impl Report {
    pub fn say(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < 2 * DIAGNOSTIC_LIMIT {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Reports a diagnostic with all its parts.
    pub fn wrong(
        &mut self,
        code: Code,
        span: Span,
        label: impl Into<String>,
        title: impl Into<String>,
        help: &str,
    ) {
        self.say(Diagnostic::new(code, span, label).titled(title).helped(help));
    }

    /// Returns whether an error was already reported within this span.
    pub fn refuses(&self, span: Span) -> bool {
        let outer = span.range();
        self.diagnostics.iter().filter(|said| said.severity == Severity::Error).any(|said| {
            let inner = said.span.range();
            outer.start <= inner.start && inner.end <= outer.end
        })
    }

    /// Returns the diagnostics in the order of the source, without duplicates and up to the limit.
    pub fn finish(&mut self) -> Vec<Diagnostic> {
        let mut diagnostics = std::mem::take(&mut self.diagnostics);
        diagnostics.sort_by(|a, b| (a.span, a.severity, a.code).cmp(&(b.span, b.severity, b.code)));
        diagnostics.dedup();
        diagnostics.truncate(DIAGNOSTIC_LIMIT);
        diagnostics
    }

    /// Reports unknown keys. A key close to a known one is an error, because it would be ignored silently;
    /// any other is a warning.
    pub fn keys(&mut self, of: &Node, known: &[&str], what: &str) {
        let lengths = lengths(known);
        for Entry { key, key_span, .. } in of.entries() {
            let annotation = key.starts_with("x-") || key.starts_with(['_', '$']);
            if annotation || known.contains(&key.as_str()) || lengths.contains(key) {
                continue;
            }
            let title = format!("{what} has no key `{}`", excerpt(key));
            // Keys of the metadata have no effect on the graph, so a misspelled one is only a warning.
            let candidates = known.iter().copied().chain(lengths.iter().map(String::as_str));
            let meant = closest(key, candidates).filter(|_| what != METADATA);
            match meant {
                Some(meant) => {
                    let help = format!("did you mean `{meant}`?");
                    self.wrong(codes::MISTYPED_KEY, *key_span, "is not known", title, &help);
                }
                None => self.wrong(
                    codes::UNKNOWN_KEY,
                    *key_span,
                    "nobody reads this",
                    title,
                    "remove it, or begin it with `x-` to keep it for yourself",
                ),
            }
        }
    }

    /// Reports a value of the wrong form; `title` names the right one.
    pub fn misfit(&mut self, node: &Node, title: impl Into<String>, help: &str) {
        let label = match &node.kind {
            NodeKind::Scalar(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
            NodeKind::Scalar(Value::String(text)) if text.is_empty() => "empty".to_owned(),
            _ => node.describe().to_owned(),
        };
        self.wrong(codes::VALUE, node.span, label, title, help);
    }

    /// Reports a text that is not one of the accepted words.
    pub fn unknown_word(&mut self, node: Option<&Node>, title: &str, help: &str) {
        if let Some(node) = node {
            self.wrong(codes::VALUE, node.span, "is not known", title, help);
        }
    }

    pub fn mapping<'d>(&mut self, node: &'d Node, what: &str) -> Option<&'d Node> {
        if matches!(node.kind, NodeKind::Mapping(_)) {
            return Some(node);
        }
        self.misfit(node, format!("`{what}` is a mapping"), "write keys and their values");
        None
    }

    /// Returns the mapping under a key.
    pub fn block<'d>(&mut self, of: &'d Node, key: &str) -> Option<&'d Node> {
        self.mapping(given(of, key)?, key)
    }

    /// Returns the list under a key.
    pub fn list<'d>(&mut self, of: &'d Node, key: &str) -> Option<&'d [Node]> {
        let node = given(of, key)?;
        if let NodeKind::List(items) = &node.kind {
            return Some(items);
        }
        self.misfit(node, format!("`{key}` is a list"), "write its values in brackets");
        None
    }

    /// Returns the text under a key. Reports an empty one.
    pub fn text<'d>(&mut self, of: &'d Node, key: &str) -> Option<&'d str> {
        let node = given(of, key)?;
        match node.as_str() {
            Some(text) if !text.is_empty() => Some(text),
            _ => {
                self.misfit(
                    node,
                    format!("`{key}` is a string"),
                    "write a text, in quotes if it looks like a number",
                );
                None
            }
        }
    }

    /// Returns the texts under a key: a list or a single text.
    pub fn texts(&mut self, of: &Node, key: &str) -> Vec<String> {
        let Some(node) = given(of, key) else { return Vec::new() };
        let items = match &node.kind {
            NodeKind::List(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let mut texts = Vec::new();
        for item in items {
            match item.as_str() {
                Some(text) if !text.is_empty() => texts.push(text.to_owned()),
                _ => self.misfit(
                    item,
                    format!("`{key}` is a list of strings"),
                    "write for example `[one, two]`",
                ),
            }
        }
        texts
    }

    pub fn flag(&mut self, of: &Node, key: &str) -> Option<bool> {
        let node = given(of, key)?;
        if let NodeKind::Scalar(Value::Bool(flag)) = &node.kind {
            return Some(*flag);
        }
        self.misfit(node, format!("`{key}` is true or false"), "write `true` or `false`, without quotes");
        None
    }

    /// Returns the whole number of at least 1 under a key.
    pub fn count(&mut self, of: &Node, key: &str) -> Option<u32> {
        let node = given(of, key)?;
        let count = match &node.kind {
            NodeKind::Scalar(Value::Number(number)) => whole(number),
            _ => None,
        };
        match count.and_then(|count| u32::try_from(count).ok()).filter(|count| *count >= 1) {
            None => {
                self.misfit(node, format!("`{key}` is a whole number of at least 1"), "write for example 10");
                None
            }
            count => count,
        }
    }

    /// Returns the version: a number or a text, because people use `1.2` and `"1.2"` for the same version.
    pub fn version(&mut self, of: &Node) -> Option<String> {
        match given(of, "version")?.kind {
            NodeKind::Scalar(Value::Number(ref number)) => Some(number.to_string()),
            _ => self.text(of, "version").map(str::to_owned),
        }
    }

    /// Returns the length of time under a key that may end in its unit. A bare number is in that unit, or in
    /// seconds.
    pub fn length(&mut self, of: &Node, stem: &str) -> Option<Millis> {
        let (entry, unit) = of.entries().iter().filter(|entry| !entry.value.is_null()).find_map(|entry| {
            let unit = entry.key.strip_prefix(stem)?;
            UNITS.iter().find(|(suffix, _)| *suffix == unit).map(|(_, millis)| (entry, *millis))
        })?;
        let length = match &entry.value.kind {
            NodeKind::Scalar(Value::String(text)) => duration::parse(text).ok(),
            NodeKind::Scalar(Value::Number(number)) => match number.as_u64() {
                Some(number) => number.checked_mul(unit).map(Millis),
                None => number.as_f64().and_then(|number| fraction(number, unit)),
            },
            _ => None,
        };
        if length.is_none() {
            let title = format!("`{}` is a length of time", entry.key);
            self.misfit(
                &entry.value,
                title,
                "write for example `30s` or `1h30m`, or a number in the unit of the key",
            );
        }
        length
    }
}

/// Suffixes of keys that hold a length, with the milliseconds in one unit of a bare number.
const UNITS: [(&str, u64); 11] = [
    ("", 1000),
    ("_ms", 1),
    ("_s", 1000),
    ("_sec", 1000),
    ("_secs", 1000),
    ("_seconds", 1000),
    ("_min", 60_000),
    ("_mins", 60_000),
    ("_minutes", 60_000),
    ("_hours", 3_600_000),
    ("_days", 86_400_000),
];

/// The block whose keys are notes for people.
pub const METADATA: &str = "metadata";

/// Returns the keys of lengths in every unit, for all keys that exist in milliseconds.
fn lengths(known: &[&str]) -> Vec<String> {
    let stems = known.iter().filter_map(|key| key.strip_suffix("_ms")).filter(|stem| known.contains(stem));
    stems.flat_map(|stem| UNITS.iter().map(move |(unit, _)| format!("{stem}{unit}"))).collect()
}

fn fraction(number: f64, unit: u64) -> Option<Millis> {
    let millis = (number * unit as f64).round();
    (number >= 0.0 && millis < 9.0e18).then_some(Millis(millis as u64))
}

/// Returns a number without a fraction as an integer, whether it is written as `3` or `3.0`.
pub fn whole(number: &serde_json::Number) -> Option<u64> {
    let fraction =
        || number.as_f64().filter(|number| number.fract() == 0.0 && (0.0..9.0e15).contains(number));
    number.as_u64().or_else(|| fraction().map(|number| number as u64))
}

pub fn given<'d>(of: &'d Node, key: &str) -> Option<&'d Node> {
    of.get(key).filter(|node| !node.is_null())
}
