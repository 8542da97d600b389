//! Pool of the payloads a run keeps, each stored once, because every token of a node carries the same output.
//! When they grow too large together, the largest move from the snapshot to blobs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rhythm_core::payload::{BlobRef, Payload};
use serde::{Deserialize, Serialize};

/// Id of a value; 0 means none.
pub type ValueId = u64;

/// Contents moved out of the snapshot.
pub type Moved = Vec<(BlobRef, Arc<[u8]>)>;

/// Maximum bytes of all inline values in one snapshot.
pub const ROOM: u64 = 128 * 1024;
/// Minimum bytes of a value that is moved. For a smaller value a reference would save little.
const WORTH_MOVING: u64 = 1024;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Values {
    last: ValueId,
    kept: BTreeMap<ValueId, Payload>,
}

impl Values {
    pub fn add(&mut self, payload: Payload) -> ValueId {
        self.last += 1;
        self.kept.insert(self.last, payload);
        self.last
    }

    pub fn get(&self, id: ValueId) -> Option<&Payload> {
        self.kept.get(&id)
    }

    /// Returns the blobs of values that were moved out.
    pub fn blobs(&self) -> impl Iterator<Item = &BlobRef> {
        self.kept.values().filter_map(|payload| match payload {
            Payload::Blob(blob) => Some(blob),
            Payload::Inline(_) => None,
        })
    }

    pub fn keep(&mut self, named: &BTreeSet<ValueId>) {
        self.kept.retain(|id, _| named.contains(id));
    }

    /// Moves the largest values out until the others fit.
    pub fn make_room(&mut self) -> Moved {
        let inline = |payload: &Payload| payload.text().map_or(0, |text| text.len() as u64);
        let mut total: u64 = self.kept.values().map(inline).sum();
        let mut moved = Vec::new();
        if total <= ROOM {
            return moved;
        }
        let mut sizes: Vec<(u64, ValueId)> =
            self.kept.iter().map(|(id, payload)| (inline(payload), *id)).collect();
        sizes.sort_unstable_by_key(|(size, id)| (std::cmp::Reverse(*size), *id));
        for (size, id) in sizes {
            if total <= ROOM || size < WORTH_MOVING {
                break;
            }
            let Some(text) = self.kept.get(&id).and_then(Payload::text) else { continue };
            let (reference, content) = (BlobRef::of(text.as_bytes()), Arc::from(text.as_bytes()));
            self.kept.insert(id, Payload::Blob(reference.clone()));
            moved.push((reference, content));
            total -= size;
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_values_leave_first_and_only_until_the_rest_fits() {
        let mut values = Values::default();
        let text = |length: usize| Payload::of(&"x".repeat(length)).unwrap();
        let (small, large, larger) =
            (values.add(text(60_000)), values.add(text(61_000)), values.add(text(62_000)));
        let moved = values.make_room();
        assert_eq!(moved.len(), 1);
        assert_eq!(values.get(larger), Some(&Payload::Blob(moved[0].0.clone())));
        assert!(values.get(small).unwrap().text().is_some() && values.get(large).unwrap().text().is_some());
        assert!(values.make_room().is_empty());
    }
}
