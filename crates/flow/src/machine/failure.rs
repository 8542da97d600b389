//! Converts failures from outside and thrown values to errors, and uncaught errors to failures.

use std::sync::Arc;

use rhythm_core::failure::Failure;
use rhythm_core::payload::{BlobRef, Payload};

use super::Machine;
use crate::json::Handles;
use crate::runtime_error::{Evaluated, codes, type_error};
use crate::value::{ErrorValue, Number, Object, Value};

impl Machine<'_> {
    /// Returns the error a program catches when a task or child has failed.
    pub fn error_of(&mut self, failure: &Failure) -> Evaluated<Arc<ErrorValue>> {
        let mut fields = Vec::new();
        if failure.attempts > 0 {
            fields.push((Arc::from("attempts"), Value::integer(i64::from(failure.attempts))));
        }
        if let Some(data) = &failure.data {
            let data = self.value_of(data)?.unwrap_or(Value::Null);
            fields.push((Arc::from("data"), data));
        }
        if let Some(more) = &failure.fields {
            let more = self.value_of(more)?.unwrap_or(Value::Null);
            if let Value::Object(more) = self.look(more)? {
                fields.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
            }
        }
        let kind = if failure.kind.is_empty() { &failure.code } else { &failure.kind };
        // Programs see one code, `TIMEOUT`, for every exceeded time limit; the type says which limit it was.
        let out_of_time = failure.code == rhythm_core::failure::codes::DEADLINE_EXCEEDED;
        let error = ErrorValue {
            code: Arc::from(if out_of_time { codes::TIMEOUT } else { failure.code.as_str() }),
            message: Arc::from(failure.message.as_str()),
            kind: Arc::from(kind.as_str()),
            fields: Object::new(fields)?,
        };
        error.bulk().checked()?;
        Ok(Arc::new(error))
    }

    /// Converts the value of a `throw` to an error: a string, an object with a message, or an error.
    pub fn thrown(&mut self, value: Value) -> Evaluated<Arc<ErrorValue>> {
        let object = match value {
            Value::Error(error) => return Ok(error),
            Value::Text(message) => {
                // Share the text instead of copying it: it may be long, and thrown often.
                return Ok(Arc::new(ErrorValue { message, ..ErrorValue::new(codes::FAILED, "") }));
            }
            Value::Object(object) => object,
            other => {
                let what = other.described();
                return type_error(format!(
                    "`throw` takes a string, an object with a `message` or an error, not {what}"
                ));
            }
        };
        let Some(message) = object.get("message").and_then(word) else {
            return type_error("`throw` takes an object that has a `message`, a string");
        };
        let code = object.get("code").and_then(word).unwrap_or_else(|| Arc::from(codes::FAILED));
        let kind = object.get("type").and_then(word).unwrap_or_else(|| code.clone());
        let own = |key: &str| !matches!(key, "code" | "message" | "type");
        let fields = object.iter().filter(|(key, _)| own(key));
        let fields = Object::new(fields.map(|(key, value)| (key.clone(), value.clone())))?;
        let error = ErrorValue { code, message, kind, fields };
        error.bulk().checked()?;
        Ok(Arc::new(error))
    }

    /// Converts an uncaught error to the failure of the run, with its data if that can be written.
    pub fn failure(&mut self, error: &ErrorValue) -> Evaluated<Failure> {
        let mut failure = Failure::permanent(&*error.code, &*error.message);
        failure.kind = error.kind.to_string();
        if let Some(Value::Number(Number::Integer(attempts))) = error.fields.get("attempts") {
            failure.attempts = u32::try_from(*attempts).unwrap_or(0);
        }
        failure.data = match error.fields.get("data") {
            Some(Value::Blob(blob)) => Some(Payload::Blob(BlobRef::clone(blob))),
            Some(data) => {
                let data = self.look_inside(data.clone())?;
                self.written(&data, Handles::Shown).ok()
            }
            None => None,
        };
        let more = error.fields.iter().filter(|(key, _)| !matches!(&***key, "attempts" | "data"));
        let more = Object::new(more.map(|(key, value)| (key.clone(), value.clone()))).ok();
        let more = more.filter(|more| !more.is_empty()).map(Value::Object);
        if let Some(more) = more {
            let more = self.look_inside(more)?;
            failure.fields = self.written(&more, Handles::Shown).ok().map(Box::new);
        }
        Ok(failure)
    }
}

/// Returns the text of a code or message that is a string or a number.
fn word(value: &Value) -> Option<Arc<str>> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Number(number) => Some(Arc::from(number.to_string())),
        _ => None,
    }
}
