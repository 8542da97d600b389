//! Handles nobody waited for: which names hold one where, how they are misused, and statements that only make one.
//!
//! A name is known to hold a handle only while every way through the program leads to that: what is not certain is
//! not said.

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

/// What variables changed to, each once.
pub(super) type Changes<'t> = BTreeMap<Variable<'t>, Option<Span>>;

/// Which variables hold a handle now.
#[derive(Default)]
pub(super) struct Handles<'t> {
    /// With the call that made it.
    held: BTreeMap<Variable<'t>, Span>,
    /// What each changed variable was before, oldest first.
    before: Vec<(Variable<'t>, Option<Span>)>,
    /// Calls whose handle was reported: one complaint is enough.
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

    /// A point to go back to.
    pub(super) fn mark(&self) -> usize {
        self.before.len()
    }

    /// Goes back to a mark; gives what had changed since.
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

    /// Goes on after several ways through the program came together.
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

    /// The call that made the handle an expression certainly gives, where it is a statement's value.
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

    /// A name has got a value.
    pub(super) fn holds(&mut self, name: &'t str, made: Option<Span>) {
        if let Some(variable) = self.variable(name) {
            self.handles.set(variable, made);
        }
    }

    /// What a block may assign is not known where the block can be left at any point, or may run again.
    pub(super) fn forget_assigned(&mut self, block: &'t Block) {
        let mut names = BTreeSet::new();
        assigned(block, &mut names);
        for name in names {
            if let Some(variable) = self.variable(name) {
                self.handles.set(variable, None);
            }
        }
    }

    /// A name is read where only a value can be meant.
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

    /// `let { id } = Task.run(..)`
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

    /// Statements that make a handle of which nothing can come. Tasks and workflows may be started and left alone.
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

    /// Whether an expression makes a handle that is good for nothing but being awaited.
    pub(super) fn is_only_waited_for(&self, expression: &'t Expression) -> bool {
        self.as_library_call(expression).as_ref().is_some_and(only_waits)
    }
}

fn only_waits(call: &LibraryCall<'_>) -> bool {
    let function = call.function;
    function.gives_handle() && !function.starts_work() && !WAITING.contains(&function.name)
}

/// Whether a handle here is a mistake.
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

/// The names a block assigns, however deep.
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
