//! Walks over expressions and tracks where each value stands.

use std::collections::BTreeSet;

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::Diagnostic;

use super::Checker;
use super::place::{Context, Place};
use crate::codes;
use crate::tree::{Binary, Expression, ExpressionKind, Link, PathStepKind, Property, PropertyValue};

impl<'t> Checker<'t> {
    pub(super) fn expression(&mut self, expression: &'t Expression, context: Context<'t>) {
        match &expression.kind {
            ExpressionKind::Null
            | ExpressionKind::Boolean(_)
            | ExpressionKind::Number(_)
            | ExpressionKind::Text(_) => {}
            ExpressionKind::List(items) => {
                for item in items {
                    self.expression(item, context.member(Place::Item));
                }
            }
            ExpressionKind::Object(properties) => self.object(properties, context),
            ExpressionKind::Name(name) => {
                self.read(name, expression.span);
                self.handle_read(name, expression.span, context);
            }
            ExpressionKind::Group(inner) => self.expression(inner, context),
            ExpressionKind::Unary { operand, .. } => {
                self.expression(operand, context.within(Place::Operand));
            }
            ExpressionKind::Chain { first, rest } => self.chain(first, rest, context),
            ExpressionKind::Conditional { condition, then, otherwise } => {
                self.condition(condition, context.within(Place::Condition));
                self.expression(then, context.within(Place::Branch));
                self.expression(otherwise, context.within(Place::Branch));
            }
            ExpressionKind::Path { base, steps } => self.path(expression, base, steps, context),
            ExpressionKind::Await(awaited) => {
                self.effect = true;
                self.await_placed(expression, awaited, context);
                self.expression(awaited, Context::at(Place::Awaited));
            }
            ExpressionKind::Closure => self.closure(expression),
            ExpressionKind::Broken => self.effect = true,
        }
    }

    fn object(&mut self, properties: &'t [Property], context: Context<'t>) {
        let mut keys = BTreeSet::new();
        for property in properties {
            if !keys.insert(property.key.text.as_str()) {
                let key = self.brief(property.key.span, "..");
                self.report.add(codes::KEY_TWICE, || {
                    Diagnostic::new(codes::KEY_TWICE, property.key.span, "again")
                        .titled(format!("the key `{key}` is given twice"))
                        .helped("only the last value counts: remove the others or rename them")
                });
            }
            match &property.value {
                PropertyValue::Given(value) | PropertyValue::Shorthand(value) => {
                    self.expression(value, context.member(Place::Field));
                }
            }
        }
    }

    fn chain(&mut self, first: &'t Expression, rest: &'t [Link], context: Context<'t>) {
        let mut left = first;
        self.operand(first, rest.first().map(|link| (link.operator, &link.operand)), context, Place::Operand);
        for (index, link) in rest.iter().enumerate() {
            let chooses = matches!(link.operator, Binary::And | Binary::Or | Binary::Coalesce);
            let place = if chooses && index + 1 == rest.len() { Place::Branch } else { Place::Operand };
            self.operand(&link.operand, Some((link.operator, left)), context, place);
            left = &link.operand;
        }
    }

    fn operand(
        &mut self,
        operand: &'t Expression,
        compared: Option<(Binary, &'t Expression)>,
        context: Context<'t>,
        place: Place,
    ) {
        if let (Some((operator @ (Binary::Equal | Binary::NotEqual), other)), ExpressionKind::Name(name)) =
            (compared, &bare(operand).kind)
            && name == "undefined"
            && !self.scopes.hides(name)
        {
            return self.compared_with_undefined(operand.span, operator, other);
        }
        self.expression(operand, context.within(place));
    }

    /// Refuses `x.name === undefined`: the language reads a missing field with `?.`, which gives null.
    fn compared_with_undefined(&mut self, span: Span, operator: Binary, other: &'t Expression) {
        let asked = optional_path(other).unwrap_or_else(|| self.brief(other.span, "value").to_owned());
        let sign = if operator == Binary::Equal { "==" } else { "!=" };
        self.report.add(codes::UNKNOWN_NAME, || {
            Diagnostic::new(codes::UNKNOWN_NAME, span, "no such value")
                .titled("there is no `undefined`")
                .helped(format!("write `{asked} {sign} null`"))
        });
    }
}

/// Returns a path of names written with `?.`, so that any of them may be missing.
fn optional_path(expression: &Expression) -> Option<String> {
    match &bare(expression).kind {
        ExpressionKind::Name(name) => Some(name.clone()),
        ExpressionKind::Path { base, steps } if steps.len() <= 8 => {
            let ExpressionKind::Name(base) = &base.kind else { return None };
            let names: Option<Vec<&str>> = steps
                .iter()
                .map(|step| match &step.kind {
                    PathStepKind::Property { name, .. } => Some(name.text.as_str()),
                    _ => None,
                })
                .collect();
            names.map(|names| format!("{base}?.{}", names.join("?.")))
        }
        _ => None,
    }
}

/// Returns the expression inside any round brackets.
pub(super) fn bare(mut expression: &Expression) -> &Expression {
    while let ExpressionKind::Group(inner) = &expression.kind {
        expression = inner;
    }
    expression
}
