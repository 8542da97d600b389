//! Rewrites a statement into its correct form: each misplaced wait moves to a statement of its own, keeping
//! the user's text.
//!
//! Code that runs only under a condition (a branch of `? :`, the right side of `&&`, the condition of a loop)
//! must stay conditional: there the rewrite uses `if`.

mod choice;
mod draft;
mod walk;

use std::collections::{BTreeMap, BTreeSet};

use rhythm_syntax::Span;

use crate::tree::{
    Expression, ExpressionKind, PathStep, PathStepKind, Pattern, Place, PropertyValue, Statement,
    StatementKind, Target,
};
use choice::Sink;
use draft::{Draft, Names};
pub(super) use walk::Loop;

/// Longest statement, in bytes, that a message repeats.
const LONGEST: u32 = 600;
/// Largest number of lines a rewrite in a message may take.
const MOST_LINES: usize = 16;

/// Change to an expression, or to the beginning of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// Moves the expression to a `let` statement before.
    Hoist,
    DropAwait,
    /// `task(..)` becomes `Task.run(..)`.
    Run {
        add_inputs: bool,
    },
    Wrap {
        before: &'static str,
        after: &'static str,
    },
}

/// The part of a statement that is checked as a unit.
#[derive(Clone, Copy)]
pub(super) enum Head<'t> {
    Whole(&'t Statement),
    If(&'t Expression),
    ElseIf(&'t Expression),
    While(&'t Expression),
    /// The head up to the body, and the list it goes over.
    For(Span, &'t Expression),
}

impl Head<'_> {
    pub(super) fn is_short(self) -> bool {
        let span = match self {
            Self::Whole(statement) => statement.span,
            Self::If(condition) | Self::ElseIf(condition) | Self::While(condition) => condition.span,
            Self::For(span, _) => span,
        };
        span.end.saturating_sub(span.start) <= LONGEST
    }
}

pub(super) struct Rewrite {
    pub(super) text: String,
    /// Names given to the hoisted expressions.
    pub(super) names: BTreeMap<Span, String>,
}

/// Returns the rewritten statement, or nothing when it would be too long to help.
pub(super) fn rewrite(
    source: &str,
    head: Head<'_>,
    edits: &BTreeMap<Span, Edit>,
    taken: &BTreeSet<&str>,
) -> Option<Rewrite> {
    let mut rewriter = Rewriter { source, edits, fresh: Names::new(taken), names: BTreeMap::new() };
    let mut draft = Draft::default();
    match head {
        Head::Whole(statement) => rewriter.whole(statement, &mut draft),
        Head::If(condition) => {
            let condition = rewriter.value(condition, &mut draft);
            draft.line(&format!("if ({condition}) {{ .. }}"));
        }
        Head::ElseIf(condition) => {
            draft.open("} else {");
            let condition = rewriter.value(condition, &mut draft);
            draft.line(&format!("if ({condition}) {{ .. }}"));
            draft.close("}");
        }
        Head::While(condition) => {
            draft.open("while (true) {");
            let condition = rewriter.value(condition, &mut draft);
            draft.line(&format!("if ({}) {{ break }}", draft::negated(&condition)));
            draft.line("..");
            draft.close("}");
        }
        Head::For(span, items) => {
            let before = rewriter.verbatim(Span { start: span.start, end: items.span.start });
            let after = rewriter.verbatim(Span { start: items.span.end, end: span.end });
            let items = rewriter.value(items, &mut draft);
            draft.line(&format!("{before}{items}{}{{ .. }}", after));
        }
    }
    let text = draft.finish(MOST_LINES)?;
    Some(Rewrite { text, names: rewriter.names })
}

/// Returns a statement with the text of one of its spans replaced, or nothing when it is too long.
pub(super) fn replaced(source: &str, statement: Span, span: Span, text: &str, rest: &str) -> Option<String> {
    if statement.end.saturating_sub(statement.start) > LONGEST {
        return None;
    }
    let before = Span { start: statement.start, end: span.start }.text(source);
    let after = Span { start: span.end, end: statement.end }.text(source);
    let mut draft = Draft::default();
    draft.begin_at(source, statement);
    draft.line(&format!("{before}{text}{after}{rest}"));
    draft.finish(MOST_LINES)
}

struct Rewriter<'a> {
    source: &'a str,
    edits: &'a BTreeMap<Span, Edit>,
    fresh: Names<'a>,
    names: BTreeMap<Span, String>,
}

impl<'a> Rewriter<'a> {
    fn verbatim(&self, span: Span) -> &'a str {
        span.text(self.source)
    }

    fn whole(&mut self, statement: &Statement, draft: &mut Draft) {
        draft.begin_at(self.source, statement.span);
        if self.chosen(statement, draft) {
            return;
        }
        let parts: Vec<&Expression> = match &statement.kind {
            StatementKind::Declare { value, .. } => value.iter().collect(),
            StatementKind::Assign { target: Target::Place { path, .. }, value } => {
                let indexes = path.iter().filter_map(|part| match part {
                    Place::Index(index) => Some(index),
                    Place::Property(_) => None,
                });
                indexes.chain([value]).collect()
            }
            StatementKind::Assign { value, .. }
            | StatementKind::Throw(value)
            | StatementKind::Expression(value)
            | StatementKind::Return(Some(value)) => vec![value],
            _ => Vec::new(),
        };
        let text = self.spliced(statement.span, &parts, draft);
        draft.line(&text);
    }

    /// Rewrites a statement whose value is a choice as an `if` with one such statement for each branch.
    fn chosen(&mut self, statement: &Statement, draft: &mut Draft) -> bool {
        let (value, sink) = match &statement.kind {
            StatementKind::Declare { pattern: Pattern::Name(name), value: Some(value), .. } => {
                (value, Sink::Declare(name.text.clone()))
            }
            StatementKind::Assign { target: Target::Place { name, path }, value } if path.is_empty() => {
                (value, Sink::Assign(name.text.clone()))
            }
            StatementKind::Return(Some(value)) => (value, Sink::Return),
            StatementKind::Expression(value) => (value, Sink::Drop),
            _ => return false,
        };
        self.choose(value, &sink, draft)
    }

    /// Returns whether a part of this span moves to a statement before.
    fn hoists(&self, span: Span) -> bool {
        self.within(span).any(|(_, edit)| *edit == Edit::Hoist)
    }

    fn within(&self, span: Span) -> impl Iterator<Item = (&Span, &Edit)> {
        let start = Span { start: span.start, end: 0 };
        let range = self.edits.range(start..);
        range
            .take_while(move |(inner, _)| inner.start < span.end)
            .filter(move |(inner, _)| inner.end <= span.end)
    }

    /// Returns the text of an expression after writing its waits to the draft.
    fn value(&mut self, expression: &Expression, draft: &mut Draft) -> String {
        if self.within(expression.span).next().is_none() {
            return self.verbatim(expression.span).to_owned();
        }
        match &expression.kind {
            ExpressionKind::Path { base, steps } => return self.path(base, steps, draft),
            ExpressionKind::Await(awaited) => {
                let awaited = self.value(awaited, draft);
                let text = match self.edits.get(&expression.span) {
                    Some(Edit::DropAwait) => return awaited,
                    _ => format!("await {awaited}"),
                };
                return self.edited(expression.span, text, draft);
            }
            _ => {}
        }
        if let Some(name) = self.choose_value(expression, draft) {
            return name;
        }
        let text = match &expression.kind {
            ExpressionKind::Group(inner) => {
                let inner = self.value(inner, draft);
                if draft::is_name(&inner) { inner } else { format!("({inner})") }
            }
            _ => self.spliced(expression.span, &parts(expression), draft),
        };
        self.edited(expression.span, text, draft)
    }

    /// Returns the text of an expression that waits, without giving its result a name.
    fn waiting(&mut self, expression: &Expression, draft: &mut Draft) -> Option<String> {
        let expression = super::expression::bare(expression);
        if self.edits.get(&expression.span) != Some(&Edit::Hoist) {
            return None;
        }
        Some(match &expression.kind {
            ExpressionKind::Await(awaited) => format!("await {}", self.value(awaited, draft)),
            _ => {
                let parts = parts(expression);
                format!("await {}", self.spliced(expression.span, &parts, draft))
            }
        })
    }

    fn path(&mut self, base: &Expression, steps: &[PathStep], draft: &mut Draft) -> String {
        let mut text = self.value(base, draft);
        let mut end = base.span.end;
        for step in steps {
            let parts: Vec<&Expression> = match &step.kind {
                PathStepKind::Property { .. } => Vec::new(),
                PathStepKind::Index(index) => vec![index],
                PathStepKind::Call(arguments) => arguments.iter().collect(),
            };
            // A comment may stand between the steps.
            let span = Span { start: end, end: step.span.end };
            text += &self.spliced(span, &parts, draft);
            end = step.span.end;
            text = self.edited(Span { start: base.span.start, end }, text, draft);
        }
        text
    }

    /// Returns the source of a span with its parts rewritten.
    fn spliced(&mut self, span: Span, parts: &[&Expression], draft: &mut Draft) -> String {
        let mut text = String::new();
        let mut start = span.start;
        for part in parts {
            text += self.verbatim(Span { start, end: part.span.start });
            text += &self.value(part, draft);
            start = part.span.end;
        }
        text + self.verbatim(Span { start, end: span.end })
    }

    fn edited(&mut self, span: Span, text: String, draft: &mut Draft) -> String {
        match self.edits.get(&span) {
            None | Some(Edit::DropAwait) => text,
            Some(Edit::Hoist) => {
                let name = self.fresh.next();
                let waiting = if text.starts_with("await ") { text } else { format!("await {text}") };
                draft.line(&format!("let {name} = {waiting}"));
                self.names.insert(span, name.clone());
                name
            }
            Some(Edit::Run { add_inputs }) => {
                let call = text.replacen("task(", "Task.run(", 1);
                match call.strip_suffix(')') {
                    Some(open) if *add_inputs => format!("{open}, {{ }})"),
                    _ => call,
                }
            }
            Some(Edit::Wrap { before, after }) => format!("{before}{text}{after}"),
        }
    }
}

/// Returns the direct parts of an expression in source order.
fn parts(expression: &Expression) -> Vec<&Expression> {
    match &expression.kind {
        ExpressionKind::List(items) => items.iter().collect(),
        ExpressionKind::Object(properties) => properties
            .iter()
            .filter_map(|property| match &property.value {
                PropertyValue::Given(value) => Some(value),
                PropertyValue::Shorthand(_) => None,
            })
            .collect(),
        ExpressionKind::Group(inner) | ExpressionKind::Await(inner) => vec![inner],
        ExpressionKind::Unary { operand, .. } => vec![operand],
        ExpressionKind::Chain { first, rest } => {
            std::iter::once(&**first).chain(rest.iter().map(|link| &link.operand)).collect()
        }
        ExpressionKind::Conditional { condition, then, otherwise } => vec![condition, then, otherwise],
        ExpressionKind::Path { base, steps } => {
            let inside = steps.iter().flat_map(|step| match &step.kind {
                PathStepKind::Property { .. } => &[],
                PathStepKind::Index(index) => std::slice::from_ref(index),
                PathStepKind::Call(arguments) => arguments.as_slice(),
            });
            std::iter::once(&**base).chain(inside).collect()
        }
        _ => Vec::new(),
    }
}
