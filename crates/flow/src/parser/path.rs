//! Parses a value and the calls and accesses after it.

use rhythm_syntax::Span;

use super::Parser;
use crate::token::TokenKind;
use crate::tree::{Expression, ExpressionKind, Name, PathStep, PathStepKind};

impl Parser<'_> {
    pub(super) fn path(&mut self) -> Expression {
        let base = self.primary();
        let mut steps = Vec::new();
        while !self.lost {
            let start = self.next_span();
            let kind = match self.kind() {
                TokenKind::LeftParen if self.on_same_line() => PathStepKind::Call(self.arguments()),
                TokenKind::LeftBracket if self.on_same_line() => PathStepKind::Index(self.index()),
                TokenKind::Dot => {
                    self.take();
                    let Some(name) = self.property_name() else { break };
                    PathStepKind::Property { name, optional: false }
                }
                TokenKind::OptionalDot => {
                    self.take();
                    if self.refuse_optional_brackets() {
                        continue;
                    }
                    let Some(name) = self.property_name() else { break };
                    PathStepKind::Property { name, optional: true }
                }
                _ => break,
            };
            steps.push(PathStep { kind, span: Span::new(start.range().start, self.previous_end()) });
        }
        if steps.is_empty() {
            return base;
        }
        let span = Span::new(base.span.range().start, self.previous_end());
        Expression { kind: ExpressionKind::Path { base: Box::new(base), steps }, span }
    }

    /// Parses a property name, which may be any word. A keyword on the next line is not taken: there the name
    /// is missing.
    pub(super) fn property_name(&mut self) -> Option<Name> {
        let name = match self.kind() {
            TokenKind::Name => true,
            TokenKind::Keyword(_) => self.on_same_line(),
            _ => false,
        };
        if !name {
            self.unexpected("the name of a property");
            return None;
        }
        let span = self.take().span;
        Some(Name { text: span.text(self.source).to_owned(), span })
    }

    fn arguments(&mut self) -> Vec<Expression> {
        let mut arguments = Vec::new();
        self.items(TokenKind::RightParen, |parser| arguments.push(parser.expression()));
        arguments
    }

    fn index(&mut self) -> Expression {
        let open = self.position;
        if !self.deepen(self.next_span()) {
            self.skip();
            return self.broken();
        }
        self.take();
        let index = self.expression();
        self.leave_brackets(open);
        self.depth -= 1;
        index
    }

    /// Parses items between brackets, separated by commas; a comma may follow the last. `close` ends them.
    pub(super) fn items(&mut self, close: TokenKind, mut item: impl FnMut(&mut Self)) {
        let open = self.position;
        let partner = self.partners.close_of(open);
        if !self.deepen(self.next_span()) {
            self.skip();
            return;
        }
        self.take();
        let mut complained = false;
        while !self.at(close) && !self.at(TokenKind::End) && partner.is_none_or(|end| self.position < end) {
            if partner.is_none() && (self.kind().closes() || self.at_new_statement()) {
                break;
            }
            let start = self.position;
            item(self);
            if self.lost {
                complained = true;
                self.skip_item(partner);
            }
            if self.take_if(TokenKind::Comma).is_some() {
                continue;
            }
            if self.at(close) || (partner.is_none() && self.unclosed_ends()) {
                break;
            }
            if !complained {
                self.missing_comma(close);
                complained = true;
            }
            if !self.begins_expression() || self.position == start {
                self.skip_item(partner);
                self.take_if(TokenKind::Comma);
            }
        }
        self.close(open);
        self.depth -= 1;
    }

    /// Returns whether an item without a comma after it ends a bracket that is never closed: the next line is
    /// the next statement.
    fn unclosed_ends(&self) -> bool {
        !self.on_same_line() || self.kind().closes() || self.at(TokenKind::Semicolon)
    }

    fn missing_comma(&mut self, close: TokenKind) {
        if self.on_same_line() && self.refuse_word_operator() {
            self.lost = false;
            return;
        }
        let sign = close.spelling().unwrap_or_default();
        let place = if self.on_same_line() { "before this" } else { "here" };
        let diagnostic = self.missing(&format!("`,` or `{sign}`"), place);
        let parted =
            !self.on_same_line() && matches!(self.kind(), TokenKind::LeftParen | TokenKind::LeftBracket);
        self.report(if parted {
            diagnostic.helped("a bracket belongs to what stands before it only on the same line")
        } else {
            diagnostic
        });
    }
}
