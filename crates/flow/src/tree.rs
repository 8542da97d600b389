//! The syntax tree of a `.flow` file, shared by compiler, checker, formatter and language server. It
//! represents the source with its positions, including closures and misplaced waits, which the checker
//! refuses.
//!
//! Blocks, brackets, prefixes and conditionals nest at most 64 deep, and precedence puts at most seven chains
//! between two of them, so walking the tree by recursion is safe. Repetition is flat, so that length never
//! becomes depth: `a + b + c` is one chain, `a.b.c()` is one path, and `else if`s are one list.

use rhythm_syntax::Span;

/// A whole file.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    pub front_matter: Option<FrontMatter>,
    pub form: Form,
    pub body: Block,
    /// In source order; the formatter inserts them again.
    pub comments: Vec<Comment>,
}

/// The YAML before a program, without its fences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontMatter {
    pub text: String,
    /// Span of the text between the fences.
    pub span: Span,
}

/// The wrapper of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// Statements without a wrapper.
    Bare,
    /// `workflow { .. }` or `workflow(ctx, inputs) { .. }`: at most two names.
    Workflow { parameters: Vec<Name> },
    /// `async function main() { .. }`
    Main,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Includes its `//` or `/* */`.
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
    /// Includes its braces, if it has any.
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub kind: StatementKind,
    /// Does not include a `;` after it.
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
    /// A function definition, which the checker refuses.
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

/// The word between a loop's name and its items. The binding also decides what the loop goes over: `for (x in
/// list)` gives values, `for (let k in list)` gives keys.
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
    /// As written in the source.
    Number(String),
    /// The text with its escapes resolved; the span covers the written form.
    Text(String),
    List(Vec<Expression>),
    Object(Vec<Property>),
    Name(String),
    /// In round brackets; the formatter keeps them where they matter.
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
    /// A base with calls and accesses, from left to right: `a.b[c](d)`.
    Path {
        base: Box<Expression>,
        steps: Vec<PathStep>,
    },
    Await(Box<Expression>),
    /// `x => ..`, `() => { .. }`, `function () { .. }`: the checker refuses it and says what to write
    /// instead.
    Closure,
    /// An expression that could not be read; the parser has reported it.
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
    /// Covers this step only, including its dot or brackets.
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
    /// The key without its quotes; for the shorthand `{ a.b }` the last name.
    pub key: Name,
    pub value: PropertyValue,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PropertyValue {
    /// `key: value`; the key may be quoted.
    Given(Expression),
    /// `{ a }` and `{ a.b }`: the expression that is read.
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
