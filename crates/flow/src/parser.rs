//! Parses tokens to a tree by recursive descent. A syntax error never ends the parse: an unreadable part
//! becomes [`ExpressionKind::Broken`](super::tree::ExpressionKind::Broken) or is skipped up to the next
//! statement, so one pass finds all errors of a file.
//!
//! Three rules guarantee that the parser ends on any input. Every loop takes a token or ends. Nesting is
//! counted and stops at [`DEPTH_LIMIT`]. Skipping jumps from a bracket to its partner, found beforehand, so
//! no token is skipped twice.

mod brackets;
mod cursor;
mod expression;
mod foreign;
mod literal;
mod path;
mod pattern;
mod program;
mod statement;

pub use foreign::ELSE_IFS;

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::{DIAGNOSTIC_LIMIT, Diagnostic, Severity};

use super::codes;
use super::lexer::{self, Lexed};
use super::token::{Token, TokenKind};
use super::tree::File;
use brackets::Partners;

/// Deepest nesting of blocks, brackets, prefix operators and branches of a conditional.
pub const DEPTH_LIMIT: u32 = 64;

/// A file as far as it could be read.
#[derive(Clone, Debug)]
pub struct Parsed {
    pub file: File,
    /// In the order of the source.
    pub diagnostics: Vec<Diagnostic>,
    /// Spans that were skipped and are not in the tree.
    pub skipped: Vec<Span>,
}

impl Parsed {
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

/// Reads a whole file. Any input gives a tree; mistakes are in the diagnostics.
pub fn parse(source: &str) -> Parsed {
    let Lexed { tokens, comments, front_matter, diagnostics } = lexer::lex(source);
    let partners = Partners::find(&tokens);
    let parser = Parser {
        source,
        tokens,
        partners,
        position: 0,
        depth: 0,
        diagnostics,
        skipped: Vec::new(),
        complained_at: None,
        lost: false,
        too_deep: false,
    };
    let (form, body, mut diagnostics, skipped) = parser.program();
    diagnostics.sort_by_key(|diagnostic| diagnostic.span);
    Parsed { file: File { front_matter, form, body, comments }, diagnostics, skipped }
}

struct Parser<'a> {
    source: &'a str,
    tokens: Vec<Token>,
    partners: Partners,
    /// Index of the next token. It never passes the last token, which is the end.
    position: usize,
    depth: u32,
    diagnostics: Vec<Diagnostic>,
    skipped: Vec<Span>,
    /// Token index of the last error. A second error at the same token is a consequence and is not reported.
    complained_at: Option<usize>,
    /// Set after an error until the parser has found a place to continue.
    lost: bool,
    /// The depth limit was reported; that is the last error.
    too_deep: bool,
}

impl Parser<'_> {
    fn report(&mut self, diagnostic: Diagnostic) {
        // The lexer has already reported refused tokens.
        if self.complained_at == Some(self.position) || self.at(TokenKind::Refused) {
            return;
        }
        self.complained_at = Some(self.position);
        if !self.too_deep && self.diagnostics.len() < DIAGNOSTIC_LIMIT {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Reports that `wanted` was expected instead of the next token.
    fn unexpected(&mut self, wanted: &str) {
        self.report(self.missing(wanted, "here"));
        self.lost = true;
    }

    /// Returns a diagnostic for missing text. At the end of a line it points there, not at the start of the
    /// next line.
    fn missing(&self, wanted: &str, place: &str) -> Diagnostic {
        let here = Span::new(self.previous_end(), self.previous_end());
        let (span, found) = match self.kind() {
            TokenKind::End => (here, self.describe_next()),
            _ if !self.on_same_line() && self.position > 0 => (here, "the end of the line".to_owned()),
            _ => (self.next_span(), self.describe_next()),
        };
        Diagnostic::new(codes::UNEXPECTED, span, format!("expected {wanted} {place}"))
            .titled(format!("expected {wanted}, found {found}"))
    }

    /// Enters a nesting level; returns false at the limit. After that nothing more is reported: code nested
    /// this deep is rarely written by hand, and the ends of its levels would be guesses.
    fn deepen(&mut self, span: Span) -> bool {
        if self.depth < DEPTH_LIMIT {
            self.depth += 1;
            return true;
        }
        if !self.too_deep {
            self.report(
                Diagnostic::new(codes::TOO_DEEP, span, format!("the {}th level", DEPTH_LIMIT + 1)).helped(
                    format!("at most {DEPTH_LIMIT} levels: give the inner part a name first, with `let`"),
                ),
            );
            self.too_deep = true;
        }
        self.complained_at = Some(self.position);
        false
    }
}

#[cfg(test)]
mod tests;
