//! The operations of RFC 6902. Maps keep the order of their keys: removing a key leaves the others in order,
//! and replacing one keeps its position.

use rhythm_syntax::diagnostic::excerpt;
use serde_json::Value;

use super::{Refused, codes};

const NAMES: &str = "there are add, remove, replace, move, copy and test";

/// One operation of a patch.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    Add { path: Pointer, value: Value },
    Remove { path: Pointer },
    Replace { path: Pointer, value: Value },
    Move { from: Pointer, path: Pointer },
    Copy { from: Pointer, path: Pointer },
    Test { path: Pointer, value: Value },
}

/// A position in a document (RFC 6901), as the keys that lead there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer(Vec<String>);

impl TryFrom<String> for Pointer {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.strip_prefix('/') {
            None if text.is_empty() => Ok(Self(Vec::new())),
            None => Err(format!("{text:?} is no place: one begins with /")),
            Some(keys) => {
                Ok(Self(keys.split('/').map(|key| key.replace("~1", "/").replace("~0", "~")).collect()))
            }
        }
    }
}

impl Operation {
    /// Returns every position it reads or writes.
    pub fn places(&self) -> impl Iterator<Item = &Pointer> {
        let (from, path) = match self {
            Self::Add { path, .. }
            | Self::Remove { path }
            | Self::Replace { path, .. }
            | Self::Test { path, .. } => (None, path),
            Self::Move { from, path } | Self::Copy { from, path } => (Some(from), path),
        };
        from.into_iter().chain([path])
    }
}

impl Pointer {
    /// Returns whether it points into this part of the document.
    pub fn is_in(&self, part: &str) -> bool {
        self.0.len() > 1 && self.0[0] == part
    }

    /// Returns whether its last key may be a list index, which names another item after the list changes.
    pub fn is_item(&self) -> bool {
        self.0.last().is_some_and(|key| key == "-" || index(key).is_ok())
    }

    /// Returns the same position in another document. Items are matched by their ids or their content,
    /// whatever their index there.
    pub fn moved(&self, from: &Value, to: &Value) -> Self {
        let (mut here, mut there) = (Some(from), Some(to));
        let keys = self.0.iter().map(|key| {
            let moved = match (here, there) {
                (Some(Value::Array(old)), Some(Value::Array(new))) => moved_item(key, old, new),
                _ => key.clone(),
            };
            here = here.and_then(|value| child(value, key));
            there = there.and_then(|value| child(value, &moved));
            moved
        });
        Self(keys.collect())
    }
}

impl std::fmt::Display for Pointer {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|key| write!(to, "/{}", escaped(key)))
    }
}

/// Returns a key in its escaped form for a pointer.
pub fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

pub fn parse(operations: &Value) -> Result<Vec<Operation>, Refused> {
    let malformed = |message: String| Refused { code: codes::MALFORMED, message };
    let Some(all) = operations.as_array() else {
        return Err(malformed("a patch is a list of operations".to_owned()));
    };
    let read = all.iter().enumerate().map(|(place, operation)| {
        Operation::read(operation).map_err(|wrong| malformed(format!("operation {}: {wrong}", place + 1)))
    });
    read.collect()
}

impl Operation {
    fn read(from: &Value) -> Result<Self, String> {
        let place = |key: &str| match from.get(key) {
            Some(Value::String(text)) => Pointer::try_from(text.clone()),
            Some(_) => Err(format!("`{key}` is a text such as \"/nodes/0\"")),
            None => Err(format!("it has no `{key}`")),
        };
        let value = || from.get("value").cloned().ok_or("it has no `value`".to_owned());
        let Some(op) = from.get("op") else { return Err(format!("it has no `op`: {NAMES}")) };
        Ok(match op.as_str() {
            Some("add") => Self::Add { path: place("path")?, value: value()? },
            Some("remove") => Self::Remove { path: place("path")? },
            Some("replace") => Self::Replace { path: place("path")?, value: value()? },
            Some("move") => Self::Move { from: place("from")?, path: place("path")? },
            Some("copy") => Self::Copy { from: place("from")?, path: place("path")? },
            Some("test") => Self::Test { path: place("path")?, value: value()? },
            Some(other) => return Err(format!("`{}` is no operation: {NAMES}", excerpt(other))),
            None => return Err(format!("`op` is a text: {NAMES}")),
        })
    }

