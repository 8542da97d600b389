//! Names: declarations, assignments, reads, and names that no statement assigns.

use std::collections::BTreeMap;

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::Diagnostic;
use rhythm_syntax::did_you_mean::closest;

use super::scope::{Binding, Kind};
use super::{Checker, javascript, known};
use crate::codes;
use crate::library::{self, Function};
use crate::parser::ELSE_IFS;
use crate::tree::Name;

/// Limit of comparisons when searching for a "did you mean", so that a huge program is checked in bounded
/// time.
const COMPARED: usize = 20_000;
/// Longest source text, in bytes, that a message repeats.
const BRIEF: usize = 60;

/// A read of a name that has no meaning yet.
pub(super) struct Pending {
    pub(super) span: Span,
    /// Whether it was called as a function.
    pub(super) called: bool,
}

impl<'t> Checker<'t> {
    /// Returns the text of a span if it is short enough to repeat, else `otherwise`.
    pub(super) fn brief(&self, span: Span, otherwise: &'t str) -> &'t str {
        let text = self.text(span);
        if text.is_empty() || text.len() > BRIEF || text.contains('\n') { otherwise } else { text }
    }

    /// Returns the first line of a span, without a brace at its end.
    pub(super) fn first_line(&self, span: Span) -> Span {
        let line = self.text(span).lines().next().unwrap_or_default();
        let kept = match self.text(span).contains('\n') {
            true => line.trim_end().trim_end_matches('{').trim_end(),
            false => line,
        };
        Span::new(span.range().start, span.range().start + kept.len())
    }

    pub(super) fn declare_name(&mut self, name: &'t Name, kind: Kind) -> usize {
        let (index, repeated) = self.scopes.declare(&name.text, name.span, kind);
        if let Some(repeated) = repeated
            && !name.text.is_empty()
            && self.report.wants(codes::DECLARED_TWICE)
        {
            let line = self.line(self.scopes.binding(repeated).span.start);
            // The first declaration is hidden from here on, which is reported already: do not report it as
            // unused, too.
            self.scopes.mark_read(repeated);
            self.report.add(codes::DECLARED_TWICE, || {
                Diagnostic::new(codes::DECLARED_TWICE, name.span, format!("declared on line {line} already"))
                    .titled(format!("`{}` is declared twice in one block", name.text))
                    .helped(format!(
                        "to change it write `{} = ..` without `let`; or choose another name",
                        name.text
                    ))
            });
        }
        index
    }

    pub(super) fn assign_name(&mut self, name: &'t Name) {
        match self.scopes.resolve(&name.text) {
            Some(binding) if binding.kind.is_constant() => {
                let (kind, span) = (binding.kind, binding.span);
                self.scopes.find(&name.text).into_iter().for_each(|index| self.scopes.mark_read(index));
                self.constant_assigned(name, kind, span);
            }
            Some(_) => {}
            None => self.scopes.create(&name.text, name.span),
        }
    }

    /// Checks the target of `name.part = ..`: `name` must already exist.
    pub(super) fn assign_part(&mut self, name: &'t Name) {
        if self.scopes.find(&name.text).is_none() && !known::is_given(&name.text) {
            self.pend(&name.text, name.span, false);
        }
    }

    fn constant_assigned(&mut self, name: &'t Name, kind: Kind, declared: Span) {
        if !self.report.wants(codes::CONST_ASSIGNED) {
            return;
        }
        let line = self.line(declared.start);
        let text = &name.text;
        let help = match kind {
            Kind::LoopConst => {
                format!("write `for (let {text} ..` on line {line}, or give the new value another name")
            }
            _ => format!("write `let {text}` on line {line}, or give the new value another name"),
        };
        self.report.add(codes::CONST_ASSIGNED, || {
            Diagnostic::new(codes::CONST_ASSIGNED, name.span, format!("a `const` since line {line}"))
                .titled(format!("`{text}` is a `const` and cannot be assigned"))
                .helped(help)
        });
    }

    /// Records that the value of a name is used.
    pub(super) fn read(&mut self, name: &'t str, span: Span) {
        if let Some(index) = self.scopes.find(name) {
            self.scopes.mark_read(index);
        } else if self.scopes.is_created(name) || known::is_given(name) {
            // The name has a value in the whole program.
        } else if known::is_name(name) {
            self.function_as_value(name, span);
        } else {
            self.pend(name, span, false);
        }
    }

    pub(super) fn pend(&mut self, name: &'t str, span: Span, called: bool) {
        self.report.announce();
        self.pending.entry(name).or_default().push(Pending { span, called });
    }

    pub(super) fn function_as_value(&mut self, name: &str, span: Span) {
        self.report.add(codes::FUNCTION_VALUE, || {
            let help = match library::function(name) {
                Some(Function { name: "and", .. }) => {
                    "write `&&` between two values, or call it: `and(a, b)`".to_owned()
                }
                Some(Function { name: "or", .. }) => {
                    "write `||` between two values, or call it: `or(a, b)`".to_owned()
                }
                Some(Function { name: "not", .. }) => {
                    "write `!` before a value, or call it: `not(a)`".to_owned()
                }
                Some(function) => format!("call it: `{name}{}`", function.signature),
                None => {
                    let members: Vec<String> =
                        known::members(name).map(|member| format!("`{name}.{member}`")).collect();
                    format!("it holds {}", members.join(", "))
                }
            };
            Diagnostic::new(codes::FUNCTION_VALUE, span, "not a value")
                .titled(format!("`{name}` cannot be used as a value"))
                .helped(help)
        });
    }

    /// Leaves the innermost scope and reports its names that were never read.
    pub(super) fn close_scope(&mut self, block: Span) {
        for index in self.scopes.close(block.end) {
            let binding = self.scopes.binding(index);
            let quiet = binding.read
                || !binding.kind.is_declared()
                || binding.name.is_empty()
                || binding.name.starts_with('_')
                || self.pending.contains_key(binding.name);
            if !quiet && self.report.wants(codes::UNUSED) {
                let diagnostic = self.unused(binding);
                self.report.add(codes::UNUSED, || diagnostic);
            }
        }
    }

    fn unused(&self, binding: &Binding<'t>) -> Diagnostic {
        let name = binding.name;
        let value = binding.value.map_or("", |value| self.brief(value, ""));
        let help = match binding.effect && !value.is_empty() {
            true if binding.only_waited_for => format!("write `await {value}` to wait for it"),
            true => format!("write `{value}` alone, or call it `_{name}` to say that it is not needed"),
            false => format!("remove it, or call it `_{name}` to say that it is not needed"),
        };
        Diagnostic::new(codes::UNUSED, binding.span, "never read")
            .titled(format!("`{name}` is never read"))
            .helped(help)
    }

    /// Reports every name that was read and that the program never assigns.
    pub(super) fn unknown_names(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let mut suggested: BTreeMap<&str, Option<&str>> = BTreeMap::new();
        let mut compared = 0;
        for (name, places) in pending {
            let doubtful = self.doubt.as_ref().is_some_and(|doubt| {
                doubt.words.contains(name) || self.scopes.declared_anywhere(name).is_some()
            });
            if self.scopes.is_created(name) || name.is_empty() || doubtful {
                continue;
            }
            for Pending { span, called } in places {
                if called && ELSE_IFS.contains(&name) {
                    let code = codes::UNKNOWN_NAME.sure_to_throw();
                    self.report.add(code, || {
                        Diagnostic::new(code, span, "calls a function of this name")
                            .titled(format!("there is no `{name}`"))
                            .helped("write `else if (..) { .. }`")
                    });
                    continue;
                }
                if !self.report.wants(codes::UNKNOWN_NAME) {
                    continue;
                }
                let diagnostic = match self.not_visible(name, span) {
                    Some(diagnostic) => diagnostic,
                    None => {
                        if !suggested.contains_key(name) && compared < COMPARED {
                            compared += self.scopes.count();
                            suggested.insert(name, self.suggestion(name, span, called));
                        }
                        unknown(name, span, called, suggested.get(name).copied().flatten())
                    }
                };
                self.report.add(codes::UNKNOWN_NAME, || diagnostic);
            }
        }
    }

    fn suggestion(&self, name: &str, span: Span, called: bool) -> Option<&'t str> {
        if called {
            return closest(name, known::plain_functions());
        }
        let library = known::names().map(|name| -> &'t str { name });
        let names = self.scopes.names_at(span.start).chain(library);
        // A comparison costs the product of both lengths, so skip names of a very different length.
        closest(name, names.filter(|other| other.len().abs_diff(name.len()) <= 4))
    }

    /// Reports a name that is declared, but not in scope here.
    fn not_visible(&self, name: &str, span: Span) -> Option<Diagnostic> {
        let declared = self.scopes.declared_anywhere(name)?;
        let line = self.line(declared.span.start);
        let (label, help) = if declared.span.start > span.start {
            (format!("declared only on line {line}"), format!("move `let {name} = ..` before this"))
        } else {
            let help = format!(
                "declare it before that block: `let {name} = null`, and assign it inside: `{name} = ..`"
            );
            (format!("ends with the block it is declared in, on line {line}"), help)
        };
        let diagnostic = Diagnostic::new(codes::NOT_VISIBLE, span, label);
        Some(diagnostic.titled(format!("`{name}` is not known here")).helped(help))
    }
}

fn unknown(name: &str, span: Span, called: bool, suggestion: Option<&str>) -> Diagnostic {
    let what = if called { "function" } else { "name" };
    let help = match (javascript::instead_of_name(name), suggestion) {
        (Some(instead), _) => instead.to_owned(),
        (None, Some(suggestion)) => format!("did you mean `{suggestion}`?"),
        (None, None) if called => {
            format!(
                "there are no functions of your own; outside work is a task: `Task.run(\"{name}\", {{ .. }})`"
            )
        }
        (None, None) => {
            format!("declare it first, as in `let {name} = ..`; inputs are read as `Inputs.{name}`")
        }
    };
    let label = if called { "no such function" } else { "nothing assigns it" };
    Diagnostic::new(codes::UNKNOWN_NAME, span, label).titled(format!("unknown {what} `{name}`")).helped(help)
}
