//! A hint about `race`: it also ends with the first failure, which is rarely wanted when several tasks do the
//! same work.

use rhythm_syntax::diagnostic::Diagnostic;

use super::Checker;
use super::call::LibraryCall;
use super::expression::bare;
use crate::codes;
use crate::front_matter::Failures;
use crate::library::{Combinator, Effect};
use crate::tree::{Expression, ExpressionKind, PropertyValue};

impl<'t> Checker<'t> {
    /// Reports races of several tasks. One task against a timer or a signal is a timeout, which a failure
    /// should end.
    pub(super) fn race(&mut self, call: LibraryCall<'t>) {
        if !matches!(call.function.combinator(), Some(Combinator::Race | Combinator::RaceKv)) {
            return;
        }
        let Some(handles) = call.arguments.first() else { return };
        let failing = match &bare(handles).kind {
            ExpressionKind::List(items) => items.iter().filter(|item| self.can_fail(item)).count(),
            ExpressionKind::Object(properties) => {
                let values = properties.iter().map(|property| match &property.value {
                    PropertyValue::Given(value) | PropertyValue::Shorthand(value) => value,
                });
                values.filter(|value| self.can_fail(value)).count()
            }
            _ => 0,
        };
        if failing < 2 {
            return;
        }
        self.report.add(codes::RACE, || {
            let name = call.function.name;
            let any = name.replace("race", "any");
            Diagnostic::new(codes::RACE, call.span, "the first to settle wins, also with a failure")
                .titled(format!("`{name}` ends with the first failure too"))
                .helped(format!("for the first success use any: `{any}(..)`"))
        });
    }

    /// Returns whether an expression gives the handle of work that can fail.
    pub(super) fn can_fail(&self, expression: &'t Expression) -> bool {
        let expression = bare(expression);
        if let ExpressionKind::Name(name) = &expression.kind {
            return self.scopes.resolve(name).is_some_and(|binding| binding.can_fail);
        }
        let Some(call) = self.as_library_call(expression).filter(|_| self.failures == Failures::Throw) else {
            return false;
        };
        match call.function.effect() {
            Some(Effect::RunTask | Effect::RunWorkflow | Effect::MapTask | Effect::MapWorkflow) => {
                !settles(call.arguments.get(2))
            }
            Some(Effect::Timeout) => true,
            Some(Effect::Group(Combinator::All | Combinator::Any | Combinator::AnyKv)) => true,
            _ => false,
        }
    }
}

/// Returns whether the options contain `settle`, with which a failure is returned as a value.
fn settles(options: Option<&Expression>) -> bool {
    let Some(ExpressionKind::Object(properties)) = options.map(|options| &options.kind) else { return false };
    properties.iter().any(|property| property.key.text == "settle")
}
