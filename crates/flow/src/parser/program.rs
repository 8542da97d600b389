//! Parses the forms of a program and its lists of statements.

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::Diagnostic;

use super::Parser;
use crate::codes;
use crate::token::TokenKind;
use crate::tree::{Block, Form, Name, Statement};

impl Parser<'_> {
    pub(super) fn program(mut self) -> (Form, Block, Vec<Diagnostic>, Vec<Span>) {
        let (form, body) = if self.at_workflow() {
            self.workflow()
        } else if self.at_main() {
            self.main()
        } else {
            let start = self.next_span();
            let statements = self.statements();
            (Form::Bare, Block { statements, span: Span::new(start.range().start, self.source.len()) })
        };
        if form != Form::Bare && !self.at(TokenKind::End) {
            self.outside(&form);
        }
        if body.statements.is_empty() && self.diagnostics.is_empty() {
            let at = if form == Form::Bare { Span::new(0, 0) } else { body.span };
            self.diagnostics.push(
                Diagnostic::new(codes::EMPTY, at, "nothing to do")
                    .helped("write at least one statement, such as `task(\"name\", { })` or `return null`"),
            );
        }
        (form, body, self.diagnostics, self.skipped)
    }

    /// Returns whether `workflow {` or `workflow(` begins the form. Alone, `workflow` is an ordinary name.
    fn at_workflow(&self) -> bool {
        let next = self.token_at(self.position + 1);
        let opens =
            next.kind == TokenKind::LeftBrace || (next.kind == TokenKind::LeftParen && !next.newline_before);
        self.at_word("workflow") && opens
    }

    fn at_main(&self) -> bool {
        self.at_async_function() && self.token_at(self.position + 2).span.text(self.source) == "main"
    }

    fn workflow(&mut self) -> (Form, Block) {
        self.take();
        let parameters = if self.at(TokenKind::LeftParen) { self.parameters() } else { Vec::new() };
        if let Some(third) = parameters.get(2) {
            self.diagnostics.push(
                Diagnostic::new(codes::FORM, third.span, "one too many")
                    .titled("a workflow has at most two parameters")
                    .helped(
                        "the first is the context, the second the inputs: `workflow(ctx, inputs) { .. }`",
                    ),
            );
        }
        let body = self.block("after `workflow`");
        (Form::Workflow { parameters }, body)
    }

    fn parameters(&mut self) -> Vec<Name> {
        let mut names = Vec::new();
        self.items(TokenKind::RightParen, |parser| names.extend(parser.name("the name of a parameter")));
        names
    }

    fn main(&mut self) -> (Form, Block) {
        self.take();
        self.take();
        self.take();
        if self.at(TokenKind::LeftParen) {
            let open = self.next_span();
            let first = self.kind_ahead(1);
            let names = self.parameters();
            if !names.is_empty() && first != TokenKind::RightParen {
                let span = Span::new(open.range().start, self.previous_end());
                self.diagnostics.push(
                    Diagnostic::new(codes::FORM, span, "must be empty")
                        .titled("`main` has no parameters")
                        .helped("read `Inputs` and `Context`, or write `workflow(ctx, inputs) { .. }`"),
                );
            }
        } else {
            self.expect(TokenKind::LeftParen, "after `main`");
        }
        (Form::Main, self.block("after `main()`"))
    }

    /// Reports text after the program, and the syntax errors in that text.
    fn outside(&mut self, form: &Form) {
        let wrapper = if *form == Form::Main { "async function main() { .. }" } else { "workflow { .. }" };
        while self.take_if(TokenKind::Semicolon).is_some() {}
        if self.at(TokenKind::End) {
            return;
        }
        if !self.at(TokenKind::RightBrace) {
            let diagnostic = Diagnostic::new(codes::FORM, self.next_span(), "stands outside of the program")
                .titled(format!("nothing may follow `{wrapper}`"))
                .helped("move it inside the braces, or into a file of its own");
            self.report(diagnostic);
        }
        self.statements();
    }

    /// Parses statements up to a closing brace or the end. A stray closing brace is reported and skipped.
    pub(super) fn statements(&mut self) -> Vec<Statement> {
        let mut statements = Vec::new();
        loop {
            match self.kind() {
                TokenKind::End => break,
                TokenKind::Semicolon => {
                    self.take();
                }
                TokenKind::RightBrace if !self.partners.is_stray(self.position) => break,
                kind if kind.closes() => {
                    let sign = self.next_text();
                    let diagnostic = Diagnostic::new(codes::BRACKET, self.next_span(), "closes nothing")
                        .titled(format!("nothing was opened that this `{sign}` could close"))
                        .helped("remove it, or look for the opening bracket that is missing before it");
                    self.report(diagnostic);
                    self.take();
                    self.complained_at = Some(self.position);
                }
                _ => self.next_statement(&mut statements),
            }
        }
        statements
    }

    fn next_statement(&mut self, statements: &mut Vec<Statement>) {
        let start = self.position;
        statements.extend(self.statement());
        if self.lost {
            self.skip_statement(start);
        }
        if self.position == start {
            self.take();
        }
    }

    /// Parses a block in braces. `after` completes the message if the block is missing.
    pub(super) fn block(&mut self, after: &str) -> Block {
        let start = self.next_span();
        if !self.at(TokenKind::LeftBrace) {
            self.expect(TokenKind::LeftBrace, after);
            self.lost = true;
            return Block {
                statements: Vec::new(),
                span: Span::new(start.range().start, start.range().start),
            };
        }
        let open = self.position;
        if !self.deepen(start) {
            self.skip();
            return Block {
                statements: Vec::new(),
                span: Span::new(start.range().start, self.previous_end()),
            };
        }
        self.take();
        let statements = self.statements();
        self.close(open);
        self.depth -= 1;
        Block { statements, span: Span::new(start.range().start, self.previous_end()) }
    }

    /// Takes the bracket that closes the one at `open`, or reports that it is missing.
    pub(super) fn close(&mut self, open: usize) {
        let (close, sign) = match self.token_at(open).kind {
            TokenKind::LeftParen => (TokenKind::RightParen, ")"),
            TokenKind::LeftBracket => (TokenKind::RightBracket, "]"),
            _ => (TokenKind::RightBrace, "}"),
        };
        if self.take_if(close).is_some() {
            return;
        }
        if self.complained_at == Some(self.position) {
            return;
        }
        let opened = self.token_at(open).span;
        let diagnostic = match self.suspect(open) {
            Some(suspect) => {
                Diagnostic::new(codes::BRACKET, suspect, "seems not to be closed, going by its indent")
            }
            None => Diagnostic::new(codes::BRACKET, opened, "is never closed"),
        };
        self.report(
            diagnostic
                .titled(format!("a `{sign}` is missing"))
                .helped(format!("write `{sign}` before {}", self.describe_next())),
        );
    }

    /// Returns the brace that was probably left open: inside a brace that is never closed, the first whose
    /// partner is indented less than its line.
    fn suspect(&self, open: usize) -> Option<Span> {
        if self.token_at(open).kind != TokenKind::LeftBrace || !self.at(TokenKind::End) {
            return None;
        }
        let mut indent = self.indent(self.token_at(open).span);
        (open + 1..self.tokens.len()).find_map(|index| {
            let token = self.token_at(index);
            if token.newline_before {
                indent = self.indent(token.span);
            }
            let close = self.token_at(self.partners.close_of(index)?);
            let displaced = close.newline_before && self.indent(close.span) < indent;
            (token.kind == TokenKind::LeftBrace && displaced).then_some(token.span)
        })
    }

    /// Returns the number of spaces and tabs at the beginning of the line a span is on.
    fn indent(&self, span: Span) -> usize {
        let before = self.source.get(..span.range().start).unwrap_or_default();
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        let line = self.source.get(line..).unwrap_or_default();
        line.chars().take_while(|character| matches!(character, ' ' | '\t')).count()
    }
}
