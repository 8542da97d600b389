//! Compiles statements.

use std::sync::Arc;

use rhythm_syntax::Span;

use super::emit::LATER;
use super::scope::Binding;
use super::{CompileError, Compiled, Compiler, Loop};
use crate::code::{Handler, Index, Next, Node, Part, Step, Walk as WalkStep};
use crate::tree::*;

impl Compiler {
    pub fn block(&mut self, block: &Block) -> Compiled<()> {
        self.scopes.open();
        self.block_statements(block)?;
        self.close_scope()
    }

    pub fn block_statements(&mut self, block: &Block) -> Compiled<()> {
        block.statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> Compiled<()> {
        let span = statement.span;
        match &statement.kind {
            StatementKind::Declare { pattern, value, .. } => self.declaration(pattern, value.as_ref(), span),
            StatementKind::Assign { target, value } => self.assignment(target, value, span),
            StatementKind::If { arms, otherwise } => self.conditional(arms, otherwise.as_ref(), span),
            StatementKind::While { condition, body } => self.while_loop(condition, body, span),
            StatementKind::For { .. } => self.for_loop(&statement.kind, span),
            StatementKind::Try { body, error, handler } => self.guarded(body, error.as_ref(), handler, span),
            StatementKind::Throw(value) => {
                let value = self.value(value)?;
                self.emit(Step::Throw(value), span).map(drop)
            }
            StatementKind::Break => self.leave_loop(span, |innermost| &mut innermost.breaks),
            StatementKind::Continue => self.leave_loop(span, |innermost| &mut innermost.continues),
            StatementKind::Return(value) => {
                let value = match value {
                    Some(value) => self.awaited_value(value, span)?,
                    None => self.node(Node::Null)?,
                };
                self.emit(Step::Return(value), span).map(drop)
            }
            StatementKind::Block(block) => self.block(block),
            StatementKind::Expression(expression) => match self.waits(expression) {
                Some(awaited) => self.wait(awaited, span),
                None => {
                    let value = self.value(expression)?;
                    self.emit(Step::Evaluate(value), span).map(drop)
                }
            },
            StatementKind::Function { .. } => Err(CompileError::new(span, "a program defines no functions")),
        }
    }

    fn declaration(&mut self, pattern: &Pattern, value: Option<&Expression>, span: Span) -> Compiled<()> {
        let value = match (value, pattern) {
            (Some(value), _) => self.awaited_value(value, span)?,
            (None, Pattern::Name(_)) => self.node(Node::Null)?,
            (None, _) => return Err(CompileError::new(span, "a pattern needs a value")),
        };
        let names = match pattern {
            Pattern::Name(name) => std::slice::from_ref(name),
            Pattern::Object { names, .. } | Pattern::List { names, .. } => names.as_slice(),
        };
        let slots = names.iter().map(|name| self.new_slot(&name.text)).collect::<Compiled<Vec<_>>>()?;
        let step = match pattern {
            Pattern::Name(_) => Step::Set(slots.first().copied().unwrap_or_default(), value),
            Pattern::Object { .. } => {
                let keys = names.iter().map(|name| Arc::from(name.text.as_str()));
                Step::TakeFields(keys.zip(slots.iter().copied()).collect(), value)
            }
            Pattern::List { .. } => Step::TakeItems(slots.clone(), value),
        };
        self.emit(step, span)?;
        names.iter().zip(slots).try_for_each(|(name, slot)| self.declare(&name.text, slot))
    }

    fn assignment(&mut self, target: &Target, value: &Expression, span: Span) -> Compiled<()> {
        let step = match target {
            Target::List { names, .. } => {
                let value = self.awaited_value(value, span)?;
                let slots = names.iter().map(|name| self.written(name)).collect::<Compiled<Vec<_>>>()?;
                Step::TakeItems(slots, value)
            }
            Target::Place { name, path } if path.is_empty() => {
                let value = self.awaited_value(value, span)?;
                Step::Set(self.written(name)?, value)
            }
            Target::Place { name, path } => {
                let value = self.awaited_value(value, span)?;
                match self.scopes.find(&name.text) {
                    Some(Binding::Slot(slot) | Binding::Created(slot)) => {
                        let path = path.iter().map(|part| self.part(part)).collect::<Compiled<Vec<_>>>()?;
                        Step::SetPath(slot, path, value)
                    }
                    // The name has no value that could be changed; reading it throws the right error.
                    _ => Step::Evaluate(self.name(&name.text)?),
                }
            }
        };
        self.emit(step, span).map(drop)
    }

    fn part(&mut self, place: &Place) -> Compiled<Part> {
        Ok(match place {
            Place::Property(name) => Part::Field(Arc::from(name.text.as_str())),
            Place::Index(index) => Part::At(self.value(index)?),
        })
    }

    /// Returns the slot an assignment writes to.
    fn written(&mut self, name: &Name) -> Compiled<Index> {
        match self.scopes.find(&name.text) {
            Some(Binding::Slot(slot) | Binding::Created(slot)) => Ok(slot),
            _ => Err(CompileError::new(name.span, format!("`{}` cannot be assigned", name.text))),
        }
    }

    fn conditional(&mut self, arms: &[Arm], otherwise: Option<&Block>, span: Span) -> Compiled<()> {
        let mut ends = Vec::new();
        for (place, arm) in arms.iter().enumerate() {
            let condition = self.value(&arm.condition)?;
            let skip = self.emit(Step::JumpUnless(condition, LATER), arm.condition.span)?;
            self.block(&arm.body)?;
            if place + 1 < arms.len() || otherwise.is_some() {
                ends.push(self.emit(Step::Jump(LATER), span)?);
            }
            self.land(skip)?;
        }
        if let Some(block) = otherwise {
            self.block(block)?;
        }
        ends.into_iter().try_for_each(|jump| self.land(jump))
    }

    /// Puts the condition after the body, which saves one step an iteration.
    fn while_loop(&mut self, condition: &Expression, body: &Block, span: Span) -> Compiled<()> {
        let enter = self.emit(Step::Jump(LATER), span)?;
        let first = self.here()?;
        self.loops.push(Loop::default());
        self.block(body)?;
        let round = self.loops.pop().unwrap_or_default();
        self.land(enter)?;
        let test = self.here()?;
        round.continues.into_iter().for_each(|jump| self.land_at(jump, test));
        let value = self.value(condition)?;
        self.emit(Step::JumpIf(value, first), condition.span)?;
        round.breaks.into_iter().try_for_each(|jump| self.land(jump))
    }

    fn for_loop(&mut self, statement: &StatementKind, span: Span) -> Compiled<()> {
        let StatementKind::For { binding, name, walk, items, body } = statement else {
            return Err(CompileError::new(span, "not a loop"));
        };
        let head = Span { start: span.start, end: items.span.end.max(span.start) };
        let items = self.value(items)?;
        let (list, place) = (self.new_slot("#items")?, self.new_slot("#place")?);
        let keys = binding.is_some() && *walk == Walk::In;
        let begin = self.emit(Step::Walk(WalkStep { items, keys, list, place, next: LATER }), head)?;
        self.scopes.open();
        self.declare("#items", list)?;
        self.declare("#place", place)?;
        let variable = match binding {
            Some(_) => {
                let slot = self.new_slot(&name.text)?;
                self.declare(&name.text, slot)?;
                slot
            }
            None => self.written(name)?,
        };
        let first = self.here()?;
        self.loops.push(Loop::default());
        self.block(body)?;
        let round = self.loops.pop().unwrap_or_default();
        self.land(begin)?;
        let next = self.here()?;
        round.continues.into_iter().for_each(|jump| self.land_at(jump, next));
        self.emit(Step::Next(Next { list, place, variable, body: first }), head)?;
        self.close_scope()?;
        round.breaks.into_iter().try_for_each(|jump| self.land(jump))
    }

    fn guarded(&mut self, body: &Block, error: Option<&Name>, handler: &Block, span: Span) -> Compiled<()> {
        let from = self.here()?;
        self.block(body)?;
        let to = self.here()?;
        let past = self.emit(Step::Jump(LATER), span)?;
        let target = self.here()?;
        self.scopes.open();
        let slot = match error {
            Some(name) => {
                let slot = self.new_slot(&name.text)?;
                self.declare(&name.text, slot)?;
                Some(slot)
            }
            None => None,
        };
        // Handlers inside the body are in the table already, so the innermost comes first.
        self.code.handlers.push(Handler { from, to, target, slot });
        self.block_statements(handler)?;
        self.close_scope()?;
        self.land(past)
    }

    fn leave_loop(&mut self, span: Span, jumps: fn(&mut Loop) -> &mut Vec<usize>) -> Compiled<()> {
        let jump = self.emit(Step::Jump(LATER), span)?;
        match self.loops.last_mut() {
            Some(innermost) => {
                jumps(innermost).push(jump);
                Ok(())
            }
            None => Err(CompileError::new(span, "`break` and `continue` belong into a loop")),
        }
    }

    /// Compiles a value where a wait is allowed: the wait becomes a step of its own.
    fn awaited_value(&mut self, expression: &Expression, span: Span) -> Compiled<Index> {
        match self.waits(expression) {
            Some(awaited) => {
                self.wait(awaited, span)?;
                self.node(Node::Awaited)
            }
            None => self.value(expression),
        }
    }

    fn wait(&mut self, awaited: &Expression, span: Span) -> Compiled<()> {
        // In `await await x` the inner one comes first.
        let value = match self.explicit_wait(awaited) {
            Some(inner) => {
                self.wait(inner, span)?;
                self.node(Node::Awaited)?
            }
            None => self.value(awaited)?,
        };
        self.emit(Step::Await(value), span).map(drop)
    }
}
