//! Compiles names and accesses. A name is resolved to a variable, a library function, a library group, the
//! inputs or the context.

use std::sync::Arc;

use super::scope::Binding;
use super::{Compiled, Compiler};
use crate::code::{Access, Fault, Index, Node};
use crate::library;
use crate::runtime_error::short;
use crate::tree::*;

/// Returns the node of a name that every program is given.
pub fn given(name: &str) -> Option<Node> {
    if library::INPUTS.contains(&name) {
        Some(Node::Inputs)
    } else if library::CONTEXT.contains(&name) {
        Some(Node::Context)
    } else {
        None
    }
}

impl Compiler {
    /// Compiles a read of a name.
    pub fn name(&mut self, name: &str) -> Compiled<Index> {
        let node = match self.scopes.find(name) {
            Some(Binding::Slot(slot) | Binding::Created(slot)) => Node::Local(slot),
            Some(Binding::Given(node)) => node,
            None => given(name).unwrap_or_else(|| no_value(name)),
        };
        self.node(node)
    }

    pub fn path(&mut self, base: &Expression, steps: &[PathStep]) -> Compiled<Index> {
        let (base, rest) = match &base.kind {
            ExpressionKind::Name(name) => match self.library_call(name, steps)? {
                Some(found) => found,
                None => (self.name(name)?, steps),
            },
            _ => (self.value(base)?, steps),
        };
        let accesses = self.accesses(rest)?;
        if accesses.is_empty() {
            return Ok(base);
        }
        self.node(Node::Path(base, accesses))
    }

    /// Compiles a library call such as `add(..)` or `Math.floor(..)`; returns it with the remaining steps.
    fn library_call<'s>(
        &mut self,
        name: &str,
        steps: &'s [PathStep],
    ) -> Compiled<Option<(Index, &'s [PathStep])>> {
        let binding = self.scopes.find(name);
        // A variable never holds a function, so a name that was only assigned does not hide a library
        // function.
        let free = matches!(binding, None | Some(Binding::Created(_)));
        if let [PathStep { kind: PathStepKind::Call(arguments), .. }, rest @ ..] = steps
            && free
            && library::function(name).is_some()
        {
            return Ok(Some((self.call(name, arguments)?, rest)));
        }
        let [PathStep { kind: PathStepKind::Property { name: member, .. }, .. }, rest @ ..] = steps else {
            return Ok(None);
        };
        if binding.is_some() || !library::GROUPS.contains(&name) {
            return Ok(None);
        }
        let full = format!("{name}.{}", member.text);
        let node = match (library::function(&full), rest) {
            (Some(_), [PathStep { kind: PathStepKind::Call(arguments), .. }, rest @ ..]) => {
                return Ok(Some((self.call(&full, arguments)?, rest)));
            }
            (Some(function), _) => {
                let message = format!("{full} is a function: call it as {full}{}", function.signature);
                Node::Fault(Fault::TypeError, Arc::from(message))
            }
            (None, _) => {
                let message = format!("{name} has no function `{}`", short(&member.text));
                Node::Fault(Fault::PropertyNotFound, Arc::from(message))
            }
        };
        // The mistake throws before any further access, so drop the remaining steps.
        Ok(Some((self.node(node)?, &[])))
    }

    fn call(&mut self, name: &str, arguments: &[Expression]) -> Compiled<Index> {
        let arguments = self.values(arguments)?;
        let function = self.function(name)?;
        self.node(Node::Call(function, arguments))
    }

    fn accesses(&mut self, steps: &[PathStep]) -> Compiled<Vec<Access>> {
        let mut accesses = Vec::with_capacity(steps.len());
        let mut steps = steps.iter().peekable();
        while let Some(step) = steps.next() {
            let access = match &step.kind {
                PathStepKind::Index(index) => Access::At(self.value(index)?),
                PathStepKind::Call(arguments) => {
                    // The arguments are never evaluated, but they must compile.
                    self.values(arguments)?;
                    Access::Call
                }
                PathStepKind::Property { name, optional } => {
                    let field = Arc::from(name.text.as_str());
                    let called = match steps.peek() {
                        Some(PathStep { kind: PathStepKind::Call(arguments), .. }) => Some(arguments),
                        _ => None,
                    };
                    match (called, optional) {
                        (None, false) => Access::Field(field),
                        (None, true) => Access::MaybeField(field),
                        (Some(arguments), _) => {
                            let arguments = self.values(arguments)?;
                            steps.next();
                            match optional {
                                false => Access::Method(field, arguments),
                                true => Access::MaybeMethod(field, arguments),
                            }
                        }
                    }
                }
            };
            accesses.push(access);
        }
        Ok(accesses)
    }
}

/// Returns the fault for reading a name that has no value.
fn no_value(name: &str) -> Node {
    if library::GROUPS.contains(&name) {
        let message = format!("{name} holds functions and is no value itself");
        return Node::Fault(Fault::TypeError, Arc::from(message));
    }
    match library::function(name) {
        Some(function) => {
            let message = format!("{name} is a function: call it as {name}{}", function.signature);
            Node::Fault(Fault::TypeError, Arc::from(message))
        }
        None => Node::Fault(Fault::UndefinedVariable, Arc::from(format!("`{}` is not defined", short(name)))),
    }
}
