//! Names and what is read of them. Here the library is found: a name is a variable, one of its functions, one of
//! its groups, the inputs or the context, and nothing else.

use std::sync::Arc;

use super::scope::Binding;
use super::{Compiled, Compiler};
use crate::code::{Access, Fault, Index, Node};
use crate::library;
use crate::runtime_error::short;
use crate::tree::*;

/// What a name means that every program is given.
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
    /// A name that is read.
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

    /// `add(..)` or `Math.floor(..)`, and what follows it.
    fn library_call<'s>(
        &mut self,
        name: &str,
        steps: &'s [PathStep],
    ) -> Compiled<Option<(Index, &'s [PathStep])>> {
        let binding = self.scopes.find(name);
        // A variable never holds a function: one that was merely assigned does not hide it.
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
        // The mistake comes before anything that would be read of it.
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
                    // They are evaluated by nobody, but must be sound.
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

/// Reading a name that means no value.
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
