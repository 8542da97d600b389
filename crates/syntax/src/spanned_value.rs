//! JSON and YAML texts as one tree of values with their positions. Owns reading and its limits: depth, no
//! duplicate keys, and no aliases that could make a small text large. The meaning of the values is left to
//! others.

mod json;
mod yaml;

use serde_json::{Map, Value};

use crate::Span;

#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub kind: NodeKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// A value that is neither list nor mapping.
    Scalar(Value),
    List(Vec<Node>),
    Mapping(Vec<Entry>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub key: String,
    pub key_span: Span,
    pub value: Node,
}

/// Reason why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    pub span: Span,
    /// `None` when the text is not valid JSON or YAML.
    pub title: Option<String>,
    pub label: String,
    pub help: Option<String>,
}

impl Unreadable {
    fn new(span: Span, label: impl Into<String>) -> Self {
        Self { span, title: None, label: label.into(), help: None }
    }

    fn refused(span: Span, label: &str, title: impl Into<String>, help: &str) -> Self {
        Self { span, title: Some(title.into()), label: label.to_owned(), help: Some(help.to_owned()) }
    }
}

/// Options for reading a text: its name in messages, its offset in the file, and the deepest nesting.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    pub subject: &'static str,
    pub offset: usize,
    pub depth: usize,
}

impl Reader {
    /// Reads YAML; `None` when the text is empty. Fails on invalid syntax, duplicate keys, aliases, tags and
    /// deep nesting.
    pub fn yaml(&self, text: &str) -> Result<Option<Node>, Unreadable> {
        yaml::read(text, *self)
    }

    pub fn json(&self, text: &str) -> Result<Node, Unreadable> {
        json::read(text, *self)
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.offset + start, self.offset + end)
    }

    fn too_deep(&self, span: Span) -> Unreadable {
        let title = format!("the {} is nested too deeply", self.subject);
        Unreadable::refused(span, "one level too many", title, &format!("at most {} levels", self.depth))
    }
}

fn given_twice(key: &str, span: Span) -> Unreadable {
    let title = format!("the key `{}` is given twice", crate::diagnostic::excerpt(key));
    Unreadable::refused(span, "the second time", title, "keep one of them")
}

impl Node {
    pub fn to_json(&self) -> Value {
        match &self.kind {
            NodeKind::Scalar(value) => value.clone(),
            NodeKind::List(items) => items.iter().map(Node::to_json).collect(),
            NodeKind::Mapping(entries) => {
                let pairs = entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    /// Converts a value without positions; every part gets the same span.
    pub fn of(value: Value, span: Span) -> Self {
        let kind = match value {
            Value::Array(items) => {
                NodeKind::List(items.into_iter().map(|item| Self::of(item, span)).collect())
            }
            Value::Object(fields) => {
                let entry = |(key, value)| Entry { key, key_span: span, value: Self::of(value, span) };
                NodeKind::Mapping(fields.into_iter().map(entry).collect())
            }
            value => NodeKind::Scalar(value),
        };
        Self { kind, span }
    }

    /// Returns the entries of a mapping; empty for any other value.
    pub fn entries(&self) -> &[Entry] {
        match &self.kind {
            NodeKind::Mapping(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the value of a key of a mapping.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// Returns the value of a key, or at an index of a list.
    pub fn part(&self, name: &str) -> Option<&Node> {
        match &self.kind {
            NodeKind::List(items) => name.parse::<usize>().ok().and_then(|place| items.get(place)),
            _ => self.get(name),
        }
    }

    /// Returns the value at a path of keys and indexes. If the path does not exist, this is its nearest
    /// existing parent.
    pub fn follow<'p>(&self, path: impl IntoIterator<Item = &'p str>) -> &Node {
        let mut node = self;
        for part in path {
            match node.part(part) {
                Some(inner) => node = inner,
                None => break,
            }
        }
        node
    }

    /// Returns the JSON pointer of the innermost value at this offset of the text; empty for the whole.
    pub fn pointer(&self, at: usize) -> String {
        let part = |name: String, inner: &Node| format!("/{name}{}", inner.pointer(at));
        let found = match &self.kind {
            NodeKind::Scalar(_) => None,
            NodeKind::List(items) => {
                let place = items.iter().position(|item| item.span.range().contains(&at));
                place.map(|place| part(place.to_string(), &items[place]))
            }
            NodeKind::Mapping(entries) => {
                let holds = |entry: &&Entry| {
                    (entry.key_span.range().start..entry.value.span.range().end).contains(&at)
                };
                let entry = entries.iter().find(holds);
                entry.map(|entry| part(entry.key.replace('~', "~0").replace('/', "~1"), &entry.value))
            }
        };
        found.unwrap_or_default()
    }

    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::Scalar(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self.kind, NodeKind::Scalar(Value::Null))
    }

    /// Describes the type of the value in words.
    pub fn describe(&self) -> &'static str {
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

#[cfg(test)]
mod tests;
