//! Values during an evaluation: borrowed from the scope or the expression where possible, else shared.

use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

use serde_json::{Map, Value};

use super::super::bounds::{Fuel, Limit};
use super::super::compare::{self, Num};
use super::super::scope::{Metadata, Past};
use super::expression::Type;
use super::numbers::Number;

#[derive(Clone, Debug)]
pub(super) enum Val<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(&'a str),
    Made(Rc<str>),
    Array(&'a [Value]),
    List(Rc<Vec<Val<'a>>>),
    Object(&'a Map<String, Value>),
    Map(Rc<Vec<(Val<'a>, Val<'a>)>>),
    /// Objects that are not JSON: `ctx`, a node in it, its metadata, and `current`.
    Context,
    Past(&'a Past<'a>),
    Metadata(&'a Metadata),
    Current,
    /// A point in time.
    Moment(jiff::Timestamp),
    /// A duration.
    Length(jiff::SignedDuration),
    Type(Type),
}

/// Reasons that an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Ends the whole evaluation.
    Limit(Limit),
    /// `||` and `&&` may decide without this operand.
    Error(Cow<'static, str>),
}

impl Fault {
    pub fn error(message: impl Into<Cow<'static, str>>) -> Self {
        Self::Error(message.into())
    }
}

impl From<Limit> for Fault {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(limit) => limit.fmt(f),
            Self::Error(message) => f.write_str(message),
        }
    }
}

impl<'a> Val<'a> {
    pub fn of(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(Number::of_data(number)),
            Value::String(text) => Self::Text(text),
            Value::Array(items) => Self::Array(items),
            Value::Object(entries) => Self::Object(entries),
        }
    }

    /// Creates a text value and pays for its bytes.
    pub fn text(text: String, fuel: &mut Fuel) -> Result<Self, Limit> {
        fuel.bytes(text.len())?;
        Ok(Self::Made(text.into()))
    }

    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Made(text) => Some(text),
            _ => None,
        }
    }

    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) | Self::Made(_) => "a string",
            Self::Array(_) | Self::List(_) => "a list",
            Self::Object(_) | Self::Map(_) => "an object",
            Self::Context => "ctx",
            Self::Past(_) => "a node",
            Self::Metadata(_) => "the metadata of a node",
            Self::Current => "current",
            Self::Moment(_) => "a timestamp",
            Self::Length(_) => "a duration",
            Self::Type(_) => "a type",
        }
    }

    /// Returns the result of `type()`.
    pub fn kind(&self) -> Type {
        match self {
            Self::Null => Type::Null,
            Self::Bool(_) => Type::Bool,
            Self::Number(number) if number.int().is_some() => Type::Int,
            Self::Number(_) => Type::Double,
            Self::Text(_) | Self::Made(_) => Type::Text,
            Self::Array(_) | Self::List(_) => Type::List,
            Self::Object(_) | Self::Map(_) => Type::Map,
            Self::Context | Self::Past(_) | Self::Metadata(_) | Self::Current => Type::Map,
            Self::Moment(_) => Type::Moment,
            Self::Length(_) => Type::Length,
            Self::Type(_) => Type::Itself,
        }
    }

    /// Returns the number of items of a list.
    pub fn length(&self) -> Option<usize> {
        match self {
            Self::Array(items) => Some(items.len()),
            Self::List(items) => Some(items.len()),
            _ => None,
        }
    }

    pub fn item(&self, index: usize) -> Option<Self> {
        match self {
            Self::Array(items) => items.get(index).map(Val::of),
            Self::List(items) => items.get(index).cloned(),
            _ => None,
        }
    }

    /// Compares deeply. Values of different types are not equal.
    pub fn equals(&self, other: &Self, fuel: &mut Fuel) -> Result<bool, Limit> {
        fuel.operation()?;
        Ok(match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(left), Self::Bool(right)) => left == right,
            (Self::Number(left), Self::Number(right)) => {
                Num::order(left.num(), right.num()) == Some(std::cmp::Ordering::Equal)
            }
            (Self::Moment(left), Self::Moment(right)) => left == right,
            (Self::Length(left), Self::Length(right)) => left == right,
            (Self::Type(left), Self::Type(right)) => left == right,
            (Self::Object(left), Self::Object(right)) => {
                if left.len() != right.len() {
                    return Ok(false);
                }
                for (name, left) in *left {
                    fuel.bytes(name.len())?;
                    let Some(right) = right.get(name) else { return Ok(false) };
                    if !compare::equal(left, right, fuel)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Self::Map(entries), Self::Object(object)) | (Self::Object(object), Self::Map(entries)) => {
                if entries.len() != object.len() {
                    return Ok(false);
                }
                for (key, value) in entries.iter() {
                    let Some(found) = key.as_text().and_then(|name| object.get(name)) else {
                        return Ok(false);
                    };
                    if !value.equals(&Val::of(found), fuel)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Self::Map(left), Self::Map(right)) => {
                if left.len() != right.len() {
                    return Ok(false);
                }
                for (key, value) in left.iter() {
                    match lookup(right, key, fuel)? {
                        Some(found) if found.equals(value, fuel)? => {}
                        _ => return Ok(false),
                    }
                }
                true
            }
            (left, right) => match (left.as_text(), right.as_text(), left.length(), right.length()) {
                (Some(left), Some(right), ..) => {
                    fuel.bytes(left.len().min(right.len()))?;
                    left == right
                }
                (.., Some(length), Some(other)) => {
                    if length != other {
                        return Ok(false);
                    }
                    for index in 0..length {
                        let (Some(left), Some(right)) = (left.item(index), right.item(index)) else { break };
                        if !left.equals(&right, fuel)? {
                            return Ok(false);
                        }
                    }
                    true
                }
                _ => false,
            },
        })
    }
}

/// Returns the value of a key in a map that an expression created. Such maps are small, so the search is
/// linear.
pub(super) fn lookup<'v, 'a>(
    entries: &'v [(Val<'a>, Val<'a>)],
    key: &Val<'a>,
    fuel: &mut Fuel,
) -> Result<Option<&'v Val<'a>>, Limit> {
    for (known, value) in entries {
        if known.equals(key, fuel)? {
            return Ok(Some(value));
        }
    }
    Ok(None)
}
