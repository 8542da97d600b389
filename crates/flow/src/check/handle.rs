//! Checks handles that are never awaited: which variables hold a handle at which point, how handles are
//! misused, and statements that only create one.
//!
//! A variable counts as a handle only when it holds one on every path through the program. Uncertain cases
//! are not reported.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::Diagnostic;

use super::Checker;
use super::call::LibraryCall;
use super::expression::bare;
use super::place::{CallSite, Callee, Context, Place};
use crate::codes;
use crate::library::{Effect, WAITING};
use crate::tree::{Block, Expression, ExpressionKind, Link, Statement, StatementKind, Target};

/// A variable: declared, or created by an assignment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Variable<'t> {
    Declared(usize),
    Created(&'t str),
}

/// New state of each changed variable.
pub(super) type Changes<'t> = BTreeMap<Variable<'t>, Option<Span>>;

/// Variables that hold a handle at the current point.
#[derive(Default)]
pub(super) struct Handles<'t> {
    /// Each variable, with the call that created its handle.
    held: BTreeMap<Variable<'t>, Span>,
    /// Undo log: the previous state of each changed variable, oldest first.
    before: Vec<(Variable<'t>, Option<Span>)>,
    /// Calls whose handle was already reported, so that each gets one message.
    told: BTreeSet<Span>,
}

impl<'t> Handles<'t> {
    pub(super) fn set(&mut self, variable: Variable<'t>, made: Option<Span>) {
        let old = match made {
            Some(span) => self.held.insert(variable, span),
            None => self.held.remove(&variable),
        };
        if old != made {
            self.before.push((variable, old));
        }
    }

    /// Returns a point that [`undo`](Self::undo) can go back to.
    pub(super) fn mark(&self) -> usize {
        self.before.len()
    }

    /// Goes back to a mark and returns the changes made since then.
    pub(super) fn undo(&mut self, mark: usize) -> Changes<'t> {
        let mut changes = Changes::new();
        while self.before.len() > mark
            && let Some((variable, old)) = self.before.pop()
        {
            let now = self.held.get(&variable).copied();
            changes.entry(variable).or_insert(now);
            match old {
                Some(span) => self.held.insert(variable, span),
                None => self.held.remove(&variable),
            };
        }
        changes
    }

    /// Joins several paths through the program: a variable keeps its handle only if every path ends with one.
    pub(super) fn merge(&mut self, ways: &[Changes<'t>]) {
        let changed: BTreeSet<Variable<'t>> = ways.iter().flat_map(|way| way.keys().copied()).collect();
        for variable in changed {
            let old = self.held.get(&variable).copied();
            let mut ends = ways.iter().map(|way| way.get(&variable).copied().unwrap_or(old));
            let first = ends.next().flatten();
            let same = ends.all(|end| end.is_some());
            self.set(variable, first.filter(|_| same));
        }
    }
}

