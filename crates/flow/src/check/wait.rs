//! Checks where a run may wait. A wait in any other place is an offence. After each statement its offences
//! are reported; the first message shows the statement rewritten.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_syntax::Code;
use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::Diagnostic;

use super::Checker;
use super::place::{CallSite, Callee, Context, Place};
use super::rewrite::{Edit, Head, Rewrite, rewrite};
use crate::codes;
use crate::lexer;
use crate::library::{self, Effect, Function};
use crate::token::TokenKind;
use crate::tree::{Expression, ExpressionKind};

pub(super) struct Offence<'t> {
    span: Span,
    rule: Rule,
    remedy: Remedy<'t>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// `await` may only stand where a statement can wait.
    Await(Place),
    /// Nothing may be started among the inputs of this call.
    Nested(&'static str),
    /// `task(..)` waits without `await`, which is not possible here.
    Task(Place),
    /// This call gives a handle where only its value makes sense.
    Handle(&'static str),
}

#[derive(Clone, Copy)]
enum Remedy<'t> {
    /// Wait in a statement before this one.
    Before,
    /// Leave out the `await`.
    NoAwait,
    /// Start it with `Task.run`, which does not wait without `await`; the flag says whether inputs must be
    /// added.
    Run(bool),
    /// Put these arguments into a list.
    List(&'t [Expression]),
}

impl<'t> Checker<'t> {
    pub(super) fn await_placed(
        &mut self,
        expression: &'t Expression,
        awaited: &'t Expression,
        context: Context<'t>,
    ) {
        if context.place.waits() {
            self.await_literal(expression, awaited);
            return;
        }
        let remedy = if context.combined || context.place == Place::Awaited {
            Remedy::NoAwait
        } else {
            Remedy::Before
        };
        self.offences.push(Offence { span: expression.span, rule: Rule::Await(context.place), remedy });
    }

    /// Reports `await [a, b]`, which does not wait for the items: it gives the list at once.
    fn await_literal(&mut self, expression: &'t Expression, awaited: &'t Expression) {
        let (what, help) = match &super::expression::bare(awaited).kind {
            ExpressionKind::List(_) => ("a list", "to wait for its items write `await Promise.all([ .. ])`"),
            ExpressionKind::Object(_) => {
                ("an object", "to wait for its values write `await Promise.all({ .. })`")
            }
            ExpressionKind::Text(_) => {
                ("a string", "to run a task of that name write `await Task.run(name, inputs)`")
            }
            ExpressionKind::Number(_) => ("a number", "to let time pass write `sleep(seconds)`"),
            ExpressionKind::Null | ExpressionKind::Boolean(_) => ("a constant", "leave out the `await`"),
            _ => return,
        };
        self.report.add(codes::AWAITS_NOTHING, || {
            Diagnostic::new(codes::AWAITS_NOTHING, expression.span, "waits for nothing")
                .titled(format!("`await` on {what} waits for nothing"))
                .helped(help)
        });
    }

    /// Checks where a library call stands. `whole` is false when a part of its result is accessed.
    pub(super) fn call_placed(
        &mut self,
        function: &'static Function,
        span: Span,
        whole: bool,
        arguments: usize,
        context: Context<'t>,
    ) {
        let place = if whole { context.place } else { Place::Accessed };
        let before = Remedy::Before;
        if function.starts_work()
            && let Some(outer) = context.inputs_of
        {
            self.offences.push(Offence { span, rule: Rule::Nested(outer), remedy: before });
        } else if function.name == "task" && !(place.waits() || gives_handle(place)) {
            let remedy = match context.call.filter(|_| place == Place::Argument) {
                Some(call) => instead_of_argument(call, span, arguments),
                None => before,
            };
            self.offences.push(Offence { span, rule: Rule::Task(place), remedy });
        } else if function.gives_handle() && self.value_is_meant(function, place, context) {
            self.offences.push(Offence { span, rule: Rule::Handle(function.name), remedy: before });
        }
    }

    /// Returns whether only the future value makes sense here, not the handle.
    fn value_is_meant(&self, function: &Function, place: Place, context: Context<'t>) -> bool {
        // These functions wait without `await` wherever a wait is possible.
        let waiting = library::WAITING.contains(&function.name);
        let meant = match (place, context.call) {
            (Place::Field | Place::Item, _) if context.returned => true,
            (Place::Field, _) => waiting && !context.gathered,
            (Place::Argument, Some(call)) => match call.callee {
                Callee::Library(callee) if callee.effect() == Some(Effect::Timeout) => false,
                // `and` and `or` return one of their arguments, so a handle is fine.
                Callee::Library(callee) if matches!(callee.name, "and" | "or") => false,
                Callee::Library(callee) => waiting || callee.effect().is_none(),
                Callee::Concat => false,
                Callee::Other => waiting,
            },
            _ => place.needs_value(),
        };
        meant || context.inputs_of.is_some()
    }

    /// Reports the offences of a statement after its head was checked.
    pub(super) fn settle(&mut self, head: Head<'t>) {
        if self.offences.is_empty() {
            return;
        }
        let offences = std::mem::take(&mut self.offences);
        self.effect = true;
        let rewrite = self.rewritten(&offences, head);
        let mut first = true;
        for offence in &offences {
            let code = offence.rule.code();
            if !self.report.wants(code) {
                self.report.add(code, || Diagnostic::new(code, offence.span, ""));
                continue;
            }
            let help = self.remedy(offence, rewrite.as_ref(), first);
            first = false;
            self.report.add(code, || {
                Diagnostic::new(code, offence.span, offence.rule.label())
                    .titled(offence.rule.title())
                    .helped(help)
            });
        }
    }

    fn rewritten(&mut self, offences: &[Offence<'t>], head: Head<'t>) -> Option<Rewrite> {
        let wanted = offences.iter().any(|offence| self.report.wants(offence.rule.code()));
        if !wanted || !head.is_short() {
            return None;
        }
        let mut edits = BTreeMap::new();
        for offence in offences {
            offence.edit(&mut edits);
        }
        self.note_words();
        rewrite(self.source, head, &edits, self.taken.as_ref()?)
    }

    /// Collects the words of the source on the first call.
    pub(super) fn note_words(&mut self) {
        let source = self.source;
        self.taken.get_or_insert_with(|| words(source));
    }

    fn remedy(&self, offence: &Offence<'t>, rewrite: Option<&Rewrite>, first: bool) -> String {
        let text = self.brief(offence.span, "..");
        let waiting = if text.starts_with("await ") { text.to_owned() } else { format!("await {text}") };
        let advice = match offence.remedy {
            Remedy::Before => "wait first, then use the value",
            Remedy::NoAwait if offence.rule == Rule::Await(Place::Awaited) => "one `await` is enough",
            Remedy::NoAwait => "handles are waited for together: leave out the `await`",
            Remedy::Run(_) => "`Task.run` gives the handle that is needed here",
            Remedy::List(_) => "put it into a list, where it gives a handle",
        };
        match (rewrite, offence.remedy) {
            (Some(rewrite), _) if first => format!("{advice}:\n{}", rewrite.text),
            (rewrite, Remedy::Before) => {
                let name = match rewrite.map(|rewrite| rewrite.names.get(&offence.span)) {
                    Some(None) => return "the rewrite of the first shows this too".to_owned(),
                    Some(Some(name)) => name.as_str(),
                    None => "n",
                };
                format!("write `let {name} = {waiting}` first, then use `{name}`")
            }
            _ => advice.to_owned(),
        }
    }
}

/// Returns whether a lower-case `task(..)` here does not wait and gives a handle that may be intended.
fn gives_handle(place: Place) -> bool {
    matches!(place, Place::Awaited | Place::Item | Place::Field)
}

fn instead_of_argument<'t>(call: CallSite<'t>, span: Span, arguments: usize) -> Remedy<'t> {
    let mut all = call.arguments;
    match call.callee {
        Callee::Library(function) if function.effect() == Some(Effect::Timeout) => Remedy::Run(arguments < 2),
        Callee::Library(function) if function.combinator().is_some() => {
            // An options object may follow the handles.
            if let [handles @ .., Expression { kind: ExpressionKind::Object(_), .. }] = all {
                all = handles;
            }
            Remedy::List(all)
        }
        Callee::Concat => {
            let holds =
                |argument: &&Expression| argument.span.start <= span.start && span.end <= argument.span.end;
            all.iter()
                .find(holds)
                .map_or(Remedy::Before, |argument| Remedy::List(std::slice::from_ref(argument)))
        }
        _ => Remedy::Before,
    }
}