    pub fn apply(self, document: &mut Value) -> Result<(), String> {
        match self {
            Self::Add { path, value } => add(document, &path, value),
            Self::Remove { path } => remove(document, &path).map(drop),
            Self::Replace { path, value } => {
                *find_mut(document, &path)? = value;
                Ok(())
            }
            Self::Move { from, path } => {
                if path.0.len() > from.0.len() && path.0.starts_with(&from.0) {
                    return Err(format!("{from} cannot move into itself"));
                }
                let value = remove(document, &from)?;
                add(document, &path, value)
            }
            Self::Copy { from, path } => {
                let value = find_mut(document, &from)?.clone();
                add(document, &path, value)
            }
            Self::Test { path, value } => match *find_mut(document, &path)? == value {
                true => Ok(()),
                false => Err(format!("there is something else at {path}")),
            },
        }
    }

    /// Returns its name with the position it acts on.
    pub fn name(&self) -> String {
        match self {
            Self::Add { path, .. } => format!("add {path}"),
            Self::Remove { path } => format!("remove {path}"),
            Self::Replace { path, .. } => format!("replace {path}"),
            Self::Move { from, path } => format!("move {from} to {path}"),
            Self::Copy { from, path } => format!("copy {from} to {path}"),
            Self::Test { path, .. } => format!("test {path}"),
        }
    }
}

/// Returns the value at a position.
pub fn find<'a>(document: &'a Value, path: &Pointer) -> Option<&'a Value> {
    path.0.iter().try_fold(document, |value, key| child(value, key))
}

fn child<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => fields.get(key),
        Value::Array(items) => items.get(index(key).ok()?),
        _ => None,
    }
}

/// Returns the index of an item in another list. An item that occurs twice or not at all keeps its index; the
/// end stays the end.
fn moved_item(key: &str, old: &[Value], new: &[Value]) -> String {
    let Ok(place) = index(key) else { return key.to_owned() };
    let Some(item) = old.get(place) else {
        return if place == old.len() { new.len().to_string() } else { key.to_owned() };
    };
    let wanted = identity(item);
    let mut found = new.iter().enumerate().filter(|(_, item)| identity(item) == wanted);
    match (found.next(), found.next()) {
        (Some((place, _)), None) => place.to_string(),
        _ => key.to_owned(),
    }
}

fn find_mut<'a>(document: &'a mut Value, path: &Pointer) -> Result<&'a mut Value, String> {
    let nothing = || format!("there is nothing at {path}");
    path.0.iter().try_fold(document, |value, key| match value {
        Value::Object(fields) => fields.get_mut(key).ok_or_else(nothing),
        Value::Array(items) => items.get_mut(index(key)?).ok_or_else(nothing),
        _ => Err(nothing()),
    })
}

/// Returns the container of a value, with the key.
fn holder<'a, 'p>(document: &'a mut Value, path: &'p Pointer) -> Result<(&'a mut Value, &'p str), String> {
    let Some((last, keys)) = path.0.split_last() else {
        return Err("the document as a whole can only be replaced".to_owned());
    };
    Ok((find_mut(document, &Pointer(keys.to_vec()))?, last))
}

fn add(document: &mut Value, path: &Pointer, value: Value) -> Result<(), String> {
    if path.0.is_empty() {
        *document = value;
        return Ok(());
    }
    match holder(document, path)? {
        (Value::Object(fields), key) => drop(fields.insert(key.to_owned(), value)),
        (Value::Array(items), "-") => items.push(value),
        (Value::Array(items), key) => match index(key)? {
            place if place <= items.len() => items.insert(place, value),
            _ => return Err(format!("{path} is beyond the end of its list")),
        },
        _ => return Err(format!("what would hold {path} is no object or list")),
    }
    Ok(())
}

fn remove(document: &mut Value, path: &Pointer) -> Result<Value, String> {
    let nothing = || format!("there is nothing at {path}");
    match holder(document, path)? {
        (Value::Object(fields), key) => fields.shift_remove(key).ok_or_else(nothing),
        (Value::Array(items), key) => match index(key)? {
            place if place < items.len() => Ok(items.remove(place)),
            _ => Err(nothing()),
        },
        _ => Err(nothing()),
    }
}

/// Returns the value that identifies an item: its id, or the item itself.
fn identity(item: &Value) -> &Value {
    item.get("id").or_else(|| item.get("node_id")).unwrap_or(item)
}

/// Parses a number without leading zeros.
fn index(key: &str) -> Result<usize, String> {
    let plain = key == "0" || (!key.starts_with('0') && key.bytes().all(|byte| byte.is_ascii_digit()));
    match key.parse() {
        Ok(index) if plain => Ok(index),
        _ => Err(format!("{key:?} is no number of an item in a list")),
    }
}
