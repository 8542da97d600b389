//! Compiles expressions in the order they are evaluated.

use std::sync::Arc;

use super::scope::Binding;
use super::{CompileError, Compiled, Compiler};
use crate::code::{Fault, Index, Literal, Node};
use crate::library::WAITING;
use crate::operators::Operator;
use crate::tree::*;
use crate::value::Number;

/// Depth limit; the parser makes no tree as deep as this.
const MAX_DEPTH: u32 = 1000;

impl Compiler {
    pub fn value(&mut self, expression: &Expression) -> Compiled<Index> {
        if self.depth >= MAX_DEPTH {
            return Err(CompileError::new(expression.span, "the expression nests too deeply"));
        }
        self.depth += 1;
        let value = self.unguarded(expression);
        self.depth -= 1;
        value
    }

    fn unguarded(&mut self, expression: &Expression) -> Compiled<Index> {
        let node = match &expression.kind {
            ExpressionKind::Null => Node::Null,
            ExpressionKind::Boolean(true) => Node::True,
            ExpressionKind::Boolean(false) => Node::False,
            ExpressionKind::Number(text) => match Number::parse(text) {
                Some(number) => Node::Number(Literal(number)),
                None => {
                    Node::Fault(Fault::NumberError, Arc::from(format!("{text} is too large for a number")))
                }
            },
            ExpressionKind::Text(text) => Node::Text(Arc::from(text.as_str())),
            ExpressionKind::List(items) => Node::List(self.values(items)?),
            ExpressionKind::Object(properties) => self.object(properties)?,
            ExpressionKind::Name(name) => return self.name(name),
            ExpressionKind::Group(inner) => return self.value(inner),
            ExpressionKind::Unary { operator, operand } => {
                let operand = self.value(operand)?;
                match operator {
                    Unary::Not => Node::Not(operand),
                    Unary::Negate => Node::Negate(operand),
                }
            }
            ExpressionKind::Chain { first, rest } => self.chain(first, rest)?,
            ExpressionKind::Conditional { condition, then, otherwise } => {
                Node::If(self.value(condition)?, self.value(then)?, self.value(otherwise)?)
            }
            ExpressionKind::Path { base, steps } => return self.path(base, steps),
            ExpressionKind::Await(_) => {
                let message = "`await` cannot stand here: give what it waits for a name first";
                return Err(CompileError::new(expression.span, message));
            }
            ExpressionKind::Closure => {
                return Err(CompileError::new(expression.span, "a program has no functions of its own"));
            }
            ExpressionKind::Broken => {
                return Err(CompileError::new(expression.span, "this could not be read"));
            }
        };
        self.node(node)
    }

    pub fn values(&mut self, expressions: &[Expression]) -> Compiled<Vec<Index>> {
        expressions.iter().map(|expression| self.value(expression)).collect()
    }

    fn object(&mut self, properties: &[Property]) -> Compiled<Node> {
        let mut fields = Vec::with_capacity(properties.len());
        for property in properties {
            let value = match &property.value {
                PropertyValue::Given(value) | PropertyValue::Shorthand(value) => self.value(value)?,
            };
            fields.push((Arc::from(property.key.text.as_str()), value));
        }
        Ok(Node::Object(fields))
    }

    fn chain(&mut self, first: &Expression, rest: &[Link]) -> Compiled<Node> {
        let Some(link) = rest.first() else {
            return Err(CompileError::new(first.span, "an operand is missing"));
        };
        let choice = match link.operator {
            Binary::Coalesce => Some(Node::Coalesce as fn(Vec<Index>) -> Node),
            Binary::Or => Some(Node::Or as fn(Vec<Index>) -> Node),
            Binary::And => Some(Node::And as fn(Vec<Index>) -> Node),
            _ => None,
        };
        let first = self.value(first)?;
        if let Some(choice) = choice {
            let mut operands = vec![first];
            for next in rest {
                if next.operator != link.operator {
                    return Err(CompileError::new(next.operator_span, "operators of different precedence"));
                }
                operands.push(self.value(&next.operand)?);
            }
            return Ok(choice(operands));
        }
        let mut operands = Vec::with_capacity(rest.len());
        for next in rest {
            let Some(operator) = operator(next.operator) else {
                return Err(CompileError::new(next.operator_span, "operators of different precedence"));
            };
            operands.push((operator, self.value(&next.operand)?));
        }
        Ok(Node::Chain(first, operands))
    }

    /// Returns the awaited expression of a value that stands where a statement can wait.
    pub fn waits<'e>(&self, expression: &'e Expression) -> Option<&'e Expression> {
        self.explicit_wait(expression).or_else(|| {
            let call = bare(expression);
            self.is_waiting_call(call).then_some(call)
        })
    }

    pub fn explicit_wait<'e>(&self, expression: &'e Expression) -> Option<&'e Expression> {
        match &bare(expression).kind {
            ExpressionKind::Await(awaited) => Some(awaited),
            _ => None,
        }
    }

    /// Returns whether this is `task(..)`, `sleep(..)` or similar, unless the program defines such a name
    /// itself.
    fn is_waiting_call(&self, expression: &Expression) -> bool {
        let ExpressionKind::Path { base, steps } = &expression.kind else { return false };
        let ExpressionKind::Name(name) = &base.kind else { return false };
        let called = matches!(steps.as_slice(), [PathStep { kind: PathStepKind::Call(_), .. }]);
        let free = matches!(self.scopes.find(name), None | Some(Binding::Created(_)));
        called && free && WAITING.contains(&name.as_str())
    }
}

/// Returns the expression inside any round brackets.
fn bare(mut expression: &Expression) -> &Expression {
    while let ExpressionKind::Group(inner) = &expression.kind {
        expression = inner;
    }
    expression
}

fn operator(binary: Binary) -> Option<Operator> {
    Some(match binary {
        Binary::Equal => Operator::Eq,
        Binary::NotEqual => Operator::Ne,
        Binary::Less => Operator::Lt,
        Binary::LessOrEqual => Operator::Lte,
        Binary::Greater => Operator::Gt,
        Binary::GreaterOrEqual => Operator::Gte,
        Binary::Add => Operator::Add,
        Binary::Subtract => Operator::Sub,
        Binary::Multiply => Operator::Mul,
        Binary::Divide => Operator::Div,
        Binary::Remainder => Operator::Rem,
        Binary::Coalesce | Binary::Or | Binary::And => return None,
    })
}
