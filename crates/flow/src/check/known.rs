//! What the checker asks of the library's table.

use crate::library::{self, Body, Combinator, Effect, Function};

impl Function {
    pub(super) fn effect(&self) -> Option<Effect> {
        match self.body {
            Body::Effect(effect) => Some(effect),
            Body::Pure(_) => None,
        }
    }

    /// Starts a task or a child, whose inputs nothing can wait in.
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

    /// Gives a handle, not the value to come.
    pub(super) fn gives_handle(&self) -> bool {
        match self.effect() {
            Some(Effect::Log | Effect::Now | Effect::SignalSend) | None => false,
            Some(_) => true,
        }
    }

    /// More than a value comes of it.
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

/// Whether the library means something by this name alone.
pub(super) fn is_name(name: &str) -> bool {
    is_group(name) || is_given(name) || library::function(name).is_some()
}

/// `run`, `delay` and the like for `Task`.
pub(super) fn members(group: &str) -> impl Iterator<Item = &'static str> {
    library::FUNCTIONS
        .iter()
        .filter_map(move |function| function.name.split_once('.').filter(|(name, _)| *name == group))
        .map(|(_, member)| member)
}

/// What can be called without a dot.
pub(super) fn plain_functions() -> impl Iterator<Item = &'static str> {
    library::FUNCTIONS.iter().map(|function| function.name).filter(|name| !name.contains('.'))
}

/// Every name of the library that stands by itself.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let given = library::INPUTS.iter().chain(library::CONTEXT);
    library::GROUPS.iter().chain(given).copied().chain(plain_functions())
}

/// The functions a method can turn out to be; which one it is depends on the value.
pub(super) fn methods(name: &str) -> Vec<&'static Function> {
    library::list_method(name).into_iter().chain(library::text_method(name)).collect()
}

pub(super) fn method_names() -> impl Iterator<Item = &'static str> {
    library::LIST_METHODS.iter().chain(library::TEXT_METHODS).map(|function| function.name)
}
