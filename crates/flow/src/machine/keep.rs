//! Moves large values out of the snapshot: texts become blobs, lists and objects are cut into segments. A
//! segment is written once and never changed, so growing a list costs only what is added to it. Segments
//! contain no references and no handles; items with these stay in the snapshot.

use std::collections::BTreeSet;
use std::sync::Arc;

use rhythm_core::payload::{BlobRef, Contents, INLINE_MAX_BYTES};

use crate::json::{write_stored, write_stored_entry, write_text};
use crate::limits::Limit;
use crate::value::{ErrorValue, Kept, List, Object, Part, Shape, Value};

/// Largest number of bytes in a snapshot for one byte of a value's weight.
const GROWTH: u64 = 6;
/// Shorter runs between items that must stay inline are not worth a segment.
const WORTH_A_SEGMENT: usize = 512;
/// Number of levels at which large values inside large values move out separately. Each level nests the
/// snapshot deeper.
const LEVELS: u8 = 4;

/// Size limit, in bytes, of the next segment. The first segments are small, because the items after the last
/// segment are written with every snapshot. Later ones are larger, because every snapshot names each segment.
pub fn segment_bytes(closed: usize) -> usize {
    (16 + closed).min(64) * 1024
}

/// Collects the contents that move out of the snapshot.
#[derive(Default)]
pub struct Keeper {
    /// Hashes of stored blobs: those the previous snapshot named.
    known: BTreeSet<String>,
    made: Contents,
}

impl Keeper {
    pub fn knowing(known: BTreeSet<String>) -> Self {
        Self { known, made: Vec::new() }
    }

    /// Returns the known hashes, and the contents that must be stored.
    pub fn done(self) -> (BTreeSet<String>, Contents) {
        (self.known, self.made)
    }

    /// Stores a content. The same content is written only once.
    pub fn store(&mut self, content: Vec<u8>) -> Arc<BlobRef> {
        let blob = BlobRef::of(&content);
        if self.known.insert(blob.hash.clone()) {
            self.made.push((blob.clone(), content.into()));
        }
        Arc::new(blob)
    }

    /// Moves the value out of the snapshot if it is large.
    pub fn keep(&mut self, value: &mut Value) -> Result<(), Limit> {
        self.keep_at(value, 0)
    }

    fn keep_at(&mut self, value: &mut Value, level: u8) -> Result<(), Limit> {
        if let Value::Kept(kept) = value {
            let closed = kept.parts().iter().filter(|part| matches!(part, Part::Stored(..))).count();
            if inline_bytes(kept) > segment_bytes(closed) {
                *value = self.cut_again(kept, level)?;
            }
            return Ok(());
        }
        if !is_large(value) {
            return Ok(());
        }
        *value = match &*value {
            Value::Text(text) => {
                let mut content = Vec::with_capacity(text.len() + 2);
                write_text(text, &mut content);
                Value::Blob(self.store(content))
            }
            Value::List(list) => self.cut_list(list.items(), level)?,
            Value::Object(object) => self.cut_object(object, level)?,
            Value::Error(error) => {
                let mut fields = Vec::with_capacity(error.fields.len());
                for (key, field) in error.fields.iter() {
                    let mut field = field.clone();
                    self.keep_at(&mut field, level)?;
                    fields.push((key.clone(), field));
                }
                let fields = Object::new(fields)?;
                Value::Error(Arc::new(ErrorValue { fields, ..ErrorValue::clone(error) }))
            }
            _ => return Ok(()),
        };
        Ok(())
    }

    /// Cuts the items of a map, which are read one after the other, so that only a few bytes stay inline.
    pub fn keep_items(&mut self, items: &mut Value) -> Result<(), Limit> {
        let mut cutter = Cutter::new(self, Shape::List, 0, segment_bytes);
        match &*items {
            Value::List(list) => list.items().iter().try_for_each(|item| cutter.add(None, item))?,
            Value::Kept(kept) => cutter.add_parts(kept)?,
            _ => return Ok(()),
        }
        cutter.interrupt()?;
        *items = cutter.finish()?;
        Ok(())
    }

    fn cut_list(&mut self, items: &[Value], level: u8) -> Result<Value, Limit> {
        let mut cutter = Cutter::new(self, Shape::List, level, segment_bytes);
        items.iter().try_for_each(|item| cutter.add(None, item))?;
        cutter.finish()
    }

    fn cut_object(&mut self, object: &Object, level: u8) -> Result<Value, Limit> {
        let mut cutter = Cutter::new(self, Shape::Object, level, segment_bytes);
        object.iter().try_for_each(|(key, value)| cutter.add(Some(key), value))?;
        cutter.finish()
    }

    /// Cuts the inline parts of a value in segments again. Closed segments stay unchanged.
    fn cut_again(&mut self, kept: &Kept, level: u8) -> Result<Value, Limit> {
        let mut cutter = Cutter::new(self, kept.shape(), level, segment_bytes);
        cutter.add_parts(kept)?;
        cutter.finish()
    }
}

