//! Expressions ready for evaluation: every name is resolved and every pattern compiled.

use super::super::compare::Relation;
use super::super::regexes::Pattern;

#[derive(Debug)]
pub(super) enum Expression {
    Null,
    Bool(bool),
    Int(i128),
    Double(f64),
    Text(String),
    /// A type name such as `int` in `type(x) == int`.
    Type(Type),
    List(Vec<Expression>),
    Map(Vec<(Expression, Expression)>),
    Root(Root),
    /// Variable of a macro, numbered from the outermost macro.
    Local(usize),
    Field(Box<Expression>, String),
    /// `has(a.b)`
    Has(Box<Expression>, String),
    Index(Box<Expression>, Box<Expression>),
    Not(Box<Expression>),
    Negate(Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
    Choose(Box<[Expression; 3]>),
    Compare(Relation, Box<Expression>, Box<Expression>),
    In(Box<Expression>, Box<Expression>),
    Arithmetic(Arithmetic, Box<Expression>, Box<Expression>),
    Matches(Box<Expression>, Box<Pattern>),
    Call(Function, Vec<Expression>),
    Macro(Box<Macro>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    Output,
    Inputs,
    Context,
    Current,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// The supported functions. All are pure, and no result is much larger than its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Size,
    Contains,
    StartsWith,
    EndsWith,
    LowerAscii,
    UpperAscii,
    Trim,
    Int,
    Double,
    Text,
    Bool,
    Dyn,
    Type,
    Timestamp,
    Duration,
    Part(Part),
}

/// Parts of a timestamp. A duration has the last four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    FullYear,
    Month,
    /// Day of the month from 1; [`Self::DayOfMonth`] counts from 0.
    Date,
    DayOfMonth,
    DayOfYear,
    DayOfWeek,
    Hours,
    Minutes,
    Seconds,
    Milliseconds,
}

/// The types of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Null,
    Bool,
    Int,
    Double,
    Text,
    List,
    Map,
    Moment,
    Length,
    /// The type of types.
    Itself,
}

#[derive(Debug)]
pub(super) struct Macro {
    pub kind: MacroKind,
    pub range: Expression,
}

#[derive(Debug)]
pub(super) enum MacroKind {
    All(Expression),
    Exists(Expression),
    ExistsOne(Expression),
    /// `map` and `filter`: the second expression for each item that passes the test.
    Map(Option<Expression>, Expression),
}
