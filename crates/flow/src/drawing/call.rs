//! The calls that become nodes of a drawing.

use crate::library::{self, Body, Effect};
use crate::tree::{Expression, ExpressionKind, PathStep, PathStepKind};

/// A library call that starts or awaits something.
pub struct Call<'t> {
    /// Name as written in a program: `Promise.all`.
    pub name: &'static str,
    pub effect: Effect,
    pub arguments: &'t [Expression],
}

impl<'t> Call<'t> {
    pub fn of(expression: &'t Expression) -> Option<Self> {
        let ExpressionKind::Path { base, steps } = &bare(expression).kind else { return None };
        let ExpressionKind::Name(base) = &base.kind else { return None };
        let (name, arguments) = match steps.as_slice() {
            [PathStep { kind: PathStepKind::Call(arguments), .. }] => (base.clone(), arguments),
            [
                PathStep { kind: PathStepKind::Property { name, .. }, .. },
                PathStep { kind: PathStepKind::Call(arguments), .. },
            ] => (format!("{base}.{}", name.text), arguments),
            _ => return None,
        };
        let function = library::function(&name)?;
        match function.body {
            Body::Effect(Effect::Log | Effect::Now) | Body::Pure(_) => None,
            Body::Effect(effect) => Some(Self { name: function.name, effect, arguments }),
        }
    }

    /// Returns its `label` option if that is constant.
    pub fn label(&self) -> Option<String> {
        let ExpressionKind::Object(options) = &bare(self.arguments.get(self.effect.options_at()?)?).kind
        else {
            return None;
        };
        let label = options.iter().rfind(|option| option.key.text == "label")?;
        match &bare(label.value.expression()).kind {
            ExpressionKind::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// Returns whether it waits without `await` where a statement can wait.
    pub fn waits_by_itself(&self) -> bool {
        library::WAITING.contains(&self.name)
    }
}

/// Returns the expression inside any round brackets.
pub fn bare(expression: &Expression) -> &Expression {
    let mut inner = expression;
    while let ExpressionKind::Group(grouped) = &inner.kind {
        inner = grouped;
    }
    inner
}

/// Visits every part of an expression in source order; skips the parts of an expression for which `enter`
/// returns false.
pub fn each<'t>(expression: &'t Expression, enter: &mut dyn FnMut(&'t Expression) -> bool) {
    if !enter(expression) {
        return;
    }
    match &expression.kind {
        ExpressionKind::List(items) => items.iter().for_each(|item| each(item, enter)),
        ExpressionKind::Object(properties) => {
            properties.iter().for_each(|property| each(property.value.expression(), enter));
        }
        ExpressionKind::Group(inner) | ExpressionKind::Await(inner) => each(inner, enter),
        ExpressionKind::Unary { operand, .. } => each(operand, enter),
        ExpressionKind::Chain { first, rest } => {
            each(first, enter);
            rest.iter().for_each(|link| each(&link.operand, enter));
        }
        ExpressionKind::Conditional { condition, then, otherwise } => {
            [condition, then, otherwise].into_iter().for_each(|part| each(part, enter));
        }
        ExpressionKind::Path { base, steps } => {
            each(base, enter);
            for step in steps {
                match &step.kind {
                    PathStepKind::Index(index) => each(index, enter),
                    PathStepKind::Call(arguments) => arguments.iter().for_each(|given| each(given, enter)),
                    PathStepKind::Property { .. } => {}
                }
            }
        }
        ExpressionKind::Null
        | ExpressionKind::Boolean(_)
        | ExpressionKind::Number(_)
        | ExpressionKind::Text(_)
        | ExpressionKind::Name(_)
        | ExpressionKind::Closure
        | ExpressionKind::Broken => {}
    }
}
