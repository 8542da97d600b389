//! The position of a value in its statement, which decides whether a run can wait there.

use crate::library::Function;
use crate::tree::Expression;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Statement,
    Initializer,
    Assigned,
    Returned,
    /// Directly after `await`.
    Awaited,
    /// An item of a list.
    Item,
    /// A field of an object.
    Field,
    Argument,
    /// A branch of `? :`, or the last operand of `&&`, `||`, `??`: it may become the value of the whole
    /// expression.
    Branch,
    Operand,
    Condition,
    /// The list or object a `for` goes over.
    Walked,
    Thrown,
    Index,
    /// The base of an access or a call: `here.name`.
    Accessed,
}

impl Place {
    /// Returns whether the value is the whole value of a statement, so that the run can wait here.
    pub(super) fn waits(self) -> bool {
        matches!(self, Self::Statement | Self::Initializer | Self::Assigned | Self::Returned)
    }

    /// Returns whether a handle makes no sense here, only the value it will give.
    pub(super) fn needs_value(self) -> bool {
        matches!(
            self,
            Self::Operand | Self::Condition | Self::Walked | Self::Thrown | Self::Index | Self::Accessed
        )
    }

    /// Completes the sentence "cannot stand ..".
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

/// The surroundings of a value.
#[derive(Clone, Copy)]
pub(super) struct Context<'t> {
    pub(super) place: Place,
    /// The call whose inputs contain this value, at any depth.
    pub(super) inputs_of: Option<&'static str>,
    /// Whether it is inside a list or the argument of a group, where handles belong.
    pub(super) gathered: bool,
    /// Whether it is an item of the list or object given to a group.
    pub(super) combined: bool,
    /// Whether it is part of the program's output, which cannot hold a handle.
    pub(super) returned: bool,
    /// The call of which it is a direct argument.
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
    /// `concat`, which takes both lists and single values.
    Concat,
    Other,
}

impl<'t> Context<'t> {
    pub(super) fn at(place: Place) -> Self {
        Self { place, inputs_of: None, gathered: false, combined: false, returned: false, call: None }
    }

    /// Returns the context of a value that the program returns.
    pub(super) fn returned() -> Self {
        Self { returned: true, ..Self::at(Place::Returned) }
    }

    /// Returns the context of a part of this value.
    pub(super) fn within(self, place: Place) -> Self {
        let returned = self.returned && matches!(place, Place::Item | Place::Field | Place::Branch);
        Self { place, combined: false, returned, call: None, ..self }
    }

    /// Returns the context of an item or field of this value.
    pub(super) fn member(self, place: Place) -> Self {
        let combined = match self.call {
            Some(CallSite { callee: Callee::Library(function), .. }) => function.combinator().is_some(),
            _ => false,
        };
        Self { gathered: self.gathered || place == Place::Item, combined, ..self.within(place) }
    }

    /// Returns the context of an argument of this call.
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
