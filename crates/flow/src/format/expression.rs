//! Formats expressions.

use std::ops::Range;
use std::rc::Rc;

use rhythm_syntax::Span;

use super::Formatter;
use super::doc::{Doc, Hug};
use super::items::{Brackets, Entry};
use super::text::quoted;
use crate::tree::{Expression, ExpressionKind, Link, PathStep, PathStepKind, Property, PropertyValue, Unary};

/// Number of method calls in a row from which each may get its own line.
const LONG_PATH: usize = 3;

/// Position of an expression, as far as it decides whether brackets are needed.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Place {
    /// At the start of a statement.
    Statement,
    /// Between signs that separate it from its surroundings.
    Delimited,
    Operand,
    /// Followed by accesses or calls.
    Base,
}

impl Formatter<'_> {
    pub(super) fn value(&self, expression: &Expression) -> Doc {
        self.expression(expression, Place::Delimited)
    }

    pub(super) fn expression(&self, expression: &Expression, place: Place) -> Doc {
        if self.has_stray(expression.span, parts(expression)) {
            return self.verbatim(expression.span);
        }
        let written = expression.span.text(self.source);
        match &expression.kind {
            ExpressionKind::Text(meaning) => Doc::text(quoted(written, meaning)),
            ExpressionKind::Null
            | ExpressionKind::Boolean(_)
            | ExpressionKind::Number(_)
            | ExpressionKind::Name(_) => Doc::text(written),
            ExpressionKind::Closure | ExpressionKind::Broken => self.verbatim(expression.span),
            ExpressionKind::List(items) => self.list(items, inside(expression.span)),
            ExpressionKind::Object(properties) => self.object(properties, inside(expression.span)),
            ExpressionKind::Group(inner) => self.group(inner, place),
            ExpressionKind::Unary { operator, operand } => self.unary(*operator, operand),
            ExpressionKind::Await(inner) => {
                Doc::Concat(vec![Doc::text("await "), self.expression(inner, Place::Operand)])
            }
            ExpressionKind::Chain { first, rest } => {
                let (first, rest) = self.chain(first, rest);
                Doc::Concat(vec![first, rest.indent()]).group()
            }
            ExpressionKind::Conditional { condition, then, otherwise } => {
                let branch = |sign: &str, value| {
                    let value = self.expression(value, Place::Operand);
                    Doc::Concat(vec![Doc::SPACE_OR_LINE, Doc::text(sign), value])
                };
                let branches = Doc::Concat(vec![branch("? ", then), branch(": ", otherwise)]).indent();
                Doc::Concat(vec![self.expression(condition, Place::Operand), branches]).group()
            }
            ExpressionKind::Path { base, steps } => self.path(base, steps),
        }
    }

    fn group(&self, inner: &Expression, place: Place) -> Doc {
        let inner = self.without_groups(inner);
        let needless = match inner.kind {
            ExpressionKind::Name(_) => true,
            ExpressionKind::Null
            | ExpressionKind::Boolean(_)
            | ExpressionKind::Number(_)
            | ExpressionKind::Text(_) => place != Place::Base,
            ExpressionKind::Chain { .. }
            | ExpressionKind::Conditional { .. }
            | ExpressionKind::Unary { .. }
            | ExpressionKind::List(_)
            | ExpressionKind::Object(_) => place == Place::Delimited,
            _ => false,
        };
        if needless {
            return self.expression(inner, place);
        }
        self.enclosed("(", inner, ")")
    }

    /// Formats a value between brackets, which may go on lines of their own.
    pub(super) fn enclosed(&self, open: &str, inner: &Expression, close: &str) -> Doc {
        let value = self.without_groups(inner);
        // The brackets already indent a chain.
        let value = match &value.kind {
            ExpressionKind::Chain { first, rest } if !self.has_stray(value.span, parts(value)) => {
                let (first, rest) = self.chain(first, rest);
                Doc::Concat(vec![first, rest])
            }
            _ => self.value(inner),
        };
        let inner = Doc::Concat(vec![Doc::NOTHING_OR_LINE, value]).indent();
        Doc::Concat(vec![Doc::text(open), inner, Doc::NOTHING_OR_LINE, Doc::text(close)]).group()
    }

    /// Removes round brackets that contain no comments of their own.
    fn without_groups<'e>(&self, mut expression: &'e Expression) -> &'e Expression {
        while let ExpressionKind::Group(inner) = &expression.kind
            && !self.has_stray(expression.span, parts(expression))
        {
            expression = inner;
        }
        expression
    }

    fn unary(&self, operator: Unary, operand: &Expression) -> Doc {
        let sign = match (operator, &operand.kind) {
            (Unary::Not, _) => "!",
            // Without a space the two signs would be read as one.
            (Unary::Negate, ExpressionKind::Unary { operator: Unary::Negate, .. }) => "- ",
            (Unary::Negate, _) => "-",
        };
        Doc::Concat(vec![Doc::text(sign), self.expression(operand, Place::Operand)])
    }

    /// Returns the first operand, and the others with their operators.
    fn chain(&self, first: &Expression, rest: &[Link]) -> (Doc, Doc) {
        let mut following = Vec::new();
        for link in rest {
            following.extend([
                Doc::text(format!(" {}", link.operator_span.text(self.source))),
                Doc::SPACE_OR_LINE,
                self.expression(&link.operand, Place::Operand),
            ]);
        }
        (self.expression(first, Place::Operand), Doc::Concat(following))
    }

    fn path(&self, base: &Expression, steps: &[PathStep]) -> Doc {
        let calls = |pair: &[PathStep]| {
            matches!(pair, [first, second]
                if matches!(first.kind, PathStepKind::Property { .. })
                    && matches!(second.kind, PathStepKind::Call(_)))
        };
        let long = steps.windows(2).filter(|pair| calls(pair)).count() >= LONG_PATH;
        let mut following = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            if long && steps.get(index..index + 2).is_some_and(calls) {
                following.push(Doc::NOTHING_OR_LINE);
            }
            following.push(self.step(step));
        }
        let base = self.expression(base, Place::Base);
        if long {
            return Doc::Concat(vec![base, Doc::Concat(following).indent()]).group();
        }
        following.insert(0, base);
        Doc::Concat(following)
    }

    fn step(&self, step: &PathStep) -> Doc {
        match &step.kind {
            PathStepKind::Property { name, optional } => {
                Doc::text(format!("{}{}", if *optional { "?." } else { "." }, name.text))
            }
            PathStepKind::Index(index) => self.enclosed("[", index, "]"),
            PathStepKind::Call(arguments) => self.arguments(arguments, inside(step.span)),
        }
    }

    fn arguments(&self, arguments: &[Expression], inside: Range<usize>) -> Doc {
        let brackets = Brackets { open: "(", close: ")", pad: "", broken: false };
        let docs: Vec<_> = arguments.iter().map(|argument| Rc::new(self.value(argument))).collect();
        let plain =
            !self.has_comments_between(inside.clone(), arguments.iter().map(|argument| argument.span));
        let hug = match docs.split_last() {
            Some((last, first)) if plain && arguments.last().is_some_and(|last| self.can_stay_open(last)) => {
                let commas = first.iter().flat_map(|doc| [Doc::Shared(doc.clone()), Doc::text(", ")]);
                Some((commas.collect(), last.clone()))
            }
            _ => None,
        };
        let entries = docs
            .into_iter()
            .zip(arguments)
            .map(|(doc, argument)| Entry { doc: Doc::Shared(doc), span: argument.span });
        match hug {
            None => self.items(&brackets, inside, entries.collect()),
            Some((first, last)) => {
                let broken = self.items(&Brackets { broken: true, ..brackets }, inside, entries.collect());
                Doc::Hug(Box::new(Hug { first, last, broken }))
            }
        }
    }

    /// Returns whether an argument may open on the line of the call: objects, lists and functions.
    fn can_stay_open(&self, argument: &Expression) -> bool {
        match &self.without_groups(argument).kind {
            ExpressionKind::Object(properties) => !properties.is_empty(),
            ExpressionKind::List(items) => !items.is_empty(),
            _ => argument.kind == ExpressionKind::Closure,
        }
    }

    fn list(&self, items: &[Expression], inside: Range<usize>) -> Doc {
        let entries = items.iter().map(|item| Entry { doc: self.value(item), span: item.span });
        let brackets = Brackets { open: "[", close: "]", pad: "", broken: false };
        self.items(&brackets, inside, entries.collect())
    }

    fn object(&self, properties: &[Property], inside: Range<usize>) -> Doc {
        let entries =
            properties.iter().map(|property| Entry { doc: self.property(property), span: property.span });
        let first = properties.first().map(|property| property.span.range().start);
        let opened = first.is_some_and(|first| self.breaks_line(inside.start..first));
        let brackets = Brackets { open: "{", close: "}", pad: " ", broken: opened };
        self.items(&brackets, inside, entries.collect())
    }

    fn property(&self, property: &Property) -> Doc {
        let part = match &property.value {
            PropertyValue::Given(value) => value.span.range(),
            PropertyValue::Shorthand(read) => read.span.range(),
        };
        if self.has_stray(property.span, [part]) {
            return self.verbatim(property.span);
        }
        match &property.value {
            PropertyValue::Shorthand(read) => self.expression(read, Place::Delimited),
            PropertyValue::Given(value) => {
                let written = property.key.span.text(self.source);
                let key = match written.starts_with(['"', '\'']) {
                    true => quoted(written, &property.key.text),
                    false => written.to_owned(),
                };
                Doc::Concat(vec![Doc::text(format!("{key}: ")), self.value(value)])
            }
        }
    }
}

