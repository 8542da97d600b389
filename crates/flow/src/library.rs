//! The functions programs can call, in one table for compiler, checker and documentation. Programs can call
//! nothing else; no name is ever looked up in the host.

mod arguments;
mod json;
mod list;
mod math;
mod object;
mod operator;
mod text;

pub use arguments::Call;

use super::runtime_error::Evaluated;

/// A library function.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Full name, such as `Math.floor` or `add`; for a method only its own name.
    pub name: &'static str,
    /// Parameters as shown in messages: `(text, separator)`.
    pub signature: &'static str,
    pub least: usize,
    /// Largest number of arguments; unlimited if absent.
    pub most: Option<usize>,
    /// Whether it reads inside its arguments, so that large values in them must be loaded first.
    pub looks_inside: bool,
    pub body: Body,
}

#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// Computes its value from its arguments only.
    Pure(fn(&mut Call<'_>) -> Evaluated),
    /// Starts something, reads the time or writes to the history; the machine executes it.
    Effect(Effect),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    RunTask,
    RunWorkflow,
    MapTask,
    MapWorkflow,
    DelaySeconds,
    DelayMilliseconds,
    Timeout,
    SignalNext,
    SignalWhen,
    SignalSend,
    Group(Combinator),
    Log,
    Now,
}

impl Effect {
    /// Returns the index of the argument that holds the options.
    pub fn options_at(self) -> Option<usize> {
        match self {
            Self::RunTask | Self::RunWorkflow | Self::MapTask | Self::MapWorkflow => Some(2),
            Self::DelaySeconds | Self::DelayMilliseconds | Self::SignalNext | Self::SignalWhen => Some(1),
            Self::Timeout | Self::SignalSend | Self::Group(_) | Self::Log | Self::Now => None,
        }
    }
}

/// Rule by which a group of handles settles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Combinator {
    All,
    Any,
    Race,
    AnyKv,
    RaceKv,
    AllSettled,
}

