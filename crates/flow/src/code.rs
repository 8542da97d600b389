//! The compiled form of a program: a flat list of steps, whose expressions are a flat list of nodes. It is
//! stored beside the source as compact JSON and never changed. Every later build must be able to read it; the
//! format number says how.

mod check;
mod defaults;
mod listing;

use std::sync::Arc;

use rhythm_core::program::ProgramError;
use serde::{Deserialize, Serialize};

use super::operators::Operator;
use super::value::{Number, Value};

pub use check::CodeError;
pub use defaults::Defaults;

/// Format number this build writes and reads.
pub const FORMAT: u32 = 1;

/// Index of a node, a slot, a step or a function name.
pub type Index = u32;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Code {
    pub format: u32,
    /// A run's position is an index into this list.
    pub steps: Vec<Step>,
    /// Source position of each step.
    pub places: Vec<Place>,
    /// A node refers only to earlier nodes.
    pub nodes: Vec<Node>,
    /// Names of the functions that nodes call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<Slot>,
    /// Of several handlers that cover a step, the innermost comes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handlers: Vec<Handler>,
    /// Defaults for tasks from the front matter.
    #[serde(default, skip_serializing_if = "Defaults::is_empty")]
    pub defaults: Defaults,
    /// Whether the program reads its inputs; a run keeps them only then.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reads_inputs: bool,
    /// Whether the program reads its context.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reads_context: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Operation at one position of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// `let x = e`, `x = e`
    Set(Index, Index),
    /// `x.a[i] = e`: slot, path, value.
    SetPath(Index, Vec<Part>, Index),
    /// `let { a, b } = e`: keys with their slots, value.
    TakeFields(Vec<(Arc<str>, Index)>, Index),
    /// `[a, b] = e`: slots, value.
    TakeItems(Vec<Index>, Index),
    /// An expression whose value is dropped.
    Evaluate(Index),
    /// Waits when the value is a handle. The next step reads the result as [`Node::Awaited`].
    Await(Index),
    Jump(Index),
    /// Condition, and the target when it holds.
    JumpIf(Index, Index),
    JumpUnless(Index, Index),
    Walk(Walk),
    Next(Next),
    Throw(Index),
    Return(Index),
}

/// Stores the list a loop goes over and jumps to its [`Step::Next`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walk {
    pub items: Index,
    pub keys: bool,
    /// Slots for the list and the position in it.
    pub list: Index,
    pub place: Index,
    pub next: Index,
}

/// Gives the loop's variable the next item and jumps to the body, or falls through at the end of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Next {
    pub list: Index,
    pub place: Index,
    pub variable: Index,
    pub body: Index,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Field(Arc<str>),
    At(Index),
}

/// One operation of an expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Node {
    Null,
    True,
    False,
    Number(Literal),
    Text(Arc<str>),
    Local(Index),
    Inputs,
    Context,
    /// Result of the wait in the step before.
    Awaited,
    List(Vec<Index>),
    Object(Vec<(Arc<str>, Index)>),
    Not(Index),
    Negate(Index),
    /// Operators of one precedence, applied from left to right.
    Chain(Index, Vec<(Operator, Index)>),
    And(Vec<Index>),
    Or(Vec<Index>),
    Coalesce(Vec<Index>),
    If(Index, Index, Index),
    /// A base value and the accesses to it, from left to right.
    Path(Index, Vec<Access>),
    Call(Index, Vec<Index>),
    /// A mistake that throws only when it is reached: code and message.
    Fault(Fault, Arc<str>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    Field(Arc<str>),
    /// `?.name`
    MaybeField(Arc<str>),
    At(Index),
    /// `.name(..)`
    Method(Arc<str>, Vec<Index>),
    /// `?.name(..)`
    MaybeMethod(Arc<str>, Vec<Index>),
    /// A call of a value. It always throws, because values are never functions.
    Call,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    UndefinedVariable,
    PropertyNotFound,
    NotAFunction,
    TypeError,
    NumberError,
}

/// A number written as in JSON.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Literal(pub Number);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// Name in the program. Hidden slots have names that no program can write.
    pub name: String,
    /// Key in a snapshot if it differs from the name; unique among all slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Half-open range of the steps at which it is in scope.
    pub scope: (Index, Index),
}

impl Slot {
    pub fn key(&self) -> &str {
        self.key.as_deref().unwrap_or(&self.name)
    }

    pub fn is_hidden(&self) -> bool {
        self.name.starts_with('#')
    }

    pub fn covers(&self, position: usize) -> bool {
        (self.scope.0 as usize..self.scope.1 as usize).contains(&position)
    }
}

/// Target of errors thrown in a range of steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handler {
    pub from: Index,
    pub to: Index,
    pub target: Index,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<Index>,
}

/// Line and column, both from 1, and the byte range in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u32; 4]", into = "[u32; 4]")]
pub struct Place {
    pub line: u32,
    pub column: u32,
    pub start: u32,
    pub end: u32,
}

impl From<[u32; 4]> for Place {
    fn from([line, column, start, end]: [u32; 4]) -> Self {
        Self { line, column, start, end }
    }
}

impl From<Place> for [u32; 4] {
    fn from(place: Place) -> Self {
        [place.line, place.column, place.start, place.end]
    }
}

impl Code {
    /// Returns the stored form. The same program always gives the same bytes.
    pub fn to_json(&self) -> String {
        // Serialisation cannot fail: there are no maps, and all numbers are finite.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a stored form and checks that every index in it is in range. Fails when the text is damaged or
    /// has another format number.
    pub fn from_json(text: &[u8]) -> Result<Self, ProgramError> {
        #[derive(Deserialize)]
        struct Header {
            format: u32,
        }
        let bad = |error: serde_json::Error| ProgramError::BadDefinition(error.to_string());
        let Header { format } = serde_json::from_slice(text).map_err(bad)?;
        if format != FORMAT {
            let message = format!("compiled form {format}; this build reads {FORMAT}");
            return Err(ProgramError::BadDefinition(message));
        }
        let code: Self = serde_json::from_slice(text).map_err(bad)?;
        code.check().map_err(|error| ProgramError::BadDefinition(error.to_string()))?;
        Ok(code)
    }

    /// Returns the handler of an error thrown at a position.
    pub fn handler(&self, position: usize) -> Option<&Handler> {
        let covers = |handler: &&Handler| (handler.from as usize..handler.to as usize).contains(&position);
        self.handlers.iter().find(covers)
    }

    pub fn place(&self, position: usize) -> Option<Place> {
        self.places.get(position).copied()
    }
}

impl Serialize for Literal {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Number::Integer(integer) => serializer.serialize_i64(integer),
            Number::Float(float) => serializer.serialize_f64(float),
        }
    }
}

impl<'de> Deserialize<'de> for Literal {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match super::json::Stored::deserialize(deserializer)?.0 {
            Value::Number(number) => Ok(Self(number)),
            _ => Err(serde::de::Error::custom("not a number")),
        }
    }
}
