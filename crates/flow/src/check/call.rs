//! Checks calls and accesses: which function is called, whether it exists, and with which arguments.

use rhythm_syntax::Span;

use super::place::{CallSite, Callee, Context, Place};
use super::{Checker, Mention, known};
use crate::library::{self, Effect, Function};
use crate::tree::{Expression, ExpressionKind, Name, PathStep, PathStepKind};

/// A call of a library function as written in the source.
#[derive(Clone, Copy)]
pub(super) struct LibraryCall<'t> {
    pub(super) function: &'static Function,
    pub(super) arguments: &'t [Expression],
    /// From the name to the closing bracket.
    pub(super) span: Span,
    /// The brackets and their contents.
    brackets: Span,
}

/// A method call together with its receiver.
#[derive(Clone, Copy)]
pub(super) struct MethodCall<'t> {
    pub(super) method: &'t Name,
    pub(super) receiver: Span,
    /// Includes the receiver.
    pub(super) span: Span,
    brackets: Span,
    pub(super) arguments: &'t [Expression],
}

impl<'t> Checker<'t> {
    pub(super) fn path(
        &mut self,
        expression: &'t Expression,
        base: &'t Expression,
        steps: &'t [PathStep],
        context: Context<'t>,
    ) {
        let taken = match &base.kind {
            ExpressionKind::Name(name) => self.begin(expression, name, base.span, steps, context),
            _ => {
                self.expression(base, context.within(Place::Accessed));
                0
            }
        };
        let unknown = match &base.kind {
            ExpressionKind::Name(name) => !self.scopes.hides(name) && !known::is_name(name),
            _ => false,
        };
        self.accesses(base.span, steps, taken, unknown, context);
    }

    /// Handles the name a path begins with and the steps that belong to it; returns the number of these
    /// steps.
    fn begin(
        &mut self,
        expression: &'t Expression,
        name: &'t str,
        span: Span,
        steps: &'t [PathStep],
        context: Context<'t>,
    ) -> usize {
        if let Some((call, taken)) = self.library_call(name, span, steps) {
            let promised = is_promise(steps.get(taken..).unwrap_or_default());
            self.called(call, promised || expression.span == call.span, context);
            return taken;
        }
        match steps {
            [PathStep { kind: PathStepKind::Call(arguments), .. }, ..] => {
                self.not_a_library_function(name, span);
                self.arguments(arguments, Callee::Other, context);
                1
            }
            [PathStep { kind: PathStepKind::Property { name: member, .. }, .. }, ..]
                if known::is_group(name) && !self.scopes.hides(name) =>
            {
                self.member(name, span, member);
                match steps.get(1).map(|step| &step.kind) {
                    Some(PathStepKind::Call(arguments)) => {
                        self.arguments(arguments, Callee::Other, context);
                        2
                    }
                    _ => 1,
                }
            }
            _ => {
                self.context_field(name, steps);
                self.read(name, span);
                if !steps.is_empty() && !is_promise(steps) {
                    self.handle_read(name, span, context.within(Place::Accessed));
                }
                0
            }
        }
    }

    /// Returns the library call a path begins with, and the number of steps it takes.
    pub(super) fn library_call(
        &self,
        name: &'t str,
        span: Span,
        steps: &'t [PathStep],
    ) -> Option<(LibraryCall<'t>, usize)> {
        let (full, taken) = match &steps.first()?.kind {
            // A variable never holds a function, so a name that was only assigned does not hide a library
            // function.
            PathStepKind::Call(_) if self.scopes.find(name).is_none() => (name.to_owned(), 1),
            PathStepKind::Property { name: member, .. }
                if known::is_group(name) && !self.scopes.hides(name) =>
            {
                (format!("{name}.{}", member.text), 2)
            }
            _ => return None,
        };
        let call = steps.get(taken - 1)?;
        let PathStepKind::Call(arguments) = &call.kind else { return None };
        let function = library::function(&full)?;
        Some((LibraryCall { function, arguments, span: span.to(call.span), brackets: call.span }, taken))
    }

