//! Formats statements and blocks.

use std::ops::Range;

use rhythm_syntax::Span;

use super::Formatter;
use super::comments::Ends;
use super::doc::Doc;
use super::expression::Place;
use super::items::{Brackets, Entry};
use crate::tree::{
    Arm, Block, Comment, Expression, ExpressionKind, Mutability, Name, PathStepKind, Pattern,
    Place as Access, Statement, StatementKind, Target, Unary, Walk,
};

/// The text before a list of statements.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum After {
    Nothing,
    Brace,
    /// The program or its front matter.
    Program,
}

impl Formatter<'_> {
    /// Formats statements one below the other, with the comments around them. Each begins with its line
    /// break.
    pub(super) fn statements(&self, statements: &[Statement], range: Range<usize>, after: After) -> Vec<Doc> {
        let mut parts = Vec::new();
        let mut end = range.start;
        let mut first = after != After::Program;
        let open = after != After::Nothing;
        for (index, statement) in statements.iter().enumerate() {
            let span = statement.span.range();
            let gap = self.gap(end..span.start, Ends { before: index > 0 || open, after: true });
            let previous = index.checked_sub(1).and_then(|previous| statements.get(previous));
            if previous.is_some_and(|previous| runs_on(previous, statement)) {
                parts.push(Doc::text(";"));
            }
            for comment in gap.suffix.iter().chain(&gap.trailing) {
                parts.extend([Doc::text(" "), self.comment(comment)]);
                end = comment.span.range().end;
            }
            let hoisted = self.hoisted(statement);
            for comment in &gap.leading {
                let at = comment.span.range();
                parts.push(Doc::Break { blank: !first && self.blank_between(end..at.start) });
                parts.push(self.comment(comment));
                (end, first) = (at.end, false);
            }
            let start = gap.prefix.first().map_or(span.start, |comment| comment.span.range().start);
            parts.push(Doc::Break { blank: !first && self.blank_between(end..start) });
            for comment in hoisted {
                parts.extend([self.comment(comment), Doc::BREAK]);
            }
            for comment in &gap.prefix {
                parts.extend([self.comment(comment), Doc::text(" ")]);
            }
            parts.push(self.statement(statement));
            (end, first) = (span.end, false);
        }
        let gap = self.gap(end..range.end, Ends { before: !statements.is_empty() || open, after: false });
        for comment in gap.suffix.iter().chain(&gap.trailing) {
            parts.extend([Doc::text(" "), self.comment(comment)]);
            end = comment.span.range().end;
        }
        for comment in gap.leading.iter().chain(&gap.prefix) {
            let at = comment.span.range();
            parts.push(Doc::Break { blank: !first && self.blank_between(end..at.start) });
            parts.push(self.comment(comment));
            (end, first) = (at.end, false);
        }
        parts
    }

    pub(super) fn block(&self, block: &Block) -> Doc {
        let range = block.span.range();
        let inside = range.start + 1..range.end.saturating_sub(1).max(range.start + 1);
        let parts = self.statements(&block.statements, inside, After::Brace);
        if parts.is_empty() {
            return Doc::text("{}");
        }
        Doc::Concat(vec![Doc::text("{"), Doc::Concat(parts).indent(), Doc::BREAK, Doc::text("}")])
    }

    /// Returns the comments in the head of a statement. They move in front of it, because the head has no
    /// place for them.
    fn hoisted(&self, statement: &Statement) -> Vec<&Comment> {
        self.strays(statement.span.range(), claimed(statement))
    }

    fn statement(&self, statement: &Statement) -> Doc {
        match &statement.kind {
            StatementKind::Declare { mutability, pattern, value } => {
                let mut parts = vec![Doc::text(binding(*mutability)), self.pattern(pattern)];
                if let Some(value) = value {
                    parts.extend([Doc::text(" = "), self.value(value)]);
                }
                Doc::Concat(parts)
            }
            StatementKind::Assign { target, value } => {
                Doc::Concat(vec![self.target(target), Doc::text(" = "), self.value(value)])
            }
            StatementKind::If { arms, otherwise } => self.branch(arms, otherwise.as_ref()),
            StatementKind::While { condition, body } => Doc::Concat(vec![
                Doc::text("while "),
                self.enclosed("(", condition, ")"),
                Doc::text(" "),
                self.block(body),
            ]),
            StatementKind::For { binding: kind, name, walk, items, body } => {
                let word = match walk {
                    Walk::Of => "of",
                    Walk::In => "in",
                };
                let head = format!("{}{} {word} ", kind.map_or("", binding), name.text);
                let head =
                    Doc::Concat(vec![Doc::NOTHING_OR_LINE, Doc::text(head), self.value(items)]).indent();
                let head = vec![Doc::text("for ("), head, Doc::NOTHING_OR_LINE, Doc::text(")")];
                Doc::Concat(vec![Doc::Concat(head).group(), Doc::text(" "), self.block(body)])
            }
            StatementKind::Try { body, error, handler } => self.attempt(body, error.as_ref(), handler),
            StatementKind::Throw(value) => Doc::Concat(vec![Doc::text("throw "), self.value(value)]),
            StatementKind::Break => Doc::text("break"),
            StatementKind::Continue => Doc::text("continue"),
            StatementKind::Return(None) => Doc::text("return"),
            StatementKind::Return(Some(value)) => Doc::Concat(vec![Doc::text("return "), self.value(value)]),
            StatementKind::Block(block) => self.block(block),
            StatementKind::Expression(expression) => self.expression(expression, Place::Statement),
            StatementKind::Function { .. } => self.verbatim(statement.span),
        }
    }

    fn branch(&self, arms: &[Arm], otherwise: Option<&Block>) -> Doc {
        let mut parts = Vec::new();
        let mut end = None;
        for arm in arms {
            match end {
                None => parts.push(Doc::text("if ")),
                Some(end) => {
                    let gap = end..arm.condition.span.range().start;
                    let late = arm.condition.span.range().end..arm.body.span.range().start;
                    parts.push(self.between(gap, late));
                    parts.push(Doc::text("else if "));
                }
            }
            parts.extend([self.enclosed("(", &arm.condition, ")"), Doc::text(" "), self.block(&arm.body)]);
            end = Some(arm.body.span.range().end);
        }
        if let (Some(otherwise), Some(end)) = (otherwise, end) {
            let start = otherwise.span.range().start;
            parts.push(self.between(end..start, start..start));
            parts.extend([Doc::text("else "), self.block(otherwise)]);
        }
        Doc::Concat(parts)
    }

    fn attempt(&self, body: &Block, error: Option<&Name>, handler: &Block) -> Doc {
        let start = handler.span.range().start;
        Doc::Concat(vec![
            Doc::text("try "),
            self.block(body),
            self.between(body.span.range().end..start, start..start),
            Doc::text(error.map_or("catch ".to_owned(), |error| format!("catch ({}) ", error.text))),
            self.block(handler),
        ])
    }

    /// Formats the gap between `}` and the next keyword: a space, or its comments.
    fn between(&self, gap: Range<usize>, late: Range<usize>) -> Doc {
        let comments = self.comments_in(gap.clone()).iter().chain(self.comments_in(late));
        let mut parts = Vec::new();
        let mut end = gap.start;
        for comment in comments {
            let at = comment.span.range();
            let same_line = parts.is_empty() && !self.breaks_line(end..at.start);
            parts.push(if same_line { Doc::text(" ") } else { Doc::BREAK });
            parts.push(self.comment(comment));
            end = at.end;
        }
        parts.push(if parts.is_empty() { Doc::text(" ") } else { Doc::BREAK });
        Doc::Concat(parts)
    }

    fn pattern(&self, pattern: &Pattern) -> Doc {
        match pattern {
            Pattern::Name(name) => Doc::text(&name.text),
            Pattern::Object { names, span } => self.names("{", "}", " ", names, *span),
            Pattern::List { names, span } => self.names("[", "]", "", names, *span),
        }
    }

    fn names(
        &self,
        open: &'static str,
        close: &'static str,
        pad: &'static str,
        names: &[Name],
        span: Span,
    ) -> Doc {
        let range = span.range();
        let entries = names.iter().map(|name| Entry { doc: Doc::text(&name.text), span: name.span });
        let brackets = Brackets { open, close, pad, broken: false };
        self.items(&brackets, range.start + 1..range.end - 1, entries.collect())
    }

    fn target(&self, target: &Target) -> Doc {
        match target {
            Target::List { names, span } => self.names("[", "]", "", names, *span),
            Target::Place { name, path } => {
                let mut parts = vec![Doc::text(&name.text)];
                for access in path {
                    parts.push(match access {
                        Access::Property(name) => Doc::text(format!(".{}", name.text)),
                        Access::Index(index) => self.enclosed("[", index, "]"),
                    });
                }
                Doc::Concat(parts)
            }
        }
    }
}

