//! Evaluates an expression against a scope. Each operation is paid for before it runs. The depth was checked
//! when the expression was compiled.

use std::rc::Rc;

use super::super::bounds::Fuel;
use super::super::compare::Relation;
use super::super::scope::Scope;
use super::expression::{Arithmetic, Expression, Macro, MacroKind, Root};
use super::functions;
use super::numbers::Number;
use super::times;
use super::value::{Fault, Val, lookup};

/// Cost of a value in bytes. Fixed, because a verdict must not depend on how a compiler lays out its values.
const VALUE_BYTES: usize = 48;
const _: () = assert!(size_of::<Val<'static>>() <= VALUE_BYTES);

pub(super) type Evaluated<'a> = Result<Val<'a>, Fault>;

pub(super) struct Evaluation<'a> {
    scope: &'a Scope<'a>,
    locals: Vec<Val<'a>>,
    pub fuel: Fuel,
}

impl<'a> Evaluation<'a> {
    pub fn new(scope: &'a Scope<'a>) -> Self {
        Self { scope, locals: Vec::new(), fuel: Fuel::default() }
    }

    pub fn value(&mut self, expression: &'a Expression) -> Evaluated<'a> {
        self.fuel.operation()?;
        match expression {
            Expression::Null => Ok(Val::Null),
            Expression::Bool(value) => Ok(Val::Bool(*value)),
            Expression::Int(value) => Ok(Val::Number(Number::whole(*value))),
            Expression::Double(value) => Ok(Val::Number(Number::double(*value))),
            Expression::Text(text) => Ok(Val::Text(text)),
            Expression::Type(name) => Ok(Val::Type(*name)),
            Expression::List(items) => {
                let mut list = Vec::with_capacity(items.len());
                for item in items {
                    let item = self.value(item)?;
                    self.keep(&mut list, item)?;
                }
                Ok(Val::List(Rc::new(list)))
            }
            Expression::Map(entries) => self.map(entries),
            Expression::Root(root) => Ok(match root {
                Root::Output => Val::of(self.scope.output),
                Root::Inputs => Val::of(self.scope.inputs),
                Root::Context => Val::Context,
                Root::Current => Val::Current,
            }),
            Expression::Local(place) => {
                self.locals.get(*place).cloned().ok_or(Fault::Error("a variable has no value".into()))
            }
            Expression::Field(operand, name) => {
                let operand = self.value(operand)?;
                self.field(&operand, name)?.ok_or_else(|| Fault::error(format!("there is no {name:?}")))
            }
            Expression::Has(operand, name) => {
                let operand = self.value(operand)?;
                Ok(Val::Bool(self.field(&operand, name)?.is_some()))
            }
            Expression::Index(operand, index) => {
                let (operand, index) = (self.value(operand)?, self.value(index)?);
                self.index(&operand, &index)
            }
            Expression::Not(operand) => match self.value(operand)? {
                Val::Bool(value) => Ok(Val::Bool(!value)),
                other => Err(wrong("!", &other)),
            },
            Expression::Negate(operand) => match self.value(operand)? {
                Val::Number(number) => number.negate().map(Val::Number),
                other => Err(wrong("-", &other)),
            },
            Expression::And(left, right) => self.logical(left, right, false),
            Expression::Or(left, right) => self.logical(left, right, true),
            Expression::Choose(parts) => {
                let [test, yes, no] = parts.as_ref();
                match self.value(test)? {
                    Val::Bool(true) => self.value(yes),
                    Val::Bool(false) => self.value(no),
                    other => Err(wrong("? :", &other)),
                }
            }
            Expression::Compare(relation, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                self.compare(*relation, &left, &right).map(Val::Bool)
            }
            Expression::In(item, whole) => {
                let (item, whole) = (self.value(item)?, self.value(whole)?);
                self.contains(&whole, &item).map(Val::Bool)
            }
            Expression::Arithmetic(operator, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                self.arithmetic(*operator, left, right)
            }
            Expression::Matches(text, pattern) => {
                let value = self.value(text)?;
                let text = value.as_text().ok_or_else(|| wrong("matches", &value))?;
                Ok(Val::Bool(pattern.is_match(text, &mut self.fuel)?))
            }
            Expression::Call(function, arguments) => {
                let mut values = arguments.iter().map(|argument| self.value(argument));
                let first = values.next().unwrap_or(Ok(Val::Null))?;
                let second = values.next().transpose()?;
                functions::call(*function, first, second, &mut self.fuel)
            }
            Expression::Macro(source) => self.run(source),
        }
    }

    /// Adds a value to a list and pays for its memory by the byte.
    fn keep(&mut self, list: &mut Vec<Val<'a>>, item: Val<'a>) -> Result<(), Fault> {
        self.fuel.bytes(2 * VALUE_BYTES)?;
        list.push(item);
        Ok(())
    }

    fn map(&mut self, entries: &'a [(Expression, Expression)]) -> Evaluated<'a> {
        let mut map: Vec<(Val<'a>, Val<'a>)> = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let (key, value) = (self.value(key)?, self.value(value)?);
            if !matches!(key, Val::Bool(_) | Val::Number(_) | Val::Text(_) | Val::Made(_)) {
                return Err(Fault::error(format!("{} cannot be a key", key.type_name())));
            }
            if lookup(&map, &key, &mut self.fuel)?.is_some() {
                return Err(Fault::error("a key is given twice"));
            }
            self.fuel.bytes(4 * VALUE_BYTES)?;
            map.push((key, value));
        }
        Ok(Val::Map(Rc::new(map)))
    }

    fn field(&mut self, operand: &Val<'a>, name: &'a str) -> Result<Option<Val<'a>>, Fault> {
        self.fuel.bytes(name.len())?;
        Ok(match operand {
            Val::Object(entries) => entries.get(name).map(Val::of),
            Val::Map(entries) => lookup(entries, &Val::Text(name), &mut self.fuel)?.cloned(),
            Val::Context => self.scope.context.get(name).map(Val::Past),
            Val::Past(past) => match name {
                "output" => Some(Val::of(past.output)),
                "metadata" => Some(Val::Metadata(&past.metadata)),
                _ => None,
            },
            Val::Metadata(metadata) => match name {
                "completed_at" => Some(Val::text(metadata.completed_at.to_string(), &mut self.fuel)?),
                "duration_ms" => Some(Val::Number(Number::of_data(&metadata.duration_ms.into()))),
                "attempt" => Some(Val::Number(Number::of_data(&metadata.attempt.into()))),
                _ => None,
            },
            Val::Current if name == "output" => Some(Val::of(self.scope.output)),
            Val::Current => None,
            other => return Err(Fault::error(format!("{} has no fields", other.type_name()))),
        })
    }

