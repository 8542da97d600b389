//! The words and signs of a `.flow` source. Those of JavaScript that the language lacks are included, so that
//! the parser can say what to write instead.

use rhythm_syntax::Span;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    pub span: Span,
    /// Whether a line ended between the previous token and this one.
    pub newline_before: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    Name,
    Number,
    Text,
    Keyword(Keyword),
    LeftParen,
    RightParen,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    Comma,
    Semicolon,
    Colon,
    Dot,
    /// `?.`
    OptionalDot,
    Question,
    /// `??`
    Coalesce,
    Assign,
    /// `=>`
    Arrow,
    /// `==` or `===`
    Equal,
    /// `!=` or `!==`
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Not,
    And,
    Or,
    /// `++` or `--`
    Increment,
    /// `+=`, `??=` and similar
    Compound,
    /// `**`
    Power,
    /// `&`, `|`, `^`, `~`, `<<` and similar
    Bitwise,
    /// `...`
    Spread,
    /// A token the lexer has already reported in place of a value: a template, a regular expression.
    Refused,
    /// The end of the source; exactly one, after the last token.
    End,
}

impl TokenKind {
    pub fn opens(self) -> bool {
        matches!(self, Self::LeftParen | Self::LeftBracket | Self::LeftBrace)
    }

    pub fn closes(self) -> bool {
        matches!(self, Self::RightParen | Self::RightBracket | Self::RightBrace)
    }

    /// Returns the sign's spelling; `None` if it has several, and messages then show the source.
    pub fn spelling(self) -> Option<&'static str> {
        Some(match self {
            Self::LeftParen => "(",
            Self::RightParen => ")",
            Self::LeftBracket => "[",
            Self::RightBracket => "]",
            Self::LeftBrace => "{",
            Self::RightBrace => "}",
            Self::Comma => ",",
            Self::Semicolon => ";",
            Self::Colon => ":",
            Self::Dot => ".",
            Self::Assign => "=",
            Self::Keyword(keyword) => keyword.text(),
            _ => return None,
        })
    }
}

/// Defines the reserved words and their spelling in one place.
macro_rules! keywords {
    ($($name:ident = $text:literal),* $(,)?) => {
        /// A reserved word. It cannot be a name, except after a dot and as a key of an object.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Keyword { $($name),* }

        impl Keyword {
            pub const ALL: &[Keyword] = &[$(Keyword::$name),*];

            pub fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            pub fn find(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$name),)* _ => None }
            }
        }
    };
}

keywords! {
    Let = "let", Const = "const", If = "if", Else = "else", While = "while", For = "for", In = "in", Try = "try",
    Catch = "catch", Throw = "throw", Break = "break", Continue = "continue", Return = "return", Await = "await",
    Function = "function", True = "true", False = "false", Null = "null",
    // Words of JavaScript that mean nothing here. They are reserved because two statements may be on one
    // line: otherwise `var x = 1` and `new Thing()` would each be read as two statements.
    Var = "var", Switch = "switch", Do = "do", New = "new", Typeof = "typeof", Instanceof = "instanceof",
    Delete = "delete", Void = "void", Yield = "yield", Class = "class", Finally = "finally", Import = "import",
    Export = "export",
}
