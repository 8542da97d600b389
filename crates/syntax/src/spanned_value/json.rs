//! Reads JSON as values with positions. A YAML reader would not do: it accepts less than JSON in some places
//! (surrogate pairs, tabs, long keys), and more in others, where a typing error would silently change the
//! meaning.

use std::collections::BTreeSet;

use serde_json::{Number, Value};

use super::{Entry, Node, NodeKind, Reader, Unreadable, given_twice};
use crate::Span;

pub(super) fn read(text: &str, reader: Reader) -> Result<Node, Unreadable> {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut scan = Scan { text, at: mark, depth: 0, reader };
    scan.space();
    let root = scan.value()?;
    scan.space();
    match scan.peek() {
        None => Ok(root),
        Some(_) => Err(scan.wrong("the text goes on behind its end")),
    }
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    reader: Reader,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn from(&self, start: usize) -> Span {
        self.reader.span(start, self.at)
    }

    fn wrong(&self, label: &str) -> Unreadable {
        let width = self.text[self.at..].chars().next().map_or(0, char::len_utf8);
        let mut unreadable = Unreadable::new(self.reader.span(self.at, self.at + width), label);
        unreadable.help = match self.peek() {
            Some(b'/' | b'#') => Some("JSON has no comments: leave it out, or write YAML"),
            Some(b'\'') => Some("JSON has double quotes only"),
            Some(b'}' | b']') if self.text[..self.at].trim_end().ends_with(',') => {
                Some("JSON has no comma behind the last value: leave it out")
            }
            _ => None,
        }
        .map(str::to_owned);
        unreadable
    }

    fn value(&mut self) -> Result<Node, Unreadable> {
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.nested(Self::mapping)?,
            Some(b'[') => self.nested(Self::list)?,
            Some(b'"') => NodeKind::Scalar(Value::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => NodeKind::Scalar(Value::Number(self.number()?)),
            _ => NodeKind::Scalar(self.word()?),
        };
        Ok(Node { kind, span: self.from(start) })
    }

    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<NodeKind, Unreadable>,
    ) -> Result<NodeKind, Unreadable> {
        if self.depth >= self.reader.depth {
            return Err(self.reader.too_deep(self.reader.span(self.at, self.at + 1)));
        }
        self.depth += 1;
        self.at += 1;
        let kind = read(self)?;
        self.depth -= 1;
        Ok(kind)
    }

    fn list(&mut self) -> Result<NodeKind, Unreadable> {
        let mut items = Vec::new();
        self.space();
        if self.eat(b']') {
            return Ok(NodeKind::List(items));
        }
        loop {
            self.space();
            items.push(self.value()?);
            self.space();
            if self.eat(b']') {
                return Ok(NodeKind::List(items));
            }
            if !self.eat(b',') {
                return Err(self.wrong("expected `,` or `]`"));
            }
        }
    }

    fn mapping(&mut self) -> Result<NodeKind, Unreadable> {
        let mut entries = Vec::new();
        let mut keys = BTreeSet::new();
        self.space();
        if self.eat(b'}') {
            return Ok(NodeKind::Mapping(entries));
        }
        loop {
            self.space();
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.wrong("expected a key in double quotes"));
            }
            let key = self.string()?;
            let key_span = self.from(start);
            if !keys.insert(key.clone()) {
                return Err(given_twice(&key, key_span));
            }
            self.space();
            if !self.eat(b':') {
                return Err(self.wrong("expected `:`"));
            }
            self.space();
            entries.push(Entry { key, key_span, value: self.value()? });
            self.space();
            if self.eat(b'}') {
                return Ok(NodeKind::Mapping(entries));
            }
            if !self.eat(b',') {
                return Err(self.wrong("expected `,` or `}`"));
            }
        }
    }

    /// Finds the end of a string; serde_json reads the text between, because it knows every escape.
    fn string(&mut self) -> Result<String, Unreadable> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(b'\n') | None => {
                    self.at = start;
                    return Err(self.wrong("this string has no closing quote"));
                }
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        let written = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(written).map_err(|_| {
            Unreadable::new(
                self.from(start),
                "this string has an escape or a character that JSON does not know",
            )
        })
    }

    fn number(&mut self) -> Result<Number, Unreadable> {
        let start = self.at;
        while matches!(self.peek(), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
            self.at += 1;
        }
        serde_json::from_str(&self.text[start..self.at])
            .map_err(|_| Unreadable::new(self.from(start), "this is no number JSON can hold"))
    }

    fn word(&mut self) -> Result<Value, Unreadable> {
        let rest = &self.text[self.at..];
        let words = [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)];
        for (word, value) in words {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.wrong("expected a value"))
    }
}
