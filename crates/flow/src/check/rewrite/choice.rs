//! Rewrites `? :`, `&&`, `||` and `??` as `if` when a conditionally evaluated part contains a wait.

use rhythm_syntax::Span;

use super::Rewriter;
use super::draft::{self, Draft};
use crate::check::expression::bare;
use crate::tree::{Binary, Expression, ExpressionKind, Link};

/// Destination of the value of a choice.
#[derive(Clone)]
pub(super) enum Sink {
    Declare(String),
    Assign(String),
    Return,
    Drop,
}

impl Sink {
    fn line(&self, value: &str) -> String {
        match self {
            Self::Declare(name) => format!("let {name} = {value}"),
            Self::Assign(name) => format!("{name} = {value}"),
            Self::Return => format!("return {value}"),
            Self::Drop => value.to_owned(),
        }
    }
}

impl Rewriter<'_> {
    /// Writes a choice that waits in one of its branches; returns whether the expression is one.
    pub(super) fn choose(&mut self, expression: &Expression, sink: &Sink, draft: &mut Draft) -> bool {
        match &bare(expression).kind {
            ExpressionKind::Conditional { condition, then, otherwise }
                if self.hoists(then.span) || self.hoists(otherwise.span) =>
            {
                let condition = self.value(condition, draft);
                let inner = match sink {
                    Sink::Declare(name) => {
                        draft.line(&format!("let {name} = null"));
                        Sink::Assign(name.clone())
                    }
                    _ => sink.clone(),
                };
                draft.open(&format!("if ({condition}) {{"));
                self.put(then, &inner, draft);
                draft.close("} else {");
                draft.open("");
                self.put(otherwise, &inner, draft);
                draft.close("}");
                true
            }
            ExpressionKind::Chain { first, rest } => self.choose_operand(first, rest, sink, draft),
            _ => false,
        }
    }

    /// Writes a choice under a new name and returns that name.
    pub(super) fn choose_value(&mut self, expression: &Expression, draft: &mut Draft) -> Option<String> {
        let choice = matches!(
            bare(expression).kind,
            ExpressionKind::Conditional { .. } | ExpressionKind::Chain { .. }
        );
        if !choice || !self.hoists(expression.span) {
            return None;
        }
        let mut ahead = self.fresh.clone();
        let name = ahead.next();
        let before = std::mem::replace(&mut self.fresh, ahead);
        if self.choose(expression, &Sink::Declare(name.clone()), draft) {
            return Some(name);
        }
        self.fresh = before;
        None
    }

    fn put(&mut self, expression: &Expression, sink: &Sink, draft: &mut Draft) {
        if self.choose(expression, sink, draft) {
            return;
        }
        let value = match self.waiting(expression, draft) {
            Some(waiting) => waiting,
            None => self.value(expression, draft),
        };
        draft.line(&sink.line(&value));
    }

    /// Writes `a && await b`: the operands before the first wait become the condition of the `if`.
    fn choose_operand(&mut self, first: &Expression, rest: &[Link], sink: &Sink, draft: &mut Draft) -> bool {
        let Some(operator) = rest.first().map(|link| link.operator) else { return false };
        let chooses = matches!(operator, Binary::And | Binary::Or | Binary::Coalesce);
        let Some(at) = rest.iter().position(|link| self.hoists(link.operand.span)).filter(|_| chooses) else {
            return false;
        };
        let end = if at == 0 { first.span.end } else { rest[at - 1].operand.span.end };
        let before: Vec<&Expression> =
            std::iter::once(first).chain(rest[..at].iter().map(|link| &link.operand)).collect();
        let decides = self.spliced(Span { start: first.span.start, end }, &before, draft);
        let test = |value: &str| match operator {
            Binary::And => value.to_owned(),
            Binary::Or => draft::negated(value),
            _ if draft::is_name(value) => format!("{value} == null"),
            _ => format!("({value}) == null"),
        };
        if matches!(sink, Sink::Drop) && at + 1 == rest.len() {
            draft.open(&format!("if ({}) {{", test(&decides)));
            self.put(&rest[at].operand, sink, draft);
            draft.close("}");
            return true;
        }
        let name = match sink {
            Sink::Declare(name) | Sink::Assign(name) => name.clone(),
            Sink::Return | Sink::Drop => self.fresh.next(),
        };
        let assigns = matches!(sink, Sink::Assign(_));
        draft.line(&format!("{}{name} = {decides}", if assigns { "" } else { "let " }));
        for link in &rest[at..] {
            draft.open(&format!("if ({}) {{", test(&name)));
            self.put(&link.operand, &Sink::Assign(name.clone()), draft);
            draft.close("}");
        }
        if matches!(sink, Sink::Return) {
            draft.line(&format!("return {name}"));
        }
        true
    }
}
