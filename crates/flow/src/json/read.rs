//! Reads values, plain or stored, within the limits of values.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use rhythm_core::payload::BlobRef;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};

use super::tags;
use crate::limits::{Limit, MAX_VALUE_BYTES, MAX_VALUE_DEPTH};
use crate::numbers::{Run, spread};
use crate::value::{ErrorValue, Kept, List, Number, Object, Part, Shape, Value};

/// Reason why a text is not a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    Syntax(String),
    /// A number is too large for a double.
    Number,
    Limit(Limit),
}

/// Reads plain JSON. If a key appears twice, its last value counts. Fails on invalid JSON and when a limit of
/// values is exceeded.
pub fn read(text: &str) -> Result<Value, ReadError> {
    read_as(text, false)
}

/// Reads a segment. Fails as [`read`] does, and on an invalid tag.
pub fn read_stored(text: &str) -> Result<Value, ReadError> {
    read_as(text, true)
}

fn read_as(text: &str, stored: bool) -> Result<Value, ReadError> {
    let meter = Gauge::default();
    let mut source = serde_json::Deserializer::from_str(text);
    let read = Reader { gauge: &meter, depth: 0, stored }.deserialize(&mut source);
    let read = read.and_then(|value| source.end().map(|()| value));
    read.map_err(|error| match meter.limit.get() {
        Some(limit) => ReadError::Limit(limit),
        None if error.to_string().starts_with("number out of range") => ReadError::Number,
        None => ReadError::Syntax(error.to_string()),
    })
}

/// A value in the form stored in snapshots.
pub struct Stored(pub Value);

impl<'de> Deserialize<'de> for Stored {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let gauge = Gauge::default();
        Reader { gauge: &gauge, depth: 0, stored: true }.deserialize(deserializer).map(Stored)
    }
}

/// An error in the form stored in snapshots, without its tag.
pub struct StoredError(pub ErrorValue);

impl<'de> Deserialize<'de> for StoredError {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let gauge = Gauge::default();
        let reader = ErrorReader(Reader { gauge: &gauge, depth: 0, stored: true });
        reader.deserialize(deserializer).map(StoredError)
    }
}

/// Weight of the values read so far, and the limit that stopped the reader.
#[derive(Default)]
struct Gauge {
    weight: Cell<u64>,
    limit: Cell<Option<Limit>>,
}

#[derive(Clone, Copy)]
struct Reader<'g> {
    gauge: &'g Gauge,
    depth: u16,
    stored: bool,
}

