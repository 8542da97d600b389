//! Parses statements.

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::Diagnostic;

use super::Parser;
use crate::codes;
use crate::token::{Keyword, TokenKind};
use crate::tree::{
    Arm, Block, Expression, ExpressionKind, Mutability, Name, PathStepKind, Place, Statement, StatementKind,
    Target, Walk,
};

impl Parser<'_> {
    /// Parses a statement; `None` if there is none and nothing of it can be kept.
    pub(super) fn statement(&mut self) -> Option<Statement> {
        let start = self.next_span();
        let kind = match self.kind() {
            TokenKind::LeftBrace => self.block_statement(),
            TokenKind::LeftBracket if self.list_is_assigned() => Some(self.assign_list()),
            TokenKind::Keyword(keyword) => self.keyword_statement(keyword),
            TokenKind::Name if self.at_async_function() => Some(self.function()),
            TokenKind::Name if self.at_inner_workflow() => self.inner_workflow(),
            _ => Some(self.expression_statement()),
        }?;
        Some(Statement { kind, span: Span::new(start.range().start, self.previous_end()) })
    }

    fn keyword_statement(&mut self, keyword: Keyword) -> Option<StatementKind> {
        Some(match keyword {
            Keyword::Let => self.declare(Mutability::Let),
            Keyword::Const => self.declare(Mutability::Const),
            Keyword::If => self.branch(),
            Keyword::While => self.repeat(),
            Keyword::For => self.walk(),
            Keyword::Try => self.attempt(),
            Keyword::Throw => {
                self.take();
                match self.refuse_new_error() {
                    true => StatementKind::Throw(self.broken()),
                    false => StatementKind::Throw(self.expression()),
                }
            }
            Keyword::Break => {
                self.take();
                StatementKind::Break
            }
            Keyword::Continue => {
                self.take();
                StatementKind::Continue
            }
            Keyword::Return => {
                self.take();
                let value = self.on_same_line() && self.begins_expression();
                StatementKind::Return(value.then(|| self.expression()))
            }
            Keyword::Function => self.function(),
            Keyword::Else | Keyword::Catch | Keyword::In => return self.misplaced(keyword),
            Keyword::Var
            | Keyword::Switch
            | Keyword::Do
            | Keyword::Class
            | Keyword::Finally
            | Keyword::Import
            | Keyword::Export => return self.foreign_statement(keyword),
            _ => self.expression_statement(),
        })
    }

    fn misplaced(&mut self, keyword: Keyword) -> Option<StatementKind> {
        let word = keyword.text();
        let follows = match keyword {
            Keyword::Else => "`else` follows the `}` of an `if`",
            Keyword::Catch => "`catch` follows the `}` of a `try`",
            _ => "`in` belongs in the head of a `for`; to ask for a key write `Object.has(object, key)`",
        };
        let diagnostic = Diagnostic::new(codes::UNEXPECTED, self.next_span(), "cannot stand here")
            .titled(format!("`{word}` begins no statement"))
            .helped(follows);
        if keyword != Keyword::Else || !self.refuse_else_after_elseif() {
            self.report(diagnostic);
        }
        self.take();
        if keyword != Keyword::In && self.at(TokenKind::LeftParen) {
            self.skip();
        }
        if keyword == Keyword::In || !self.at(TokenKind::LeftBrace) {
            self.lost = true;
        }
        None
    }

    /// Parses a block. `{ a, b } = value` is refused: an object pattern needs its `let`.
    fn block_statement(&mut self) -> Option<StatementKind> {
        if self.kind_ahead(2) == TokenKind::Colon {
            return self.refuse_object_statement();
        }
        let after = self.partners.close_of(self.position).map(|close| self.token_at(close + 1).kind);
        if after != Some(TokenKind::Assign) {
            return Some(StatementKind::Block(self.block("here")));
        }
        let start = self.next_span();
        let diagnostic = Diagnostic::new(codes::PATTERN, start, "an object pattern")
            .titled("an object pattern only declares, it does not assign")
            .helped("write `let { a, b } = ..`, or assign the names one by one");
        self.report(diagnostic);
        self.skip();
        self.take();
        self.expression();
        None
    }

    fn list_is_assigned(&self) -> bool {
        let close = self.partners.close_of(self.position);
        close.is_some_and(|close| self.token_at(close + 1).kind == TokenKind::Assign)
    }

    fn assign_list(&mut self) -> StatementKind {
        let (names, span) = self.list_pattern();
        self.expect(TokenKind::Assign, "after the names");
        StatementKind::Assign { target: Target::List { names, span }, value: self.expression() }
    }

    pub(super) fn declare(&mut self, mutability: Mutability) -> StatementKind {
        self.take();
        let pattern = self.pattern();
        self.refuse_type();
        let value = self.take_if(TokenKind::Assign).map(|_| self.expression());
        self.refuse_more_names();
        StatementKind::Declare { mutability, pattern, value }
    }

    fn branch(&mut self) -> StatementKind {
        let mut arms = Vec::new();
        let mut otherwise = None;
        self.take();
        loop {
            let condition = self.condition("if");
            let body = self.body("if (..)");
            arms.push(Arm { condition, body });
            if !self.take_keyword(Keyword::Else) {
                break;
            }
            if !self.take_keyword(Keyword::If) {
                otherwise = Some(self.body("else"));
                break;
            }
        }
        StatementKind::If { arms, otherwise }
    }

    fn repeat(&mut self) -> StatementKind {
        self.take();
        let condition = self.condition("while");
        let body = self.body("while (..)");
        StatementKind::While { condition, body }
    }

    /// Parses an expression in round brackets.
    fn condition(&mut self, word: &str) -> Expression {
        let open = self.position;
        if self.take_if(TokenKind::LeftParen).is_none() {
            self.bracket_missing(word);
            if self.begins_expression() && !self.at(TokenKind::LeftBrace) {
                return self.expression();
            }
            return self.broken();
        }
        let condition = self.expression();
        self.leave_brackets(open);
        condition
    }

    fn bracket_missing(&mut self, word: &str) {
        let diagnostic = self
            .missing("`(`", "here")
            .titled(format!("what follows `{word}` stands in round brackets"))
            .helped(match word {
                "for" => "write `for (const x of list) { .. }`".to_owned(),
                _ => format!("write `{word} (..) {{ .. }}`"),
            });
        self.report(diagnostic);
    }

    /// Takes the closing bracket; skips the tokens before it if needed.
    pub(super) fn leave_brackets(&mut self, open: usize) {
        if !self.token_at(open).kind.opens() {
            return;
        }
        if let Some(close) = self.partners.close_of(open)
            && self.position < close
        {
            if !self.lost && !self.refuse_word_operator() {
                let sign = self.token_at(close).span.text(self.source);
                let wanted = format!("`{sign}`");
                self.unexpected(&wanted);
            }
            self.position = close;
            self.found_again();
        }
        self.close(open);
    }

    /// Parses the block after a head. A single statement without braces is reported and used as the block.
    pub(super) fn body(&mut self, head: &str) -> Block {
        if self.at(TokenKind::LeftBrace) {
            return self.block("here");
        }
        let start = self.next_span();
        let missing = matches!(self.kind(), TokenKind::End | TokenKind::RightBrace | TokenKind::Semicolon);
        if self.lost || missing || self.kind().closes() {
            return self.block(&format!("after `{head}`"));
        }
        let diagnostic = Diagnostic::new(codes::BRACES, start, "needs `{` before and `}` after")
            .titled(format!("braces are required after `{head}`"))
            .helped(format!("write `{head} {{ .. }}`, for a single statement too"));
        self.report(diagnostic);
        if !self.deepen(start) {
            self.lost = true;
            return Block { statements: Vec::new(), span: start };
        }
        let statement = self.statement();
        self.depth -= 1;
        let span = Span::new(start.range().start, self.previous_end());
        Block { statements: statement.into_iter().collect(), span }
    }

    fn walk(&mut self) -> StatementKind {
        self.take();
        if self.at_keyword(Keyword::Await) {
            self.refuse_for_await();
        }
        let open = self.position;
        if self.take_if(TokenKind::LeftParen).is_none() {
            self.bracket_missing("for");
        }
        match self.walk_head(open) {
            Some((binding, name, walk)) => {
                let items = self.expression();
                self.leave_brackets(open);
                let body = self.body("for (..)");
                StatementKind::For { binding, name, walk, items, body }
            }
            None => {
                self.leave_head(open);
                self.body("for (..)");
                StatementKind::Expression(self.broken())
            }
        }
    }

    fn leave_head(&mut self, open: usize) {
        match self.partners.close_of(open) {
            Some(close) => {
                self.position = close + 1;
                self.found_again();
            }
            None => self.lost = true,
        }
    }

    /// Parses the head of a loop up to the items; `None` after reporting a head that is not valid.
    fn walk_head(&mut self, open: usize) -> Option<(Option<Mutability>, Name, Walk)> {
        if self.refuse_counting(open) {
            return None;
        }
        let binding = match self.kind() {
            TokenKind::Keyword(Keyword::Let) => Some(Mutability::Let),
            TokenKind::Keyword(Keyword::Const) => Some(Mutability::Const),
            TokenKind::Keyword(Keyword::Var) => {
                self.refuse_var();
                Some(Mutability::Let)
            }
            _ => None,
        };
        if binding.is_some() {
            self.take();
        }
        if self.refuse_walk_pattern() {
            return None;
        }
        let name = self.name("a name for the items")?;
        let walk = if self.take_keyword(Keyword::In) {
            Walk::In
        } else if self.at_word("of") {
            self.take();
            Walk::Of
        } else {
            self.unexpected("`of` or `in`");
            return None;
        };
        Some((binding, name, walk))
    }

    fn attempt(&mut self) -> StatementKind {
        self.take();
        let body = self.body("try");
        let mut error = None;
        let mut handler =
            Block { statements: Vec::new(), span: Span::new(self.previous_end(), self.previous_end()) };
        if self.take_keyword(Keyword::Catch) {
            let open = self.position;
            if self.take_if(TokenKind::LeftParen).is_some() {
                error = self.name("a name for the error");
                self.leave_brackets(open);
            }
            handler = self.body("catch (e)");
        } else if !self.at_keyword(Keyword::Finally) && !self.lost {
            let diagnostic = Diagnostic::new(codes::UNEXPECTED, self.next_span(), "expected `catch`")
                .titled("a `try` needs its `catch`")
                .helped("write `try { .. } catch (e) { .. }`");
            self.report(diagnostic);
        }
        if self.at_keyword(Keyword::Finally) {
            self.refuse_finally();
        }
        StatementKind::Try { body, error, handler }
    }

    /// Parses an expression, or an assignment that begins with it.
    fn expression_statement(&mut self) -> StatementKind {
        let expression = self.conditional();
        match self.kind() {
            TokenKind::Assign => {
                let target = self.target(expression);
                self.take();
                let value = self.expression();
                match target {
                    Some(target) => StatementKind::Assign { target, value },
                    None => StatementKind::Expression(value),
                }
            }
            TokenKind::Compound => self.refuse_compound(expression),
            TokenKind::Increment if self.on_same_line() => self.refuse_compound(expression),
            TokenKind::Colon if matches!(expression.kind, ExpressionKind::Name(_)) => {
                self.refuse_label();
                StatementKind::Expression(expression)
            }
            _ => StatementKind::Expression(expression),
        }
    }

    /// Converts an expression to the target of an assignment, if it can be one.
    fn target(&mut self, expression: Expression) -> Option<Target> {
        let span = expression.span;
        let (base, steps) = match expression.kind {
            ExpressionKind::Path { base, steps } => (*base, steps),
            _ => (expression, Vec::new()),
        };
        let mut path = Vec::with_capacity(steps.len());
        for step in steps {
            match step.kind {
                PathStepKind::Property { name, optional: false } => path.push(Place::Property(name)),
                PathStepKind::Index(index) => path.push(Place::Index(index)),
                PathStepKind::Property { .. } | PathStepKind::Call(_) => {
                    self.refuse_target(span);
                    return None;
                }
            }
        }
        match base.kind {
            ExpressionKind::Name(text) => Some(Target::Place { name: Name { text, span: base.span }, path }),
            ExpressionKind::Broken => None,
            _ => {
                self.refuse_target(span);
                None
            }
        }
    }

    fn refuse_target(&mut self, span: Span) {
        let diagnostic = Diagnostic::new(codes::TARGET, span, "is not a place for a value").helped(
            "assign to a name, a property or an item: `a = ..`, `a.b = ..`, `a[i] = ..`; compare with `==`",
        );
        self.report(diagnostic);
    }

    /// Returns a placeholder for an expression that could not be read.
    pub(super) fn broken(&self) -> Expression {
        let end = self.previous_end();
        Expression { kind: ExpressionKind::Broken, span: Span::new(end, end) }
    }
}
