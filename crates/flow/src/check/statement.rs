//! Walks over statements: scopes, loops, unreachable code. Each statement reports whether the next one is
//! reached.

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::Diagnostic;

use super::closure::Defined;
use super::expression::bare;
use super::handle::{Changes, Variable};
use super::place::{Context, Place};
use super::rewrite::Head;
use super::scope::Kind;
use super::{Checker, Shown};
use crate::codes;
use crate::library::WAITING;
use crate::tree::{
    Arm, Block, Expression, ExpressionKind, Mutability, Name, Pattern, Place as Part, Statement,
    StatementKind, Target,
};

/// Whether the next statement is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    GoesOn,
    Ends,
}

impl Then {
    fn ends_if(ends: bool) -> Self {
        if ends { Self::Ends } else { Self::GoesOn }
    }
}

impl<'t> Checker<'t> {
    pub(super) fn block(&mut self, block: &'t Block) -> Then {
        let mut end: Option<&'t Statement> = None;
        let mut reported = false;
        for statement in &block.statements {
            if let Some(end) = end
                && !reported
                && !matches!(statement.kind, StatementKind::Function { .. })
            {
                self.unreachable(end, statement);
                reported = true;
            }
            if self.statement(statement) == Then::Ends && end.is_none() {
                end = Some(statement);
            }
        }
        Then::ends_if(end.is_some())
    }

    fn scoped(&mut self, block: &'t Block) -> Then {
        self.scopes.open();
        let then = self.block(block);
        self.close_scope(block.span);
        then
    }

    fn statement(&mut self, statement: &'t Statement) -> Then {
        match &statement.kind {
            StatementKind::Declare { mutability, pattern, value } => {
                self.whole(statement, |checker| checker.declare(*mutability, pattern, value.as_ref()));
            }
            StatementKind::Assign { target, value } => {
                self.whole(statement, |checker| checker.assign(target, value));
            }
            StatementKind::If { arms, otherwise } => {
                return self.branch(statement.span, arms, otherwise.as_ref());
            }
            StatementKind::While { condition, body } => return self.repeat(condition, body),
            StatementKind::For { .. } => self.walk(statement),
            StatementKind::Try { body, error, handler } => {
                return self.attempt(body, error.as_ref(), handler);
            }
            StatementKind::Throw(value) => {
                self.whole(statement, |checker| checker.expression(value, Context::at(Place::Thrown)));
                return Then::Ends;
            }
            StatementKind::Break | StatementKind::Continue => return self.leave_loop(statement),
            StatementKind::Return(value) => {
                self.whole(statement, |checker| {
                    value.iter().for_each(|value| checker.expression(value, Context::returned()));
                });
                return Then::Ends;
            }
            StatementKind::Block(block) => return self.scoped(block),
            StatementKind::Expression(expression) => self.evaluate(statement, expression),
            StatementKind::Function { name } => {
                self.function(statement.span, Defined::Statement);
                if let Some(name) = name {
                    self.scopes.declare(&name.text, name.span, Kind::Function);
                }
            }
        }
        Then::GoesOn
    }

    /// Checks the head of a statement, then reports its misplaced waits all at once.
    fn head(&mut self, head: Head<'t>, shown: Option<Shown>, look: impl FnOnce(&mut Self)) {
        self.shown = shown;
        self.offences.clear();
        look(self);
        self.settle(head);
        self.shown = None;
    }

    fn whole(&mut self, statement: &'t Statement, look: impl FnOnce(&mut Self)) {
        let shown = Shown { span: statement.span, rest: "" };
        self.head(Head::Whole(statement), Some(shown), look);
    }

