//! Translates the parser's tree into our expressions. Operators, functions and variables outside the
//! supported list are refused here, so that evaluation needs no such check. Macros arrive expanded and are
//! recognised by their form.

use cel::common::ast::{ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators};

use super::super::bounds::{MAX_DEPTH, MAX_MACROS};
use super::super::compare::Relation;
use super::super::error::{ConditionError, ErrorKind};
use super::super::regexes::Pattern;
use super::Reads;
use super::expression::{Arithmetic, Expression, Macro, MacroKind, Root};
use super::names;

pub(super) struct Lower {
    /// `current` is a variable: the expression is a comparison between nodes.
    current: bool,
    /// Variables of the enclosing macros.
    locals: Vec<String>,
    pub reads: Reads,
}

type Lowered = Result<Expression, ConditionError>;

impl Lower {
    pub fn new(current: bool) -> Self {
        Self { current, locals: Vec::new(), reads: Reads::default() }
    }

    pub fn expression(&mut self, source: &IdedExpr, depth: usize) -> Lowered {
        if depth > MAX_DEPTH {
            return Err(refused(ErrorKind::TooLarge, format!("it nests more than {MAX_DEPTH} deep")));
        }
        let depth = depth + 1;
        match &source.expr {
            Expr::Literal(literal) => lower_literal(literal),
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => {
                if let Some(kind) = names::message_type(select) {
                    return Ok(Expression::Type(kind));
                }
                let operand = match self.node_of(&select.operand, &select.field) {
                    Some(context) => Box::new(context),
                    None => Box::new(self.expression(&select.operand, depth)?),
                };
                let field = select.field.clone();
                Ok(if select.test {
                    Expression::Has(operand, field)
                } else {
                    Expression::Field(operand, field)
                })
            }
            Expr::List(list) if list.optional_indices.is_empty() => {
                self.all(&list.elements, depth).map(Expression::List)
            }
            Expr::Map(map) => {
                let entries = map.entries.iter().map(|entry| match &entry.expr {
                    EntryExpr::MapEntry(entry) if !entry.optional => {
                        Ok((self.expression(&entry.key, depth)?, self.expression(&entry.value, depth)?))
                    }
                    _ => Err(unsupported("optional entries")),
                });
                entries.collect::<Result<_, _>>().map(Expression::Map)
            }
            Expr::Call(call) => {
                let target = call.target.as_deref();
                let arguments: Vec<&IdedExpr> = target.into_iter().chain(&call.args).collect();
                match (target, arguments.as_slice()) {
                    (None, [only]) => self.unary(&call.func_name, only, depth),
                    (None, [left, right]) => self.binary(&call.func_name, left, right, depth),
                    (None, [test, yes, no]) if call.func_name == operators::CONDITIONAL => {
                        let parts = [
                            self.expression(test, depth)?,
                            self.expression(yes, depth)?,
                            self.expression(no, depth)?,
                        ];
                        Ok(Expression::Choose(Box::new(parts)))
                    }
                    (_, arguments) => self.function(&call.func_name, arguments, depth),
                }
            }
            Expr::Comprehension(comprehension) => self.comprehension(comprehension, depth),
            Expr::Struct(_) => Err(unsupported("messages")),
            Expr::List(_) | Expr::Unspecified => Err(unsupported("optional items")),
        }
    }

    fn all(&mut self, sources: &[IdedExpr], depth: usize) -> Result<Vec<Expression>, ConditionError> {
        sources.iter().map(|source| self.expression(source, depth)).collect()
    }

    fn name(&mut self, name: &str) -> Lowered {
        if let Some(place) = self.locals.iter().rposition(|local| local == name) {
            return Ok(Expression::Local(place));
        }
        if let Some(kind) = names::type_named(name) {
            return Ok(Expression::Type(kind));
        }
        let root = match name {
            "output" => Root::Output,
            "inputs" => Root::Inputs,
            "ctx" => Root::Context,
            "current" if self.current => Root::Current,
            _ => {
                let more = if self.current { ", current" } else { "" };
                let message = format!("{name:?} is no variable: there are output, ctx, inputs{more}");
                return Err(refused(ErrorKind::Unsupported, message));
            }
        };
        match root {
            Root::Output | Root::Current => self.reads.output = true,
            Root::Inputs => self.reads.inputs = true,
            Root::Context => self.reads.context = true,
        }
        Ok(Expression::Root(root))
    }