impl Reader<'_> {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_VALUE_DEPTH {
            return Err(self.stop(Limit::Depth));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }

    fn stop<E: Error>(self, limit: Limit) -> E {
        self.gauge.limit.set(Some(limit));
        E::custom(limit)
    }

    /// Counts the weight of a new value before its containers are built.
    fn weigh<E: Error>(self, bytes: u64) -> Result<(), E> {
        let weight = self.gauge.weight.get().saturating_add(bytes);
        self.gauge.weight.set(weight);
        if weight > MAX_VALUE_BYTES { Err(self.stop(Limit::Memory)) } else { Ok(()) }
    }

    fn text<E: Error>(self, text: &str) -> Result<Arc<str>, E> {
        self.weigh(40 + text.len() as u64)?;
        Ok(Arc::from(text))
    }

    /// Reads the rest of an object whose first key was already read.
    fn object<'de, A: MapAccess<'de>>(self, first: Option<String>, mut map: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut fields = Vec::new();
        let mut next = first;
        while let Some(key) = next {
            let value = map.next_value_seed(inner)?;
            self.weigh(40)?;
            let key = self.text(self.unescaped(&key)?)?;
            fields.push((key, value));
            next = map.next_key()?;
        }
        Object::new(fields).map(Value::Object).map_err(|limit| self.stop(limit))
    }

    fn unescaped<E: Error>(self, key: &str) -> Result<&str, E> {
        match key.strip_prefix('$') {
            Some(rest) if self.stored && rest.starts_with('$') => Ok(rest),
            Some(_) if self.stored => Err(E::custom(format_args!("a stray tag {key:?}"))),
            _ => Ok(key),
        }
    }

    fn tagged<'de, A: MapAccess<'de>>(self, tag: &str, mut map: A) -> Result<Value, A::Error> {
        let value = match tag {
            tags::HANDLE => Value::Handle(map.next_value()?),
            tags::ERROR => Value::Error(Arc::new(map.next_value_seed(ErrorReader(self.deeper()?))?)),
            tags::HANDLES => {
                let numbers = spread(&map.next_value::<Vec<Run>>()?)?;
                self.weigh(24 * numbers.len() as u64)?;
                let handles = numbers.into_iter().map(Value::Handle).collect();
                Value::List(List::new(handles).map_err(|limit| self.stop(limit))?)
            }
            tags::BLOB => Value::Blob(Arc::new(blob(&mut map)?)),
            tags::KEPT => Value::Kept(Arc::new(map.next_value_seed(KeptReader(self))?)),
            _ => return Err(A::Error::custom(format_args!("an unknown tag {tag:?}"))),
        };
        match map.next_key::<String>()? {
            None => Ok(value),
            Some(key) => Err(A::Error::custom(format_args!("{key:?} beside a tag"))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, boolean: bool) -> Result<Value, E> {
        Ok(Value::Boolean(boolean))
    }

    fn visit_i64<E: Error>(self, integer: i64) -> Result<Value, E> {
        Ok(Value::integer(integer))
    }

    fn visit_u64<E: Error>(self, integer: u64) -> Result<Value, E> {
        match i64::try_from(integer) {
            Ok(integer) => Ok(Value::integer(integer)),
            Err(_) => self.visit_f64(integer as f64),
        }
    }

    fn visit_f64<E: Error>(self, float: f64) -> Result<Value, E> {
        Number::of(float).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.text(text).map(Value::Text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        self.weigh(64)?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(inner)? {
            self.weigh(24)?;
            items.push(item);
        }
        List::new(items).map(Value::List).map_err(|limit| self.stop(limit))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        self.weigh(64)?;
        let first: Option<String> = map.next_key()?;
        match first {
            Some(tag) if self.stored && tag.starts_with('$') && !tag.starts_with("$$") => {
                self.tagged(&tag, map)
            }
            first => self.object(first, map),
        }
    }
}

/// Reads the remaining fields of a blob reference.
fn blob<'de, A: MapAccess<'de>>(map: &mut A) -> Result<BlobRef, A::Error> {
    let hash = map.next_value()?;
    match map.next_key::<String>()?.as_deref() {
        Some("bytes") => Ok(BlobRef { hash, bytes: map.next_value()? }),
        _ => Err(A::Error::missing_field("bytes")),
    }
}

/// Reads the parts of a value in segments. The inline parts are at the same depth as the value itself.
struct KeptReader<'g>(Reader<'g>);

impl<'de> DeserializeSeed<'de> for KeptReader<'_> {
    type Value = Kept;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kept, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for KeptReader<'_> {
    type Value = Kept;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a kind and parts of it")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Kept, A::Error> {
        let shape = match seq.next_element::<String>()?.as_deref() {
            Some("list") => Shape::List,
            Some("object") => Shape::Object,
            _ => return Err(A::Error::custom("a list or an object is kept in segments, nothing else")),
        };
        let mut parts = Vec::new();
        while let Some(part) = seq.next_element_seed(PartReader(self.0))? {
            match (&part, shape) {
                (Part::Stored(..), _)
                | (Part::Inline(Value::List(_)), Shape::List)
                | (Part::Inline(Value::Object(_)), Shape::Object) => parts.push(part),
                _ => return Err(A::Error::custom("a part of another kind")),
            }
        }
        Kept::new(shape, parts).map_err(|limit| self.0.stop(limit))
    }
}

struct PartReader<'g>(Reader<'g>);

impl<'de> DeserializeSeed<'de> for PartReader<'_> {
    type Value = Part;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Part, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for PartReader<'_> {
    type Value = Part;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a segment, a list or an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Part, A::Error> {
        self.0.visit_seq(seq).map(Part::Inline)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Part, A::Error> {
        let first: Option<String> = map.next_key()?;
        match first {
            Some(tag) if tag == tags::BLOB => {
                let blob = blob(&mut map)?;
                let Some(tags::OF) = map.next_key::<String>()?.as_deref() else {
                    return Err(A::Error::missing_field(tags::OF));
                };
                let part = Part::Stored(Arc::new(blob), map.next_value()?);
                match map.next_key::<String>()? {
                    None => Ok(part),
                    Some(key) => Err(A::Error::custom(format_args!("{key:?} beside a segment"))),
                }
            }
            Some(tag) if tag == tags::HANDLES => self.0.tagged(&tag, map).map(Part::Inline),
            first => self.0.object(first, map).map(Part::Inline),
        }
    }
}

struct ErrorReader<'g>(Reader<'g>);

impl<'de> DeserializeSeed<'de> for ErrorReader<'_> {
    type Value = ErrorValue;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ErrorValue, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ErrorReader<'_> {
    type Value = ErrorValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an error")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ErrorValue, A::Error> {
        let mut own = |name: &'static str| match map.next_key::<String>()? {
            Some(key) if key == name => map.next_value::<String>(),
            _ => Err(<A::Error as de::Error>::missing_field(name)),
        };
        let (code, message, kind) = (own("code")?, own("message")?, own("type")?);
        let first = map.next_key()?;
        let Value::Object(fields) = self.0.object(first, map)? else {
            return Err(A::Error::custom("an error without fields"));
        };
        Ok(ErrorValue { code: code.into(), message: message.into(), kind: kind.into(), fields })
    }
}