    fn declare(&mut self, mutability: Mutability, pattern: &'t Pattern, value: Option<&'t Expression>) {
        let mut kind = match mutability {
            Mutability::Let => Kind::Let,
            Mutability::Const => Kind::Const,
        };
        self.effect = false;
        match (value, pattern) {
            (Some(Expression { kind: ExpressionKind::Closure, span }), Pattern::Name(name)) => {
                self.function(*span, Defined::Named(&name.text));
                kind = Kind::Function;
            }
            (Some(value), _) => self.expression(value, Context::at(Place::Initializer)),
            (None, _) => {}
        }
        if let (Some(value), Pattern::Object { .. } | Pattern::List { .. }) = (value, pattern) {
            self.handle_taken_apart(value);
        }
        // Check the value before declaring the name, because the new name may hide one used in the value.
        let made = value.and_then(|value| self.handle_made(value));
        let mut complained = false;
        let names = match pattern {
            Pattern::Name(name) => {
                if value.is_none() && kind == Kind::Const {
                    self.constant_without_value(name);
                    complained = true;
                }
                std::slice::from_ref(name)
            }
            Pattern::Object { names, span } | Pattern::List { names, span } => {
                if value.is_none() {
                    self.pattern_without_value(*span);
                    complained = true;
                }
                names
            }
        };
        for name in names {
            let binding = self.declare_name(name, kind);
            self.handles
                .set(Variable::Declared(binding), made.filter(|_| matches!(pattern, Pattern::Name(_))));
            // The declaration was already reported: do not report the name as unused, too.
            if complained {
                self.scopes.mark_read(binding);
            }
            if let (Pattern::Name(_), Some(value)) = (pattern, value) {
                let text = match &bare(value).kind {
                    ExpressionKind::Text(text) if kind == Kind::Const => Some(text.as_str()),
                    _ => None,
                };
                let waits =
                    self.as_library_call(value).is_some_and(|call| WAITING.contains(&call.function.name));
                let can_fail = !waits && self.can_fail(value);
                let only_waited_for = self.is_only_waited_for(value);
                let effect = self.effect;
                let binding = self.scopes.binding_mut(binding);
                binding.effect = effect;
                binding.text = text;
                binding.can_fail = can_fail;
                binding.only_waited_for = only_waited_for;
                binding.value = Some(value.span);
            }
        }
    }

    fn pattern_without_value(&mut self, span: Span) {
        let pattern = self.brief(span, "{ a, b }");
        self.report.add(codes::PATTERN_VALUE, || {
            Diagnostic::new(codes::PATTERN_VALUE, span, "nothing to take apart")
                .titled("a pattern needs a value")
                .helped(format!("write `let {pattern} = value`, or declare each name by itself"))
        });
    }

    fn constant_without_value(&mut self, name: &'t Name) {
        self.report.add(codes::CONST_VALUE, || {
            Diagnostic::new(codes::CONST_VALUE, name.span, "has no value")
                .titled(format!("`{}` is null and stays so", name.text))
                .helped(format!("write `const {0} = value`, or `let {0}` to assign it later", name.text))
        });
    }

    fn assign(&mut self, target: &'t Target, value: &'t Expression) {
        match target {
            Target::Place { name, path } => {
                for part in path {
                    if let Part::Index(index) = part {
                        self.expression(index, Context::at(Place::Index));
                    }
                }
                self.expression(value, Context::at(Place::Assigned));
                if path.is_empty() {
                    let made = self.handle_made(value);
                    self.assign_name(name);
                    self.holds(&name.text, made);
                } else {
                    self.assign_part(name);
                }
            }
            Target::List { names, .. } => {
                self.expression(value, Context::at(Place::Assigned));
                self.handle_taken_apart(value);
                for name in names {
                    self.assign_name(name);
                    self.holds(&name.text, None);
                }
            }
        }
    }

    fn branch(&mut self, span: Span, arms: &'t [Arm], otherwise: Option<&'t Block>) -> Then {
        let mut all_end = true;
        let mut ways = Vec::new();
        for (index, arm) in arms.iter().enumerate() {
            let shown = Shown { span: Span { start: span.start, end: arm.body.span.start }, rest: "{ .. }" };
            let (head, shown) = match index {
                0 => (Head::If(&arm.condition), Some(shown)),
                _ => (Head::ElseIf(&arm.condition), None),
            };
            self.head(head, shown, |checker| {
                checker.condition(&arm.condition, Context::at(Place::Condition));
            });
            all_end &= self.way(&mut ways, |checker| checker.scoped(&arm.body)) == Then::Ends;
        }
        let rest =
            self.way(&mut ways, |checker| otherwise.map_or(Then::GoesOn, |block| checker.scoped(block)));
        self.handles.merge(&ways);
        Then::ends_if(all_end && rest == Then::Ends)
    }

    /// Checks one of several paths through the program. Its changes count only if the program continues after
    /// it.
    fn way(&mut self, ways: &mut Vec<Changes<'t>>, look: impl FnOnce(&mut Self) -> Then) -> Then {
        let mark = self.handles.mark();
        let then = look(self);
        let changes = self.handles.undo(mark);
        if then == Then::GoesOn {
            ways.push(changes);
        }
        then
    }