/// Returns the range between the brackets at both ends of a span.
fn inside(span: Span) -> Range<usize> {
    let range = span.range();
    range.start + 1..range.end.saturating_sub(1).max(range.start + 1)
}

/// Returns the parts of an expression that print the comments inside them.
fn parts(expression: &Expression) -> Vec<Range<usize>> {
    match &expression.kind {
        ExpressionKind::List(_) | ExpressionKind::Object(_) | ExpressionKind::Closure => {
            vec![expression.span.range()]
        }
        ExpressionKind::Group(inner) | ExpressionKind::Await(inner) => vec![inner.span.range()],
        ExpressionKind::Unary { operand, .. } => vec![operand.span.range()],
        ExpressionKind::Chain { first, rest } => std::iter::once(first.span.range())
            .chain(rest.iter().map(|link| link.operand.span.range()))
            .collect(),
        ExpressionKind::Conditional { condition, then, otherwise } => {
            vec![condition.span.range(), then.span.range(), otherwise.span.range()]
        }
        ExpressionKind::Path { base, steps } => {
            let inner = steps.iter().filter_map(|step| match &step.kind {
                PathStepKind::Property { .. } => None,
                PathStepKind::Index(index) => Some(index.span.range()),
                PathStepKind::Call(_) => Some(step.span.range()),
            });
            std::iter::once(base.span.range()).chain(inner).collect()
        }
        _ => Vec::new(),
    }
}
