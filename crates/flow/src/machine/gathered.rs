//! Results of the items of a `map`, in the order the items ended. Results move from the snapshot to segments,
//! each written once. After the last item the results are put into the order of the list.

use std::collections::BTreeMap;
use std::sync::Arc;

use rhythm_core::payload::{BlobRef, INLINE_MAX_BYTES};
use serde_json::value::RawValue;

use super::Machine;
use super::keep::{Keeper, segment_bytes};
use super::settled::room;
use crate::json::{ReadError, read_stored, write_stored};
use crate::runtime_error::{Evaluated, type_error};
use crate::value::{Kept, List, Part, Shape, Value};

/// `[index, value]` of every item that has ended.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    /// The results not yet in a segment, separated by commas.
    pub tail: String,
    pub segments: Vec<BlobRef>,
    /// Values that contain references; a segment never contains one.
    pub large: BTreeMap<u64, Value>,
}

impl Gathered {
    /// Adds the result of an item. Returns the largest possible growth of the snapshot, in bytes.
    pub fn add(&mut self, place: u64, mut value: Value, keeper: &mut Keeper) -> Evaluated<usize> {
        keeper.keep(&mut value)?;
        let mut text = format!("[{place},").into_bytes();
        write_stored(&value, &mut text);
        text.push(b']');
        let bytes = text.len() + 1;
        if value.bulk().holds_blobs() {
            self.large.insert(place, value);
            return Ok(bytes);
        }
        if self.tail.len() + bytes > INLINE_MAX_BYTES {
            self.close(keeper);
        }
        if !self.tail.is_empty() {
            self.tail.push(',');
        }
        self.tail.push_str(&String::from_utf8_lossy(&text));
        if self.tail.len() > room(self.segments.len()) {
            self.close(keeper);
        }
        Ok(bytes)
    }

    fn close(&mut self, keeper: &mut Keeper) {
        if self.tail.is_empty() {
            return;
        }
        let content = format!("[{}]", std::mem::take(&mut self.tail)).into_bytes();
        self.segments.push(BlobRef::clone(&keeper.store(content)));
    }

    pub fn each_blob(&self, found: &mut impl FnMut(&BlobRef)) {
        self.segments.iter().for_each(&mut *found);
        self.large.values().for_each(|value| value.each_blob(&mut |blob| found(blob)));
    }
}

impl Machine<'_> {
    /// Returns all results in the order of the items. It works on their JSON text without building values;
    /// most results stay in segments.
    pub fn assembled(&mut self, gathered: &Gathered, count: u64) -> Evaluated {
        let missing = gathered.segments.iter().filter(|blob| !self.is_at_hand(blob)).cloned();
        self.ask_for(missing.collect())?;
        let tail = format!("[{}]", gathered.tail);
        let mut texts: Vec<Arc<str>> = vec![Arc::from(tail.as_str())];
        for blob in &gathered.segments {
            texts.push(self.content(blob)?);
        }
        self.meter.scan(texts.iter().map(|text| text.len() as u64).sum())?;
        let mut entries: BTreeMap<u64, Option<&RawValue>> = BTreeMap::new();
        for text in &texts {
            let Ok(read) = serde_json::from_str::<Vec<(u64, &RawValue)>>(text) else {
                return type_error("the results of a map are damaged");
            };
            entries.extend(read.into_iter().map(|(place, value)| (place, Some(value))));
        }
        entries.extend(gathered.large.keys().map(|place| (*place, None)));
        if entries.len() as u64 != count {
            return type_error("the results of a map are not all there");
        }
        let mut keeper = Keeper::knowing(std::mem::take(&mut self.memory.known));
        let list = in_order(&entries, gathered, &mut keeper);
        let (known, made) = keeper.done();
        self.memory.known = known;
        self.blobs.extend(made);
        list
    }
}

/// Returns the list of results, in segments unless it is short.
fn in_order(
    entries: &BTreeMap<u64, Option<&RawValue>>,
    gathered: &Gathered,
    keeper: &mut Keeper,
) -> Evaluated {
    let mut parts = Vec::new();
    let (mut text, mut count) = (String::from("["), 0);
    for (place, raw) in entries {
        let closes = match raw {
            None => count > 0,
            Some(raw) => count > 0 && text.len() + raw.get().len() + 2 > segment_bytes(parts.len()),
        };
        if closes {
            text.push(']');
            let content = std::mem::replace(&mut text, String::from("[")).into_bytes();
            parts.push(Part::Stored(keeper.store(content), std::mem::take(&mut count)));
        }
        match raw {
            Some(raw) => {
                text.push_str(if count > 0 { "," } else { "" });
                text.push_str(raw.get());
                count += 1;
            }
            None => {
                let large = gathered.large.get(place).cloned().unwrap_or(Value::Null);
                parts.push(Part::Inline(Value::List(List::new(vec![large])?)));
            }
        }
    }
    text.push(']');
    let rest = match read_stored(&text) {
        Ok(rest) => rest,
        Err(ReadError::Limit(limit)) => return Err(limit.into()),
        Err(_) => return type_error("the results of a map are damaged"),
    };
    if parts.is_empty() {
        return Ok(rest);
    }
    if count > 0 {
        parts.push(Part::Inline(rest));
    }
    Ok(Value::Kept(Arc::new(Kept::new(Shape::List, parts)?)))
}