impl<'t> Checker<'t> {
    fn variable(&self, name: &'t str) -> Option<Variable<'t>> {
        match self.scopes.find(name) {
            Some(index) => Some(Variable::Declared(index)),
            None => self.scopes.is_created(name).then_some(Variable::Created(name)),
        }
    }

    /// Returns the call that created the handle which an expression certainly gives as a statement's value.
    pub(super) fn handle_made(&self, expression: &'t Expression) -> Option<Span> {
        let expression = bare(expression);
        match &expression.kind {
            ExpressionKind::Name(name) => self.handles.held.get(&self.variable(name)?).copied(),
            ExpressionKind::Conditional { then, otherwise, .. } => {
                self.handle_made(otherwise).and_then(|_| self.handle_made(then))
            }
            _ => {
                let call = self.as_library_call(expression)?;
                let kept = call.function.gives_handle() && !WAITING.contains(&call.function.name);
                kept.then_some(expression.span)
            }
        }
    }

    /// Records that a variable was assigned, and the call that created its handle, if any.
    pub(super) fn holds(&mut self, name: &'t str, made: Option<Span>) {
        if let Some(variable) = self.variable(name) {
            self.handles.set(variable, made);
        }
    }

    /// Forgets handles in variables that a block assigns. Used where the block may be left at any point or
    /// may repeat.
    pub(super) fn forget_assigned(&mut self, block: &'t Block) {
        let mut names = BTreeSet::new();
        assigned(block, &mut names);
        for name in names {
            if let Some(variable) = self.variable(name) {
                self.handles.set(variable, None);
            }
        }
    }

    /// Reports a handle that is read where only a value makes sense.
    pub(super) fn handle_read(&mut self, name: &'t str, span: Span, context: Context<'t>) {
        if self.handles.held.is_empty() || !takes_value(context) {
            return;
        }
        let Some(made) = self.variable(name).and_then(|it| self.handles.held.get(&it).copied()) else {
            return;
        };
        let name = self.brief(span, "this");
        self.handle_misused(span, made, &format!("`{name}` is a handle here, not its value"));
    }

    /// Reports `let { id } = Task.run(..)`.
    pub(super) fn handle_taken_apart(&mut self, value: &'t Expression) {
        if let Some(made) = self.handle_made(value) {
            self.handle_misused(value.span, made, "a handle has nothing that could be taken out of it");
        }
    }

    fn handle_misused(&mut self, span: Span, made: Span, title: &str) {
        if !self.handles.told.insert(made) {
            return;
        }
        let line = self.line(made.start);
        let help = match self.brief(made, "") {
            "" => format!("wait for it where it is made: write `await` before it on line {line}"),
            call => format!("wait for it where it is made: write `await {call}` on line {line}"),
        };
        self.report.add(codes::HANDLE_VALUE, || {
            Diagnostic::new(codes::HANDLE_VALUE, span, "a handle").titled(title).helped(help)
        });
    }

    /// Reports statements that only create a handle and have no effect. Tasks and workflows may be started
    /// without waiting.
    pub(super) fn dropped(&mut self, expression: &'t Expression) {
        let expression = bare(expression);
        match &expression.kind {
            ExpressionKind::Conditional { then, otherwise, .. } => {
                self.dropped(then);
                self.dropped(otherwise);
            }
            ExpressionKind::Chain { rest, .. } => {
                if let Some(Link { operand, .. }) = rest.last() {
                    self.dropped(operand);
                }
            }
            _ => {
                let Some(call) = self.as_library_call(expression).filter(only_waits) else { return };
                let text = self.brief(call.span, "");
                let help = match text {
                    "" => "write `await` before it".to_owned(),
                    text => format!("write `await {text}`"),
                };
                let name = call.function.name;
                self.report.add(codes::HANDLE_DROPPED, || {
                    Diagnostic::new(codes::HANDLE_DROPPED, call.span, "nothing waits for this")
                        .titled(format!("`{name}(..)` alone waits for nothing"))
                        .helped(help)
                });
            }
        }
    }

    /// Returns whether an expression creates a handle that only serves to be awaited.
    pub(super) fn is_only_waited_for(&self, expression: &'t Expression) -> bool {
        self.as_library_call(expression).as_ref().is_some_and(only_waits)
    }
}

fn only_waits(call: &LibraryCall<'_>) -> bool {
    let function = call.function;
    function.gives_handle() && !function.starts_work() && !WAITING.contains(&function.name)
}

/// Returns whether a handle in this place is a mistake.
fn takes_value(context: Context<'_>) -> bool {
    if context.inputs_of.is_some() {
        return true;
    }
    match (context.place, context.call) {
        (Place::Item | Place::Field, _) => context.returned,
        (Place::Argument, Some(CallSite { callee: Callee::Library(callee), .. })) => {
            callee.effect().is_none() && !matches!(callee.name, "and" | "or")
                || matches!(callee.effect(), Some(Effect::DelaySeconds | Effect::DelayMilliseconds))
        }
        (place, _) => place.needs_value(),
    }
}

/// Collects the names a block assigns, including nested blocks.
fn assigned<'t>(block: &'t Block, names: &mut BTreeSet<&'t str>) {
    for statement in &block.statements {
        assigned_by(statement, names);
    }
}

fn assigned_by<'t>(statement: &'t Statement, names: &mut BTreeSet<&'t str>) {
    match &statement.kind {
        StatementKind::Assign { target: Target::Place { name, .. }, .. } => drop(names.insert(&name.text)),
        StatementKind::Assign { target: Target::List { names: all, .. }, .. } => {
            names.extend(all.iter().map(|name| name.text.as_str()));
        }
        StatementKind::If { arms, otherwise } => {
            arms.iter().for_each(|arm| assigned(&arm.body, names));
            otherwise.iter().for_each(|block| assigned(block, names));
        }
        StatementKind::While { body, .. } | StatementKind::Block(body) => assigned(body, names),
        StatementKind::For { binding, name, body, .. } => {
            if binding.is_none() {
                names.insert(&name.text);
            }
            assigned(body, names);
        }
        StatementKind::Try { body, handler, .. } => {
            assigned(body, names);
            assigned(handler, names);
        }
        _ => {}
    }
}