    fn index(&mut self, operand: &Val<'a>, index: &Val<'a>) -> Evaluated<'a> {
        match (operand, index) {
            (Val::Array(_) | Val::List(_), Val::Number(number)) => {
                let item = number.index().and_then(|index| operand.item(index));
                item.ok_or_else(|| Fault::error("a list has no such item"))
            }
            (Val::Map(entries), key) => {
                let found = lookup(entries, key, &mut self.fuel)?;
                found.cloned().ok_or_else(|| Fault::error("an object has no such key"))
            }
            (Val::Object(entries), key) => {
                let name = key.as_text().ok_or_else(|| wrong("[ ]", key))?;
                self.fuel.bytes(name.len())?;
                entries.get(name).map(Val::of).ok_or_else(|| Fault::error("an object has no such key"))
            }
            (Val::Context, key) => {
                let name = key.as_text().ok_or_else(|| wrong("[ ]", key))?;
                let past = self.scope.context.get(name).map(Val::Past);
                past.ok_or_else(|| Fault::error("ctx has no such node"))
            }
            (other, _) => Err(wrong("[ ]", other)),
        }
    }

    /// Evaluates `&&` or `||`. The value `deciding` on either side decides the result, even when the other
    /// side is an error.
    fn logical(&mut self, left: &'a Expression, right: &'a Expression, deciding: bool) -> Evaluated<'a> {
        let left = self.truth(left)?;
        if left == Ok(deciding) {
            return Ok(Val::Bool(deciding));
        }
        let right = self.truth(right)?;
        if right == Ok(deciding) {
            return Ok(Val::Bool(deciding));
        }
        left.and(right).map(Val::Bool)
    }

    /// Evaluates a test. An exceeded limit ends the whole evaluation; another error may be irrelevant to the
    /// result.
    fn truth(&mut self, expression: &'a Expression) -> Result<Result<bool, Fault>, Fault> {
        match self.value(expression) {
            Ok(Val::Bool(value)) => Ok(Ok(value)),
            Ok(other) => Ok(Err(wrong("a test", &other))),
            Err(fault @ Fault::Limit(_)) => Err(fault),
            Err(fault) => Ok(Err(fault)),
        }
    }

    fn compare(&mut self, relation: Relation, left: &Val<'a>, right: &Val<'a>) -> Result<bool, Fault> {
        match relation {
            Relation::Equal => return Ok(left.equals(right, &mut self.fuel)?),
            Relation::NotEqual => return Ok(!left.equals(right, &mut self.fuel)?),
            _ => {}
        }
        let ordering = match (left, right) {
            (Val::Number(left), Val::Number(right)) => match left.num().order(right.num()) {
                Some(ordering) => ordering,
                // NaN is neither above nor below any number.
                None => return Ok(false),
            },
            (Val::Bool(left), Val::Bool(right)) => left.cmp(right),
            (Val::Moment(left), Val::Moment(right)) => left.cmp(right),
            (Val::Length(left), Val::Length(right)) => left.cmp(right),
            (left, right) => match (left.as_text(), right.as_text()) {
                (Some(left), Some(right)) => {
                    self.fuel.bytes(left.len().min(right.len()))?;
                    left.cmp(right)
                }
                _ => {
                    let (left, right) = (left.type_name(), right.type_name());
                    return Err(Fault::error(format!("{left} and {right} have no order")));
                }
            },
        };
        Ok(relation.holds(ordering))
    }

    fn contains(&mut self, whole: &Val<'a>, item: &Val<'a>) -> Result<bool, Fault> {
        match whole {
            Val::Array(_) | Val::List(_) => {
                for index in 0..whole.length().unwrap_or_default() {
                    let Some(known) = whole.item(index) else { break };
                    if known.equals(item, &mut self.fuel)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Val::Map(entries) => Ok(lookup(entries, item, &mut self.fuel)?.is_some()),
            Val::Object(entries) => Ok(item.as_text().is_some_and(|name| entries.contains_key(name))),
            Val::Context => Ok(item.as_text().is_some_and(|name| self.scope.context.contains_key(name))),
            other => Err(wrong("in", other)),
        }
    }

    fn arithmetic(&mut self, operator: Arithmetic, left: Val<'a>, right: Val<'a>) -> Evaluated<'a> {
        match (operator, &left, &right) {
            (_, Val::Number(left), Val::Number(right)) => left.calculate(operator, *right).map(Val::Number),
            (_, Val::Moment(_) | Val::Length(_), _) | (_, _, Val::Moment(_) | Val::Length(_)) => {
                let (before, after) = (left.type_name(), right.type_name());
                let unfit = || Fault::error(format!("{before} and {after} cannot be reckoned with"));
                times::calculate(operator, &left, &right).ok_or_else(unfit)?
            }
            (Arithmetic::Add, ..) => self.joined(&left, &right),
            (_, Val::Number(_), other) | (_, other, _) => Err(wrong("arithmetic", other)),
        }
    }

    /// Joins two texts or two lists. The bytes are paid for first.
    fn joined(&mut self, left: &Val<'a>, right: &Val<'a>) -> Evaluated<'a> {
        if let (Some(left), Some(right)) = (left.as_text(), right.as_text()) {
            self.fuel.bytes(left.len() + right.len())?;
            return Ok(Val::Made([left, right].concat().into()));
        }
        let (Some(before), Some(after)) = (left.length(), right.length()) else {
            let (left, right) = (left.type_name(), right.type_name());
            return Err(Fault::error(format!("{left} and {right} cannot be added")));
        };
        self.fuel.bytes((before + after) * 2 * VALUE_BYTES)?;
        let items = (0..before).filter_map(|index| left.item(index));
        Ok(Val::List(Rc::new(items.chain((0..after).filter_map(|index| right.item(index))).collect())))
    }

    fn run(&mut self, source: &'a Macro) -> Evaluated<'a> {
        let range = self.value(&source.range)?;
        let length = match &range {
            Val::Object(entries) => entries.len(),
            Val::Map(entries) => entries.len(),
            Val::Context => self.scope.context.len(),
            other => other.length().ok_or_else(|| wrong("a macro", other))?,
        };
        let mut names = match range {
            Val::Object(entries) => Some(entries.keys()),
            _ => None,
        };
        let mut nodes = self.scope.context.keys();
        let mut running = Running::new(&source.kind);
        for index in 0..length {
            self.fuel.operation()?;
            // Objects are iterated by key, in their own order.
            let item = match &range {
                Val::Object(_) => names.as_mut().and_then(Iterator::next).map(|name| Val::Text(name)),
                Val::Map(entries) => entries.get(index).map(|(key, _)| key.clone()),
                Val::Context => nodes.next().map(|name| Val::Text(name)),
                list => list.item(index),
            };
            let Some(item) = item else { break };
            self.locals.push(item);
            let ended = self.turn(&source.kind, &mut running);
            self.locals.pop();
            if ended? {
                break;
            }
        }
        running.result(&source.kind)
    }

    /// Evaluates one item. Returns true when the rest cannot change the result.
    fn turn(&mut self, kind: &'a MacroKind, running: &mut Running<'a>) -> Result<bool, Fault> {
        match kind {
            MacroKind::All(test) => Ok(running.note(self.truth(test)?, false)),
            MacroKind::Exists(test) => Ok(running.note(self.truth(test)?, true)),
            MacroKind::ExistsOne(test) => {
                running.count += usize::from(self.truth(test)??);
                Ok(false)
            }
            MacroKind::Map(test, item) => {
                let passes = match test {
                    Some(test) => self.truth(test)??,
                    None => true,
                };
                if passes {
                    let item = self.value(item)?;
                    self.keep(&mut running.list, item)?;
                }
                Ok(false)
            }
        }
    }
}