/// Returns the words of a source that may be names of values.
fn words(source: &str) -> BTreeSet<&str> {
    let tokens = lexer::lex(source).tokens;
    let kind_at = |index: usize| tokens.get(index).map(|token| token.kind);
    let mut words = BTreeSet::new();
    for (index, token) in tokens.iter().enumerate() {
        let before = index.checked_sub(1).and_then(kind_at);
        let after_dot = matches!(before, Some(TokenKind::Dot | TokenKind::OptionalDot));
        let is_key = kind_at(index + 1) == Some(TokenKind::Colon)
            && matches!(before, Some(TokenKind::LeftBrace | TokenKind::Comma));
        if token.kind == TokenKind::Name && !after_dot && !is_key {
            words.insert(token.span.text(source));
        }
    }
    words
}

impl Offence<'_> {
    fn edit(&self, edits: &mut BTreeMap<Span, Edit>) {
        match self.remedy {
            Remedy::Before => drop(edits.insert(self.span, Edit::Hoist)),
            Remedy::NoAwait => drop(edits.insert(self.span, Edit::DropAwait)),
            Remedy::Run(add_inputs) => drop(edits.insert(self.span, Edit::Run { add_inputs })),
            Remedy::List(arguments) => {
                if let (Some(first), Some(last)) = (arguments.first(), arguments.last()) {
                    let one = first.span == last.span;
                    edits.insert(first.span, Edit::Wrap { before: "[", after: if one { "]" } else { "" } });
                    if !one {
                        edits.insert(last.span, Edit::Wrap { before: "", after: "]" });
                    }
                }
            }
        }
    }
}

impl Rule {
    fn code(self) -> Code {
        match self {
            Self::Await(_) => codes::AWAIT_PLACE,
            Self::Nested(_) => codes::NESTED_TASK,
            Self::Task(_) => codes::TASK_PLACE,
            Self::Handle(_) => codes::HANDLE_VALUE,
        }
    }

    fn title(self) -> String {
        match self {
            Self::Await(place) => format!("`await` cannot stand {}", place.words()),
            Self::Nested(outer) => {
                format!("a task cannot be started among the inputs of `{outer}(..)`: await it first")
            }
            Self::Task(place) => format!("`task(..)` cannot wait {}", place.words()),
            Self::Handle(name) => format!("`{name}(..)` gives a handle here, not its value"),
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Await(_) | Self::Task(_) => "cannot wait here",
            Self::Nested(_) => "a call inside of another's inputs",
            Self::Handle(_) => "a handle",
        }
    }
}
