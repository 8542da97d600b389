//! Decodes values, each once in a transition. A value in a blob is requested. A value this build cannot hold
//! as JSON, such as a number out of range, is read as null.

use std::collections::BTreeSet;
use std::sync::Arc;

use rhythm_core::payload::{BlobRef, Payload};
use serde_json::Value;

use super::memory::Visit;
use super::values::ValueId;
use super::{Machine, Stop, Stopped, codes};

impl Machine<'_> {
    /// Checks that these values are loaded, or stops with a request for all that are missing.
    pub fn need(&self, values: impl IntoIterator<Item = ValueId>) -> Stopped {
        let payloads = values.into_iter().filter_map(|value| self.memory.values.get(value));
        let missing: BTreeSet<BlobRef> =
            payloads.filter_map(|payload| payload.resolve(self.input.blobs).err().cloned()).collect();
        if missing.is_empty() { Ok(()) } else { Err(Stop::NeedBlobs(missing.into_iter().collect())) }
    }

    /// Returns the JSON text of a value.
    pub fn text(&self, value: ValueId) -> Stopped<&str> {
        self.need([value])?;
        let bytes = self.memory.values.get(value).and_then(|payload| payload.resolve(self.input.blobs).ok());
        Ok(bytes.and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or("null"))
    }

    pub fn look(&mut self, value: ValueId) -> Stopped<Arc<Value>> {
        if let Some(read) = self.read.get(&value) {
            return Ok(read.clone());
        }
        let read: Arc<Value> = Arc::new(serde_json::from_str(self.text(value)?).unwrap_or_default());
        self.read.insert(value, read.clone());
        Ok(read)
    }

    /// Stores a value that the machine computed.
    pub fn made(&mut self, value: Value) -> ValueId {
        let payload = Payload::of(&value).expect("values always serialise");
        let id = self.memory.values.add(payload);
        self.read.insert(id, Arc::new(value));
        id
    }

    /// Returns a node's input: the value of its token, or `{dependency: output}` after a join of several.
    pub fn input_of(&mut self, visit: &Visit) -> Stopped<ValueId> {
        let parts = visit.tokens.iter().filter_map(|token| Some((token.from.clone()?, token.value)));
        match visit.tokens.first() {
            Some(token) if !visit.joined => Ok(token.value),
            _ => {
                let parts: Vec<_> = parts.collect();
                let payload = self.compose(&parts)?;
                Ok(self.memory.values.add(payload))
            }
        }
    }

    /// Returns an object of these values with their JSON text unchanged.
    pub fn compose(&self, parts: &[(impl AsRef<str>, ValueId)]) -> Stopped<Payload> {
        self.need(parts.iter().map(|(_, value)| *value))?;
        let texts = parts.iter().map(|(key, value)| Ok((key.as_ref(), self.text(*value)?)));
        let texts: Vec<(&str, &str)> = texts.collect::<Stopped<_>>()?;
        Ok(object(&texts))
    }

    pub fn check_size(&self, value: ValueId, what: &str) -> Stopped {
        let size = self.memory.values.get(value).map_or(0, Payload::size);
        match self.plan.graph.limits.max_bytes {
            Some(most) if size > most => {
                Stop::failed(codes::MAX_BYTES, format!("{what} has {size} bytes, the limit is {most}"))
            }
            _ => Ok(()),
        }
    }
}

/// Returns an object of JSON texts.
pub fn object(parts: &[(&str, &str)]) -> Payload {
    let mut text = String::from("{");
    for (place, (key, value)) in parts.iter().enumerate() {
        text.push_str(if place == 0 { "" } else { "," });
        text.push_str(&Value::from(*key).to_string());
        text.push(':');
        text.push_str(value);
    }
    text.push('}');
    Payload::parse(text).unwrap_or_default()
}
