//! Rewrites `list.map(x => ..)` and similar calls as an equivalent loop.

use std::collections::BTreeSet;

use rhythm_syntax::Span;

use super::draft::{Draft, Names, is_name};
use super::replaced;
use crate::check::Shown;
use crate::check::closure::{is_short, outdented};
use crate::check::function_text::{Body, FunctionText};
use crate::tree::Name;

pub(in crate::check) struct Loop<'a> {
    pub(in crate::check) list: &'a str,
    pub(in crate::check) function: &'a FunctionText<'a>,
    /// The second argument: the initial value of `reduce`.
    pub(in crate::check) start: Option<&'a str>,
    pub(in crate::check) source: &'a str,
    pub(in crate::check) taken: &'a BTreeSet<&'a str>,
}

/// The variable of the loop's result, its initial value, and the body of each iteration.
struct Plan<'a> {
    name: String,
    start: &'a str,
    round: String,
}

impl Loop<'_> {
    /// Returns the loop, or nothing when the method does not go over a list or its function is too complex to
    /// show.
    pub(in crate::check) fn written(
        &self,
        method: &Name,
        span: Span,
        shown: Option<Shown>,
    ) -> Option<String> {
        let parameters = self.function.parameters.as_deref()?;
        let value = match self.function.body {
            Body::Value(value) if is_short(value) && !value.contains('\n') => value,
            Body::Statements(body) if method.text == "forEach" => return self.each(parameters, body),
            _ => "..",
        };
        if method.text == "map"
            && let Some(text) = self.plucked(parameters, value, span, shown)
        {
            return Some(text);
        }
        if method.text == "forEach" {
            return self.each(parameters, value);
        }
        let declared = shown.and_then(|shown| self.declared(span, shown));
        let plan = self.plan(&method.text, parameters, value, declared)?;
        let skip = usize::from(method.text == "reduce");
        let mut draft = Draft::default();
        draft.line(&format!("let {} = {}", plan.name, plan.start));
        self.open(parameters.get(skip..).unwrap_or_default(), &mut draft);
        draft.line(&plan.round);
        draft.close("}");
        let mut text = draft.finish(usize::MAX)?;
        if declared != Some(plan.name.as_str())
            && let Some(shown) = shown
            && let Some(statement) = replaced(self.source, shown.span, span, &plan.name, shown.rest)
        {
            text = format!("{text}\n{statement}");
        }
        Some(format!("walk the list:\n{text}"))
    }

    fn plan(
        &self,
        method: &str,
        parameters: &[&str],
        value: &str,
        declared: Option<&str>,
    ) -> Option<Plan<'_>> {
        let item = parameters.first().copied().unwrap_or("item");
        if method == "reduce" {
            let round = format!("{item} = {value}");
            return Some(Plan { name: item.to_owned(), start: self.start.unwrap_or("null"), round });
        }
        let name = declared.map_or_else(|| Names::new(self.taken).next(), str::to_owned);
        // A function that waits returns a promise; a handle takes its place here.
        let gives = value.strip_prefix("await ").unwrap_or(value);
        let (start, round) = match method {
            "map" => ("[]", format!("{name} = {name}.concat([{gives}])")),
            "flatMap" => ("[]", format!("{name} = {name}.concat({gives})")),
            "filter" => ("[]", format!("if ({value}) {{ {name} = {name}.concat([{item}]) }}")),
            "find" => ("null", format!("if ({value}) {{ {name} = {item}; break }}")),
            "some" => ("false", format!("if ({value}) {{ {name} = true; break }}")),
            "every" => ("true", format!("if (!({value})) {{ {name} = false; break }}")),
            _ => return None,
        };
        Some(Plan { name, start, round })
    }

    /// Uses `pluck` for a function that only reads a field.
    fn plucked(&self, parameters: &[&str], value: &str, span: Span, shown: Option<Shown>) -> Option<String> {
        let [item] = parameters else { return None };
        let field = value.strip_prefix(item)?.strip_prefix('.')?;
        if !is_name(field) {
            return None;
        }
        let text = format!("{}.pluck(\"{field}\")", self.list);
        let statement = shown.and_then(|shown| replaced(self.source, shown.span, span, &text, shown.rest));
        Some(match statement {
            Some(statement) => format!("take the field of every item:\n{statement}"),
            None => format!("take the field of every item: `{text}`"),
        })
    }

    fn each(&self, parameters: &[&str], body: &str) -> Option<String> {
        let mut draft = Draft::default();
        self.open(parameters, &mut draft);
        let body = if is_short(body) && !body.contains("return") { body } else { ".." };
        for line in outdented(body) {
            draft.line(line.trim_start_matches("  "));
        }
        draft.close("}");
        Some(format!("walk the list:\n{}", draft.finish(usize::MAX)?))
    }

    /// Opens the loop: over the items, or over their indexes when the function uses those, too.
    fn open(&self, parameters: &[&str], draft: &mut Draft) {
        match parameters {
            [item, index, ..] => {
                draft.open(&format!("for (const {index} in {}) {{", self.list));
                draft.line(&format!("const {item} = {}[{index}]", self.list));
            }
            [item] => draft.open(&format!("for (const {item} of {}) {{", self.list)),
            [] => draft.open(&format!("for (const item of {}) {{", self.list)),
        }
    }

    /// Returns the name that the statement declares with exactly this value.
    fn declared(&self, span: Span, shown: Shown) -> Option<&str> {
        let head = Span { start: shown.span.start, end: span.start }.text(self.source);
        let rest = head.strip_prefix("let ").or_else(|| head.strip_prefix("const "))?;
        let name = rest.trim_end().strip_suffix('=')?.trim();
        (shown.span.end == span.end && is_name(name)).then_some(name)
    }
}
