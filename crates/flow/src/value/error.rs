//! Errors as values: `catch` receives them and `throw` takes them.

use std::sync::Arc;

use super::{Bulk, Object, Value};

/// An error. It always has a code, a message and a type; other data is in `fields`.
#[derive(Clone, Debug)]
pub struct ErrorValue {
    pub code: Arc<str>,
    pub message: Arc<str>,
    /// The `type` field of the error in a program.
    pub kind: Arc<str>,
    /// `data`, `attempts` and the thrower's own fields; never one of the three above.
    pub fields: Object,
}

impl ErrorValue {
    /// Creates an error whose type is its code.
    pub fn new(code: &str, message: impl AsRef<str>) -> Self {
        let code: Arc<str> = Arc::from(code);
        Self { kind: code.clone(), code, message: Arc::from(message.as_ref()), fields: Object::default() }
    }

    /// Returns the value of `e.name`.
    pub fn get(&self, name: &str) -> Option<Value> {
        match name {
            "code" => Some(Value::Text(self.code.clone())),
            "message" => Some(Value::Text(self.message.clone())),
            "type" => Some(Value::Text(self.kind.clone())),
            _ => match self.fields.get(name) {
                Some(value) => Some(value.clone()),
                // A program may read these from every error; errors of the language lack them.
                None if matches!(name, "data" | "attempts") => Some(Value::Null),
                None => None,
            },
        }
    }

    /// Returns all fields in the order they are written.
    pub fn entries(&self) -> Vec<(Arc<str>, Value)> {
        let own = [("code", &self.code), ("message", &self.message), ("type", &self.kind)];
        let own = own.into_iter().map(|(name, text)| (Arc::from(name), Value::Text(text.clone())));
        own.chain(self.fields.iter().map(|(name, value)| (name.clone(), value.clone()))).collect()
    }

    pub fn bulk(&self) -> Bulk {
        let texts = self.code.len() + self.message.len() + self.kind.len();
        // A stored error is an object in an object.
        self.fields.bulk().wrapped(texts as u64 + 120)
    }
}
