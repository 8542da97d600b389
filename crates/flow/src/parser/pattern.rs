//! Parses the patterns of declarations and list assignments: a name, `{ a, b }`, `[a, b]`.

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::Diagnostic;

use super::Parser;
use crate::codes;
use crate::token::TokenKind;
use crate::tree::{Name, Pattern};

impl Parser<'_> {
    pub(super) fn pattern(&mut self) -> Pattern {
        match self.kind() {
            TokenKind::LeftBrace => {
                let (names, span) = self.object_pattern();
                Pattern::Object { names, span }
            }
            TokenKind::LeftBracket => {
                let (names, span) = self.list_pattern();
                Pattern::List { names, span }
            }
            _ => {
                let end = self.previous_end();
                let missing = Name { text: String::new(), span: Span::new(end, end) };
                Pattern::Name(self.name("a name").unwrap_or(missing))
            }
        }
    }

    fn object_pattern(&mut self) -> (Vec<Name>, Span) {
        self.names(TokenKind::RightBrace, "names in `{ a, b }` are taken as they are called")
    }

    pub(super) fn list_pattern(&mut self) -> (Vec<Name>, Span) {
        self.names(TokenKind::RightBracket, "only names can stand in `[a, b]`")
    }

    fn names(&mut self, close: TokenKind, rule: &str) -> (Vec<Name>, Span) {
        let start = self.next_span();
        let partner = self.partners.close_of(self.position);
        let mut names = Vec::new();
        self.items(close, |parser| {
            let index = parser.position;
            let name = match parser.kind() {
                TokenKind::Name | TokenKind::Keyword(_) | TokenKind::Comma => parser.name("a name"),
                _ => None,
            };
            let ends = matches!(parser.kind(), TokenKind::Comma | TokenKind::End) || parser.kind().closes();
            // Between two names in a row only the comma is missing.
            let missing_comma = name.is_some() && parser.begins_expression() && !parser.kind().opens();
            if !ends && !missing_comma && !parser.lost {
                parser.refuse_pattern(index, partner, rule);
            }
            names.extend(name);
        });
        (names, Span::new(start.range().start, self.previous_end()))
    }

    fn refuse_pattern(&mut self, start: usize, partner: Option<usize>, rule: &str) {
        self.skip_item(partner);
        let first = self.token_at(start).span.range();
        // Possibly nothing was skipped.
        let span = Span::new(first.start, self.previous_end().max(first.end));
        self.complained_at = None;
        self.report(
            Diagnostic::new(codes::PATTERN, span, "more than a name").titled(rule).helped(
                "take the whole first, then read its parts: `let order = ..` and `let id = order.id`",
            ),
        );
    }
}
