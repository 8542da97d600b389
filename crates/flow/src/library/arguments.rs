//! One call: its arguments, and typed readers that report clearly what is wrong with them.

use std::sync::Arc;

use super::{Body, Function};
use crate::limits::WriteStats;
use crate::runtime_error::{Evaluated, codes, throw, wrong_argument};
use crate::value::{List, Number, Object, Value};

pub struct Call<'a> {
    pub function: &'static Function,
    /// The value a method is called on.
    pub receiver: Value,
    pub arguments: Vec<Value>,
    pub meter: &'a mut WriteStats,
}

impl Function {
    pub fn check_count(&self, given: usize) -> Evaluated<()> {
        if given >= self.least && self.most.is_none_or(|most| given <= most) {
            return Ok(());
        }
        let count = |number: usize| match number {
            1 => "1 argument".to_owned(),
            number => format!("{number} arguments"),
        };
        let wanted = match self.most {
            None => format!("at least {}", count(self.least)),
            Some(most) if most == self.least => count(most),
            Some(most) => format!("{} to {}", self.least, count(most)),
        };
        let message = format!("{}{} takes {wanted}, not {given}", self.name, self.signature);
        throw(codes::WRONG_ARG_COUNT, message)
    }
}

impl Call<'_> {
    pub fn run(&mut self) -> Evaluated {
        self.function.check_count(self.arguments.len())?;
        match self.function.body {
            Body::Pure(body) => body(self),
            // The machine executes effects itself.
            Body::Effect(_) => Ok(Value::Null),
        }
    }

    pub fn name(&self) -> &'static str {
        self.function.name
    }

    /// Returns an argument; null when it was left out.
    pub fn argument(&self, place: usize) -> &Value {
        self.arguments.get(place).unwrap_or(&Value::Null)
    }

    pub fn has(&self, place: usize) -> bool {
        place < self.arguments.len()
    }

    pub fn number(&self, place: usize) -> Evaluated<Number> {
        match self.argument(place) {
            Value::Number(number) => Ok(*number),
            other => self.refuse(place, "a number", other),
        }
    }

    pub fn text(&self, place: usize) -> Evaluated<Arc<str>> {
        match self.argument(place) {
            Value::Text(text) => Ok(text.clone()),
            other => self.refuse(place, "a string", other),
        }
    }

    /// Returns the fields of an object or of an error.
    pub fn object(&self, place: usize) -> Evaluated<Object> {
        match self.argument(place) {
            Value::Object(object) => Ok(object.clone()),
            Value::Error(error) => Ok(Object::new(error.entries())?),
            other => self.refuse(place, "an object", other),
        }
    }

    /// Returns the list a method is called on.
    pub fn list(&self) -> Evaluated<List> {
        match &self.receiver {
            Value::List(list) => Ok(list.clone()),
            other => {
                wrong_argument(format!("{} is a method of lists, not of {}", self.name(), other.described()))
            }
        }
    }

    /// Returns the string a method is called on.
    pub fn own_text(&self) -> Evaluated<Arc<str>> {
        match &self.receiver {
            Value::Text(text) => Ok(text.clone()),
            other => wrong_argument(format!(
                "{} is a method of strings, not of {}",
                self.name(),
                other.described()
            )),
        }
    }

    pub fn refuse<T>(&self, place: usize, wanted: &str, found: &Value) -> Evaluated<T> {
        let which = match self.arguments.len() {
            1 => "the argument of ".to_owned(),
            _ => format!("argument {} of ", place + 1),
        };
        wrong_argument(format!("{which}{} must be {wanted}, not {}", self.name(), found.described()))
    }

    pub fn make_list(&mut self, items: Vec<Value>) -> Evaluated {
        self.meter.allocate(64 + 24 * items.len() as u64)?;
        Ok(Value::List(List::new(items)?))
    }

    pub fn make_text(&mut self, text: &str) -> Evaluated {
        self.meter.allocate(40 + text.len() as u64)?;
        let text = Value::Text(Arc::from(text));
        text.bulk().checked()?;
        Ok(text)
    }

    /// Returns the range of a slice of `length` members. Negative positions count from the end.
    pub fn range(&self, length: usize) -> Evaluated<std::ops::Range<usize>> {
        let place = |at: usize, otherwise: usize| -> Evaluated<usize> {
            let number = match self.argument(at) {
                Value::Null => return Ok(otherwise),
                _ => self.number(at)?,
            };
            let Number::Integer(place) = number.floor() else {
                let wanted = "a whole number";
                return self.refuse(at, wanted, self.argument(at));
            };
            let length = length as i64;
            let place = if place < 0 { length.saturating_add(place) } else { place };
            Ok(place.clamp(0, length) as usize)
        };
        let (start, end) = (place(0, 0)?, place(1, length)?);
        Ok(start..end.max(start))
    }
}
