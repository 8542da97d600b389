//! Operators and punctuation, and the characters that are neither.

use rhythm_syntax::diagnostic::{Diagnostic, excerpt};

use super::{Lexer, begins_name};
use crate::codes;
use crate::token::{Keyword, TokenKind};

/// Longer signs come first, because the first match is taken.
const SIGNS: &[(&str, TokenKind)] = &[
    (">>>=", TokenKind::Compound),
    ("===", TokenKind::Equal),
    ("!==", TokenKind::NotEqual),
    ("...", TokenKind::Spread),
    ("**=", TokenKind::Compound),
    ("<<=", TokenKind::Compound),
    (">>=", TokenKind::Compound),
    (">>>", TokenKind::Bitwise),
    ("&&=", TokenKind::Compound),
    ("||=", TokenKind::Compound),
    ("??=", TokenKind::Compound),
    ("==", TokenKind::Equal),
    ("!=", TokenKind::NotEqual),
    ("<=", TokenKind::LessOrEqual),
    (">=", TokenKind::GreaterOrEqual),
    ("=>", TokenKind::Arrow),
    ("&&", TokenKind::And),
    ("||", TokenKind::Or),
    ("??", TokenKind::Coalesce),
    ("?.", TokenKind::OptionalDot),
    ("++", TokenKind::Increment),
    ("--", TokenKind::Increment),
    ("**", TokenKind::Power),
    ("<<", TokenKind::Bitwise),
    (">>", TokenKind::Bitwise),
    ("+=", TokenKind::Compound),
    ("-=", TokenKind::Compound),
    ("*=", TokenKind::Compound),
    ("/=", TokenKind::Compound),
    ("%=", TokenKind::Compound),
    ("&=", TokenKind::Compound),
    ("|=", TokenKind::Compound),
    ("^=", TokenKind::Compound),
    ("(", TokenKind::LeftParen),
    (")", TokenKind::RightParen),
    ("[", TokenKind::LeftBracket),
    ("]", TokenKind::RightBracket),
    ("{", TokenKind::LeftBrace),
    ("}", TokenKind::RightBrace),
    (",", TokenKind::Comma),
    (";", TokenKind::Semicolon),
    (":", TokenKind::Colon),
    (".", TokenKind::Dot),
    ("?", TokenKind::Question),
    ("=", TokenKind::Assign),
    ("<", TokenKind::Less),
    (">", TokenKind::Greater),
    ("+", TokenKind::Plus),
    ("-", TokenKind::Minus),
    ("*", TokenKind::Star),
    ("/", TokenKind::Slash),
    ("%", TokenKind::Percent),
    ("!", TokenKind::Not),
    ("&", TokenKind::Bitwise),
    ("|", TokenKind::Bitwise),
    ("^", TokenKind::Bitwise),
    ("~", TokenKind::Bitwise),
];

fn find(text: &str) -> Option<(usize, TokenKind)> {
    let first = text.bytes().next()?;
    let fits = |sign: &str| sign.bytes().next() == Some(first) && text.starts_with(sign);
    let (sign, kind) = SIGNS.iter().find(|(sign, _)| fits(sign))?;
    // `a?.5:b` is a conditional with the number `.5`: no name begins with a digit.
    if *kind == TokenKind::OptionalDot && text.get(2..)?.starts_with(|next: char| next.is_ascii_digit()) {
        return Some((1, TokenKind::Question));
    }
    Some((sign.len(), *kind))
}

