//! Evaluates constant expressions and refuses calls that are certain to throw because of them. It uses the
//! same value types as the machine, so it refuses exactly what would throw in a run.

use std::sync::Arc;

use rhythm_syntax::diagnostic::{Diagnostic, excerpt};

use super::Checker;
use super::call::LibraryCall;
use super::expression::bare;
use crate::codes;
use crate::library::{Combinator, Effect};
use crate::tree::{Expression, ExpressionKind, Property, PropertyValue, Unary};
use crate::value::{List, Number, Object, Value};

impl<'t> Checker<'t> {
    /// Returns the value of an expression that is the same in every run.
    pub(super) fn constant_value(&self, expression: &'t Expression) -> Option<Value> {
        Some(match &bare(expression).kind {
            ExpressionKind::Null => Value::Null,
            ExpressionKind::Boolean(value) => Value::Boolean(*value),
            ExpressionKind::Number(text) => Value::Number(Number::parse(text)?),
            ExpressionKind::Text(text) => Value::text(text),
            ExpressionKind::Unary { operator: Unary::Negate, operand } => {
                match self.constant_value(operand)? {
                    Value::Number(number) => Value::Number(number.negate()),
                    _ => return None,
                }
            }
            ExpressionKind::List(items) => {
                let items: Option<Vec<Value>> = items.iter().map(|item| self.constant_value(item)).collect();
                Value::List(List::new(items?).ok()?)
            }
            ExpressionKind::Object(properties) => {
                let field = |property: &'t Property| {
                    let value = self.constant_value(property.value.expression())?;
                    Some((Arc::from(property.key.text.as_str()), value))
                };
                let fields: Option<Vec<(Arc<str>, Value)>> = properties.iter().map(field).collect();
                Value::Object(Object::new(fields?).ok()?)
            }
            ExpressionKind::Name(name) => Value::text(self.scopes.resolve(name)?.text?),
            _ => return None,
        })
    }

    /// Refuses constant arguments of the wrong type: names, members of a group, options.
    pub(super) fn constant_arguments(&mut self, call: LibraryCall<'t>) {
        let function = call.function.name;
        match call.function.effect() {
            Some(Effect::RunTask | Effect::RunWorkflow | Effect::SignalNext | Effect::SignalWhen) => {
                self.constant_name(call, 0, "name");
            }
            Some(Effect::MapTask | Effect::MapWorkflow) => {
                self.constant_name(call, 0, "name");
                self.constant_list(call);
            }
            Some(Effect::SignalSend) => {
                self.constant_name(call, 0, "runId");
                self.constant_name(call, 1, "name");
            }
            Some(Effect::Group(combinator)) => self.constant_members(call, combinator),
            _ => {}
        }
        if !call.function.accepts(call.arguments.len()) {
            return;
        }
        let options = match call.function.effect() {
            Some(Effect::Group(_)) => call.arguments.get(1),
            Some(effect) => effect.options_at().and_then(|at| call.arguments.get(at)),
            None => None,
        };
        let Some(options) = options else { return };
        match self.constant_value(options) {
            None | Some(Value::Null | Value::Object(_)) => {}
            Some(other) => {
                let title = format!("the options of {function} are an object, not {}", other.described());
                self.sure_to_throw(options, title, "write for example `{ timeout: \"10s\" }`");
            }
        }
    }

    fn constant_name(&mut self, call: LibraryCall<'t>, place: usize, what: &str) {
        let Some(argument) = call.arguments.get(place) else { return };
        let function = call.function.name;
        let title = match self.constant_value(argument) {
            None => return,
            Some(Value::Text(text)) if text.is_empty() || text.len() > 200 => {
                format!("`{what}` of {function} has 1 to 200 characters")
            }
            Some(Value::Text(_)) => return,
            Some(other) => format!("`{what}` of {function} is a string, not {}", other.described()),
        };
        self.sure_to_throw(argument, title, "write the name in quotes, such as `\"charge\"`");
    }

    fn constant_list(&mut self, call: LibraryCall<'t>) {
        let Some(argument) = call.arguments.get(1) else { return };
        match self.constant_value(argument) {
            None | Some(Value::List(_)) => {}
            Some(other) => {
                let title = format!("{} takes a list, not {}", call.function.name, other.described());
                self.sure_to_throw(argument, title, "give it the list of inputs, one for each task");
            }
        }
    }

    fn constant_members(&mut self, call: LibraryCall<'t>, combinator: Combinator) {
        let Some(members) = call.arguments.first() else { return };
        let function = call.function.name;
        let items: Vec<(String, &'t Expression)> = match &bare(members).kind {
            ExpressionKind::List(items) => {
                items.iter().enumerate().map(|(place, item)| (place.to_string(), item)).collect()
            }
            ExpressionKind::Object(properties) => {
                let item = |property: &'t Property| match &property.value {
                    PropertyValue::Given(value) | PropertyValue::Shorthand(value) => {
                        (excerpt(&property.key.text), value)
                    }
                };
                properties.iter().map(item).collect()
            }
            _ => {
                if let Some(other) = self.constant_value(members) {
                    let what = other.described();
                    let title = format!("{function} takes a list or an object of handles, not {what}");
                    let help = format!("write `{function}([Task.run(\"name\", {{ .. }})])`");
                    self.sure_to_throw(members, title, help);
                }
                return;
            }
        };
        if items.is_empty() && matches!(combinator, Combinator::Race | Combinator::RaceKv) {
            let title = format!("{function} of nothing would never end");
            self.sure_to_throw(members, title, "give it a handle, such as `Task.run(\"name\", { .. })`");
        }
        for (place, item) in items {
            if let Some(value) = self.constant_value(item) {
                let what = value.described();
                let title = format!("item {place} of {function} is {what}, not a handle");
                self.sure_to_throw(
                    item,
                    title,
                    "leave it out, or start a task: `Task.run(\"name\", { .. })`",
                );
            }
        }
    }

    pub(super) fn sure_to_throw(
        &mut self,
        at: &'t Expression,
        title: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.report.add(codes::OPTION_VALUE, || {
            Diagnostic::new(codes::OPTION_VALUE, at.span, "this call will throw `WRONG_ARG_TYPE`")
                .titled(title)
                .helped(help)
        });
    }
}