pub(super) fn binding(mutability: Mutability) -> &'static str {
    match mutability {
        Mutability::Let => "let ",
        Mutability::Const => "const ",
    }
}

/// Returns the parts of a statement that print the comments inside them, in order.
fn claimed(statement: &Statement) -> Vec<Range<usize>> {
    match &statement.kind {
        StatementKind::Declare { pattern, value, .. } => {
            let pattern = match pattern {
                Pattern::Name(name) => name.span,
                Pattern::Object { span, .. } | Pattern::List { span, .. } => *span,
            };
            std::iter::once(pattern).chain(value.as_ref().map(|value| value.span)).map(Span::range).collect()
        }
        StatementKind::Assign { target, value } => {
            let mut spans = match target {
                Target::List { span, .. } => vec![*span],
                Target::Place { path, .. } => path.iter().filter_map(index_span).collect(),
            };
            spans.push(value.span);
            spans.into_iter().map(Span::range).collect()
        }
        StatementKind::If { arms, otherwise } => {
            let mut ranges = Vec::new();
            for (index, arm) in arms.iter().enumerate() {
                // Comments between two arms belong to the second one.
                let start = match index.checked_sub(1).and_then(|previous| arms.get(previous)) {
                    Some(previous) => previous.body.span.range().end,
                    None => arm.condition.span.range().start,
                };
                ranges.push(start..arm.condition.span.range().end);
                let body = arm.body.span.range();
                ranges.push(if index > 0 { arm.condition.span.range().end..body.end } else { body });
            }
            if let (Some(otherwise), Some(last)) = (otherwise, arms.last()) {
                ranges.push(last.body.span.range().end..otherwise.span.range().end);
            }
            ranges
        }
        StatementKind::While { condition, body } => vec![condition.span.range(), body.span.range()],
        StatementKind::For { items, body, .. } => vec![items.span.range(), body.span.range()],
        StatementKind::Try { body, handler, .. } => {
            vec![body.span.range(), body.span.range().end..handler.span.range().end]
        }
        StatementKind::Throw(value) | StatementKind::Return(Some(value)) => vec![value.span.range()],
        StatementKind::Block(_) | StatementKind::Expression(_) | StatementKind::Function { .. } => {
            vec![statement.span.range()]
        }
        StatementKind::Break | StatementKind::Continue | StatementKind::Return(None) => Vec::new(),
    }
}