impl Lexer<'_> {
    pub(super) fn sign(&mut self) {
        let start = self.position;
        match find(self.rest()) {
            Some((length, kind)) => {
                self.position += length;
                self.push(kind, self.span_from(start));
            }
            None => self.unknown(),
        }
    }

    /// Reports unknown characters. Several in a row are reported once and become no token.
    fn unknown(&mut self) {
        if self.rest().starts_with('#') {
            let start = self.take_while(|character| character != '\n');
            let span = self.span_from(start);
            self.report(
                Diagnostic::new(codes::UNKNOWN_CHARACTER, span, "not a comment")
                    .titled("`#` begins no comment")
                    .helped("comments begin with `//`"),
            );
            return;
        }
        let start = self.position;
        while let Some(character) = self.peek() {
            let known = character.is_whitespace()
                || begins_name(character)
                || character.is_ascii_digit()
                || matches!(character, '"' | '\'' | '`' | '#')
                || find(self.rest()).is_some();
            if known {
                break;
            }
            self.position += character.len_utf8();
        }
        let span = self.span_from(start);
        let written = span.text(self.source);
        let shown = excerpt(written);
        let diagnostic = Diagnostic::new(codes::UNKNOWN_CHARACTER, span, "unknown here")
            .titled(format!("`{shown}` means nothing here"));
        self.report(match lookalike(written) {
            Some(plain) => diagnostic.helped(format!("write {plain}")),
            None => diagnostic
                .helped("names consist of letters, digits and `_`; other characters belong in strings"),
        });
    }

    /// Returns whether a value must come next. A slash here begins a regular expression instead of dividing.
    pub(super) fn operand_expected(&self) -> bool {
        let Some(last) = self.lexed.tokens.last() else { return true };
        !matches!(
            last.kind,
            TokenKind::Name
                | TokenKind::Number
                | TokenKind::Text
                | TokenKind::Refused
                | TokenKind::RightParen
                | TokenKind::RightBracket
                | TokenKind::RightBrace
                | TokenKind::Keyword(Keyword::True | Keyword::False | Keyword::Null)
        ) && !self.follows_dot()
    }

    /// Returns whether the last token follows a dot, where a keyword is a property.
    fn follows_dot(&self) -> bool {
        let before = self.lexed.tokens.iter().rev().nth(1);
        before.is_some_and(|token| matches!(token.kind, TokenKind::Dot | TokenKind::OptionalDot))
    }

    pub(super) fn slash(&mut self) {
        let start = self.position;
        if start < self.no_regex_until {
            return self.sign();
        }
        let line = self.rest().lines().next().unwrap_or_default();
        let end = start + line.len();
        let Some(close) = line.get(1..).and_then(closing_slash) else {
            self.no_regex_until = end;
            return self.sign();
        };
        self.position += close + 2;
        self.take_while(begins_name);
        let span = self.span_from(start);
        self.report(
            Diagnostic::new(codes::FOREIGN, span, "a regular expression")
                .titled("there are no regular expressions")
                .helped("use the methods of strings, such as `includes`, `startsWith`, `split`, or a task"),
        );
        self.push(TokenKind::Refused, span);
    }
}

/// Returns the offset where the regular expression ends. A slash in `[..]` or after a backslash does not end
/// it.
fn closing_slash(inside: &str) -> Option<usize> {
    let mut escaped = false;
    let mut class = false;
    for (at, character) in inside.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => class = true,
            ']' => class = false,
            '/' if !class => return Some(at),
            _ => {}
        }
    }
    None
}

/// Returns the plain sign for one that a word processor has replaced.
fn lookalike(written: &str) -> Option<&'static str> {
    Some(match written.chars().next()? {
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{ab}' | '\u{bb}' => "a plain quote: \"",
        '\u{2018}' | '\u{2019}' | '\u{201a}' => "a plain quote: '",
        '\u{2013}' | '\u{2014}' | '\u{2212}' => "a plain minus: -",
        '\u{d7}' => "a plain star: *",
        '\u{f7}' => "a plain slash: /",
        '\u{2260}' => "!=",
        '\u{2264}' => "<=",
        '\u{2265}' => ">=",
        '\u{2192}' | '\u{21d2}' => "`.` for a property; there are no arrows",
        '\u{2026}' => "it out: three dots stand for nothing",
        _ => return None,
    })
}