    /// Returns the library call that makes up the whole expression.
    pub(super) fn as_library_call(&self, expression: &'t Expression) -> Option<LibraryCall<'t>> {
        let ExpressionKind::Path { base, steps } = &super::expression::bare(expression).kind else {
            return None;
        };
        let ExpressionKind::Name(name) = &base.kind else { return None };
        let (call, taken) = self.library_call(name, base.span, steps)?;
        (taken == steps.len()).then_some(call)
    }

    fn called(&mut self, call: LibraryCall<'t>, whole: bool, context: Context<'t>) {
        let LibraryCall { function, arguments, span, brackets } = call;
        self.effect |= function.does_something();
        // A call already refused for another reason gets no second message about its argument count.
        let told = self.concurrency_of_handles(call) || self.handles_without_list(call);
        if !function.accepts(arguments.len()) && !told {
            self.wrong_count(function.name, &[function], arguments.len(), brackets);
        }
        self.mention(call);
        if !told {
            self.call_options(call);
        }
        self.constant_arguments(call);
        self.race(call);
        self.call_placed(function, span, whole, arguments.len(), context);
        self.arguments(arguments, Callee::Library(function), context);
    }

    /// Returns whether tasks are passed to a group outside of a list, as in `all(task(..), task(..))`. Their
    /// own message says that they belong in a list.
    fn handles_without_list(&self, call: LibraryCall<'t>) -> bool {
        let is_task =
            |argument| self.as_library_call(argument).is_some_and(|inner| inner.function.name == "task");
        call.function.combinator().is_some() && call.arguments.iter().any(is_task)
    }

    fn arguments(&mut self, arguments: &'t [Expression], callee: Callee, context: Context<'t>) {
        let context = context.argument(CallSite { callee, arguments });
        for argument in arguments {
            self.expression(argument, context);
        }
    }

    /// Checks the steps after the first `taken`. For an `unknown` base the checker cannot know which methods
    /// exist.
    fn accesses(
        &mut self,
        base: Span,
        steps: &'t [PathStep],
        taken: usize,
        unknown: bool,
        context: Context<'t>,
    ) {
        let mut index = taken;
        while let Some(step) = steps.get(index) {
            index += 1;
            match &step.kind {
                PathStepKind::Index(inside) => self.expression(inside, context.within(Place::Index)),
                PathStepKind::Call(arguments) => {
                    self.call_of_value(step.span);
                    self.arguments(arguments, Callee::Other, context);
                }
                PathStepKind::Property { name, .. } => {
                    let Some(PathStep { kind: PathStepKind::Call(arguments), span }) = steps.get(index)
                    else {
                        continue;
                    };
                    index += 1;
                    let receiver = Span { start: base.start, end: step.span.start };
                    let call = MethodCall {
                        method: name,
                        receiver,
                        span: base.to(*span),
                        brackets: *span,
                        arguments,
                    };
                    self.method(call, unknown, context);
                }
            }
        }
    }

    fn method(&mut self, call: MethodCall<'t>, unknown: bool, context: Context<'t>) {
        let MethodCall { method, arguments, brackets, .. } = call;
        if arguments.iter().any(|argument| argument.kind == ExpressionKind::Closure) {
            self.effect = true;
            self.method_with_closure(call);
        } else if unknown {
            self.effect = true;
        } else {
            let functions = known::methods(&method.text);
            if functions.is_empty() {
                self.unknown_method(method);
            } else if !functions.iter().any(|function| function.accepts(arguments.len())) {
                self.wrong_count(&method.text, &functions, arguments.len(), brackets);
            }
        }
        let callee = if method.text == "concat" { Callee::Concat } else { Callee::Other };
        let context = context.argument(CallSite { callee, arguments });
        for argument in arguments {
            if argument.kind != ExpressionKind::Closure {
                self.expression(argument, context);
            }
        }
    }

    /// Records the name of a task, workflow or signal when it is constant.
    fn mention(&mut self, call: LibraryCall<'t>) {
        let names = match call.function.effect() {
            Some(Effect::RunTask | Effect::MapTask) => &mut self.checked.task_names,
            Some(Effect::RunWorkflow | Effect::MapWorkflow) => &mut self.checked.workflow_names,
            Some(Effect::SignalNext | Effect::SignalWhen) => &mut self.checked.signal_names,
            _ => return,
        };
        let Some(first) = call.arguments.first() else { return };
        let name = match &super::expression::bare(first).kind {
            ExpressionKind::Text(text) => text.as_str(),
            ExpressionKind::Name(name) => match self.scopes.resolve(name).and_then(|binding| binding.text) {
                Some(text) => text,
                None => return,
            },
            _ => return,
        };
        names.push(Mention { name: name.to_owned(), span: first.span });
    }
}

/// Returns whether the steps are `.then(x => ..)` or similar. The message about closures covers these.
fn is_promise(steps: &[PathStep]) -> bool {
    let [first, second, ..] = steps else { return false };
    let PathStepKind::Property { name, .. } = &first.kind else { return false };
    let PathStepKind::Call(arguments) = &second.kind else { return false };
    matches!(name.text.as_str(), "then" | "catch" | "finally")
        && arguments.iter().any(|argument| argument.kind == ExpressionKind::Closure)
}