    fn repeat(&mut self, condition: &'t Expression, body: &'t Block) -> Then {
        let endless = super::condition::constant(condition) == Some(true);
        self.forget_assigned(body);
        self.head(Head::While(condition), None, |checker| {
            let context = Context::at(Place::Condition);
            match endless {
                true => checker.expression(condition, context),
                false => checker.condition(condition, context),
            }
        });
        let left = self.loop_body(body);
        Then::ends_if(endless && !left)
    }

    /// Checks the body of a loop; returns whether a `break` leaves it.
    fn loop_body(&mut self, body: &'t Block) -> bool {
        self.loops.push(false);
        let mark = self.handles.mark();
        self.scoped(body);
        // The body may never run, and the caller already forgot the variables it assigns.
        self.handles.undo(mark);
        self.loops.pop().unwrap_or_default()
    }

    fn walk(&mut self, statement: &'t Statement) {
        let StatementKind::For { binding, name, items, body, .. } = &statement.kind else { return };
        let span = Span { start: statement.span.start, end: body.span.start };
        self.head(Head::For(span, items), Some(Shown { span, rest: "{ .. }" }), |checker| {
            checker.expression(items, Context::at(Place::Walked));
        });
        self.forget_assigned(body);
        self.scopes.open();
        match binding {
            Some(Mutability::Let) => drop(self.declare_name(name, Kind::Loop)),
            Some(Mutability::Const) => drop(self.declare_name(name, Kind::LoopConst)),
            None => {
                self.assign_name(name);
                self.holds(&name.text, None);
            }
        }
        self.loop_body(body);
        self.close_scope(body.span);
    }

    fn attempt(&mut self, body: &'t Block, error: Option<&'t Name>, handler: &'t Block) -> Then {
        let mut ways = Vec::new();
        let tried = self.way(&mut ways, |checker| checker.scoped(body));
        let handled = self.way(&mut ways, |checker| {
            checker.forget_assigned(body);
            checker.scopes.open();
            if let Some(name) = error {
                checker.declare_name(name, Kind::Caught);
            }
            let handled = checker.block(handler);
            checker.close_scope(handler.span);
            handled
        });
        self.handles.merge(&ways);
        Then::ends_if(tried == Then::Ends && handled == Then::Ends)
    }

    fn leave_loop(&mut self, statement: &'t Statement) -> Then {
        let is_break = statement.kind == StatementKind::Break;
        if let Some(left) = self.loops.last_mut() {
            *left |= is_break;
            return Then::Ends;
        }
        let word = if is_break { "break" } else { "continue" };
        self.report.add(codes::NO_LOOP, || {
            Diagnostic::new(codes::NO_LOOP, statement.span, "no `while` or `for` around it")
                .titled(format!("`{word}` outside of a loop"))
                .helped("to end the program here write `return`; to skip statements put them into an `if`")
        });
        Then::GoesOn
    }

    fn evaluate(&mut self, statement: &'t Statement, expression: &'t Expression) {
        let before = self.report.count();
        self.effect = false;
        self.whole(statement, |checker| checker.expression(expression, Context::at(Place::Statement)));
        if !self.effect && self.report.count() == before {
            self.no_effect(expression);
        }
        if self.report.count() == before {
            self.dropped(expression);
        }
    }

    fn unreachable(&mut self, end: &'t Statement, first: &'t Statement) {
        if !self.report.wants(codes::UNREACHABLE) {
            return;
        }
        let line = self.line(end.span.start);
        let cause = match &end.kind {
            StatementKind::Return(_) => format!("the `return` on line {line} ends the program"),
            StatementKind::Throw(_) => format!("the `throw` on line {line} leaves"),
            StatementKind::Break => format!("the `break` on line {line} leaves the loop"),
            StatementKind::Continue => format!("the `continue` on line {line} goes to the next round"),
            StatementKind::While { .. } => format!("the loop on line {line} never ends"),
            _ => format!("no way through line {line} leads on"),
        };
        let span = self.first_line(first.span);
        self.report.add(codes::UNREACHABLE, || {
            Diagnostic::new(codes::UNREACHABLE, span, "never reached")
                .titled(format!("this is never reached: {cause}"))
                .helped("remove it, or move it before")
        });
    }
}