    /// Returns `ctx` when the expression reads one named node of it.
    fn node_of(&mut self, operand: &IdedExpr, node: &str) -> Option<Expression> {
        let Expr::Ident(name) = &operand.expr else { return None };
        if name != "ctx" || self.locals.iter().any(|local| local == "ctx") {
            return None;
        }
        self.reads.nodes.insert(node.to_owned());
        Some(Expression::Root(Root::Context))
    }

    fn unary(&mut self, operator: &str, operand: &IdedExpr, depth: usize) -> Lowered {
        match operator {
            operators::LOGICAL_NOT => Ok(Expression::Not(Box::new(self.expression(operand, depth)?))),
            operators::NEGATE => Ok(Expression::Negate(Box::new(self.expression(operand, depth)?))),
            operators::NOT_STRICTLY_FALSE => self.expression(operand, depth),
            _ => self.function(operator, &[operand], depth),
        }
    }

    fn binary(&mut self, operator: &str, left: &IdedExpr, right: &IdedExpr, depth: usize) -> Lowered {
        let known = matches!(
            operator,
            operators::LOGICAL_AND | operators::LOGICAL_OR | operators::INDEX | operators::IN
        );
        let relation = relation(operator);
        let arithmetic = arithmetic(operator);
        if !known && relation.is_none() && arithmetic.is_none() {
            return self.function(operator, &[left, right], depth);
        }
        // `ctx["a node"]` reads only that node.
        if operator == operators::INDEX
            && let Expr::Literal(LiteralValue::String(node)) = &right.expr
            && let Some(context) = self.node_of(left, node.inner())
        {
            return Ok(Expression::Field(Box::new(context), node.inner().to_owned()));
        }
        let left = Box::new(self.expression(left, depth)?);
        let right = Box::new(self.expression(right, depth)?);
        Ok(match (operator, relation, arithmetic) {
            (_, Some(relation), _) => Expression::Compare(relation, left, right),
            (_, _, Some(arithmetic)) => Expression::Arithmetic(arithmetic, left, right),
            (operators::LOGICAL_AND, ..) => Expression::And(left, right),
            (operators::LOGICAL_OR, ..) => Expression::Or(left, right),
            (operators::IN, ..) => Expression::In(left, right),
            _ => Expression::Index(left, right),
        })
    }

    /// `f(x, y)` and `x.f(y)` are the same call.
    fn function(&mut self, name: &str, arguments: &[&IdedExpr], depth: usize) -> Lowered {
        if let ("matches", [text, pattern]) = (name, arguments) {
            let Expr::Literal(LiteralValue::String(pattern)) = &pattern.expr else {
                return Err(refused(
                    ErrorKind::Unsupported,
                    "the pattern of matches is a literal string".to_owned(),
                ));
            };
            let pattern = Pattern::compile(pattern.inner()).map_err(|message| {
                refused(ErrorKind::Unsupported, format!("the pattern of matches: {message}"))
            })?;
            let text = Box::new(self.expression(text, depth)?);
            return Ok(Expression::Matches(text, Box::new(pattern)));
        }
        let Some((function, count)) = names::function_named(name) else {
            return Err(unsupported(&format!("the function {name:?}")));
        };
        if arguments.len() != count {
            let message = format!("{name} takes {count} value(s), given {}", arguments.len());
            return Err(refused(ErrorKind::Syntax, message));
        }
        let arguments = arguments.iter().map(|argument| self.expression(argument, depth));
        Ok(Expression::Call(function, arguments.collect::<Result<_, _>>()?))
    }

