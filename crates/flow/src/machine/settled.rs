//! Outcomes that can still be awaited. When the inline ones take too many bytes, they move together to a
//! segment, which is written once. The snapshot then only records which handles have settled; a step that
//! needs an outcome loads the segment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rhythm_core::payload::{BlobRef, INLINE_MAX_BYTES};

use super::Machine;
use super::handle::{Handle, Outcome, State};
use super::keep::Keeper;
use super::memory::Memory;
use crate::json::{read_stored, write_stored};
use crate::runtime_error::{Evaluated, type_error};
use crate::value::{Bulk, Number, Value};

/// Largest number of bytes in a snapshot for one byte of a value's weight.
const GROWTH: u64 = 6;
/// Largest number of bytes an entry has besides its value.
const FRAME: u64 = 64;

/// `[[number, order, 0 or 1 when it failed, value], ..]`, in the order they settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub blob: Arc<BlobRef>,
    /// Smallest and largest number in it.
    pub least: u64,
    pub most: u64,
}

/// Returns the limit, in bytes, of inline outcomes. Every snapshot contains the inline outcomes and the name
/// of every segment, so the limit grows with the number of segments to keep both small.
pub fn room(segments: usize) -> usize {
    (12 + segments / 16).min(64) * 1024
}

impl Memory {
    /// Moves inline outcomes to a segment if they are too large. Returns the bytes of those that stay but
    /// could move.
    pub fn keep_settled(&mut self, keeper: &mut Keeper) -> usize {
        let room = room(self.segments.len());
        let at_most = self.handles.values().fold(0_u64, |sum, handle| match handle.state.bulk() {
            Some(bulk) if handle.state.can_leave() => {
                sum.saturating_add(bulk.weight.saturating_mul(GROWTH)).saturating_add(FRAME)
            }
            _ => sum,
        });
        if at_most <= room as u64 {
            return 0;
        }
        let mut entries: Vec<_> = self.entries_at_hand().collect();
        let bytes: usize = entries.iter().map(|(_, _, text)| text.len() + 1).sum();
        if bytes <= room {
            return bytes;
        }
        entries.sort_unstable_by_key(|(order, number, _)| (*order, *number));
        let mut rest = entries.as_slice();
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = rest.iter().take_while(|(_, _, text)| {
                bytes += text.len() + 1;
                bytes < INLINE_MAX_BYTES
            });
            let (closed, more) = rest.split_at(fits.count().max(1));
            self.segments.push(close(closed, keeper));
            rest = more;
        }
        for (_, number, _) in entries {
            if let Some(handle) = self.handles.get_mut(&number) {
                handle.state = State::Kept { failed: matches!(handle.state, State::Failed(..)) };
            }
        }
        0
    }

    /// Returns the bytes of the outcomes that could move to a segment.
    pub fn bytes_at_hand(&self) -> usize {
        self.entries_at_hand().map(|(_, _, text)| text.len() + 1).sum()
    }

    fn entries_at_hand(&self) -> impl Iterator<Item = Entry> + '_ {
        let settled = self.handles.iter().filter(|(_, handle)| handle.state.can_leave());
        settled.filter_map(|(number, handle)| entry(*number, &handle.state))
    }

    /// Drops the segments to which no handle refers.
    pub fn drop_segments(&mut self) {
        let handles = &self.handles;
        self.segments.retain(|segment| {
            handles.range(segment.least..=segment.most).any(|(_, handle)| handle.is_kept())
        });
    }
}

impl State {
    fn bulk(&self) -> Option<Bulk> {
        match self {
            Self::Done(value, _) => Some(value.bulk()),
            Self::Failed(error, _) => Some(error.bulk()),
            Self::Open | Self::Kept { .. } => None,
        }
    }

    /// Returns whether an outcome can be in a segment, which contains neither references nor handles.
    pub fn can_leave(&self) -> bool {
        self.bulk().is_some_and(|bulk| !bulk.holds_blobs() && !bulk.holds_handles())
    }
}

/// Position in the order of settling, handle number, and text in a segment.
type Entry = (u64, u64, Vec<u8>);

