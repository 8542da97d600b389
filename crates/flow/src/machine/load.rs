//! Loads data stored outside of the snapshot's values: large values, the inputs, the context. Each is read
//! when a step first looks inside, once per transition.

use std::collections::BTreeSet;
use std::sync::Arc;

use rhythm_core::payload::{BlobRef, Payload};

use super::Machine;
use crate::json::{Handles, ReadError, read, read_stored, write_plain};
use crate::limits::{Limit, MAX_VALUE_BYTES};
use crate::runtime_error::{Evaluated, Stop, codes, type_error, wrong_argument};
use crate::value::{ErrorValue, Kept, List, Located, Object, Part, Shape, Value, assemble};

impl Machine<'_> {
    /// Returns the value itself if this is a reference, loading it.
    pub fn look(&mut self, value: Value) -> Evaluated {
        match value {
            Value::Blob(blob) => self.load(&blob),
            Value::Kept(kept) => self.whole(&kept),
            value => Ok(value),
        }
    }

    /// Loads the value and every reference inside it.
    pub fn look_inside(&mut self, value: Value) -> Evaluated {
        if !value.bulk().holds_blobs() {
            return Ok(value);
        }
        let mut missing = BTreeSet::new();
        value.each_blob(&mut |blob| {
            if !self.is_at_hand(blob) {
                missing.insert(BlobRef::clone(blob));
            }
        });
        self.ask_for(missing)?;
        self.expand(value)
    }

    pub fn is_at_hand(&self, blob: &BlobRef) -> bool {
        let loaded = &self.loaded;
        self.input.blobs.contains_key(&blob.hash)
            || loaded.blobs.contains_key(&blob.hash)
            || loaded.segments.contains_key(&blob.hash)
            || self.blobs.iter().any(|(made, _)| made.hash == blob.hash)
    }

    /// Requests all missing blobs at once, because each request repeats the step.
    pub fn ask_for(&self, missing: BTreeSet<BlobRef>) -> Evaluated<()> {
        if missing.is_empty() {
            return Ok(());
        }
        self.refuse_large(missing.iter().map(|blob| blob.bytes).fold(0, u64::saturating_add))?;
        Err(Stop::NeedBlobs(missing.into_iter().collect()))
    }

    /// Returns a value in segments as one value.
    #[inline(never)]
    fn whole(&mut self, kept: &Kept) -> Evaluated {
        let stored = kept.parts().iter().filter_map(|part| match part {
            Part::Stored(blob, _) if !self.is_at_hand(blob) => Some(BlobRef::clone(blob)),
            _ => None,
        });
        self.ask_for(stored.collect())?;
        self.meter.allocate(if kept.is_list() { 24 } else { 64 } * kept.count() as u64)?;
        let mut parts = Vec::with_capacity(kept.parts().len());
        for part in kept.parts() {
            parts.push(match part {
                Part::Stored(blob, len) => self.segment(blob, kept.shape(), *len)?,
                Part::Inline(value) => value.clone(),
            });
        }
        Ok(assemble(kept.shape(), parts)?)
    }

    /// Returns an item of a list in segments; loads only its segment.
    pub fn kept_item(&mut self, kept: &Kept, place: usize) -> Evaluated<Option<Value>> {
        match kept.item(place) {
            None => Ok(None),
            Some(Located::Here(item)) => Ok(Some(item)),
            Some(Located::Stored(blob, place)) => match self.segment(&blob, Shape::List, place + 1)? {
                Value::List(list) => Ok(list.items().get(place).cloned()),
                _ => Ok(None),
            },
        }
    }

    /// Returns the contents of a segment, which must have at least `least` items or fields.
    fn segment(&mut self, blob: &BlobRef, shape: Shape, least: usize) -> Evaluated {
        if let Some(value) = self.loaded.segments.get(&blob.hash) {
            return Ok(value.clone());
        }
        let text = self.content(blob)?;
        self.meter.scan(text.len() as u64)?;
        let value = match read_stored(&text) {
            Ok(value) => value,
            Err(ReadError::Limit(limit)) => return Err(limit.into()),
            Err(_) => return type_error("a segment of a large value is damaged"),
        };
        let fits = match (&value, shape) {
            (Value::List(list), Shape::List) => list.len() >= least,
            (Value::Object(object), Shape::Object) => object.len() >= least,
            _ => false,
        };
        if !fits {
            return type_error("a segment of a large value is not what it was");
        }
        self.note_loaded(&value)?;
        self.loaded.segments.insert(blob.hash.clone(), value.clone());
        Ok(value)
    }

    pub fn note_loaded(&mut self, value: &Value) -> Evaluated<()> {
        self.loaded.weight = self.loaded.weight.saturating_add(value.weight());
        if self.loaded.weight > MAX_VALUE_BYTES { Err(Limit::Memory.into()) } else { Ok(()) }
    }

    /// Returns the content of a blob that the engine has loaded for this step, or that the step itself has
    /// made.
    pub fn content(&self, blob: &BlobRef) -> Evaluated<Arc<str>> {
        self.refuse_large(blob.bytes)?;
        let made = || self.blobs.iter().find(|(made, _)| made.hash == blob.hash).map(|(_, content)| content);
        let Some(content) = self.input.blobs.get(&blob.hash).or_else(made) else {
            return Err(Stop::NeedBlobs(vec![blob.clone()]));
        };
        match std::str::from_utf8(content) {
            Ok(text) => Ok(Arc::from(text)),
            Err(_) => type_error("a large value is not text"),
        }
    }

    fn expand(&mut self, value: Value) -> Evaluated {
        if !value.bulk().holds_blobs() {
            return Ok(value);
        }
        match value {
            Value::Blob(blob) => self.load(&blob),
            Value::Kept(kept) => {
                let whole = self.whole(&kept)?;
                self.expand(whole)
            }
            Value::List(list) => {
                self.meter.allocate(24 * list.len() as u64)?;
                let items = list.items().iter().map(|item| self.expand(item.clone()));
                Ok(Value::List(List::new(items.collect::<Evaluated<Vec<_>>>()?)?))
            }
            Value::Object(object) => Ok(Value::Object(self.expand_fields(&object)?)),
            Value::Error(error) => {
                let fields = self.expand_fields(&error.fields)?;
                Ok(Value::Error(Arc::new(ErrorValue { fields, ..ErrorValue::clone(&error) })))
            }
            value => Ok(value),
        }
    }

    fn expand_fields(&mut self, object: &Object) -> Evaluated<Object> {
        self.meter.allocate(64 * object.len() as u64)?;
        let fields = object.iter().map(|(key, value)| Ok((key.clone(), self.expand(value.clone())?)));
        Ok(Object::new(fields.collect::<Evaluated<Vec<_>>>()?)?)
    }

    fn load(&mut self, blob: &BlobRef) -> Evaluated {
        if let Some(value) = self.loaded.blobs.get(&blob.hash) {
            return Ok(value.clone());
        }
        let text = self.content(blob)?;
        let value = self.parse(&text)??;
        self.note_loaded(&value)?;
        self.loaded.blobs.insert(blob.hash.clone(), value.clone());
        Ok(value)
    }

    /// Refuses data too large to hold, before requesting it.
    fn refuse_large(&self, bytes: u64) -> Evaluated<()> {
        if bytes > MAX_VALUE_BYTES { Err(Limit::Memory.into()) } else { Ok(()) }
    }

    /// Converts data from outside to a value. JSON that a program cannot hold becomes an error to throw.
    pub fn value_of(&mut self, payload: &Payload) -> Evaluated<Result<Value, ErrorValue>> {
        match payload {
            Payload::Blob(blob) => Ok(Ok(Value::Blob(Arc::new(blob.clone())))),
            Payload::Inline(raw) => self.parse(raw.get()),
        }
    }

    fn parse(&mut self, text: &str) -> Evaluated<Result<Value, ErrorValue>> {
        self.meter.scan(text.len() as u64)?;
        match read(text) {
            Ok(value) => Ok(Ok(value)),
            Err(ReadError::Limit(limit)) => Err(limit.into()),
            Err(ReadError::Number) => {
                let message = "the value holds a number that is too large";
                Ok(Err(ErrorValue::new(codes::NUMBER_ERROR, message)))
            }
            Err(ReadError::Syntax(why)) => {
                Ok(Err(ErrorValue::new(codes::TYPE_ERROR, format!("the value cannot be read: {why}"))))
            }
        }
    }

    /// Converts a value for the outside world. `what` and `whom` name it in the error message.
    pub fn payload(&mut self, value: Value, what: &str, whom: &str) -> Evaluated<Payload> {
        if let Value::Blob(blob) = &value {
            return Ok(Payload::Blob(BlobRef::clone(blob)));
        }
        if value.bulk().holds_handles() {
            return wrong_argument(format!("{what} of {whom} cannot hold a handle: `await` it first"));
        }
        let value = self.look_inside(value)?;
        self.meter.scan(value.weight())?;
        self.written(&value, Handles::Absent)
    }

    /// Writes a fully loaded value as JSON.
    pub fn written(&mut self, value: &Value, handles: Handles) -> Evaluated<Payload> {
        let mut out = Vec::new();
        write_plain(value, handles, &mut out)?;
        self.meter.output(out.len())?;
        let text = String::from_utf8_lossy(&out).into_owned();
        match Payload::parse(text) {
            Ok(payload) => Ok(payload),
            Err(error) => type_error(format!("the value cannot be written: {error}")),
        }
    }

    /// Converts the program's result.
    pub fn output(&mut self, value: Value) -> Evaluated<Payload> {
        if value.bulk().holds_handles() {
            return type_error("a result cannot hold a handle: `await` it first");
        }
        self.payload(value, "the result", "a run")
    }

    #[inline(never)]
    pub fn inputs(&mut self) -> Evaluated {
        if let Some(inputs) = &self.loaded.inputs {
            return Ok(inputs.clone());
        }
        let payload = self.memory.input.clone().unwrap_or_default();
        let inputs = self.value_of(&payload)??;
        self.loaded.inputs = Some(inputs.clone());
        Ok(inputs)
    }

    #[inline(never)]
    pub fn context(&mut self) -> Evaluated {
        if let Some(context) = &self.loaded.context {
            return Ok(context.clone());
        }
        let facts = self.input.facts;
        let context = Value::Object(Object::of([
            ("executionId", Value::text(facts.run.as_str())),
            ("workflow", Value::text(&facts.workflow)),
            ("version", Value::text(facts.version.as_str())),
            // A run has one attempt; retries are those of its tasks.
            ("attempt", Value::integer(1)),
            ("startedAt", Value::integer(self.memory.started_at.millis())),
        ])?);
        self.loaded.context = Some(context.clone());
        Ok(context)
    }
}
