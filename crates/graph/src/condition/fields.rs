//! Reads the fields of a condition, with one message for each kind of error.

use serde_json::{Map, Value};

use super::error::{ConditionError, ErrorKind};

#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    pub fn of(source: &'a Value) -> Result<Self, ConditionError> {
        let malformed =
            || ConditionError::new(ErrorKind::Malformed, "condition", "it is an object with a `type`");
        source.as_object().map(Self).ok_or_else(malformed)
    }

    /// Returns a field; null counts as absent.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// Returns a field; null counts as a value.
    pub fn given(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name)
    }

    pub fn text(&self, name: &str) -> Result<&'a str, ConditionError> {
        self.optional_text(name)?.ok_or_else(|| malformed(name, "it is missing"))
    }

    pub fn optional_text(&self, name: &str) -> Result<Option<&'a str>, ConditionError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| malformed(name, "it is a string"))
    }

    pub fn flag(&self, name: &str) -> Result<bool, ConditionError> {
        let Some(value) = self.get(name) else { return Ok(false) };
        value.as_bool().ok_or_else(|| malformed(name, "it is true or false"))
    }

    /// Returns a whole number from 1 to `most`.
    pub fn count(&self, name: &str, default: u64, most: u64) -> Result<u64, ConditionError> {
        let Some(value) = self.get(name) else { return Ok(default) };
        let fits = value.as_u64().filter(|count| (1..=most).contains(count));
        fits.ok_or_else(|| malformed(name, &format!("it is a whole number from 1 to {most}")))
    }
}

pub(super) fn malformed(place: &str, message: &str) -> ConditionError {
    ConditionError::new(ErrorKind::Malformed, place, message)
}
