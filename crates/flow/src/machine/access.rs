//! Evaluates accesses to parts of values and calls.

use std::sync::Arc;

use super::Machine;
use crate::code::{Access, Index, Node};
use crate::library::{self, Body, Call, Function};
use crate::runtime_error::{Evaluated, codes, short, throw, type_error};
use crate::value::{Kept, Object, Value};

impl Machine<'_> {
    #[inline(never)]
    pub fn path(&mut self, base: Index, accesses: &[Access]) -> Evaluated {
        let mut value = self.evaluate(base)?;
        for (place, access) in accesses.iter().enumerate() {
            self.meter.node()?;
            value = match self.read_kept(&value, access)? {
                Some(read) => {
                    value = read;
                    continue;
                }
                None => self.look(value)?,
            };
            value = match access {
                // `?.` on null ends the chain: its remaining accesses are skipped.
                Access::MaybeField(_) | Access::MaybeMethod(..) if matches!(value, Value::Null) => {
                    return Ok(Value::Null);
                }
                Access::Field(name) if place == 0 && self.lacks_input(base, &value) => {
                    return no_input(&format!("`{}` cannot be read", short(name)));
                }
                Access::Field(name) => self.field(&value, name, false)?,
                Access::MaybeField(name) => self.field(&value, name, true)?,
                Access::At(index) => {
                    let index = self.looked(*index)?;
                    self.item(&value, &index)?
                }
                Access::Method(name, arguments) => self.method(value, name, arguments, false)?,
                Access::MaybeMethod(name, arguments) => self.method(value, name, arguments, true)?,
                Access::Call => return not_a_function(&format!("{} cannot be called", value.described())),
            };
        }
        Ok(value)
    }

    /// Returns whether an expression is the inputs of a run that was started without input.
    pub fn lacks_input(&self, node: Index, value: &Value) -> bool {
        matches!(value, Value::Null) && matches!(self.flow.code.nodes.get(node as usize), Some(Node::Inputs))
    }

    /// Reads from a value in segments without loading all of it. Returns nothing if the access needs the
    /// whole value.
    #[inline(never)]
    fn read_kept(&mut self, value: &Value, access: &Access) -> Evaluated<Option<Value>> {
        let Value::Kept(kept) = value else { return Ok(None) };
        match access {
            Access::Field(name) | Access::MaybeField(name) if !kept.is_list() => {
                self.meter.scan(key_cost(name))?;
                Ok(kept.field_at_hand(name).cloned())
            }
            Access::Field(name) | Access::MaybeField(name) if **name == *"length" => {
                Ok(Some(Value::integer(kept.count() as i64)))
            }
            Access::At(index) if kept.is_list() => {
                let index = self.looked(*index)?;
                let Value::Number(number) = &index else { return self.item(value, &index).map(Some) };
                let found = match number.as_index() {
                    Some(place) => self.kept_item(kept, place)?,
                    None => None,
                };
                found.map_or_else(|| no_item(&number.to_string(), kept.count(), "item"), Ok).map(Some)
            }
            Access::Method(name, more) | Access::MaybeMethod(name, more)
                if kept.is_list() && **name == *"concat" =>
            {
                let more = self.arguments(more)?;
                self.joined(Kept::clone(kept), more).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Appends items to a list in segments. The segments it already has are not loaded.
    pub fn joined(&mut self, mut kept: Kept, more: Vec<Value>) -> Evaluated {
        for item in more {
            let item = match item {
                Value::Blob(_) => self.look(item)?,
                item => item,
            };
            match item {
                Value::List(list) => {
                    self.meter.allocate(24 * list.len() as u64)?;
                    list.items().iter().try_for_each(|item| kept.push(item.clone()))?;
                }
                Value::Kept(list) if list.is_list() => {
                    self.meter.allocate(128 * list.parts().len() as u64)?;
                    kept.append(&list)?;
                }
                item => kept.push(item)?,
            }
        }
        Ok(Value::Kept(Arc::new(kept)))
    }

    #[inline(never)]
    fn field(&mut self, value: &Value, name: &str, optional: bool) -> Evaluated {
        self.meter.scan(key_cost(name))?;
        let found = match value {
            Value::Object(object) => object.get(name).cloned(),
            Value::Error(error) => error.get(name),
            Value::List(list) if name == "length" => Some(Value::integer(list.len() as i64)),
            Value::Text(text) if name == "length" => {
                self.meter.scan(text.len() as u64 / 4)?;
                Some(Value::integer(text.chars().count() as i64))
            }
            Value::List(_) if library::list_method(name).is_some() => return uncalled(name),
            Value::Text(_) if library::text_method(name).is_some() => return uncalled(name),
            _ => None,
        };
        match found {
            Some(found) => Ok(found),
            // The value the handle will give may have this field, so reading it from the handle is an error.
            None if optional && !matches!(value, Value::Handle(_)) => Ok(Value::Null),
            None => no_property(value, name),
        }
    }

    #[inline(never)]
    fn item(&mut self, value: &Value, index: &Value) -> Evaluated {
        match (value, index) {
            (Value::List(list), Value::Number(number)) => {
                let found = number.as_index().and_then(|place| list.items().get(place));
                found.cloned().map_or_else(|| no_item(&number.to_string(), list.len(), "item"), Ok)
            }
            (Value::Text(text), Value::Number(number)) => {
                self.meter.scan(text.len() as u64 / 4)?;
                let found = number.as_index().and_then(|place| text.chars().nth(place));
                match found {
                    Some(character) => Ok(Value::text(character.to_string())),
                    None => no_item(&number.to_string(), text.chars().count(), "character"),
                }
            }
            (Value::Object(_) | Value::Error(_), Value::Text(key)) => self.field(value, key, false),
            (Value::List(_) | Value::Kept(_) | Value::Text(_), index) => type_error(format!(
                "{} is indexed by a number, not by {}",
                value.described(),
                index.described()
            )),
            (Value::Object(_) | Value::Error(_), index) => type_error(format!(
                "{} is indexed by a string, not by {}",
                value.described(),
                index.described()
            )),
            (other, _) => type_error(format!("nothing can be read of {}", other.described())),
        }
    }

    #[inline(never)]
    fn method(&mut self, receiver: Value, name: &str, arguments: &[Index], optional: bool) -> Evaluated {
        let function = match &receiver {
            Value::List(_) => library::list_method(name),
            Value::Text(_) => library::text_method(name),
            _ => None,
        };
        let Some(function) = function else {
            self.field(&receiver, name, optional)?;
            return not_a_function(&format!("`{}` of {} is no function", short(name), receiver.described()));
        };
        function.check_count(arguments.len())?;
        let arguments = self.arguments(arguments)?;
        self.invoke(function, receiver, arguments)
    }

    #[inline(never)]
    pub fn call(&mut self, function: Index, arguments: &[Index]) -> Evaluated {
        let Some(function) = self.flow.functions.get(function as usize).copied() else {
            return not_a_function("this cannot be called");
        };
        function.check_count(arguments.len())?;
        let arguments = self.arguments(arguments)?;
        match function.body {
            Body::Effect(effect) => self.perform_effect(function, effect, arguments),
            Body::Pure(_) => self.invoke(function, Value::Null, arguments),
        }
    }

    #[inline(never)]
    fn invoke(&mut self, function: &'static Function, receiver: Value, arguments: Vec<Value>) -> Evaluated {
        let mut ready = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let argument = self.look(argument)?;
            ready.push(if function.looks_inside { self.look_inside(argument)? } else { argument });
        }
        let receiver = if function.looks_inside { self.look_inside(receiver)? } else { receiver };
        Call { function, receiver, arguments: ready, meter: &mut self.meter }.run()
    }
}

/// Returns the cost of finding a key: 0 unless the key is very long.
pub fn key_cost(key: &str) -> u64 {
    if key.len() < 32 { 0 } else { 8 * key.len() as u64 }
}

fn not_a_function<T>(message: &str) -> Evaluated<T> {
    throw(codes::NOT_A_FUNCTION, message)
}

/// Throws for reading from absent inputs. The message names the real mistake, which is how the run was
/// started.
pub fn no_input<T>(what: &str) -> Evaluated<T> {
    type_error(format!("{what}: the run was started without --input, so its inputs are null"))
}

fn uncalled(name: &str) -> Evaluated {
    type_error(format!("`{name}` is a method: call it with `()`"))
}

pub fn no_property<T>(value: &Value, name: &str) -> Evaluated<T> {
    let name = short(name);
    let message = match value {
        Value::Object(object) => format!("the object has no property `{name}`{}", known(object)),
        Value::Error(_) => format!("the error has no property `{name}`"),
        Value::List(_) => format!("a list has no property `{name}`"),
        Value::Text(_) => format!("a string has no property `{name}`"),
        other => {
            return type_error(format!("{} has no property `{name}`", other.described()));
        }
    };
    throw(codes::PROPERTY_NOT_FOUND, message)
}

pub fn no_item<T>(place: &str, length: usize, what: &str) -> Evaluated<T> {
    let message = match length {
        0 => format!("there is no {what} {place}: there are none"),
        1 => format!("there is no {what} {place}: there is only {what} 0"),
        _ => format!("there is no {what} {place}: they go from 0 to {}", length - 1),
    };
    throw(codes::PROPERTY_NOT_FOUND, message)
}

/// Returns the first keys of an object, to help with a misspelt one.
fn known(object: &Object) -> String {
    let keys: Vec<&str> =
        object.iter().take(8).map(|(key, _)| &**key).filter(|key| key.len() <= 40).collect();
    match (keys.len(), object.len()) {
        (0, _) => String::new(),
        (shown, all) if shown < all => format!("; it has {}, ..", keys.join(", ")),
        _ => format!("; it has {}", keys.join(", ")),
    }
}
