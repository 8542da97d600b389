//! Executes steps until one waits or the program ends.

use std::sync::Arc;

use rhythm_core::program::Progress;

use super::Machine;
use crate::code::{Index, Next, Step, Walk};
use crate::limits::{Limit, MAX_VALUE_BYTES};
use crate::runtime_error::{Evaluated, Stop, codes, throw, type_error};
use crate::value::{ErrorValue, List, Number, Value};

/// Result of one step.
enum Outcome {
    Next,
    Goto(usize),
    /// The step waits for this handle.
    Wait(u64),
    End(Value),
}

impl Machine<'_> {
    /// Executes from the current position.
    pub fn run(&mut self) -> Evaluated<Progress> {
        self.live =
            self.memory.slots.iter().flatten().fold(0, |sum, value| value.weight().saturating_add(sum));
        loop {
            let outcome = match self.perform() {
                Ok(Outcome::End(value)) => match self.output(value) {
                    Ok(output) => return Ok(Progress::Completed(output)),
                    Err(stop) => Err(stop),
                },
                outcome => outcome,
            };
            match outcome {
                Ok(Outcome::Next | Outcome::End(_)) => self.memory.position += 1,
                Ok(Outcome::Goto(position)) => self.memory.position = position,
                Ok(Outcome::Wait(handle)) => {
                    self.memory.wait = Some(handle);
                    return Ok(Progress::Waiting);
                }
                Err(Stop::Thrown(error)) => self.catch(error)?,
                Err(stop) => return Err(stop),
            }
        }
    }

    /// Continues at the step that waited, with the result of the wait.
    pub fn resume(&mut self, outcome: Result<Value, Arc<ErrorValue>>) -> Evaluated<Progress> {
        match outcome {
            Err(error) => self.catch(error)?,
            Ok(value) => match self.flow.code.steps.get(self.memory.position) {
                Some(Step::Return(_)) => match self.output(value) {
                    Ok(output) => return Ok(Progress::Completed(output)),
                    Err(Stop::Thrown(error)) => self.catch(error)?,
                    Err(stop) => return Err(stop),
                },
                _ => {
                    self.awaited = value;
                    self.memory.position += 1;
                }
            },
        }
        self.run()
    }

    /// Jumps to the handler of the current step, or fails if there is none.
    fn catch(&mut self, error: Arc<ErrorValue>) -> Evaluated<()> {
        let handler = self.flow.handlers.get(self.memory.position).copied().flatten();
        let Some(handler) = handler.and_then(|place| self.flow.code.handlers.get(place as usize)) else {
            return Err(Stop::Thrown(error));
        };
        self.memory.position = handler.target as usize;
        match handler.slot {
            Some(slot) => self.set(slot, Value::Error(error)),
            None => Ok(()),
        }
    }

    fn perform(&mut self) -> Evaluated<Outcome> {
        let flow = self.flow;
        let Some(step) = flow.code.steps.get(self.memory.position) else {
            return Ok(Outcome::End(Value::Null));
        };
        if let Step::Jump(target) = step {
            // A jump is not a statement of the program, so it is charged the smallest amount only.
            self.meter.node()?;
            return Ok(Outcome::Goto(*target as usize));
        }
        self.meter.step()?;
        match step {
            Step::Set(slot, value) => match self.grown(*slot, *value) {
                Some(more) => self.grow(*slot, more)?,
                None => {
                    let value = self.evaluate(*value)?;
                    self.set(*slot, value)?;
                }
            },
            Step::SetPath(slot, path, value) => self.set_path(*slot, path, *value)?,
            Step::TakeFields(fields, value) => self.take_fields(fields, *value)?,
            Step::TakeItems(slots, value) => self.take_items(slots, *value)?,
            Step::Evaluate(value) => {
                self.evaluate(*value)?;
            }
            Step::Await(value) => match self.evaluate(*value)? {
                Value::Handle(handle) => return self.await_handle(handle),
                plain => self.awaited = plain,
            },
            Step::Jump(target) => return Ok(Outcome::Goto(*target as usize)),
            Step::JumpIf(value, target) => {
                if self.truthy(*value)? {
                    return Ok(Outcome::Goto(*target as usize));
                }
            }
            Step::JumpUnless(value, target) => {
                if !self.truthy(*value)? {
                    return Ok(Outcome::Goto(*target as usize));
                }
            }
            Step::Walk(walk) => {
                self.walk(walk)?;
                return Ok(Outcome::Goto(walk.next as usize));
            }
            Step::Next(next) => return self.next(next),
            Step::Throw(value) => {
                let thrown = self.looked(*value)?;
                return Err(Stop::Thrown(self.thrown(thrown)?));
            }
            // A returned handle is awaited first, as in JavaScript.
            Step::Return(value) => match self.evaluate(*value)? {
                Value::Handle(handle) => match self.await_handle(handle)? {
                    Outcome::Next => {
                        return Ok(Outcome::End(std::mem::replace(&mut self.awaited, Value::Null)));
                    }
                    wait => return Ok(wait),
                },
                value => return Ok(Outcome::End(value)),
            },
        }
        Ok(Outcome::Next)
    }

    fn await_handle(&mut self, number: u64) -> Evaluated<Outcome> {
        if !self.memory.handles.contains_key(&number) {
            return type_error("this handle belongs to nothing that was started");
        }
        let given = self.given(number)?;
        if given.is_some() {
            self.note_read(number);
        }
        match given {
            None => Ok(Outcome::Wait(number)),
            Some(Ok(value)) => {
                self.awaited = value;
                Ok(Outcome::Next)
            }
            Some(Err(error)) => Err(Stop::Thrown(error)),
        }
    }

    /// Begins a loop. It goes over the items the list has now, even if the body changes the list.
    fn walk(&mut self, walk: &Walk) -> Evaluated<()> {
        let given = self.evaluate(walk.items)?;
        let seen = match &given {
            Value::Kept(kept) if kept.is_list() => given.clone(),
            given => self.look(given.clone())?,
        };
        let items = match (seen, walk.keys) {
            (Value::Kept(_), false) => given,
            (Value::Kept(kept), true) => {
                self.meter.allocate(24 * kept.count() as u64)?;
                Value::List(List::new((0..kept.count()).map(|place| Value::integer(place as i64)).collect())?)
            }
            // A large list stays in its blob; only the reference is stored.
            (Value::List(_), false) => given,
            (Value::List(list), true) => {
                self.meter.allocate(24 * list.len() as u64)?;
                Value::List(List::new((0..list.len()).map(|place| Value::integer(place as i64)).collect())?)
            }
            (Value::Object(object), keys) => {
                self.meter.allocate(24 * object.len() as u64)?;
                let item = |(key, value): (&Arc<str>, &Value)| match keys {
                    true => Value::Text(key.clone()),
                    false => value.clone(),
                };
                Value::List(List::new(object.iter().map(item).collect())?)
            }
            (other, _) => {
                return type_error(format!("a loop walks a list or an object, not {}", other.described()));
            }
        };
        self.set(walk.list, items)?;
        self.set(walk.place, Value::integer(0))
    }

    fn next(&mut self, next: &Next) -> Evaluated<Outcome> {
        let slot = |slot: Index| self.memory.slots.get(slot as usize).cloned().flatten();
        let (list, place) = (slot(next.list), slot(next.place));
        let (Some(list), Some(Value::Number(Number::Integer(place)))) = (list, place) else {
            return throw(codes::UNDEFINED_VARIABLE, "the loop has lost its place");
        };
        let at = usize::try_from(place).unwrap_or(usize::MAX);
        let item = match list {
            Value::Kept(kept) => self.kept_item(&kept, at)?,
            list => match self.look(list)? {
                Value::List(list) => list.items().get(at).cloned(),
                _ => return throw(codes::UNDEFINED_VARIABLE, "the loop has lost its list"),
            },
        };
        let Some(item) = item else { return Ok(Outcome::Next) };
        self.set(next.variable, item)?;
        self.set(next.place, Value::integer(place + 1))?;
        Ok(Outcome::Goto(next.body as usize))
    }

    /// Writes a value to a slot and updates the total weight of live values.
    pub fn set(&mut self, slot: u32, value: Value) -> Evaluated<()> {
        let Some(place) = self.memory.slots.get_mut(slot as usize) else { return Ok(()) };
        let old = place.as_ref().map_or(0, Value::weight);
        let new = value.weight();
        *place = Some(value);
        self.weigh(old, new)
    }

    pub fn weigh(&mut self, old: u64, new: u64) -> Evaluated<()> {
        self.live = self.live.saturating_sub(old).saturating_add(new);
        if self.live <= MAX_VALUE_BYTES {
            return Ok(());
        }
        self.meter.scan(24 * self.memory.slots.len() as u64)?;
        let position = self.memory.position;
        let slots = self.flow.code.slots.iter().zip(&mut self.memory.slots);
        self.live = 0;
        for (slot, value) in slots {
            // The variable that a step declares is in scope only from the next step on, so keep its slot.
            if !slot.covers(position) && !slot.covers(position + 1) {
                *value = None;
            }
            self.live = self.live.saturating_add(value.as_ref().map_or(0, Value::weight));
        }
        if self.live > MAX_VALUE_BYTES { Err(Limit::Memory.into()) } else { Ok(()) }
    }
}
