//! JSON and YAML texts as one tree of values that know where they stand. Owns reading and its bounds: depth, keys given
//! twice, and nothing that grows when it is read. What the values mean is left to others.

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
    /// Anything but a list or a mapping.
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

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    pub span: Span,
    /// Absent when the text breaks the rules of its language.
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

/// What a text is called in messages, where it begins in its file, and how deep its values may stand within each other.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    pub subject: &'static str,
    pub offset: usize,
    pub depth: usize,
}

impl Reader {
    /// Nothing when the text is empty.
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

    /// A value from elsewhere: all of it stands in one place.
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

    /// Of a mapping; nothing of anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.kind {
            NodeKind::Mapping(entries) => entries,
            _ => &[],
        }
    }

    /// What stands under a key of a mapping.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// What stands under a key, or at a place of a list.
    pub fn part(&self, name: &str) -> Option<&Node> {
        match &self.kind {
            NodeKind::List(items) => name.parse::<usize>().ok().and_then(|place| items.get(place)),
            _ => self.get(name),
        }
    }

    /// What a path of keys and places leads to; of what is not there, the nearest thing around it.
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

    /// The JSON pointer of the innermost part that stands at this place of the text; of the whole it is empty.
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

    /// What it is, in words.
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