pub fn entry(number: u64, state: &State) -> Option<Entry> {
    let (order, failed, value) = match state {
        State::Open | State::Kept { .. } => return None,
        State::Done(value, order) => (*order, 0, value.clone()),
        State::Failed(error, order) => (*order, 1, Value::Error(error.clone())),
    };
    let mut text = format!("[{number},{order},{failed},").into_bytes();
    write_stored(&value, &mut text);
    text.push(b']');
    Some((order, number, text))
}

fn close(entries: &[Entry], keeper: &mut Keeper) -> Segment {
    let mut content = vec![b'['];
    for (_, _, text) in entries {
        if content.len() > 1 {
            content.push(b',');
        }
        content.extend_from_slice(text);
    }
    content.push(b']');
    let numbers = || entries.iter().map(|(_, number, _)| *number);
    let (least, most) = (numbers().min().unwrap_or_default(), numbers().max().unwrap_or_default());
    Segment { blob: keeper.store(content), least, most }
}

/// Outcomes read from segments in this transition.
#[derive(Default)]
pub struct Read {
    outcomes: BTreeMap<u64, (Outcome, u64)>,
    segments: BTreeSet<String>,
}

impl Machine<'_> {
    /// Returns the outcome of a handle, and its position in the order of settling.
    pub fn ended(&mut self, number: u64) -> Evaluated<Option<(Outcome, u64)>> {
        match self.memory.handles.get(&number).map(|handle| &handle.state) {
            None | Some(State::Open) => Ok(None),
            Some(State::Done(value, order)) => Ok(Some((Ok(value.clone()), *order))),
            Some(State::Failed(error, order)) => Ok(Some((Err(error.clone()), *order))),
            Some(State::Kept { .. }) => {
                self.fetch(std::iter::once(number))?;
                match self.settled.outcomes.get(&number) {
                    Some((outcome, order)) => Ok(Some((outcome.clone(), *order))),
                    None => type_error("an outcome that was kept is missing"),
                }
            }
        }
    }

    /// Reads all segments these handles may be in, with one request.
    pub fn fetch(&mut self, numbers: impl Iterator<Item = u64>) -> Evaluated<()> {
        let is_kept = |number: &u64| {
            let handle = self.memory.handles.get(number);
            handle.is_some_and(Handle::is_kept) && !self.settled.outcomes.contains_key(number)
        };
        let mut wanted: Vec<u64> = numbers.filter(is_kept).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        wanted.sort_unstable();
        let meets = |segment: &&Segment| {
            let after = wanted.partition_point(|number| *number < segment.least);
            wanted.get(after).is_some_and(|number| *number <= segment.most)
        };
        let unread = |segment: &&Segment| !self.settled.segments.contains(&segment.blob.hash);
        let segments: Vec<Segment> =
            self.memory.segments.iter().filter(meets).filter(unread).cloned().collect();
        let blobs = segments.iter().map(|segment| &segment.blob);
        let missing = blobs.filter(|blob| !self.is_at_hand(blob)).map(|blob| BlobRef::clone(blob));
        self.ask_for(missing.collect())?;
        segments.iter().try_for_each(|segment| self.read_settled(segment))
    }

    fn read_settled(&mut self, segment: &Segment) -> Evaluated<()> {
        let text = self.content(&segment.blob)?;
        self.meter.scan(text.len() as u64)?;
        let Ok(Value::List(entries)) = read_stored(&text) else {
            return type_error("kept outcomes are damaged");
        };
        self.note_loaded(&Value::List(entries.clone()))?;
        for entry in entries.items() {
            let Value::List(parts) = entry else { return type_error("kept outcomes are damaged") };
            let (number, order, outcome) = match parts.items() {
                [
                    Value::Number(Number::Integer(number)),
                    Value::Number(Number::Integer(order)),
                    failed,
                    value,
                ] => match (failed, value) {
                    (Value::Number(Number::Integer(1)), Value::Error(error)) => {
                        (*number, *order, Err(error.clone()))
                    }
                    (_, value) => (*number, *order, Ok(value.clone())),
                },
                _ => return type_error("kept outcomes are damaged"),
            };
            self.settled.outcomes.insert(number as u64, (outcome, order as u64));
        }
        self.settled.segments.insert(segment.blob.hash.clone());
        Ok(())
    }
}

/// Returns whether this number of inline bytes is too large, as [`Memory::keep_settled`] counts them.
pub fn is_full(bytes: usize, segments: usize) -> bool {
    bytes > room(segments)
}
