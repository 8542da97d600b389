//! Reads YAML as values with positions. Accepts only what JSON can express: no aliases, which could make a
//! small text large, no tags, and only plain scalars as keys.

use std::collections::BTreeSet;

use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::{Number, Value};

use super::{Entry, Node, NodeKind, Reader, Unreadable, given_twice};
use crate::Span;

pub(super) fn read(text: &str, reader: Reader) -> Result<Option<Node>, Unreadable> {
    let mut builder = Builder { reader, open: Vec::new(), root: None };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let at = error.marker().byte_offset().unwrap_or_default();
            Unreadable::new(reader.span(at, at), error.info())
        })?;
        let range = span.byte_range().unwrap_or_default();
        builder.take(event, reader.span(range.start, range.end))?;
    }
    Ok(builder.root)
}

struct Builder {
    reader: Reader,
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
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Unreadable> {
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
                &format!("the {} is one document", self.reader.subject),
                "remove the line `---`",
            )),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, collected: Collected, start: Span) -> Result<(), Unreadable> {
        if self.expects_key() {
            return Err(refused(start, "not a key", "a key is a word or a text", "write `key: value`"));
        }
        if self.open.len() >= self.reader.depth {
            return Err(self.reader.too_deep(start));
        }
        self.open.push(Open { start, collected });
        Ok(())
    }

    fn expects_key(&self) -> bool {
        matches!(self.open.last(), Some(Open { collected: Collected::Mapping { key: None, .. }, .. }))
    }

    fn scalar(&mut self, value: Value, span: Span) -> Result<(), Unreadable> {
        if let Some(Open { collected: Collected::Mapping { keys, key: key @ None, .. }, .. }) =
            self.open.last_mut()
        {
            let text = match value {
                Value::String(text) => text,
                other => other.to_string(),
            };
            if !keys.insert(text.clone()) {
                return Err(given_twice(&text, span));
            }
            *key = Some((text, span));
            return Ok(());
        }
        self.add(Node { kind: NodeKind::Scalar(value), span })
    }

    fn add(&mut self, node: Node) -> Result<(), Unreadable> {
        match self.open.last_mut().map(|open| &mut open.collected) {
            None => self.root = Some(node),
            Some(Collected::List(items)) => items.push(node),
            Some(Collected::Mapping { entries, key, .. }) => {
                let Some((key, key_span)) = key.take() else {
                    let at = self.reader.span(0, 0);
                    return Err(refused(at, "not a key", "a key is a word or a text", "write `key: value`"));
                };
                entries.push(Entry { key, key_span, value: node });
            }
        }
        Ok(())
    }
}

fn refused(span: Span, label: &str, title: &str, help: &str) -> Unreadable {
    Unreadable::refused(span, label, title, help)
}

/// Returns the meaning of an unquoted scalar: YAML's core schema, as far as JSON can represent it.
fn plain(text: &str, span: Span) -> Result<Value, Unreadable> {
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

/// Returns whether a text consists of digits, perhaps with a dot and an exponent.
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
