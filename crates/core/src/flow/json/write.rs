//! Writing values. Compact, deterministic, and never deeper than values nest.

use super::tags;
use crate::flow::limits::{Limit, MAX_VALUE_BYTES};
use crate::flow::value::{ErrorValue, Number, Object, Value};

/// What becomes of handles and unread large values in plain JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handles {
    /// The caller has made sure there are none; should one be there, it is null.
    Absent,
    /// Shown in a way people understand.
    Shown,
}

/// Writes a value as everybody outside sees it: an error is an object. The text is bounded like the value itself:
/// escapes could make it several times as long.
pub fn write_plain(value: &Value, handles: Handles, out: &mut Vec<u8>) -> Result<(), Limit> {
    Writer { out, form: Form::Plain(handles) }.value(value);
    if out.len() as u64 > MAX_VALUE_BYTES { Err(Limit::Memory) } else { Ok(()) }
}

/// Writes a value as a snapshot keeps it.
pub fn write_stored(value: &Value, out: &mut Vec<u8>) {
    Writer { out, form: Form::Stored }.value(value);
}

/// Writes an error without its tag, where only an error can stand.
pub fn write_stored_error(error: &ErrorValue, out: &mut Vec<u8>) {
    Writer { out, form: Form::Stored }.error_fields(error);
}

/// A JSON string.
pub fn write_text(text: &str, out: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    let _ = serde_json::to_writer(out, text);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain(Handles),
    Stored,
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    form: Form,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value) {
        // Too long already: what is left would only make it longer.
        if self.out.len() as u64 > MAX_VALUE_BYTES {
            return;
        }
        match value {
            Value::Null => self.raw("null"),
            Value::Boolean(true) => self.raw("true"),
            Value::Boolean(false) => self.raw("false"),
            Value::Number(number) => self.number(*number),
            Value::Text(text) => write_text(text, self.out),
            Value::List(list) => {
                self.raw("[");
                for (place, item) in list.items().iter().enumerate() {
                    if place > 0 {
                        self.raw(",");
                    }
                    self.value(item);
                }
                self.raw("]");
            }
            Value::Object(object) => {
                self.raw("{");
                self.fields(object, true);
                self.raw("}");
            }
            Value::Error(error) if self.form == Form::Stored => {
                self.tag(tags::ERROR);
                self.error_fields(error);
                self.raw("}");
            }
            Value::Error(error) => self.error_fields(error),
            Value::Handle(handle) => self.handle(*handle),
            Value::Blob(blob) => {
                if self.form == Form::Plain(Handles::Absent) {
                    return self.raw("null");
                }
                self.tag(tags::BLOB);
                write_text(&blob.hash, self.out);
                self.raw(",\"bytes\":");
                self.raw(&blob.bytes.to_string());
                self.raw("}");
            }
        }
    }

    fn handle(&mut self, handle: u64) {
        match self.form {
            Form::Plain(Handles::Absent) => self.raw("null"),
            Form::Plain(Handles::Shown) => write_text(&format!("[handle {handle}]"), self.out),
            Form::Stored => {
                self.tag(tags::HANDLE);
                self.raw(&handle.to_string());
                self.raw("}");
            }
        }
    }

    fn error_fields(&mut self, error: &ErrorValue) {
        for (name, text) in
            [("{\"code\":", &error.code), (",\"message\":", &error.message), (",\"type\":", &error.kind)]
        {
            self.raw(name);
            write_text(text, self.out);
        }
        self.fields(&error.fields, false);
        self.raw("}");
    }

    fn fields(&mut self, object: &Object, mut first: bool) {
        for (key, value) in object.iter() {
            if !first {
                self.raw(",");
            }
            first = false;
            if self.form == Form::Stored && key.starts_with('$') {
                write_text(&format!("${key}"), self.out);
            } else {
                write_text(key, self.out);
            }
            self.raw(":");
            self.value(value);
        }
    }

    fn number(&mut self, number: Number) {
        use std::io::Write;
        // Writing to memory cannot fail.
        let _ = write!(self.out, "{number}");
    }

    /// Opens a tagged object, up to its value.
    fn tag(&mut self, tag: &str) {
        self.raw("{\"");
        self.raw(tag);
        self.raw("\":");
    }

    fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }
}