fn is_large(value: &Value) -> bool {
    value.weight().saturating_mul(GROWTH) > INLINE_MAX_BYTES as u64 && stored_bytes(value) > INLINE_MAX_BYTES
}

fn stored_bytes(value: &Value) -> usize {
    let mut out = Vec::new();
    write_stored(value, &mut out);
    out.len()
}

fn inline_bytes(kept: &Kept) -> usize {
    let inline = kept.parts().iter().filter_map(|part| match part {
        Part::Inline(value) => Some(value),
        Part::Stored(..) => None,
    });
    inline.map(stored_bytes).sum()
}

type Entry = (Option<Arc<str>>, Value);

/// Cuts items or fields, one after the other, into segments.
struct Cutter<'k> {
    keeper: &'k mut Keeper,
    shape: Shape,
    level: u8,
    limit: fn(usize) -> usize,
    parts: Vec<Part>,
    closed: usize,
    /// Entries that stay inline, after the last part.
    loose: Vec<Entry>,
    /// Entries after those that may become the next segment, and their text.
    run: Vec<Entry>,
    text: Vec<u8>,
}

impl<'k> Cutter<'k> {
    fn new(keeper: &'k mut Keeper, shape: Shape, level: u8, limit: fn(usize) -> usize) -> Self {
        let (parts, loose, run, text) = Default::default();
        Self { keeper, shape, level, limit, parts, closed: 0, loose, run, text }
    }

    fn add(&mut self, key: Option<&Arc<str>>, value: &Value) -> Result<(), Limit> {
        let mut value = value.clone();
        if self.level < LEVELS {
            self.keeper.keep_at(&mut value, self.level + 1)?;
        }
        if value.bulk().holds_blobs() || value.bulk().holds_handles() {
            self.interrupt()?;
            self.loose.push((key.cloned(), value));
            return Ok(());
        }
        let mut item = Vec::new();
        match key {
            Some(key) => write_stored_entry(key, &value, &mut item),
            None => write_stored(&value, &mut item),
        }
        if !self.run.is_empty() && self.text.len() + item.len() + 2 > (self.limit)(self.closed) {
            self.close()?;
        }
        self.text.push(match (self.run.is_empty(), self.shape) {
            (true, Shape::List) => b'[',
            (true, Shape::Object) => b'{',
            (false, _) => b',',
        });
        self.text.append(&mut item);
        self.run.push((key.cloned(), value));
        Ok(())
    }

    fn add_parts(&mut self, kept: &Kept) -> Result<(), Limit> {
        for part in kept.parts() {
            match part {
                Part::Stored(blob, len) => self.segment(blob, *len)?,
                Part::Inline(Value::List(list)) => {
                    list.items().iter().try_for_each(|item| self.add(None, item))?;
                }
                Part::Inline(Value::Object(object)) => {
                    object.iter().try_for_each(|(key, value)| self.add(Some(key), value))?;
                }
                Part::Inline(_) => {}
            }
        }
        Ok(())
    }

    /// Adds a segment that was closed earlier.
    fn segment(&mut self, blob: &Arc<BlobRef>, len: usize) -> Result<(), Limit> {
        self.interrupt()?;
        self.put_loose()?;
        self.parts.push(Part::Stored(blob.clone(), len));
        self.closed += 1;
        Ok(())
    }

    fn close(&mut self) -> Result<(), Limit> {
        self.put_loose()?;
        self.text.push(if self.shape == Shape::List { b']' } else { b'}' });
        let blob = self.keeper.store(std::mem::take(&mut self.text));
        self.parts.push(Part::Stored(blob, self.run.len()));
        self.run.clear();
        self.closed += 1;
        Ok(())
    }

    /// Ends the current run, because the next item cannot go into a segment.
    fn interrupt(&mut self) -> Result<(), Limit> {
        if self.text.len() >= WORTH_A_SEGMENT {
            return self.close();
        }
        self.loose.append(&mut self.run);
        self.text.clear();
        Ok(())
    }

    fn put_loose(&mut self) -> Result<(), Limit> {
        if self.loose.is_empty() {
            return Ok(());
        }
        let entries = self.loose.drain(..);
        self.parts.push(Part::Inline(match self.shape {
            Shape::List => Value::List(List::new(entries.map(|(_, value)| value).collect())?),
            Shape::Object => Value::Object(Object::new(
                entries.map(|(key, value)| (key.unwrap_or_else(|| Arc::from("")), value)),
            )?),
        }));
        Ok(())
    }

    fn finish(mut self) -> Result<Value, Limit> {
        self.loose.append(&mut self.run);
        self.put_loose()?;
        match self.parts.as_mut_slice() {
            [Part::Inline(value)] => Ok(std::mem::replace(value, Value::Null)),
            _ => Ok(Value::Kept(Arc::new(Kept::new(self.shape, self.parts)?))),
        }
    }
}
