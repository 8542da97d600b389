//! Parses the first part of an expression: names, literals, groups, and functions, which the checker refuses.

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::Diagnostic;

use super::Parser;
use crate::codes;
use crate::lexer;
use crate::token::{Keyword, Token, TokenKind};
use crate::tree::{
    Expression, ExpressionKind, Name, PathStep, PathStepKind, Property, PropertyValue, StatementKind,
};

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Expression {
        if self.at_closure() {
            return self.closure();
        }
        let start = self.next_span();
        let kind = match self.kind() {
            TokenKind::Name => ExpressionKind::Name(self.taken_text()),
            TokenKind::Number => ExpressionKind::Number(self.taken_text()),
            TokenKind::Text => ExpressionKind::Text(lexer::meaning(&self.taken_text())),
            TokenKind::Refused => {
                self.take();
                ExpressionKind::Broken
            }
            TokenKind::Keyword(Keyword::True) => self.constant(ExpressionKind::Boolean(true)),
            TokenKind::Keyword(Keyword::False) => self.constant(ExpressionKind::Boolean(false)),
            TokenKind::Keyword(Keyword::Null) => self.constant(ExpressionKind::Null),
            TokenKind::LeftParen => self.group(),
            TokenKind::LeftBracket => self.list(),
            TokenKind::LeftBrace => self.object(),
            TokenKind::Keyword(Keyword::Class) => {
                self.foreign_statement(Keyword::Class);
                ExpressionKind::Broken
            }
            _ => {
                self.no_value();
                return self.broken();
            }
        };
        Expression { kind, span: Span::new(start.range().start, self.previous_end()) }
    }

    fn taken_text(&mut self) -> String {
        let span = self.take().span;
        span.text(self.source).to_owned()
    }

    fn constant(&mut self, kind: ExpressionKind) -> ExpressionKind {
        self.take();
        kind
    }

    fn no_value(&mut self) {
        if self.at_keyword(Keyword::If) || self.at_keyword(Keyword::Switch) {
            let diagnostic = Diagnostic::new(codes::UNEXPECTED, self.next_span(), "expected a value")
                .titled(format!("`{}` is a statement and has no value", self.next_text()))
                .helped("to choose between two values write `condition ? this : that`");
            self.report(diagnostic);
            self.lost = true;
        } else {
            self.unexpected("a value");
        }
    }

    fn group(&mut self) -> ExpressionKind {
        let open = self.position;
        if !self.deepen(self.next_span()) {
            self.skip();
            return ExpressionKind::Broken;
        }
        self.take();
        let inside = self.expression();
        self.leave_brackets(open);
        self.depth -= 1;
        ExpressionKind::Group(Box::new(inside))
    }

    fn list(&mut self) -> ExpressionKind {
        let mut items = Vec::new();
        self.items(TokenKind::RightBracket, |parser| items.push(parser.expression()));
        ExpressionKind::List(items)
    }

    fn object(&mut self) -> ExpressionKind {
        let mut properties = Vec::new();
        self.items(TokenKind::RightBrace, |parser| properties.extend(parser.property()));
        ExpressionKind::Object(properties)
    }

    fn property(&mut self) -> Option<Property> {
        let first = self.next();
        let given = self.kind_ahead(1) == TokenKind::Colon;
        match first.kind {
            TokenKind::Text => {
                let text = lexer::meaning(&self.taken_text());
                self.given(Name { text, span: first.span })
            }
            TokenKind::Name | TokenKind::Keyword(_) if given => {
                let text = self.taken_text();
                self.given(Name { text, span: first.span })
            }
            TokenKind::Name | TokenKind::Keyword(_) => self.shorthand(first),
            _ => {
                if !self.refuse_key() {
                    self.unexpected("a key");
                }
                None
            }
        }
    }

    fn given(&mut self, key: Name) -> Option<Property> {
        if self.expect(TokenKind::Colon, "and a value after the key").is_none() {
            self.lost = true;
            return None;
        }
        let value = self.expression();
        let span = Span::new(key.span.range().start, self.previous_end());
        Some(Property { key, value: PropertyValue::Given(value), span })
    }

    /// Parses `{ a }` or `{ a.b }`; the last name is the key.
    fn shorthand(&mut self, first: Token) -> Option<Property> {
        let name = self.name("a key")?;
        let mut key = name.clone();
        let mut steps = Vec::new();
        while let Some(dot) = self.take_if(TokenKind::Dot) {
            key = self.property_name()?;
            let kind = PathStepKind::Property { name: key.clone(), optional: false };
            steps.push(PathStep { kind, span: dot.span.to(key.span) });
        }
        let span = first.span.to(key.span);
        self.refuse_after_shorthand(&key);
        let base = Expression { kind: ExpressionKind::Name(name.text), span: name.span };
        let read = match steps.is_empty() {
            true => base,
            false => Expression { kind: ExpressionKind::Path { base: Box::new(base), steps }, span },
        };
        Some(Property { key, value: PropertyValue::Shorthand(read), span })
    }

    pub(super) fn at_async_function(&self) -> bool {
        self.at_async() && self.kind_ahead(1) == TokenKind::Keyword(Keyword::Function)
    }

    /// Returns whether `async` is followed by a token on its line; otherwise it is a name.
    pub(super) fn at_async(&self) -> bool {
        self.at_word("async") && !self.token_at(self.position + 1).newline_before
    }

    /// Returns whether a function begins here: `x =>`, `(..) =>` or `function`, each perhaps after `async`.
    fn at_closure(&self) -> bool {
        let begins = |index: usize| match self.token_at(index).kind {
            TokenKind::Keyword(Keyword::Function) => true,
            TokenKind::Name => self.token_at(index + 1).kind == TokenKind::Arrow,
            TokenKind::LeftParen => {
                let close = self.partners.close_of(index);
                close.is_some_and(|close| self.token_at(close + 1).kind == TokenKind::Arrow)
            }
            _ => false,
        };
        begins(self.position) || (self.at_async() && begins(self.position + 1))
    }

    fn closure(&mut self) -> Expression {
        let start = self.next_span();
        if self.at_word("async") && self.kind_ahead(1) != TokenKind::Arrow {
            self.take();
        }
        if self.at_keyword(Keyword::Function) {
            self.function();
        } else {
            self.skip_checked();
            self.take();
            match self.kind() {
                TokenKind::LeftBrace => self.skip_body(),
                _ if self.deepen(start) => {
                    self.expression();
                    self.depth -= 1;
                }
                _ => self.lost = true,
            }
        }
        let span = Span::new(start.range().start, self.previous_end());
        Expression { kind: ExpressionKind::Closure, span }
    }

    /// Parses a function statement. Its parameters and body are skipped.
    pub(super) fn function(&mut self) -> StatementKind {
        if self.at_word("async") {
            self.take();
        }
        self.take();
        self.take_if(TokenKind::Star);
        let name = if self.at(TokenKind::LeftParen) { None } else { self.name("the name of the function") };
        if self.at(TokenKind::LeftParen) && self.partners.close_of(self.position).is_some() {
            self.skip_checked();
            self.skip_body();
        } else if !self.lost {
            let open = self.position;
            match self.take_if(TokenKind::LeftParen) {
                Some(_) => self.close(open),
                None => drop(self.expect(TokenKind::LeftParen, "with the parameters")),
            }
            self.lost = true;
        }
        StatementKind::Function { name }
    }

    fn skip_body(&mut self) {
        let open = self.position;
        if !self.at(TokenKind::LeftBrace) {
            self.expect(TokenKind::LeftBrace, "before the body");
            self.lost = true;
        } else if self.partners.close_of(open).is_some() {
            self.skip_checked();
        } else {
            // The function is taken to reach to the end of the file.
            self.position = self.tokens.len().saturating_sub(1);
            self.close(open);
        }
    }

    /// Skips brackets and their contents, but reports brackets in them that do not match.
    fn skip_checked(&mut self) {
        let start = self.position;
        self.skip();
        let odd = (start..self.position).find(|index| {
            let kind = self.token_at(*index).kind;
            (kind.opens() && self.partners.close_of(*index).is_none())
                || (kind.closes() && self.partners.is_stray(*index))
        });
        if let Some(odd) = odd {
            let span = self.token_at(odd).span;
            self.report(
                Diagnostic::new(codes::BRACKET, span, "has no partner")
                    .helped("every bracket that is opened is closed, the last one first"),
            );
        }
    }
}
