//! Reads numbers in the syntax of JSON.

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::{Diagnostic, excerpt};

use super::{Lexer, continues_name};
use crate::codes;
use crate::token::TokenKind;

impl Lexer<'_> {
    /// Returns whether a number begins here. `.5` is read as a number and then refused.
    pub(super) fn number_begins(&self) -> bool {
        let mut characters = self.rest().chars();
        match characters.next() {
            Some('.') => characters.next().is_some_and(|next| next.is_ascii_digit()),
            first => first.is_some_and(|first| first.is_ascii_digit()),
        }
    }

    pub(super) fn number(&mut self) {
        let start = self.take_while(|character| character.is_ascii_digit());
        let whole = self.span_from(start);
        if self.number_begins() {
            self.position += 1;
            self.take_while(|character| character.is_ascii_digit());
        }
        if let Some(length) = exponent(self.rest()) {
            self.position += length;
        }
        let number = self.span_from(start);
        self.take_while(continues_name);
        let all = self.span_from(start);
        if let Some(problem) = self.problem(whole, number, all) {
            self.report(problem);
        }
        self.push(TokenKind::Number, all);
    }

    fn problem(&self, whole: Span, number: Span, all: Span) -> Option<Diagnostic> {
        let text = number.text(self.source);
        let suffix = Span::new(number.range().end, all.range().end).text(self.source);
        let bad = |label: &str| Diagnostic::new(codes::BAD_NUMBER, all, label);
        if !suffix.is_empty() {
            let problem = bad("a number and a name run together");
            return Some(match suffix {
                "ms" | "s" | "m" | "h" | "d" | "w" => problem
                    .helped(format!("a length of time is a string: write \"{}{suffix}\"", excerpt(text))),
                _ if text == "0" => problem.helped("numbers are decimal: write 255, not 0xff"),
                _ if suffix.starts_with('_') => problem.helped("write the digits without `_` between them"),
                _ => problem.helped("put a space or an operator between them"),
            });
        }
        if whole.text(self.source).is_empty() {
            return Some(bad("a digit belongs before the dot").helped(format!("write 0{}", excerpt(text))));
        }
        if whole.text(self.source).len() > 1 && text.starts_with('0') {
            return Some(bad("begins with a zero").helped("write it without the leading zeros"));
        }
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => None,
            _ => Some(bad("is too large").helped("the largest number is about 1.8e308")),
        }
    }
}

/// Returns the length of an exponent at the beginning of a text.
fn exponent(text: &str) -> Option<usize> {
    let unsigned = text.strip_prefix(['e', 'E'])?;
    let digits = unsigned.strip_prefix(['+', '-']).unwrap_or(unsigned);
    let count = digits.len() - digits.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    (count > 0).then(|| text.len() - digits.len() + count)
}
