//! Refuses functions and closures: a snapshot cannot hold code. Each message shows a replacement, in the
//! user's own words where possible.

use rhythm_syntax::Code;
use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::Diagnostic;

use super::Checker;
use super::call::MethodCall;
use super::function_text::{self, Body, FunctionText};
use super::rewrite::{Loop, replaced};
use crate::codes;
use crate::tree::{Expression, ExpressionKind};

#[derive(Clone, Copy)]
pub(super) enum Defined<'t> {
    /// `function f() { .. }`
    Statement,
    /// `let f = () => ..`
    Named(&'t str),
    /// Any other place.
    Value,
}

/// Longest body, in bytes, that a message repeats.
const LONGEST: usize = 400;
const MOST_LINES: usize = 12;

impl<'t> Checker<'t> {
    pub(super) fn closure(&mut self, expression: &'t Expression) {
        self.effect = true;
        self.function(expression.span, Defined::Value);
    }

    pub(super) fn function(&mut self, span: Span, defined: Defined<'t>) {
        let is_statement = matches!(defined, Defined::Statement);
        let code = if is_statement { codes::FUNCTION } else { codes::CLOSURE };
        self.captured(span);
        if !self.report.wants(code) {
            return;
        }
        let function = function_text::read(self.text(span));
        let help = match (defined, &function) {
            (Defined::Statement, Some(function)) if function.name == Some("main") => {
                "a program is written `async function main() { .. }`, and stands alone in its file".to_owned()
            }
            (
                Defined::Value,
                Some(FunctionText { parameters: Some(parameters), body: Body::Value(value), .. }),
            ) if parameters.is_empty() && !waits(value) => self.value_itself(span, value),
            (Defined::Named(name), Some(function)) => as_workflow(function, name),
            (_, Some(function)) => as_workflow(function, function.name.unwrap_or("name")),
            (_, None) => "write what it does where it is needed, or in a workflow of its own".to_owned(),
        };
        let span = if is_statement { self.first_line(span) } else { span };
        self.refuse(code, span, help);
    }

    fn refuse(&mut self, code: Code, span: Span, help: String) {
        let (title, label) = match code == codes::FUNCTION {
            true => ("a program has no functions of its own", "a function"),
            false => ("a value cannot be a function: there are no closures", "a closure"),
        };
        self.report.add(code, || Diagnostic::new(code, span, label).titled(title).helped(help));
    }

    /// Marks the variables that a function names as used.
    fn captured(&mut self, span: Span) {
        for name in function_text::names(self.text(span)) {
            if let Some(index) = self.scopes.find(name) {
                self.scopes.mark_read(index);
            }
        }
    }

    /// Suggests the value for a closure without parameters: `() => i` can be replaced by `i`.
    fn value_itself(&self, span: Span, value: &str) -> String {
        let shown = self.shown.filter(|shown| shown.rest.is_empty());
        match shown.and_then(|shown| replaced(self.source, shown.span, span, value, shown.rest)) {
            Some(text) => format!("give the value itself:\n{text}"),
            None if value.len() > LONGEST || value.contains('\n') => "give the value itself".to_owned(),
            None => format!("give the value itself: `{value}`"),
        }
    }

    /// Refuses `list.map(x => ..)` and other methods that are given functions.
    pub(super) fn method_with_closure(&mut self, call: MethodCall<'t>) {
        let closures = call.arguments.iter().filter(|argument| argument.kind == ExpressionKind::Closure);
        for (index, closure) in closures.enumerate() {
            self.captured(closure.span);
            if !self.report.wants(codes::CLOSURE) {
                continue;
            }
            let help = match index {
                0 => self.without_closure(call, closure),
                _ => "the same as for the first".to_owned(),
            };
            self.refuse(codes::CLOSURE, closure.span, help);
        }
    }

    fn without_closure(&mut self, call: MethodCall<'t>, closure: &'t Expression) -> String {
        let list = self.brief(call.receiver, "list");
        let function = function_text::read(self.text(closure.span));
        match call.method.text.as_str() {
            "then" => {
                let name = function.as_ref().and_then(first_parameter).unwrap_or("value");
                let next = match function.as_ref().map(|function| function.body) {
                    Some(Body::Value(value)) if is_short(value) && !value.contains('\n') => value,
                    _ => "..",
                };
                return format!("wait, then go on with the value:\n  let {name} = await {list}\n  {next}");
            }
            "catch" => {
                let name = function.as_ref().and_then(first_parameter).unwrap_or("e");
                return format!(
                    "catch it around the wait:\n  try {{\n    await {list}\n  }} catch ({name}) {{\n    ..\n  }}"
                );
            }
            "sort" => return format!("sort by a field: `{list}.sortBy(\"field\")`"),
            _ => {}
        }
        self.note_words();
        let walked = function.as_ref().zip(self.taken.as_ref()).and_then(|(function, taken)| {
            let start = call.arguments.get(1).map(|argument| self.text(argument.span));
            Loop { list, function, start, source: self.source, taken }.written(
                call.method,
                call.span,
                self.shown,
            )
        });
        walked.unwrap_or_else(|| format!("walk the list:\n  for (const item of {list}) {{\n    ..\n  }}"))
    }
}

fn first_parameter<'t>(function: &FunctionText<'t>) -> Option<&'t str> {
    function.parameters.as_ref()?.first().copied()
}

fn waits(text: &str) -> bool {
    function_text::names(text).contains(&"task") || text.contains("await")
}

/// Shows the function as a workflow in its own file, started as a child.
fn as_workflow(function: &FunctionText<'_>, name: &str) -> String {
    let inputs = match function.parameters.as_deref() {
        Some([]) => "{ }".to_owned(),
        Some(parameters) => format!("{{ {} }}", parameters.join(", ")),
        None => "{ .. }".to_owned(),
    };
    let mut lines = vec![format!("make it a workflow of its own, in a file `{name}.flow`:")];
    if inputs != "{ }" {
        lines.push(format!("  let {inputs} = Inputs"));
    }
    match function.body {
        Body::Value(value) if is_short(value) => lines.push(format!("  return {value}")),
        Body::Statements(text) if is_short(text) && !text.is_empty() => lines.extend(outdented(text)),
        _ => lines.push("  ..".to_owned()),
    }
    lines.push("and start it where it is needed:".to_owned());
    lines.push(format!("  let n = await Workflow.run(\"{name}\", {inputs})"));
    lines.join("\n")
}

pub(super) fn is_short(text: &str) -> bool {
    text.len() <= LONGEST && text.lines().count() <= MOST_LINES
}

/// Returns the lines of a body with their common indentation replaced by two spaces.
pub(super) fn outdented(text: &str) -> Vec<String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let further =
        text.lines().skip(1).filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or_default();
    let lines = text.lines().enumerate();
    lines
        .map(|(index, line)| if index == 0 { line } else { line.get(further..).unwrap_or_default() })
        .map(|line| format!("  {}", line.trim_end()))
        .collect()
}
