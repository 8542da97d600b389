//! Reports calls that cannot work: the callee is not a function or does not exist, or the number of arguments
//! is wrong.

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::Diagnostic;
use rhythm_syntax::did_you_mean::closest;

use super::scope::Kind;
use super::{Checker, javascript, known};
use crate::codes;
use crate::library::{self, Function};
use crate::tree::{Name, PathStep, PathStepKind};

impl<'t> Checker<'t> {
    pub(super) fn wrong_count(
        &mut self,
        name: &str,
        functions: &[&'static Function],
        given: usize,
        span: Span,
    ) {
        self.report.add(codes::ARGUMENT_COUNT, || {
            let mut signatures: Vec<String> =
                functions.iter().map(|function| format!("`{name}{}`", function.signature)).collect();
            signatures.dedup();
            let given = match given {
                0 => "none is given".to_owned(),
                1 => "one is given".to_owned(),
                _ => format!("{given} are given"),
            };
            Diagnostic::new(codes::ARGUMENT_COUNT, span, given)
                .titled(format!("`{name}` takes {}", wanted(functions)))
                .helped(format!("it is called as {}", signatures.join(" or ")))
        });
    }

    pub(super) fn unknown_method(&mut self, method: &'t Name) {
        self.effect = true;
        let code = codes::NOT_A_FUNCTION.sure_to_throw();
        self.report.add(code, || {
            let name = method.text.as_str();
            let help = match (javascript::instead_of_method(name), closest(name, known::method_names())) {
                (Some(instead), _) => instead.to_owned(),
                (None, Some(near)) => format!("did you mean `{near}`?"),
                (None, None) => "values have no functions of their own; let a task do it".to_owned(),
            };
            Diagnostic::new(code, method.span, "no such method")
                .titled(format!("no value has a method `{name}`"))
                .helped(help)
        });
    }

    /// Reports `value()`, `list[0]()` and `f()()`.
    pub(super) fn call_of_value(&mut self, span: Span) {
        self.effect = true;
        self.report.add(codes::NOT_A_FUNCTION, || {
            Diagnostic::new(codes::NOT_A_FUNCTION, span, "called here")
                .titled("a value cannot be called")
                .helped("values are never functions; let a task do it: `await Task.run(name, inputs)`")
        });
    }

    pub(super) fn not_a_library_function(&mut self, name: &'t str, span: Span) {
        self.effect = true;
        let kind = self.scopes.resolve(name).map(|binding| binding.kind);
        if let Some(index) = self.scopes.find(name) {
            self.scopes.mark_read(index);
        } else if !self.scopes.is_created(name) && !known::is_name(name) {
            self.pend(name, span, true);
            return;
        }
        if kind == Some(Kind::Function) {
            return;
        }
        self.report.add(codes::NOT_A_FUNCTION, || {
            let help = match (library::function(name), known::members(name).next()) {
                (Some(_), _) => format!("the library's `{name}` is hidden by yours: give yours another name"),
                (None, Some(member)) if kind.is_none() => {
                    format!("it holds functions, such as `{name}.{member}`")
                }
                _ => "values are never functions; outside work is a task: `await Task.run(name, inputs)`"
                    .to_owned(),
            };
            Diagnostic::new(codes::NOT_A_FUNCTION, span, "not a function")
                .titled(format!("`{name}` is not a function"))
                .helped(help)
        });
    }

    pub(super) fn member(&mut self, group: &'t str, span: Span, member: &'t Name) {
        self.effect = true;
        let full = format!("{group}.{}", member.text);
        if library::function(&full).is_some() {
            self.function_as_value(&full, span.to(member.span));
            return;
        }
        self.report.add(codes::UNKNOWN_MEMBER, || {
            let near = closest(&member.text, known::members(group));
            let help = match (javascript::instead_of_member(group, &member.text), near) {
                (Some(instead), _) => instead.to_owned(),
                (None, Some(near)) => format!("did you mean `{group}.{near}`?"),
                (None, None) => format!("it has {}", listed(known::members(group))),
            };
            Diagnostic::new(codes::UNKNOWN_MEMBER, member.span, "no such function")
                .titled(format!("`{group}` has no `{}`", member.text))
                .helped(help)
        });
    }

    /// Checks `ctx.name`: the context has only a few fields.
    pub(super) fn context_field(&mut self, name: &'t str, steps: &'t [PathStep]) {
        let is_context = match self.scopes.resolve(name) {
            Some(binding) => binding.kind == Kind::Context,
            None => library::CONTEXT.contains(&name) && !self.scopes.is_created(name),
        };
        let Some(PathStepKind::Property { name: field, optional: false }) =
            steps.first().map(|step| &step.kind)
        else {
            return;
        };
        let called = matches!(steps.get(1).map(|step| &step.kind), Some(PathStepKind::Call(_)));
        if !is_context || called || library::CONTEXT_FIELDS.contains(&field.text.as_str()) {
            return;
        }
        self.report.add(codes::UNKNOWN_MEMBER, || {
            let fields = library::CONTEXT_FIELDS.iter().copied();
            let help = match closest(&field.text, fields.clone()) {
                Some(near) => format!("did you mean `{name}.{near}`?"),
                None => format!("it has {}", listed(fields)),
            };
            Diagnostic::new(codes::UNKNOWN_MEMBER, field.span, "no such field")
                .titled(format!("the context has no `{}`", field.text))
                .helped(help)
        });
    }
}

/// Describes how many arguments the given functions accept together.
fn wanted(functions: &[&Function]) -> String {
    let least = functions.iter().map(|function| function.least).min().unwrap_or_default();
    let most = functions
        .iter()
        .map(|function| function.most)
        .max_by_key(|most| most.unwrap_or(usize::MAX))
        .flatten();
    let plural = |count: usize| if count == 1 { "argument" } else { "arguments" };
    match most {
        Some(0) => "no arguments".to_owned(),
        Some(most) if most == least => format!("{least} {}", plural(least)),
        Some(most) => format!("{least} to {most} arguments"),
        None => format!("at least {least} {}", plural(least)),
    }
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
