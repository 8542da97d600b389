//! The words and signs a `.flow` source is made of. What JavaScript has and this language has not is known here
//! too, so that the parser can say what to write instead.

use rhythm_syntax::Span;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    pub span: Span,
    /// A line ended between the token before and this one.
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
    /// `+=`, `??=` and their like
    Compound,
    /// `**`
    Power,
    /// `&`, `|`, `^`, `~`, `<<` and their like
    Bitwise,
    /// `...`
    Spread,
    /// Something the lexer has already reported, standing where a value would: a template, a regular expression.
    Refused,
    /// After the last token, once.
    End,
}

impl TokenKind {
    pub fn opens(self) -> bool {
        matches!(self, Self::LeftParen | Self::LeftBracket | Self::LeftBrace)
    }

    pub fn closes(self) -> bool {
        matches!(self, Self::RightParen | Self::RightBracket | Self::RightBrace)
    }

    /// How the sign is written; what has no single spelling is shown as it stands in the source instead.
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
        /// A word that cannot be a name; after a dot and as a key of an object it can.
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
    // JavaScript's. They mean nothing here and are reserved all the same: one statement may follow another on the
    // same line, so `var x = 1` and `new Thing()` would otherwise each be two statements that nobody meant.
    Var = "var", Switch = "switch", Do = "do", New = "new", Typeof = "typeof", Instanceof = "instanceof",
    Delete = "delete", Void = "void", Yield = "yield", Class = "class", Finally = "finally", Import = "import",
    Export = "export",
}
