//! Parses expressions from the loosest operator to the tightest. Parts that can repeat without limit
//! (branches of a conditional, prefixes, operands) are read in loops, so only real nesting uses the stack.

use rhythm_syntax::Span;

use super::Parser;
use crate::token::{Keyword, TokenKind};
use crate::tree::{Binary, Expression, ExpressionKind, Link, Unary};

/// Lowest binding strength of a binary operator. The conditional binds less tightly than all of them.
const LOOSEST: u8 = 1;

#[derive(Clone, Copy)]
enum Prefix {
    Unary(Unary),
    Await,
}

impl Parser<'_> {
    /// Parses an expression and refuses an assignment after it.
    pub(super) fn expression(&mut self) -> Expression {
        let expression = self.conditional();
        self.refuse_assignment();
        expression
    }

    /// Parses `a ? b : c ? d : e` without checking what follows.
    pub(super) fn conditional(&mut self) -> Expression {
        let entry = self.depth;
        let mut branches = Vec::new();
        let last = loop {
            let condition = self.binary(LOOSEST);
            let Some(question) = self.take_if(TokenKind::Question) else { break condition };
            if !self.deepen(question.span) {
                self.skip_expression();
                break self.broken();
            }
            let then = self.expression();
            branches.push((condition, then));
            if self.lost || self.expect(TokenKind::Colon, "between the two values of `? :`").is_none() {
                self.lost = true;
                break self.broken();
            }
        };
        self.depth = entry;
        branches.into_iter().rev().fold(last, |otherwise, (condition, then)| {
            let span = condition.span.to(otherwise.span);
            let kind = ExpressionKind::Conditional {
                condition: Box::new(condition),
                then: Box::new(then),
                otherwise: Box::new(otherwise),
            };
            Expression { kind, span }
        })
    }

    /// Parses operands joined by operators that bind at least as tightly as `minimum`.
    fn binary(&mut self, minimum: u8) -> Expression {
        let mut left = self.unary();
        loop {
            self.refuse_operators();
            let Some((_, level)) = self.operator().filter(|(_, level)| *level >= minimum) else {
                return left;
            };
            let mut rest = Vec::new();
            while let Some((operator, _)) = self.operator().filter(|found| found.1 == level) {
                let operator_span = self.take().span;
                let operand = self.binary(level + 1);
                rest.push(Link { operator, operator_span, operand });
            }
            let span = Span::new(left.span.range().start, self.previous_end());
            left = Expression { kind: ExpressionKind::Chain { first: Box::new(left), rest }, span };
        }
    }

    /// Returns the next operator. After an error it returns none, because the operands are unknown.
    fn operator(&self) -> Option<(Binary, u8)> {
        if self.lost { None } else { binary_operator(self.kind()) }
    }

    pub(super) fn unary(&mut self) -> Expression {
        let entry = self.depth;
        let mut prefixes = Vec::new();
        loop {
            let prefix = match self.kind() {
                TokenKind::Not => Prefix::Unary(Unary::Not),
                TokenKind::Minus => Prefix::Unary(Unary::Negate),
                TokenKind::Keyword(Keyword::Await) => Prefix::Await,
                _ if self.refuse_prefix() => continue,
                _ => break,
            };
            if self.deepen(self.next_span()) {
                prefixes.push((prefix, self.next_span()));
            }
            self.take();
        }
        let operand = self.path();
        self.depth = entry;
        prefixes.into_iter().rev().fold(operand, |operand, (prefix, at)| {
            let span = at.to(operand.span);
            let operand = Box::new(operand);
            let kind = match prefix {
                Prefix::Unary(operator) => ExpressionKind::Unary { operator, operand },
                Prefix::Await => ExpressionKind::Await(operand),
            };
            Expression { kind, span }
        })
    }

    /// Returns whether the next token can begin a value, or something that is refused in its place.
    pub(super) fn begins_expression(&self) -> bool {
        match self.kind() {
            TokenKind::Name
            | TokenKind::Number
            | TokenKind::Text
            | TokenKind::Refused
            | TokenKind::LeftParen
            | TokenKind::LeftBracket
            | TokenKind::LeftBrace
            | TokenKind::Not
            | TokenKind::Minus
            | TokenKind::Plus
            | TokenKind::Increment
            | TokenKind::Spread => true,
            TokenKind::Keyword(keyword) => matches!(
                keyword,
                Keyword::True
                    | Keyword::False
                    | Keyword::Null
                    | Keyword::Await
                    | Keyword::Function
                    | Keyword::New
                    | Keyword::Typeof
                    | Keyword::Delete
                    | Keyword::Void
                    | Keyword::Yield
                    | Keyword::Class
            ),
            _ => false,
        }
    }

    /// Skips an expression that is nested too deeply; it also ends everything open around it.
    fn skip_expression(&mut self) {
        loop {
            match self.kind() {
                TokenKind::End | TokenKind::Semicolon | TokenKind::Comma => break,
                _ if self.at_new_statement() => break,
                kind if kind.closes() => break,
                _ => self.skip(),
            }
        }
        self.found_again();
    }
}

fn binary_operator(kind: TokenKind) -> Option<(Binary, u8)> {
    Some(match kind {
        TokenKind::Coalesce => (Binary::Coalesce, LOOSEST),
        TokenKind::Or => (Binary::Or, 2),
        TokenKind::And => (Binary::And, 3),
        TokenKind::Equal => (Binary::Equal, 4),
        TokenKind::NotEqual => (Binary::NotEqual, 4),
        TokenKind::Less => (Binary::Less, 5),
        TokenKind::LessOrEqual => (Binary::LessOrEqual, 5),
        TokenKind::Greater => (Binary::Greater, 5),
        TokenKind::GreaterOrEqual => (Binary::GreaterOrEqual, 5),
        TokenKind::Plus => (Binary::Add, 6),
        TokenKind::Minus => (Binary::Subtract, 6),
        TokenKind::Star => (Binary::Multiply, 7),
        TokenKind::Slash => (Binary::Divide, 7),
        TokenKind::Percent => (Binary::Remainder, 7),
        _ => return None,
    })
}
