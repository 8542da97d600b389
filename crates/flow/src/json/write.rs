//! Writes values as JSON: compact, deterministic, and never deeper than values nest.

use rhythm_core::payload::BlobRef;

use super::tags;
use crate::limits::{Limit, MAX_VALUE_BYTES};
use crate::numbers::runs;
use crate::value::{ErrorValue, Kept, List, Number, Object, Part, Value};

/// From this number on, a list that holds only handles is written as runs of numbers.
const MANY_HANDLES: usize = 8;

/// Treatment of handles and of unread large values in plain JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handles {
    /// The caller has checked that there are none; one that is there anyway is written as null.
    Absent,
    /// Written in a readable form.
    Shown,
}

/// Writes a value as plain JSON; an error becomes an object. Fails when the text is larger than a value may
/// be: escapes can make it several times as long as the value.
pub fn write_plain(value: &Value, handles: Handles, out: &mut Vec<u8>) -> Result<(), Limit> {
    Writer { out, form: Form::Plain(handles) }.value(value);
    if out.len() as u64 > MAX_VALUE_BYTES { Err(Limit::Memory) } else { Ok(()) }
}

/// Writes a value in the form stored in snapshots.
pub fn write_stored(value: &Value, out: &mut Vec<u8>) {
    Writer { out, form: Form::Stored }.value(value);
}

/// Writes a field of an object in the form stored in snapshots.
pub fn write_stored_entry(key: &str, value: &Value, out: &mut Vec<u8>) {
    let mut writer = Writer { out, form: Form::Stored };
    writer.key(key);
    writer.value(value);
}

/// Writes an error without its tag, where only an error can be.
pub fn write_stored_error(error: &ErrorValue, out: &mut Vec<u8>) {
    Writer { out, form: Form::Stored }.error_fields(error);
}

/// Writes a JSON string.
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
        // The text is over the limit already, so stop.
        if self.out.len() as u64 > MAX_VALUE_BYTES {
            return;
        }
        match value {
            Value::Null => self.raw("null"),
            Value::Boolean(true) => self.raw("true"),
            Value::Boolean(false) => self.raw("false"),
            Value::Number(number) => self.number(*number),
            Value::Text(text) => write_text(text, self.out),
            Value::List(list) => self.list(list),
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
            Value::Blob(_) | Value::Kept(_) if self.form == Form::Plain(Handles::Absent) => self.raw("null"),
            Value::Blob(blob) => {
                self.blob(blob);
                self.raw("}");
            }
            Value::Kept(kept) if self.form == Form::Stored => self.kept(kept),
            Value::Kept(kept) => {
                let (what, len) = (value.kind(), kept.count());
                let of = if kept.is_list() { "items" } else { "fields" };
                write_text(&format!("[{what} of {len} {of}]"), self.out);
            }
        }
    }

    fn list(&mut self, list: &List) {
        let is_handle = |item: &Value| matches!(item, Value::Handle(_));
        if self.form == Form::Stored && list.len() >= MANY_HANDLES && list.items().iter().all(is_handle) {
            return self.handles(list);
        }
        self.raw("[");
        for (place, item) in list.items().iter().enumerate() {
            if place > 0 {
                self.raw(",");
            }
            self.value(item);
        }
        self.raw("]");
    }

    fn handles(&mut self, list: &List) {
        let numbers = list.items().iter().filter_map(|item| match item {
            Value::Handle(number) => Some(*number),
            _ => None,
        });
        self.tag(tags::HANDLES);
        // Writing to memory cannot fail.
        let _ = serde_json::to_writer(&mut *self.out, &runs(numbers));
        self.raw("}");
    }

    /// Opens a blob reference. The closing brace is left out, because a segment adds a field.
    fn blob(&mut self, blob: &BlobRef) {
        self.tag(tags::BLOB);
        write_text(&blob.hash, self.out);
        self.raw(",\"bytes\":");
        self.raw(&blob.bytes.to_string());
    }

    fn kept(&mut self, kept: &Kept) {
        self.tag(tags::KEPT);
        self.raw(if kept.is_list() { "[\"list\"" } else { "[\"object\"" });
        for part in kept.parts() {
            self.raw(",");
            match part {
                Part::Stored(blob, len) => {
                    self.blob(blob);
                    self.raw(&format!(",\"{}\":{len}}}", tags::OF));
                }
                Part::Inline(value) => self.value(value),
            }
        }
        self.raw("]}");
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
            self.key(key);
            self.value(value);
        }
    }

    fn key(&mut self, key: &str) {
        if self.form == Form::Stored && key.starts_with('$') {
            write_text(&format!("${key}"), self.out);
        } else {
            write_text(key, self.out);
        }
        self.raw(":");
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
