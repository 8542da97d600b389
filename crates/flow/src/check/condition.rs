//! Warns about conditions that never change and statements without effect.

use rhythm_syntax::diagnostic::Diagnostic;

use super::Checker;
use super::expression::bare;
use super::place::Context;
use crate::codes;
use crate::tree::{Binary, Expression, ExpressionKind, PathStep, PathStepKind, Unary};

impl<'t> Checker<'t> {
    pub(super) fn condition(&mut self, condition: &'t Expression, context: Context<'t>) {
        if let Some(value) = constant(condition) {
            let (always, help) = match value {
                true => ("true", "remove the condition, or compare something that can change"),
                false => ("false", "remove what it guards, or compare something that can change"),
            };
            self.report.add(codes::CONSTANT_CONDITION, || {
                Diagnostic::new(codes::CONSTANT_CONDITION, condition.span, format!("always {always}"))
                    .titled(format!("this condition is always {always}"))
                    .helped(help)
            });
        }
        self.expression(condition, context);
    }

    pub(super) fn no_effect(&mut self, expression: &'t Expression) {
        if !self.report.wants(codes::NO_EFFECT) {
            return;
        }
        let text = self.brief(expression.span, "value");
        let (label, help) = match &bare(expression).kind {
            ExpressionKind::Chain { first, rest }
                if rest.iter().any(|link| link.operator == Binary::Equal) =>
            {
                let place = self.brief(first.span, "x");
                (
                    "compares",
                    format!("to assign write `{place} = ..`; to use the result, `if ({text}) {{ .. }}`"),
                )
            }
            ExpressionKind::Path { base, steps } if steps.last().is_some_and(is_call) => match &base.kind {
                ExpressionKind::Name(name) if self.scopes.hides(name) => (
                    "its result is dropped",
                    format!("values never change in place: keep the result, as in `{name} = {text}`"),
                ),
                _ => ("its result is dropped", format!("keep the result: `let result = {text}`")),
            },
            _ => (
                "computed and dropped",
                format!("to end with this value write `return {text}`; or remove it"),
            ),
        };
        self.report
            .add(codes::NO_EFFECT, || Diagnostic::new(codes::NO_EFFECT, expression.span, label).helped(help));
    }
}

fn is_call(step: &PathStep) -> bool {
    matches!(step.kind, PathStepKind::Call(_))
}

/// Returns the truth value of a literal condition.
pub(super) fn constant(expression: &Expression) -> Option<bool> {
    match &bare(expression).kind {
        ExpressionKind::Null => Some(false),
        ExpressionKind::Boolean(value) => Some(*value),
        ExpressionKind::Number(text) => text.parse::<f64>().ok().map(|number| number != 0.0),
        ExpressionKind::Text(text) => Some(!text.is_empty()),
        ExpressionKind::List(_) | ExpressionKind::Object(_) => Some(true),
        ExpressionKind::Unary { operator: Unary::Not, operand } => constant(operand).map(|value| !value),
        _ => None,
    }
}