/// Intermediate result of a macro.
struct Running<'a> {
    value: bool,
    fault: Option<Fault>,
    count: usize,
    list: Vec<Val<'a>>,
}

impl<'a> Running<'a> {
    fn new(kind: &MacroKind) -> Self {
        Self { value: matches!(kind, MacroKind::All(_)), fault: None, count: 0, list: Vec::new() }
    }

    /// Records one test. An item that decides the result overrides earlier errors.
    fn note(&mut self, truth: Result<bool, Fault>, deciding: bool) -> bool {
        match truth {
            Ok(value) if value == deciding => {
                self.value = deciding;
                self.fault = None;
                return true;
            }
            Ok(_) => {}
            Err(fault) => self.fault = self.fault.take().or(Some(fault)),
        }
        false
    }

    fn result(self, kind: &MacroKind) -> Evaluated<'a> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        Ok(match kind {
            MacroKind::All(_) | MacroKind::Exists(_) => Val::Bool(self.value),
            MacroKind::ExistsOne(_) => Val::Bool(self.count == 1),
            MacroKind::Map(..) => Val::List(Rc::new(self.list)),
        })
    }
}

fn wrong(operator: &str, operand: &Val<'_>) -> Fault {
    Fault::error(format!("{operator} does not take {}", operand.type_name()))
}
