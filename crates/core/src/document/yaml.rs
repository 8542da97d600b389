//! YAML as values with their places. Only what JSON can say is taken: no aliases, so that nothing grows when it is
//! read, no tags, and keys that are plain scalars.

use std::collections::BTreeSet;

use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

use crate::flow::codes;
use crate::flow::diagnostic::{Diagnostic, excerpt};
use crate::flow::tree::Span;

/// Values may stand within each other this deep.
const DEPTH_LIMIT: usize = 64;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    pub(super) span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum NodeKind {
    /// Anything but a list or a mapping.
    Scalar(Value),
    List(Vec<Node>),
    Mapping(Vec<Entry>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_span: Span,
    pub(super) value: Node,
}

impl Node {
    pub(super) fn to_json(&self) -> Value {
        match &self.kind {
            NodeKind::Scalar(value) => value.clone(),
            NodeKind::List(items) => items.iter().map(Node::to_json).collect(),
            NodeKind::Mapping(entries) => {
                let pairs = entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    /// What stands under a key, or at a place of a list; itself when there is nothing.
    pub(super) fn part(self, name: &str) -> Result<Self, Self> {
        let inner = match &self.kind {
            NodeKind::Mapping(entries) => {
                entries.iter().find(|entry| entry.key == name).map(|entry| entry.value.clone())
            }
            NodeKind::List(items) => name.parse::<usize>().ok().and_then(|place| items.get(place).cloned()),
            NodeKind::Scalar(_) => None,
        };
        inner.ok_or(self)
    }

    /// What it is, in words.
    pub(super) fn describe(&self) -> &'static str {
        match &self.kind {
            NodeKind::Scalar(Value::Null) => "nothing",
            NodeKind::Scalar(Value::Bool(_)) => "true or false",
            NodeKind::Scalar(Value::Number(_)) => "a number",
            NodeKind::Scalar(_) => "a string",
            NodeKind::List(_) => "a list",
            NodeKind::Mapping(_) => "a mapping",
        }
    }
}

/// Reads a text that begins at `offset` of its file; nothing when it is empty.
pub(super) fn read(text: &str, offset: usize) -> Result<Option<Node>, Diagnostic> {
    let mut builder = Builder { offset, open: Vec::new(), root: None };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let at = error.marker().byte_offset().unwrap_or_default();
            Diagnostic::new(codes::FRONT_MATTER, Span::new(offset + at, offset + at), error.info())
                .helped("front matter is YAML: a key, a colon, a space and a value on each line")
        })?;
        let range = span.byte_range().unwrap_or_default();
        builder.take(event, Span::new(offset + range.start, offset + range.end))?;
    }
    Ok(builder.root)
}

struct Builder {
    offset: usize,
    /// Lists and mappings that are not closed yet.
    open: Vec<Open>,
    root: Option<Node>,
}

struct Open {
    start: Span,
    collected: Collected,
}

enum Collected {
    List(Vec<Node>),
    Mapping { entries: Vec<Entry>, keys: BTreeSet<String>, key: Option<(String, Span)> },
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Diagnostic> {
        match event {
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, _, Some(_))
            | Event::MappingStart(_, _, Some(_)) => {
                Err(refused(span, "a tag", "there are no tags", "leave the tag out; put a text in quotes"))
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                Err(refused(span, "an alias", "there are no aliases", "write the value out again"))
            }
            Event::Scalar(text, style, ..) => {
                let value = match style {
                    ScalarStyle::Plain => plain(&text, span)?,
                    _ => Value::String(text.into_owned()),
                };
                self.scalar(value, span)
            }
            Event::SequenceStart(..) => self.begin(Collected::List(Vec::new()), span),
            Event::MappingStart(..) => {
                self.begin(Collected::Mapping { entries: Vec::new(), keys: BTreeSet::new(), key: None }, span)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else { return Ok(()) };
                let kind = match open.collected {
                    Collected::List(items) => NodeKind::List(items),
                    Collected::Mapping { entries, .. } => NodeKind::Mapping(entries),
                };
                self.add(Node { kind, span: open.start.to(span) })
            }
            Event::DocumentStart(..) if self.root.is_some() => Err(refused(
                span,
                "a second document",
                "front matter is one document",
                "remove the line `---`",
            )),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, collected: Collected, start: Span) -> Result<(), Diagnostic> {
        if self.expects_key() {
            return Err(refused(start, "not a key", "a key is a word or a text", "write `key: value`"));
        }
        if self.open.len() >= DEPTH_LIMIT {
            let help = format!("at most {DEPTH_LIMIT} levels");
            return Err(refused(start, "one level too many", "the front matter is nested too deeply", &help));
        }
        self.open.push(Open { start, collected });
        Ok(())
    }

    fn expects_key(&self) -> bool {
        matches!(self.open.last(), Some(Open { collected: Collected::Mapping { key: None, .. }, .. }))
    }

    fn scalar(&mut self, value: Value, span: Span) -> Result<(), Diagnostic> {
        if let Some(Open { collected: Collected::Mapping { keys, key: key @ None, .. }, .. }) =
            self.open.last_mut()
        {
            let text = match value {
                Value::String(text) => text,
                other => other.to_string(),
            };
            if !keys.insert(text.clone()) {
                let title = format!("the key `{}` is given twice", excerpt(&text));
                return Err(refused(span, "the second time", &title, "keep one of them"));
            }
            *key = Some((text, span));
            return Ok(());
        }
        self.add(Node { kind: NodeKind::Scalar(value), span })
    }

    fn add(&mut self, node: Node) -> Result<(), Diagnostic> {
        match self.open.last_mut().map(|open| &mut open.collected) {
            None => self.root = Some(node),
            Some(Collected::List(items)) => items.push(node),
            Some(Collected::Mapping { entries, key, .. }) => {
                let Some((key, key_span)) = key.take() else {
                    let at = Span::new(self.offset, self.offset);
                    return Err(refused(at, "not a key", "a key is a word or a text", "write `key: value`"));
                };
                entries.push(Entry { key, key_span, value: node });
            }
        }
        Ok(())
    }
}

fn refused(span: Span, label: &str, title: &str, help: &str) -> Diagnostic {
    Diagnostic::new(codes::FRONT_MATTER, span, label).titled(title).helped(help)
}

/// What a scalar without quotes means: YAML's core schema, as far as JSON can hold it.
fn plain(text: &str, span: Span) -> Result<Value, Diagnostic> {
    let value = match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ if looks_like_number(text) => {
            let number = whole(text).or_else(|| text.parse().ok().and_then(Number::from_f64));
            let Some(number) = number else {
                return Err(refused(span, "too large", "this number cannot be held", "put it in quotes"));
            };
            Value::Number(number)
        }
        _ => Value::String(text.to_owned()),
    };
    Ok(value)
}

/// Digits, perhaps a dot among or beside them, perhaps an exponent.
fn looks_like_number(text: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        None => (unsigned, "0"),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let any = !whole.is_empty() || !fraction.is_empty();
    any && digits(whole) && digits(fraction) && !exponent.is_empty() && digits(exponent)
}

fn whole(text: &str) -> Option<Number> {
    let text = text.strip_prefix('+').unwrap_or(text);
    text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from)).ok()
}
