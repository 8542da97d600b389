//! The compiled form of a program: a flat list of steps, and the expressions in them as a flat list of nodes. It is
//! stored beside the source as compact JSON, never changed, and read for ever: the format number says how.

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

/// The compiled form this build writes and reads.
pub const FORMAT: u32 = 1;

/// Index of a node, a slot, a step or a function name.
pub type Index = u32;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Code {
    pub format: u32,
    /// A run's position is an index into this list.
    pub steps: Vec<Step>,
    /// Where each step comes from.
    pub places: Vec<Place>,
    /// A node only refers to nodes before it.
    pub nodes: Vec<Node>,
    /// What nodes call, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<Slot>,
    /// The innermost of those that cover a step comes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handlers: Vec<Handler>,
    /// What the front matter says about tasks.
    #[serde(default, skip_serializing_if = "Defaults::is_empty")]
    pub defaults: Defaults,
    /// Whether the program reads its inputs: only then are they kept.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reads_inputs: bool,
    /// Whether it reads its context.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reads_context: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// What is done at one position.
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
    /// An expression whose value nobody keeps.
    Evaluate(Index),
    /// Waits when the value is a handle. The result is what [`Node::Awaited`] reads in the next step.
    Await(Index),
    Jump(Index),
    /// Condition, and where to go when it holds.
    JumpIf(Index, Index),
    JumpUnless(Index, Index),
    Walk(Walk),
    Next(Next),
    Throw(Index),
    Return(Index),
}

/// Fixes what a loop walks and goes to its [`Step::Next`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walk {
    pub items: Index,
    pub keys: bool,
    /// Slots for what is walked and how far it got.
    pub list: Index,
    pub place: Index,
    pub next: Index,
}

/// Gives the loop's variable its next value and goes to the body, or passes when there is none.
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
    /// What the step before waited for.
    Awaited,
    List(Vec<Index>),
    Object(Vec<(Arc<str>, Index)>),
    Not(Index),
    Negate(Index),
    /// Operators of one precedence, from the left.
    Chain(Index, Vec<(Operator, Index)>),
    And(Vec<Index>),
    Or(Vec<Index>),
    Coalesce(Vec<Index>),
    If(Index, Index, Index),
    /// A value and what is read of it, from the left.
    Path(Index, Vec<Access>),
    Call(Index, Vec<Index>),
    /// A mistake that only matters when it is reached: code and message.
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
    /// A call of a value, which never is a function.
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

/// A number as JSON keeps it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Literal(pub Number);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// As the program calls it; hidden ones have names no program can write.
    pub name: String,
    /// What a snapshot calls it: different for every slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The steps at which it is in scope: from the first to before the second.
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

/// Where errors thrown between two steps go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handler {
    pub from: Index,
    pub to: Index,
    pub target: Index,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<Index>,
}

/// Line and column, both from 1, and the bytes of the source.
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
    /// The stored form; the same for the same program, always.
    pub fn to_json(&self) -> String {
        // Nothing in it can fail to serialise: no maps, and numbers are finite.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a stored form and makes sure that running it cannot leave its bounds.
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

    /// The handler of an error thrown at a position.
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
