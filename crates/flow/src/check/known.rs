//! Questions the checker has about the table of library functions.

use crate::library::{self, Body, Combinator, Effect, Function};

impl Function {
    pub(super) fn effect(&self) -> Option<Effect> {
        match self.body {
            Body::Effect(effect) => Some(effect),
            Body::Pure(_) => None,
        }
    }

    /// Returns whether it starts a task or a child. No wait may stand in the inputs of these.
    pub(super) fn starts_work(&self) -> bool {
        matches!(
            self.effect(),
            Some(Effect::RunTask | Effect::RunWorkflow | Effect::MapTask | Effect::MapWorkflow)
        )
    }

    pub(super) fn combinator(&self) -> Option<Combinator> {
        match self.effect() {
            Some(Effect::Group(combinator)) => Some(combinator),
            _ => None,
        }
    }

    /// Returns whether it gives a handle instead of a value.
    pub(super) fn gives_handle(&self) -> bool {
        match self.effect() {
            Some(Effect::Log | Effect::Now | Effect::SignalSend) | None => false,
            Some(_) => true,
        }
    }

    /// Returns whether it has an effect besides its value.
    pub(super) fn does_something(&self) -> bool {
        !matches!(self.effect(), None | Some(Effect::Now))
    }

    pub(super) fn accepts(&self, count: usize) -> bool {
        count >= self.least && self.most.is_none_or(|most| count <= most)
    }
}

pub(super) fn is_group(name: &str) -> bool {
    library::GROUPS.contains(&name)
}

pub(super) fn is_given(name: &str) -> bool {
    library::INPUTS.contains(&name) || library::CONTEXT.contains(&name)
}

/// Returns whether this name alone belongs to the library.
pub(super) fn is_name(name: &str) -> bool {
    is_group(name) || is_given(name) || library::function(name).is_some()
}

/// Returns the members of a group: `run`, `delay` and others for `Task`.
pub(super) fn members(group: &str) -> impl Iterator<Item = &'static str> {
    library::FUNCTIONS
        .iter()
        .filter_map(move |function| function.name.split_once('.').filter(|(name, _)| *name == group))
        .map(|(_, member)| member)
}

/// Returns the functions that are called without a dot.
pub(super) fn plain_functions() -> impl Iterator<Item = &'static str> {
    library::FUNCTIONS.iter().map(|function| function.name).filter(|name| !name.contains('.'))
}

/// Returns every library name that can stand alone.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let given = library::INPUTS.iter().chain(library::CONTEXT);
    library::GROUPS.iter().chain(given).copied().chain(plain_functions())
}

/// Returns the functions a method name can mean; the value decides which one it is.
pub(super) fn methods(name: &str) -> Vec<&'static Function> {
    library::list_method(name).into_iter().chain(library::text_method(name)).collect()
}

pub(super) fn method_names() -> impl Iterator<Item = &'static str> {
    library::LIST_METHODS.iter().chain(library::TEXT_METHODS).map(|function| function.name)
}
