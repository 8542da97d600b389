//! Recognises JavaScript that is not part of the language, reports what to write instead, and continues after
//! it.

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::Diagnostic;

use super::Parser;
use crate::codes;
use crate::token::{Keyword, TokenKind};
use crate::tree::{Expression, Mutability, Name, StatementKind};

/// Words of other languages for `else if`.
pub const ELSE_IFS: &[&str] = &["elseif", "elif", "elsif", "elseIf"];

impl Parser<'_> {
    fn refuse(&mut self, span: Span, title: &str, label: &str, help: &str) {
        self.report(Diagnostic::new(codes::FOREIGN, span, label).titled(title).helped(help));
    }

    /// Reports that the next token is not part of the language.
    fn refuse_next(&mut self, help: &str) {
        let word = self.next_text();
        let title = format!("there is no `{word}`");
        self.refuse(self.next_span(), &title, "not part of the language", help);
    }

    pub(super) fn foreign_statement(&mut self, keyword: Keyword) -> Option<StatementKind> {
        match keyword {
            Keyword::Var => {
                self.refuse_var();
                return Some(self.declare(Mutability::Let));
            }
            Keyword::Switch => self.refuse_switch(),
            Keyword::Do => self.refuse_do(),
            Keyword::Finally => self.refuse_finally(),
            Keyword::Class => self.refuse_class(),
            _ => {
                self.refuse_next(
                    "a file is one program; call other workflows with `Workflow.run(name, inputs)`",
                );
                self.take();
                while self.on_same_line() && !self.at(TokenKind::End) && !self.at(TokenKind::RightBrace) {
                    self.skip();
                }
            }
        }
        None
    }

    pub(super) fn refuse_var(&mut self) {
        self.refuse_next("write `let`, or `const` for what never changes");
    }

    fn refuse_switch(&mut self) {
        self.refuse_next("write `if (..) { .. } else if (..) { .. } else { .. }`");
        self.take();
        self.skip_if(TokenKind::LeftParen);
        self.skip_if(TokenKind::LeftBrace);
    }

    fn refuse_do(&mut self) {
        self.refuse_next("write `while (true) { .. }` and leave it with `break`");
        self.take();
        self.body("do");
        if self.take_keyword(Keyword::While) {
            self.skip_if(TokenKind::LeftParen);
        }
    }

    fn refuse_class(&mut self) {
        self.refuse_next("data are plain objects: `{ name: value }`; behaviour belongs in tasks");
        while !matches!(self.kind(), TokenKind::LeftBrace | TokenKind::End | TokenKind::Semicolon) {
            self.take();
        }
        self.skip_if(TokenKind::LeftBrace);
    }

    pub(super) fn refuse_finally(&mut self) {
        self.refuse_next(
            "write what always has to happen after the `try`, and in the `catch` before it throws on",
        );
        self.take();
        self.body("finally");
    }

    fn skip_if(&mut self, kind: TokenKind) {
        if self.at(kind) {
            self.skip();
        }
    }

    /// Refuses `let x: number`.
    pub(super) fn refuse_type(&mut self) {
        if !self.at(TokenKind::Colon) {
            return;
        }
        self.refuse(self.next_span(), "names have no types", "a type", "leave it out: `let name = value`");
        while !matches!(self.kind(), TokenKind::Assign | TokenKind::Semicolon | TokenKind::End)
            && !self.kind().closes()
            && self.on_same_line()
        {
            self.skip();
        }
    }

    /// Refuses `let a = 1, b = 2`.
    pub(super) fn refuse_more_names(&mut self) {
        while !self.lost && self.at(TokenKind::Comma) {
            self.refuse(
                self.next_span(),
                "a `let` declares one name",
                "a second one",
                "write a `let` for each, on lines of their own",
            );
            self.take();
            self.pattern();
            if self.take_if(TokenKind::Assign).is_some() {
                self.expression();
            }
        }
    }

    /// Refuses assignments, `x += 1` and `x++` in place of a value.
    pub(super) fn refuse_assignment(&mut self) {
        while !self.lost {
            match self.kind() {
                TokenKind::Assign => {
                    let diagnostic = Diagnostic::new(codes::UNEXPECTED, self.next_span(), "assigns")
                        .titled("an assignment is a statement and has no value")
                        .helped("assign on a line of its own first; to compare write `==`");
                    self.report(diagnostic);
                    self.take();
                    self.conditional();
                }
                TokenKind::Compound | TokenKind::Increment if self.on_same_line() => {
                    let title = format!("there is no `{}`", self.next_text());
                    let help = "change the value on a line of its own: `count = count + 1`";
                    self.refuse(self.next_span(), &title, "not part of the language", help);
                    if self.take().kind == TokenKind::Compound {
                        self.conditional();
                    }
                }
                _ => break,
            }
        }
    }

    /// Refuses `x += 1` and `x++` as statements.
    pub(super) fn refuse_compound(&mut self, expression: Expression) -> StatementKind {
        let sign = self.next_text();
        let target = expression.span.text(self.source);
        let target = if target.len() > 40 || target.contains('\n') { "x" } else { target };
        let compound = self.at(TokenKind::Compound);
        let operator = if compound { sign.trim_end_matches('=') } else { sign.get(..1).unwrap_or_default() };
        let value = if compound { ".." } else { "1" };
        let title = format!("there is no `{sign}`");
        let help = format!("write `{target} = {target} {operator} {value}`");
        self.refuse(self.next_span(), &title, "not part of the language", &help);
        self.take();
        if compound {
            self.expression();
        }
        StatementKind::Expression(expression)
    }

    /// Refuses and takes an unknown prefix operator.
    pub(super) fn refuse_prefix(&mut self) -> bool {
        let help = match self.kind() {
            TokenKind::Keyword(Keyword::New) => match self.token_at(self.position + 1).span.text(self.source)
            {
                "Date" => "the time is `Time.now()`",
                "Map" | "Set" => "write an object, `{ .. }`, or a list, `[ .. ]`",
                "Promise" => "start work and wait for it: `await Task.run(name, inputs)`",
                name if name.ends_with("Error") => "an error is thrown as it is: `throw \"why\"`",
                _ => "write data as it is: `{ .. }` or `[ .. ]`",
            },
            TokenKind::Keyword(Keyword::Typeof) => {
                self.refuse_typeof();
                return true;
            }
            TokenKind::Keyword(Keyword::Delete) => {
                "make a new object without the property, or set it to `null`"
            }
            TokenKind::Keyword(Keyword::Void) => "write `null`",
            TokenKind::Keyword(Keyword::Yield) => "write `await`, and `return` for the result",
            TokenKind::Plus => "leave the `+` out; to read a number from a string use `JSON.parse(text)`",
            TokenKind::Increment if self.next_text() == "++" => {
                "change the value on a line of its own: `x = x + 1`"
            }
            TokenKind::Increment => {
                "write `x = x - 1` on a line of its own; twice the sign needs a space: `- -x`"
            }
            TokenKind::Spread if self.kind_ahead(1).closes() => "write out what the dots stand for",
            TokenKind::Spread => "join lists with `a.concat(b)` and objects with `Object.merge(a, b)`",
            TokenKind::Bitwise if self.next_text() == "~" => {
                "there are no operators on bits; a task can do it"
            }
            _ => return false,
        };
        if self.at(TokenKind::Plus) {
            self.refuse(self.next_span(), "there is no `+` for one value", "not part of the language", help);
        } else {
            self.refuse_next(help);
        }
        self.take();
        if self.kind().closes() {
            // The operator has no operand.
            self.complained_at = Some(self.position);
        }
        true
    }

    /// Refuses `typeof inputs.name === "undefined"`.
    fn refuse_typeof(&mut self) {
        let asked = self.path_ahead(self.position + 1).unwrap_or_else(|| "value?.name".to_owned());
        self.refuse_next(&format!(
            "to ask whether a value is there write `{asked} == null`; nothing tells its kind"
        ));
        self.take();
        if self.kind().closes() {
            self.complained_at = Some(self.position);
        }
    }

    /// Returns the path of names that begins at a token, written with `?.` so that any of them may be
    /// missing.
    fn path_ahead(&self, start: usize) -> Option<String> {
        const LONGEST: usize = 8;
        let name = |index: usize| {
            let token = self.token_at(index);
            (token.kind == TokenKind::Name).then(|| token.span.text(self.source))
        };
        let mut path = name(start)?.to_owned();
        let mut index = start + 1;
        while matches!(self.token_at(index).kind, TokenKind::Dot | TokenKind::OptionalDot)
            && index < start + 2 * LONGEST
        {
            path.push_str("?.");
            path.push_str(name(index + 1)?);
            index += 2;
        }
        Some(path)
    }

    /// Refuses `throw new Error("boom")`, from the `new` on.
    pub(super) fn refuse_new_error(&mut self) -> bool {
        let name = self.token_at(self.position + 1);
        let open = self.position + 2;
        let is_error = name.kind == TokenKind::Name && name.span.text(self.source).ends_with("Error");
        if !(self.at_keyword(Keyword::New) && is_error && self.token_at(open).kind == TokenKind::LeftParen) {
            return false;
        }
        let Some(close) = self.partners.close_of(open) else { return false };
        let span = self.next_span().to(self.token_at(close).span);
        let inside = Span::new(self.token_at(open).span.range().end, self.token_at(close).span.range().start);
        let given = match inside.text(self.source).trim() {
            text if text.is_empty() || text.len() > 60 || text.contains('\n') => "\"why\"",
            text => text,
        };
        let help = format!("write `throw {given}`");
        self.refuse(span, "there is no `new`", "an error needs no class", &help);
        self.take();
        self.take();
        self.skip();
        true
    }

    /// Refuses `and`, `or` and `not` of other languages in place of an operator.
    pub(super) fn refuse_word_operator(&mut self) -> bool {
        let previous = self.position.checked_sub(1).map(|previous| self.token_at(previous));
        let (token, help) = match (self.kind(), previous) {
            (TokenKind::Name, _) if matches!(self.next_text(), "and" | "AND") => (self.next(), "write `&&`"),
            (TokenKind::Name, _) if matches!(self.next_text(), "or" | "OR") => (self.next(), "write `||`"),
            (_, Some(previous))
                if previous.kind == TokenKind::Name
                    && matches!(previous.span.text(self.source), "not" | "NOT")
                    && self.begins_expression() =>
            {
                (previous, "write `!`, as in `!done`")
            }
            _ => return false,
        };
        let title = format!("there is no `{}`", token.span.text(self.source));
        self.refuse(token.span, &title, "not part of the language", help);
        self.lost = true;
        true
    }

    /// Refuses `} else {` after `elseif (..) {` and points at the `elseif`.
    pub(super) fn refuse_else_after_elseif(&mut self) -> bool {
        let brace = self.position.checked_sub(1).and_then(|close| self.partners.open_of(close));
        let bracket = brace.and_then(|brace| brace.checked_sub(1));
        let open = bracket.and_then(|close| self.partners.open_of(close));
        let Some(word) = open.and_then(|open| open.checked_sub(1)).map(|index| self.token_at(index)) else {
            return false;
        };
        let text = word.span.text(self.source);
        if word.kind != TokenKind::Name || !ELSE_IFS.contains(&text) {
            return false;
        }
        let title = format!("there is no `{text}`");
        self.refuse(word.span, &title, "not part of the language", "write `else if (..) { .. }`");
        true
    }

    /// Refuses unknown infix operators, with their operands.
    pub(super) fn refuse_operators(&mut self) {
        while !self.lost {
            let help = match self.kind() {
                TokenKind::Power => "multiply, or use a task",
                TokenKind::Bitwise => match self.next_text() {
                    "&" => "write `&&`",
                    "|" => "write `||`",
                    _ => "there are no operators on bits; a task can do it",
                },
                TokenKind::Keyword(Keyword::Instanceof) => {
                    "compare the `type` or `code` of an error: `e.code == \"TIMEOUT\"`"
                }
                TokenKind::Keyword(Keyword::In) => {
                    "to ask for a key write `Object.has(object, key)`; for a list `list.includes(x)`"
                }
                _ => break,
            };
            let title = match self.kind() {
                TokenKind::Keyword(Keyword::In) => "`in` is no operator".to_owned(),
                _ => format!("there is no `{}`", self.next_text()),
            };
            self.refuse(self.next_span(), &title, "not part of the language", help);
            self.take();
            self.unary();
        }
    }

    /// Refuses `a?.(x)` and `a?.[x]`, after the `?.`.
    pub(super) fn refuse_optional_brackets(&mut self) -> bool {
        let help = match self.kind() {
            TokenKind::LeftParen => "call it without `?.`, or ask first: `if (a != null) { .. }`",
            TokenKind::LeftBracket => "write `a?.name`, or ask first: `if (a != null) { .. }`",
            _ => return false,
        };
        let span = Span::new(self.previous_end() - 2, self.next_span().range().end);
        // A comment or a line break may stand between the two.
        let title = format!("there is no `?.{}`", self.next_text());
        self.refuse(span, &title, "only a name can follow `?.`", help);
        self.tokens[self.position].newline_before = false;
        true
    }

    /// Refuses `for await (..)`.
    pub(super) fn refuse_for_await(&mut self) {
        let help = "wait inside the loop: `for (const x of list) { let y = await .. }`";
        self.refuse(self.next_span(), "there is no `for await`", "not part of the language", help);
        self.take();
    }

    /// Refuses `for (let i = 0; ..; ..)`, recognised by its semicolons.
    pub(super) fn refuse_counting(&mut self, open: usize) -> bool {
        let Some(close) = self.partners.close_of(open) else { return false };
        let mut index = open + 1;
        while index < close && self.token_at(index).kind != TokenKind::Semicolon {
            index = self.partners.close_of(index).unwrap_or(index) + 1;
        }
        if index >= close {
            return false;
        }
        let span = self.token_at(open).span.to(self.token_at(close).span);
        self.refuse(
            span,
            "a `for` does not count",
            "not part of the language",
            "walk a list with `for (const x of list) { .. }`,\nor count with `let i = 0` and `while (i < n) { .. i = i + 1 }`",
        );
        true
    }

    /// Refuses `for (const [key, value] of ..)`.
    pub(super) fn refuse_walk_pattern(&mut self) -> bool {
        if !matches!(self.kind(), TokenKind::LeftBracket | TokenKind::LeftBrace) {
            return false;
        }
        let close = self.partners.close_of(self.position).unwrap_or(self.position);
        let span = self.next_span().to(self.token_at(close).span);
        let pattern = span.text(self.source);
        let pattern = if pattern.len() > 40 || pattern.contains('\n') { "[a, b]" } else { pattern };
        let help =
            format!("name the item, then take it apart: `for (const item of ..) {{ const {pattern} = item`");
        self.report(
            Diagnostic::new(codes::PATTERN, span, "a pattern").titled("a loop names its item").helped(help),
        );
        true
    }

    /// Refuses `{ a: 1 }` as a statement, where braces begin a block.
    pub(super) fn refuse_object_statement(&mut self) -> Option<StatementKind> {
        let diagnostic = Diagnostic::new(codes::UNEXPECTED, self.next_span(), "begins a block here")
            .titled("a statement cannot begin with an object")
            .helped("assign it, as in `let order = { .. }`; after `return` it begins on the same line");
        self.report(diagnostic);
        self.skip();
        self.complained_at = Some(self.position);
        None
    }

    /// Refuses a token that cannot be the key of an object.
    pub(super) fn refuse_key(&mut self) -> bool {
        match self.kind() {
            TokenKind::LeftBracket => {
                let close = self.partners.close_of(self.position).unwrap_or(self.position);
                let span = self.next_span().to(self.token_at(close).span);
                let help = "keys are names or strings; assign one that is computed: `object[key] = value`";
                self.refuse(span, "a key cannot be computed", "a computed key", help);
                self.skip();
                if self.take_if(TokenKind::Colon).is_some() {
                    self.expression();
                }
            }
            TokenKind::Number => {
                let help = format!("write \"{}\" in quotes", self.next_text());
                self.refuse(self.next_span(), "a number is no key", "expected a name or a string", &help);
                self.take();
                if self.take_if(TokenKind::Colon).is_some() {
                    self.expression();
                }
            }
            TokenKind::Spread => {
                self.refuse_prefix();
                if self.begins_expression() {
                    self.expression();
                }
            }
            _ => return false,
        }
        true
    }

    /// Refuses `{ a[0] }`, `{ a() }`, `{ a?.b }`, `{ a = 1 }` and `{ get a() { .. } }`.
    pub(super) fn refuse_after_shorthand(&mut self, key: &Name) {
        let key = &key.text;
        let (title, help) = match self.kind() {
            TokenKind::LeftParen | TokenKind::LeftBracket if !self.on_same_line() => return,
            TokenKind::LeftParen => {
                ("objects have no methods", format!("write `{key}: value`; work is done in tasks"))
            }
            TokenKind::Assign => ("a value follows a colon", format!("write `{key}: value`")),
            TokenKind::LeftBracket | TokenKind::OptionalDot => {
                ("a value needs its key", format!("write `key: {key}..`"))
            }
            _ => return,
        };
        self.refuse(self.next_span(), title, "expected `,` or `}`", &help);
        self.lost = true;
    }

    /// Refuses a label: `name:` before a loop.
    pub(super) fn refuse_label(&mut self) {
        let help = "leave an inner loop with `break` and ask for a name you set, or put it into a task";
        self.refuse(self.next_span(), "there are no labels", "not part of the language", help);
        self.take();
    }

    /// Returns whether `workflow { .. }` begins here, after other statements.
    pub(super) fn at_inner_workflow(&self) -> bool {
        let next = self.position + 1;
        let body = match self.token_at(next).kind {
            TokenKind::LeftParen if !self.token_at(next).newline_before => {
                self.partners.close_of(next).map(|close| close + 1)
            }
            _ => Some(next),
        };
        self.at_word("workflow") && body.is_some_and(|body| self.token_at(body).kind == TokenKind::LeftBrace)
    }

    pub(super) fn inner_workflow(&mut self) -> Option<StatementKind> {
        let diagnostic = Diagnostic::new(codes::FORM, self.next_span(), "a program of its own")
            .titled("`workflow { .. }` is always the whole file")
            .helped("move the statements around it into its braces");
        self.report(diagnostic);
        self.take();
        self.skip_if(TokenKind::LeftParen);
        Some(StatementKind::Block(self.block("after `workflow`")))
    }
}
