//! The syntax tree of a `.flow` file: one for compiler, checker, formatter and language server. It says what was
//! written and where, closures and misplaced waits included: what may not be there is for the checker to refuse.
//!
//! Blocks, brackets, prefixes and conditionals stand within each other at most 64 deep, and precedence puts no more
//! than seven chains between two of them: walking the tree by recursion is safe. What may be long is flat here, so
//! that length never becomes depth: `a + b + c` is one chain, `a.b.c()` is one path, and so are `else if`s.

use rhythm_syntax::Span;

/// A whole file.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    pub front_matter: Option<FrontMatter>,
    pub form: Form,
    pub body: Block,
    /// In the order of the source; the formatter puts them back.
    pub comments: Vec<Comment>,
}

/// The YAML before a program, without its fences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontMatter {
    pub text: String,
    /// Of the text between the fences.
    pub span: Span,
}

/// How a program is wrapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// Statements and nothing around them.
    Bare,
    /// `workflow { .. }` or `workflow(ctx, inputs) { .. }`: at most two names.
    Workflow { parameters: Vec<Name> },
    /// `async function main() { .. }`
    Main,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// With its `//` or `/* */`.
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub text: String,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    pub statements: Vec<Statement>,
    /// With its braces, where it has any.
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub kind: StatementKind,
    /// Without a `;` after it.
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    Declare {
        mutability: Mutability,
        pattern: Pattern,
        value: Option<Expression>,
    },
    Assign {
        target: Target,
        value: Expression,
    },
    If {
        arms: Vec<Arm>,
        otherwise: Option<Block>,
    },
    While {
        condition: Expression,
        body: Block,
    },
    For {
        binding: Option<Mutability>,
        name: Name,
        walk: Walk,
        items: Expression,
        body: Block,
    },
    Try {
        body: Block,
        error: Option<Name>,
        handler: Block,
    },
    Throw(Expression),
    Break,
    Continue,
    Return(Option<Expression>),
    Block(Block),
    Expression(Expression),
    /// A function somebody tried to define; the checker says why that cannot be.
    Function {
        name: Option<Name>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutability {
    Let,
    Const,
}

/// One `if` or `else if`.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    pub condition: Expression,
    pub body: Block,
}

/// The word between a loop's name and its items. What it walks depends on the binding too: `for (x in list)` walks
/// values, `for (let k in list)` keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    Of,
    In,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    Name(Name),
    Object { names: Vec<Name>, span: Span },
    List { names: Vec<Name>, span: Span },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// `name`, `name.a`, `name[i].b`
    Place { name: Name, path: Vec<Place> },
    /// `[a, b]`
    List { names: Vec<Name>, span: Span },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    Property(Name),
    Index(Expression),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    pub kind: ExpressionKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExpressionKind {
    Null,
    Boolean(bool),
    /// As it was written.
    Number(String),
    /// What it means, escapes resolved; the span has what was written.
    Text(String),
    List(Vec<Expression>),
    Object(Vec<Property>),
    Name(String),
    /// In round brackets, which the formatter keeps where they matter.
    Group(Box<Expression>),
    Unary {
        operator: Unary,
        operand: Box<Expression>,
    },
    /// Operands of one precedence, from the left: `a - b + c`.
    Chain {
        first: Box<Expression>,
        rest: Vec<Link>,
    },
    Conditional {
        condition: Box<Expression>,
        then: Box<Expression>,
        otherwise: Box<Expression>,
    },
    /// Something with calls and accesses behind it, from the left: `a.b[c](d)`.
    Path {
        base: Box<Expression>,
        steps: Vec<PathStep>,
    },
    Await(Box<Expression>),
    /// `x => ..`, `() => { .. }`, `function () { .. }`: refused by the checker, with what to write instead.
    Closure,
    /// Something that could not be read; the parser has said so.
    Broken,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    pub operator: Binary,
    pub operator_span: Span,
    pub operand: Expression,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PathStep {
    pub kind: PathStepKind,
    /// Of this step alone, its dot or brackets included.
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PathStepKind {
    /// `.name`, or `?.name` when optional.
    Property {
        name: Name,
        optional: bool,
    },
    Index(Expression),
    Call(Vec<Expression>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// What it means, be it bare or quoted; of a shorthand `{ a.b }` the last name.
    pub key: Name,
    pub value: PropertyValue,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PropertyValue {
    /// `key: value`; the key may be quoted.
    Given(Expression),
    /// `{ a }` and `{ a.b }`: what is read.
    Shorthand(Expression),
}

impl PropertyValue {
    pub fn expression(&self) -> &Expression {
        match self {
            Self::Given(value) | Self::Shorthand(value) => value,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    Not,
    Negate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Coalesce,
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}