fn index_span(access: &Access) -> Option<Span> {
    match access {
        Access::Property(_) => None,
        Access::Index(index) => Some(index.span),
    }
}

/// Returns whether the second statement, on the next line, would be read as part of the first.
fn runs_on(first: &Statement, second: &Statement) -> bool {
    let ends_open = matches!(
        first.kind,
        StatementKind::Declare { value: Some(_), .. }
            | StatementKind::Assign { .. }
            | StatementKind::Throw(_)
            | StatementKind::Return(Some(_))
            | StatementKind::Expression(_)
    );
    match &second.kind {
        StatementKind::Expression(expression) => ends_open && begins_with_minus(expression),
        StatementKind::Block(_) => is_workflow(first),
        _ => false,
    }
}

fn begins_with_minus(expression: &Expression) -> bool {
    let mut leftmost = expression;
    loop {
        leftmost = match &leftmost.kind {
            ExpressionKind::Unary { operator, .. } => return *operator == Unary::Negate,
            ExpressionKind::Chain { first, .. } => first,
            ExpressionKind::Conditional { condition, .. } => condition,
            ExpressionKind::Path { base, .. } => base,
            _ => return false,
        };
    }
}

/// Returns whether this is `workflow` or `workflow(..)`, which before a brace would begin a program.
fn is_workflow(statement: &Statement) -> bool {
    let StatementKind::Expression(expression) = &statement.kind else { return false };
    let mut base = expression;
    if let ExpressionKind::Path { base: inner, steps } = &base.kind
        && matches!(steps.as_slice(), [step] if matches!(step.kind, PathStepKind::Call(_)))
    {
        base = inner;
    }
    while let ExpressionKind::Group(inner) = &base.kind {
        base = inner;
    }
    matches!(&base.kind, ExpressionKind::Name(name) if name == "workflow")
}
