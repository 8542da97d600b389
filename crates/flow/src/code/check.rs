//! Validates a compiled form. A stored form may be damaged; running it must still be safe.

use thiserror::Error;

use super::{Access, Code, Index, Node, Part, Step};
use crate::library;

/// Largest depth of an expression: 64 brackets, with every precedence between two of them.
const MAX_DEPTH: u32 = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CodeError {
    #[error("step {0} of the compiled form refers to something that is not there")]
    Step(usize),
    #[error("expression {0} of the compiled form refers to something that is not there")]
    Node(usize),
    #[error("expression {0} of the compiled form nests too deeply")]
    Depth(usize),
    #[error("the compiled form calls a function this build does not know")]
    Function,
    #[error("the tables of the compiled form do not fit together")]
    Tables,
}

impl Code {
    pub fn check(&self) -> Result<(), CodeError> {
        let whole = |number: Index| number as usize <= self.steps.len();
        let tables = self.places.len() == self.steps.len()
            && !self.steps.is_empty()
            && self.slots.iter().all(|slot| whole(slot.scope.0) && whole(slot.scope.1))
            && self.handlers.iter().all(|handler| {
                self.is_step(handler.target) && handler.slot.is_none_or(|slot| self.is_slot(slot))
            });
        if !tables {
            return Err(CodeError::Tables);
        }
        if self.functions.iter().any(|name| library::function(name).is_none()) {
            return Err(CodeError::Function);
        }
        self.check_nodes()?;
        match self.steps.iter().position(|step| !self.holds(step)) {
            Some(place) => Err(CodeError::Step(place)),
            // The program must not run past its last step.
            None if !matches!(self.steps.last(), Some(Step::Return(_))) => Err(CodeError::Tables),
            None => Ok(()),
        }
    }

    fn is_step(&self, index: Index) -> bool {
        (index as usize) < self.steps.len()
    }

    fn is_slot(&self, index: Index) -> bool {
        (index as usize) < self.slots.len()
    }

    fn is_node(&self, index: Index) -> bool {
        (index as usize) < self.nodes.len()
    }

    fn check_nodes(&self) -> Result<(), CodeError> {
        let mut depths: Vec<u32> = Vec::with_capacity(self.nodes.len());
        for (place, node) in self.nodes.iter().enumerate() {
            let sound = match node {
                Node::Local(slot) => self.is_slot(*slot),
                Node::Call(function, _) => (*function as usize) < self.functions.len(),
                _ => true,
            };
            let mut depth = 0;
            let mut backwards = sound;
            node.each_child(&mut |child| match depths.get(child as usize) {
                Some(below) => depth = depth.max(below + 1),
                None => backwards = false,
            });
            if !backwards {
                return Err(CodeError::Node(place));
            }
            if depth > MAX_DEPTH {
                return Err(CodeError::Depth(place));
            }
            depths.push(depth);
        }
        Ok(())
    }

    fn holds(&self, step: &Step) -> bool {
        match step {
            Step::Set(slot, value) => self.is_slot(*slot) && self.is_node(*value),
            Step::SetPath(slot, path, value) => {
                let part = |part: &Part| match part {
                    Part::Field(_) => true,
                    Part::At(node) => self.is_node(*node),
                };
                self.is_slot(*slot) && self.is_node(*value) && path.iter().all(part)
            }
            Step::TakeFields(fields, value) => {
                self.is_node(*value) && fields.iter().all(|(_, slot)| self.is_slot(*slot))
            }
            Step::TakeItems(slots, value) => {
                self.is_node(*value) && slots.iter().all(|slot| self.is_slot(*slot))
            }
            Step::Evaluate(value) | Step::Await(value) | Step::Throw(value) | Step::Return(value) => {
                self.is_node(*value)
            }
            Step::Jump(target) => self.is_step(*target),
            Step::JumpIf(value, target) | Step::JumpUnless(value, target) => {
                self.is_node(*value) && self.is_step(*target)
            }
            Step::Walk(walk) => {
                let slots = self.is_slot(walk.list) && self.is_slot(walk.place);
                slots && self.is_node(walk.items) && self.is_step(walk.next)
            }
            Step::Next(next) => {
                let slots = [next.list, next.place, next.variable];
                slots.iter().all(|slot| self.is_slot(*slot)) && self.is_step(next.body)
            }
        }
    }
}

impl Node {
    pub(crate) fn each_child(&self, found: &mut impl FnMut(Index)) {
        match self {
            Self::List(items) | Self::And(items) | Self::Or(items) | Self::Coalesce(items) => {
                items.iter().copied().for_each(found);
            }
            Self::Object(fields) => fields.iter().for_each(|(_, value)| found(*value)),
            Self::Not(operand) | Self::Negate(operand) => found(*operand),
            Self::Chain(first, rest) => {
                found(*first);
                rest.iter().for_each(|(_, operand)| found(*operand));
            }
            Self::If(condition, then, otherwise) => {
                [*condition, *then, *otherwise].into_iter().for_each(found)
            }
            Self::Path(base, accesses) => {
                found(*base);
                for access in accesses {
                    match access {
                        Access::At(index) => found(*index),
                        Access::Method(_, arguments) | Access::MaybeMethod(_, arguments) => {
                            arguments.iter().for_each(|argument| found(*argument));
                        }
                        Access::Field(_) | Access::MaybeField(_) | Access::Call => {}
                    }
                }
            }
            Self::Call(_, arguments) => arguments.iter().copied().for_each(found),
            Self::Null
            | Self::True
            | Self::False
            | Self::Number(_)
            | Self::Text(_)
            | Self::Local(_)
            | Self::Inputs
            | Self::Context
            | Self::Awaited
            | Self::Fault(..) => {}
        }
    }
}
