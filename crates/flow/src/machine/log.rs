//! `log(..)` writes a line to the history.

use rhythm_core::event::{EventData, Log};
use rhythm_core::payload::Payload;

use super::Machine;
use crate::json::Handles;
use crate::operators::text_of;
use crate::runtime_error::Evaluated;
use crate::value::{List, Value};

/// Longest message of a line, in bytes. The data of the event holds the whole text.
const LINE_BYTES: usize = 4096;

impl Machine<'_> {
    pub fn log(&mut self, given: Vec<Value>) -> Evaluated {
        let mut values = Vec::with_capacity(given.len());
        for value in given {
            values.push(self.look_inside(value)?);
        }
        let mut message = String::new();
        for (place, value) in values.iter().enumerate() {
            if message.len() > LINE_BYTES {
                break;
            }
            if place > 0 {
                message.push(' ');
            }
            match value.bulk().holds_handles() {
                true => message.push_str("[handle]"),
                false => message.push_str(&text_of(value, &mut self.meter)?),
            }
        }
        let cut = message.len() > LINE_BYTES;
        if cut {
            let end = (0..=LINE_BYTES).rev().find(|end| message.is_char_boundary(*end)).unwrap_or(0);
            message.truncate(end);
            message.push_str("..");
        }
        let data = self.logged_data(&values, cut)?;
        self.meter.output(message.len())?;
        self.events.push(EventData::Log(Log { message, data }));
        Ok(Value::Null)
    }

    /// Returns the data of a line. Strings form the message; other values are kept as data, without a leading
    /// string.
    fn logged_data(&mut self, values: &[Value], cut: bool) -> Evaluated<Payload> {
        let is_text = |value: &Value| matches!(value, Value::Text(_));
        let kept = match values {
            [Value::Text(_), rest @ ..] if !cut => rest,
            all => all,
        };
        match kept {
            words if !cut && words.iter().all(is_text) => Ok(Payload::null()),
            [single] => self.written(single, Handles::Shown),
            many => self.written(&Value::List(List::new(many.to_vec())?), Handles::Shown),
        }
    }
}
