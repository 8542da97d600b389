//! Where a value stands: what decides whether a run can wait there.

use crate::library::Function;
use crate::tree::Expression;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Statement,
    Initializer,
    Assigned,
    Returned,
    /// Directly behind `await`.
    Awaited,
    /// In a list.
    Item,
    /// In an object.
    Field,
    Argument,
    /// One of the values of `? :`, or the last of `&&`, `||`, `??`: may become the value of the whole.
    Branch,
    Operand,
    Condition,
    /// What a `for` walks.
    Walked,
    Thrown,
    Index,
    /// Something is read of it or called: `here.name`.
    Accessed,
}

impl Place {
    /// Its value is a statement's, so the run can stand still here.
    pub(super) fn waits(self) -> bool {
        matches!(self, Self::Statement | Self::Initializer | Self::Assigned | Self::Returned)
    }

    /// A handle cannot be meant here: only what it will give can.
    pub(super) fn needs_value(self) -> bool {
        matches!(
            self,
            Self::Operand | Self::Condition | Self::Walked | Self::Thrown | Self::Index | Self::Accessed
        )
    }

    /// In a sentence: "cannot stand ..".
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Statement | Self::Initializer | Self::Assigned | Self::Returned => "as a statement",
            Self::Awaited => "behind another `await`",
            Self::Item => "in a list",
            Self::Field => "in an object",
            Self::Argument => "in an argument",
            Self::Branch => "in a branch of an expression",
            Self::Operand => "in an operand",
            Self::Condition => "in a condition",
            Self::Walked => "in the head of a `for`",
            Self::Thrown => "in a `throw`",
            Self::Index => "in an index",
            Self::Accessed => "in front of `.`, `[` or `(`",
        }
    }
}

/// What is around a value.
#[derive(Clone, Copy)]
pub(super) struct Context<'t> {
    pub(super) place: Place,
    /// The call among whose inputs it stands, however deep.
    pub(super) inputs_of: Option<&'static str>,
    /// Inside a list or what a combinator is given: handles are meant to be here.
    pub(super) gathered: bool,
    /// It is an item of the list or object a combinator is given.
    pub(super) combined: bool,
    /// Part of what the program gives back, which cannot hold a handle.
    pub(super) returned: bool,
    /// The call it is an argument of.
    pub(super) call: Option<CallSite<'t>>,
}

#[derive(Clone, Copy)]
pub(super) struct CallSite<'t> {
    pub(super) callee: Callee,
    pub(super) arguments: &'t [Expression],
}

#[derive(Clone, Copy)]
pub(super) enum Callee {
    Library(&'static Function),
    /// `concat`, which takes lists and values alike.
    Concat,
    Other,
}

impl<'t> Context<'t> {
    pub(super) fn at(place: Place) -> Self {
        Self { place, inputs_of: None, gathered: false, combined: false, returned: false, call: None }
    }

    /// A value the program gives back.
    pub(super) fn returned() -> Self {
        Self { returned: true, ..Self::at(Place::Returned) }
    }

    /// Somewhere within this.
    pub(super) fn within(self, place: Place) -> Self {
        let returned = self.returned && matches!(place, Place::Item | Place::Field | Place::Branch);
        Self { place, combined: false, returned, call: None, ..self }
    }

    /// An item of a list, or a field of an object, that stands here.
    pub(super) fn member(self, place: Place) -> Self {
        let combined = match self.call {
            Some(CallSite { callee: Callee::Library(function), .. }) => function.combinator().is_some(),
            _ => false,
        };
        Self { gathered: self.gathered || place == Place::Item, combined, ..self.within(place) }
    }

    /// An argument of a call that stands here.
    pub(super) fn argument(self, call: CallSite<'t>) -> Self {
        let (inputs_of, gathered) = match call.callee {
            Callee::Library(function) if function.starts_work() => (Some(function.name), false),
            Callee::Library(function) => (self.inputs_of, function.combinator().is_some()),
            _ => (self.inputs_of, false),
        };
        Self {
            place: Place::Argument,
            inputs_of,
            gathered,
            combined: false,
            returned: false,
            call: Some(call),
        }
    }
}