const fn pure(
    name: &'static str,
    signature: &'static str,
    least: usize,
    most: Option<usize>,
    body: fn(&mut Call<'_>) -> Evaluated,
) -> Function {
    Function { name, signature, least, most, looks_inside: true, body: Body::Pure(body) }
}

/// Marks a function that does not read inside its arguments.
const fn shallow(function: Function) -> Function {
    Function { looks_inside: false, ..function }
}

const fn effect(
    name: &'static str,
    signature: &'static str,
    least: usize,
    most: Option<usize>,
    effect: Effect,
) -> Function {
    Function { name, signature, least, most, looks_inside: false, body: Body::Effect(effect) }
}

const fn group(name: &'static str, combinator: Combinator) -> Function {
    let (signature, most) = match combinator {
        Combinator::All | Combinator::AllSettled => ("(handles)", 1),
        _ => ("(handles, options?)", 2),
    };
    effect(name, signature, 1, Some(most), Effect::Group(combinator))
}

/// Functions called by a plain name or through a group: `add(..)`, `Math.floor(..)`.
pub const FUNCTIONS: &[Function] = &[
    pure("add", "(a, b)", 2, Some(2), operator::add),
    pure("sub", "(a, b)", 2, Some(2), operator::sub),
    pure("mul", "(a, b)", 2, Some(2), operator::mul),
    pure("div", "(a, b)", 2, Some(2), operator::div),
    pure("eq", "(a, b)", 2, Some(2), operator::eq),
    pure("ne", "(a, b)", 2, Some(2), operator::ne),
    pure("lt", "(a, b)", 2, Some(2), operator::lt),
    pure("lte", "(a, b)", 2, Some(2), operator::lte),
    pure("gt", "(a, b)", 2, Some(2), operator::gt),
    pure("gte", "(a, b)", 2, Some(2), operator::gte),
    pure("not", "(a)", 1, Some(1), operator::not),
    shallow(pure("and", "(a, b)", 2, Some(2), operator::and)),
    shallow(pure("or", "(a, b)", 2, Some(2), operator::or)),
    pure("Math.floor", "(number)", 1, Some(1), math::floor),
    pure("Math.ceil", "(number)", 1, Some(1), math::ceil),
    pure("Math.abs", "(number)", 1, Some(1), math::abs),
    pure("Math.round", "(number)", 1, Some(1), math::round),
    pure("Math.min", "(number, ..)", 1, None, math::min),
    pure("Math.max", "(number, ..)", 1, None, math::max),
    shallow(pure("Object.keys", "(object)", 1, Some(1), object::keys)),
    shallow(pure("Object.values", "(object)", 1, Some(1), object::values)),
    shallow(pure("Object.entries", "(object)", 1, Some(1), object::entries)),
    shallow(pure("Object.merge", "(object, ..)", 1, None, object::merge)),
    shallow(pure("Object.has", "(object, key)", 2, Some(2), object::has)),
    pure("JSON.parse", "(text)", 1, Some(1), json::parse),
    pure("JSON.stringify", "(value)", 1, Some(1), json::stringify),
    effect("Time.now", "()", 0, Some(0), Effect::Now),
    effect("log", "(..)", 0, None, Effect::Log),
    effect("Task.run", "(name, inputs, options?)", 2, Some(3), Effect::RunTask),
    effect("Task.map", "(name, list, options?)", 2, Some(3), Effect::MapTask),
    effect("Task.delay", "(milliseconds, options?)", 1, Some(2), Effect::DelayMilliseconds),
    effect("Task.timeout", "(handle, duration)", 2, Some(2), Effect::Timeout),
    effect("Workflow.run", "(name, inputs, options?)", 2, Some(3), Effect::RunWorkflow),
    effect("Workflow.map", "(name, list, options?)", 2, Some(3), Effect::MapWorkflow),
    effect("Timer.delay", "(seconds, options?)", 1, Some(2), Effect::DelaySeconds),
    effect("Signal.next", "(name, options?)", 1, Some(2), Effect::SignalNext),
    effect("Signal.when", "(name, options?)", 1, Some(2), Effect::SignalWhen),
    effect("Signal.send", "(runId, name, payload)", 3, Some(3), Effect::SignalSend),
    group("Promise.all", Combinator::All),
    group("Promise.any", Combinator::Any),
    group("Promise.race", Combinator::Race),
    group("Promise.any_kv", Combinator::AnyKv),
    group("Promise.race_kv", Combinator::RaceKv),
    group("Promise.allSettled", Combinator::AllSettled),
    group("Task.all", Combinator::All),
    group("Task.any", Combinator::Any),
    group("Task.race", Combinator::Race),
    group("Task.any_kv", Combinator::AnyKv),
    group("Task.race_kv", Combinator::RaceKv),
    group("Task.allSettled", Combinator::AllSettled),
    effect("task", "(name, inputs?, options?)", 1, Some(3), Effect::RunTask),
    effect("sleep", "(seconds, options?)", 1, Some(2), Effect::DelaySeconds),
    group("all", Combinator::All),
    group("any", Combinator::Any),
    group("race", Combinator::Race),
];

/// Names that hold functions and have no value themselves.
pub const GROUPS: &[&str] =
    &["Task", "Timer", "Promise", "Signal", "Workflow", "Math", "Time", "Object", "JSON"];

/// Functions that wait without `await` where a statement can wait.
pub const WAITING: &[&str] = &["task", "sleep", "all", "any", "race"];

/// Names of the run's input, and of the context: what a run may know about itself.
pub const INPUTS: &[&str] = &["Inputs", "inputs"];
pub const CONTEXT: &[&str] = &["Context", "ctx"];

/// Fields of `Context`.
pub const CONTEXT_FIELDS: &[&str] = &["executionId", "workflow", "version", "attempt", "startedAt"];

pub const LIST_METHODS: &[Function] = &[
    shallow(pure("concat", "(list, ..)", 0, None, list::concat)),
    pure("includes", "(value)", 1, Some(1), list::includes),
    pure("indexOf", "(value)", 1, Some(1), list::index_of),
    shallow(pure("slice", "(start?, end?)", 0, Some(2), list::slice)),
    pure("join", "(separator?)", 0, Some(1), list::join),
    shallow(pure("reverse", "()", 0, Some(0), list::reverse)),
    shallow(pure("first", "()", 0, Some(0), list::first)),
    shallow(pure("last", "()", 0, Some(0), list::last)),
    pure("sum", "()", 0, Some(0), list::sum),
    pure("sortBy", "(key)", 1, Some(1), list::sort_by),
    pure("pluck", "(key)", 1, Some(1), list::pluck),
    pure("flat", "(depth?)", 0, Some(1), list::flat),
    pure("unique", "()", 0, Some(0), list::unique),
];

pub const TEXT_METHODS: &[Function] = &[
    pure("includes", "(text)", 1, Some(1), text::includes),
    pure("startsWith", "(text)", 1, Some(1), text::starts_with),
    pure("endsWith", "(text)", 1, Some(1), text::ends_with),
    pure("split", "(separator)", 1, Some(1), text::split),
    pure("trim", "()", 0, Some(0), text::trim),
    pure("upper", "()", 0, Some(0), text::upper),
    pure("lower", "()", 0, Some(0), text::lower),
    pure("replace", "(text, with)", 2, Some(2), text::replace),
    pure("slice", "(start?, end?)", 0, Some(2), text::slice),
];

/// Returns the function with this full name.
pub fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

pub fn list_method(name: &str) -> Option<&'static Function> {
    LIST_METHODS.iter().find(|function| function.name == name)
}

pub fn text_method(name: &str) -> Option<&'static Function> {
    TEXT_METHODS.iter().find(|function| function.name == name)
}

#[cfg(test)]
mod tests;
