//! Looks at tokens, takes them, and recovers after an error.

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::{Diagnostic, excerpt};

use super::Parser;
use crate::codes;
use crate::token::{Keyword, Token, TokenKind};
use crate::tree::Name;

impl<'a> Parser<'a> {
    pub(super) fn token_at(&self, index: usize) -> Token {
        let end = Token { kind: TokenKind::End, span: Span::default(), newline_before: false };
        self.tokens.get(index).or(self.tokens.last()).copied().unwrap_or(end)
    }

    pub(super) fn next(&self) -> Token {
        self.token_at(self.position)
    }

    pub(super) fn kind(&self) -> TokenKind {
        self.next().kind
    }

    /// Returns the kind of the token `ahead` places after the next one.
    pub(super) fn kind_ahead(&self, ahead: usize) -> TokenKind {
        self.token_at(self.position + ahead).kind
    }

    pub(super) fn next_span(&self) -> Span {
        self.next().span
    }

    pub(super) fn next_text(&self) -> &'a str {
        self.next_span().text(self.source)
    }

    /// Returns the end of the previous token: the position of something that is missing.
    pub(super) fn previous_end(&self) -> usize {
        match self.position.checked_sub(1) {
            Some(previous) => self.token_at(previous).span.range().end,
            None => self.next_span().range().start,
        }
    }

    pub(super) fn on_same_line(&self) -> bool {
        !self.next().newline_before
    }

    pub(super) fn at(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    pub(super) fn at_keyword(&self, keyword: Keyword) -> bool {
        self.at(TokenKind::Keyword(keyword))
    }

    /// Returns whether the next token is a contextual keyword, such as `of`.
    pub(super) fn at_word(&self, word: &str) -> bool {
        self.at(TokenKind::Name) && self.next_text() == word
    }

    pub(super) fn take(&mut self) -> Token {
        let token = self.next();
        self.position = (self.position + 1).min(self.tokens.len().saturating_sub(1));
        token
    }

    pub(super) fn take_if(&mut self, kind: TokenKind) -> Option<Token> {
        self.at(kind).then(|| self.take())
    }

    pub(super) fn take_keyword(&mut self, keyword: Keyword) -> bool {
        self.take_if(TokenKind::Keyword(keyword)).is_some()
    }

    /// Takes the sign or reports that it is missing. The parser continues as if the sign were there.
    pub(super) fn expect(&mut self, kind: TokenKind, after: &str) -> Option<Token> {
        if let Some(token) = self.take_if(kind) {
            return Some(token);
        }
        let sign = kind.spelling().unwrap_or_default();
        self.report(self.missing(&format!("`{sign}`"), after));
        None
    }

    /// Takes a name, or reports the token found instead.
    pub(super) fn name(&mut self, what: &str) -> Option<Name> {
        match self.kind() {
            TokenKind::Name => {}
            TokenKind::Keyword(keyword) => {
                let word = keyword.text();
                let diagnostic = Diagnostic::new(codes::RESERVED, self.next_span(), "is reserved")
                    .titled(format!("`{word}` is a reserved word and cannot be a name"))
                    .helped(format!("choose another name, such as `{word}_`"));
                self.report(diagnostic);
            }
            _ => {
                self.unexpected(what);
                return None;
            }
        }
        let span = self.take().span;
        Some(Name { text: span.text(self.source).to_owned(), span })
    }

    pub(super) fn describe_next(&self) -> String {
        match self.kind() {
            TokenKind::End => "the end of the file".to_owned(),
            TokenKind::Text => "a string".to_owned(),
            TokenKind::Number => format!("the number {}", excerpt(self.next_text())),
            _ => format!("`{}`", excerpt(self.next_text())),
        }
    }

    /// Skips a token, or a bracket with everything up to its partner.
    pub(super) fn skip(&mut self) {
        let start = self.next_span();
        if let Some(close) = self.partners.close_of(self.position) {
            self.position = close;
        }
        let end = self.take().span;
        self.skipped.push(start.to(end));
    }

    /// Skips to where the next statement may begin, after the one that began at `start`.
    pub(super) fn skip_statement(&mut self, start: usize) {
        loop {
            match self.kind() {
                TokenKind::End | TokenKind::Semicolon => break,
                TokenKind::RightBrace if !self.partners.is_stray(self.position) => break,
                _ if self.position > start && self.begins_line() => break,
                _ => self.skip(),
            }
        }
        self.found_again();
        if !self.kind().closes() {
            // The next statement may have an error of its own.
            self.complained_at = None;
        }
    }

    /// Skips to the next comma of a list in brackets or to the end of the list. The end is `close`; for an
    /// unclosed bracket it is the first line that looks like a statement.
    pub(super) fn skip_item(&mut self, close: Option<usize>) {
        let start = self.position;
        loop {
            let done = match close {
                Some(close) => self.position >= close,
                None => {
                    matches!(self.kind(), TokenKind::End | TokenKind::Semicolon)
                        || self.kind().closes()
                        || (self.position > start && self.begins_line())
                }
            };
            if done || self.at(TokenKind::Comma) {
                break;
            }
            self.skip();
        }
        self.found_again();
    }

    /// Ends the recovery. A new error at this very token would still be a consequence of the last one.
    pub(super) fn found_again(&mut self) {
        self.lost = false;
        self.complained_at = Some(self.position);
    }

    /// Returns whether a new line begins with a keyword that only begins statements. Everything open before
    /// has ended then.
    pub(super) fn at_new_statement(&self) -> bool {
        matches!(self.kind(), TokenKind::Keyword(_)) && !self.on_same_line() && !self.begins_expression()
    }

    fn begins_line(&self) -> bool {
        let begins = matches!(
            self.kind(),
            TokenKind::Name | TokenKind::Keyword(_) | TokenKind::LeftBrace | TokenKind::LeftBracket
        );
        begins && !self.on_same_line()
    }
}
