//! Evaluates expressions. The depth of the compiled tree bounds the recursion. Each kind of node has its own
//! function, so that a level uses little of the host's stack.

use std::sync::Arc;

use super::Machine;
use super::access::key_cost;
use crate::code::{Fault, Index, Node};
use crate::operators::{self, Operator};
use crate::runtime_error::{Evaluated, codes, short, throw};
use crate::value::{List, Object, Value};

impl Machine<'_> {
    /// Returns the value of an expression. A large value may be a reference; see [`Self::looked`].
    pub fn evaluate(&mut self, index: Index) -> Evaluated {
        self.meter.node()?;
        let flow = self.flow;
        let Some(node) = flow.code.nodes.get(index as usize) else { return Ok(Value::Null) };
        match node {
            Node::Null => Ok(Value::Null),
            Node::True => Ok(Value::Boolean(true)),
            Node::False => Ok(Value::Boolean(false)),
            Node::Number(literal) => Ok(Value::Number(literal.0)),
            Node::Text(text) => Ok(Value::Text(text.clone())),
            Node::Local(slot) => self.local(*slot),
            Node::Inputs => self.inputs(),
            Node::Context => self.context(),
            Node::Awaited => Ok(std::mem::replace(&mut self.awaited, Value::Null)),
            Node::List(items) => self.list(items),
            Node::Object(fields) => self.object(fields),
            Node::Not(operand) => self.truthy(*operand).map(|truthy| Value::Boolean(!truthy)),
            Node::Negate(operand) => self.negate(*operand),
            Node::Chain(first, rest) => self.chain(*first, rest),
            Node::And(operands) => self.choose(operands, |value| !value.is_truthy()),
            Node::Or(operands) => self.choose(operands, Value::is_truthy),
            Node::Coalesce(operands) => self.choose(operands, |value| !matches!(value, Value::Null)),
            Node::If(condition, then, otherwise) => {
                let branch = if self.truthy(*condition)? { then } else { otherwise };
                self.evaluate(*branch)
            }
            Node::Path(base, accesses) => self.path(*base, accesses),
            Node::Call(function, arguments) => self.call(*function, arguments),
            Node::Fault(fault, message) => fail(*fault, message),
        }
    }

    /// Returns the value of an expression, loaded if it is a reference.
    #[inline(never)]
    pub fn looked(&mut self, index: Index) -> Evaluated {
        let value = self.evaluate(index)?;
        self.look(value)
    }

    #[inline(never)]
    pub fn truthy(&mut self, index: Index) -> Evaluated<bool> {
        let value = self.evaluate(index)?;
        Ok(self.judged(value)?.is_truthy())
    }

    /// Prepares a value for use as a condition. A value in segments is not loaded for that; a handle throws.
    fn judged(&mut self, value: Value) -> Evaluated {
        match value {
            Value::Kept(_) => Ok(value),
            Value::Handle(_) => operators::undecided(&value),
            value => self.look(value),
        }
    }

    #[inline(never)]
    fn local(&self, slot: Index) -> Evaluated {
        match self.memory.slots.get(slot as usize) {
            Some(Some(value)) => Ok(value.clone()),
            _ => {
                let name = self.flow.code.slots.get(slot as usize).map_or("", |slot| &slot.name);
                throw(codes::UNDEFINED_VARIABLE, format!("`{}` has no value yet", short(name)))
            }
        }
    }

    #[inline(never)]
    fn list(&mut self, items: &[Index]) -> Evaluated {
        self.meter.allocate(64 + 24 * items.len() as u64)?;
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            values.push(self.evaluate(*item)?);
        }
        Ok(Value::List(List::new(values)?))
    }

    #[inline(never)]
    fn object(&mut self, fields: &[(Arc<str>, Index)]) -> Evaluated {
        self.meter.allocate(64 + 64 * fields.len() as u64)?;
        let mut values = Vec::with_capacity(fields.len());
        for (key, value) in fields {
            self.meter.scan(key_cost(key))?;
            values.push((key.clone(), self.evaluate(*value)?));
        }
        Ok(Value::Object(Object::new(values)?))
    }

    #[inline(never)]
    fn negate(&mut self, operand: Index) -> Evaluated {
        let operand = self.looked(operand)?;
        operators::negate(&operand)
    }

    #[inline(never)]
    fn chain(&mut self, first: Index, rest: &[(Operator, Index)]) -> Evaluated {
        let mut left = self.looked(first)?;
        for (operator, operand) in rest {
            let right = self.looked(*operand)?;
            left = self.operate(*operator, left, right)?;
        }
        Ok(left)
    }

    #[inline(never)]
    fn operate(&mut self, operator: Operator, left: Value, right: Value) -> Evaluated {
        // Comparison and joining read the whole value, so load everything inside.
        let (left, right) = (self.look_inside(left)?, self.look_inside(right)?);
        operator.apply(&left, &right, &mut self.meter)
    }

    /// Returns the first operand that settles the result, else the last one.
    #[inline(never)]
    fn choose(&mut self, operands: &[Index], settles: fn(&Value) -> bool) -> Evaluated {
        let mut last = Value::Null;
        for (place, operand) in operands.iter().enumerate() {
            last = self.evaluate(*operand)?;
            if place + 1 < operands.len() && settles(&self.judged(last.clone())?) {
                break;
            }
        }
        Ok(last)
    }

    #[inline(never)]
    pub fn arguments(&mut self, arguments: &[Index]) -> Evaluated<Vec<Value>> {
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            values.push(self.evaluate(*argument)?);
        }
        Ok(values)
    }
}

#[inline(never)]
fn fail(fault: Fault, message: &str) -> Evaluated {
    let code = match fault {
        Fault::UndefinedVariable => codes::UNDEFINED_VARIABLE,
        Fault::PropertyNotFound => codes::PROPERTY_NOT_FOUND,
        Fault::NotAFunction => codes::NOT_A_FUNCTION,
        Fault::TypeError => codes::TYPE_ERROR,
        Fault::NumberError => codes::NUMBER_ERROR,
    };
    throw(code, message)
}