    fn comprehension(&mut self, source: &ComprehensionExpr, depth: usize) -> Lowered {
        let range = self.expression(&source.iter_range, depth)?;
        if self.locals.len() >= MAX_MACROS {
            let message =
                format!("all, exists, map and filter stand in one another at most {MAX_MACROS} deep");
            return Err(refused(ErrorKind::TooLarge, message));
        }
        self.locals.push(source.iter_var.clone());
        let kind = self.macro_kind(source, depth);
        self.locals.pop();
        Ok(Expression::Macro(Box::new(Macro { kind: kind?, range })))
    }

    fn macro_kind(&mut self, source: &ComprehensionExpr, depth: usize) -> Result<MacroKind, ConditionError> {
        let unknown = || unsupported("this macro");
        let (name, arguments) = call(&source.loop_step).ok_or_else(unknown)?;
        match (name, arguments) {
            (operators::LOGICAL_AND, [_, test]) => Ok(MacroKind::All(self.expression(test, depth)?)),
            (operators::LOGICAL_OR, [_, test]) => Ok(MacroKind::Exists(self.expression(test, depth)?)),
            (operators::ADD, [_, added]) => {
                Ok(MacroKind::Map(None, self.expression(only_item(added).ok_or_else(unknown)?, depth)?))
            }
            (operators::CONDITIONAL, [test, step, _]) => {
                let test = self.expression(test, depth)?;
                match call(step).ok_or_else(unknown)? {
                    (operators::ADD, [_, added]) => match only_item(added) {
                        Some(item) => Ok(MacroKind::Map(Some(test), self.expression(item, depth)?)),
                        None => Ok(MacroKind::ExistsOne(test)),
                    },
                    _ => Err(unknown()),
                }
            }
            _ => Err(unknown()),
        }
    }
}

fn call(source: &IdedExpr) -> Option<(&str, &[IdedExpr])> {
    match &source.expr {
        Expr::Call(call) => Some((call.func_name.as_str(), &call.args)),
        _ => None,
    }
}

fn only_item(source: &IdedExpr) -> Option<&IdedExpr> {
    match &source.expr {
        Expr::List(list) if list.elements.len() == 1 => list.elements.first(),
        _ => None,
    }
}

fn lower_literal(literal: &LiteralValue) -> Lowered {
    Ok(match literal {
        LiteralValue::Null => Expression::Null,
        LiteralValue::Boolean(value) => Expression::Bool(*value.inner()),
        LiteralValue::Int(value) => Expression::Int((*value.inner()).into()),
        LiteralValue::UInt(value) => Expression::Int((*value.inner()).into()),
        LiteralValue::Double(value) => Expression::Double(*value.inner()),
        LiteralValue::String(text) => Expression::Text(text.inner().to_owned()),
        LiteralValue::Bytes(_) => return Err(unsupported("bytes")),
    })
}

fn relation(operator: &str) -> Option<Relation> {
    Some(match operator {
        operators::EQUALS => Relation::Equal,
        operators::NOT_EQUALS => Relation::NotEqual,
        operators::GREATER => Relation::Greater,
        operators::GREATER_EQUALS => Relation::GreaterOrEqual,
        operators::LESS => Relation::Less,
        operators::LESS_EQUALS => Relation::LessOrEqual,
        _ => return None,
    })
}

fn arithmetic(operator: &str) -> Option<Arithmetic> {
    Some(match operator {
        operators::ADD => Arithmetic::Add,
        operators::SUBSTRACT => Arithmetic::Subtract,
        operators::MULTIPLY => Arithmetic::Multiply,
        operators::DIVIDE => Arithmetic::Divide,
        operators::MODULO => Arithmetic::Remainder,
        _ => return None,
    })
}

fn unsupported(what: &str) -> ConditionError {
    refused(ErrorKind::Unsupported, format!("conditions do not have {what}"))
}

fn refused(kind: ErrorKind, message: String) -> ConditionError {
    ConditionError::new(kind, "expression", message)
}
