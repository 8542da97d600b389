//! Looking inside values. They are read once in a transition; what lives in a blob is asked for. What is no JSON this
//! build can hold (a number out of range, say) is null to whoever looks inside.

use std::collections::BTreeSet;
use std::sync::Arc;

use rhythm_core::payload::{BlobRef, Payload};
use serde_json::Value;

use super::memory::Visit;
use super::values::ValueId;
use super::{Machine, Stop, Stopped, codes};

impl Machine<'_> {
    /// Makes sure that all of these are at hand; asks for all that are not.
    pub fn need(&self, values: impl IntoIterator<Item = ValueId>) -> Stopped {
        let payloads = values.into_iter().filter_map(|value| self.memory.values.get(value));
        let missing: BTreeSet<BlobRef> =
            payloads.filter_map(|payload| payload.resolve(self.input.blobs).err().cloned()).collect();
        if missing.is_empty() { Ok(()) } else { Err(Stop::NeedBlobs(missing.into_iter().collect())) }
    }

    /// The JSON text of a value.
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

    /// A value of our own making.
    pub fn made(&mut self, value: Value) -> ValueId {
        let payload = Payload::of(&value).expect("values always serialise");
        let id = self.memory.values.add(payload);
        self.read.insert(id, Arc::new(value));
        id
    }

    /// What a node gets: what its token carries, or `{dependency: output}` when several came together.
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

    /// An object of these values, as they stand.
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

/// An object of JSON texts.
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
