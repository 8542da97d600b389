//! The walk over expressions: every value with its place.

use std::collections::BTreeSet;

use super::Checker;
use super::place::{Context, Place};
use crate::flow::codes;
use crate::flow::diagnostic::Diagnostic;
use crate::flow::tree::{Binary, Expression, ExpressionKind, Link, Property, PropertyValue};

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
            ExpressionKind::Name(name) => self.read(name, expression.span),
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
        self.expression(first, context.within(Place::Operand));
        for (index, link) in rest.iter().enumerate() {
            let chooses = matches!(link.operator, Binary::And | Binary::Or | Binary::Coalesce);
            let place = if chooses && index + 1 == rest.len() { Place::Branch } else { Place::Operand };
            self.expression(&link.operand, context.within(place));
        }
    }
}

/// What is inside of any brackets around it.
pub(super) fn bare(mut expression: &Expression) -> &Expression {
    while let ExpressionKind::Group(inner) = &expression.kind {
        expression = inner;
    }
    expression
}
