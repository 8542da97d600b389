//! Data that a `parallel` node keeps outside the snapshot: the items of a long list in pages, written once
//! when it begins, and results in segments, each written once. Neither holds references to blobs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use rhythm_core::failure::Failure;
use rhythm_core::payload::{BlobRef, INLINE_MAX_BYTES, Payload};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::parallel::{Ended, Fan};
use super::{Machine, Stop, Stopped};

/// Maximum bytes of a list that stays in the snapshot.
const SHORT_LIST: usize = 4 * 1024;
/// Maximum bytes of a page, unless a single item is larger.
const PAGE: usize = 32 * 1024;
/// Bytes around a result in a segment.
const FRAME: u64 = 24;

/// Items from an index on: a JSON array with one line for each item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Page {
    #[serde(flatten)]
    content: BlobRef,
    first: usize,
}

impl Page {
    pub fn content(&self) -> &BlobRef {
        &self.content
    }
}

/// Result of an item.
pub enum Result<'a> {
    /// The output, as JSON.
    Given(&'a str),
    Failed(&'a Failure),
}

/// Result of an item as stored in a segment.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stored {
    Given(Box<RawValue>),
    Failed(Failure),
}

/// Returns the bytes of results that stay in the snapshot. They are written with every snapshot, and so is
/// the name of each segment, so the limit grows with the number of segments.
fn room(segments: usize) -> u64 {
    (12 + segments as u64 / 16).min(64) * 1024
}

impl Machine<'_> {
    /// Stores the items in pages. Returns no page for a short list.
    pub fn paged(&mut self, items: &[Value]) -> Vec<Page> {
        let texts: Vec<String> = items.iter().map(Value::to_string).collect();
        if texts.iter().map(String::len).sum::<usize>() <= SHORT_LIST {
            return Vec::new();
        }
        let mut pages = Vec::new();
        let mut place = 0;
        while place < texts.len() {
            let mut bytes = 0;
            let fits = texts[place..].iter().take_while(|text| {
                bytes += text.len() + 2;
                bytes <= PAGE
            });
            let count = fits.count().max(1);
            let content = format!("[{}]", texts[place..place + count].join(",\n"));
            pages.push(Page { content: self.store(content), first: place });
            place += count;
        }
        pages
    }

    fn store(&mut self, content: String) -> BlobRef {
        let blob = BlobRef::of(content.as_bytes());
        self.blobs.push((blob.clone(), Arc::from(content.into_bytes())));
        blob
    }

    fn stored(&self, blob: &BlobRef) -> Option<&[u8]> {
        let made = || self.blobs.iter().find(|(made, _)| made.hash == blob.hash).map(|(_, content)| content);
        self.input.blobs.get(&blob.hash).or_else(made).map(|content| &content[..])
    }

    /// Checks that these blobs are loaded, or stops with a request for all that are missing.
    fn need_stored<'b>(&self, blobs: impl Iterator<Item = &'b BlobRef>) -> Stopped {
        let missing: BTreeSet<BlobRef> = blobs.filter(|blob| self.stored(blob).is_none()).cloned().collect();
        if missing.is_empty() { Ok(()) } else { Err(Stop::NeedBlobs(missing.into_iter().collect())) }
    }

    /// Checks that these items are loaded, or stops with a request for them.
    pub fn need_items(&self, fan: &Fan, places: Range<usize>) -> Stopped {
        if fan.pages.is_empty() {
            return self.need([fan.items()]);
        }
        let from = fan.pages.partition_point(|page| page.first <= places.start).saturating_sub(1);
        let pages = fan.pages[from..].iter().take_while(|page| page.first < places.end);
        self.need_stored(pages.map(|page| &page.content))
    }

    /// Returns an item as JSON.
    pub fn item_text(&mut self, fan: &Fan, place: usize) -> Stopped<String> {
        let Some(after) = fan.pages.partition_point(|page| page.first <= place).checked_sub(1) else {
            let items = self.look(fan.items())?;
            return Ok(items.get(place).unwrap_or(&Value::Null).to_string());
        };
        let page = &fan.pages[after];
        self.need_stored(std::iter::once(&page.content))?;
        let text = self.stored(&page.content).and_then(|content| std::str::from_utf8(content).ok());
        let lines = text.and_then(|text| text.strip_prefix('[')?.strip_suffix(']'));
        let line = lines.and_then(|lines| lines.split(",\n").nth(place - page.first));
        Ok(line.unwrap_or("null").to_owned())
    }

    /// Records the result of an item. When the results in the snapshot exceed the limit, they move to a
    /// segment.
    pub fn note_ended(&mut self, fan: &mut Fan, place: usize, ended: Ended) {
        fan.at_hand += self.bytes_of(&ended).unwrap_or_default();
        fan.given.insert(place, ended);
        if fan.at_hand <= room(fan.segments.len()) {
            return;
        }
        let leaving: Vec<usize> = fan
            .given
            .iter()
            .filter(|(_, ended)| self.bytes_of(ended).is_some())
            .map(|(place, _)| *place)
            .collect();
        let mut entries = Vec::new();
        let mut bytes = 0;
        for place in leaving {
            let Some(ended) = fan.given.remove(&place) else { continue };
            let entry = match ended {
                Ended::Given(value) => match self.memory.values.get(value) {
                    Some(Payload::Inline(raw)) => (place, Stored::Given(raw.as_ref().to_owned())),
                    _ => continue,
                },
                Ended::Failed(failure) => (place, Stored::Failed(failure)),
            };
            let entry = serde_json::to_string(&entry).expect("results always serialise");
            if bytes + entry.len() > INLINE_MAX_BYTES {
                let closed = std::mem::take(&mut entries);
                self.close(fan, closed);
                bytes = 0;
            }
            bytes += entry.len() + 1;
            entries.push(entry);
        }
        self.close(fan, entries);
        fan.at_hand = 0;
    }

    fn close(&mut self, fan: &mut Fan, entries: Vec<String>) {
        if entries.is_empty() {
            return;
        }
        fan.kept += entries.len() as u64;
        let content = self.store(format!("[{}]", entries.join(",")));
        fan.segments.push(content);
    }

    /// Returns the bytes of a result in a segment, or `None` when it must stay in the snapshot because it
    /// refers to a blob.
    fn bytes_of(&self, ended: &Ended) -> Option<u64> {
        match ended {
            Ended::Given(value) => match self.memory.values.get(*value)? {
                Payload::Inline(raw) => Some(raw.get().len() as u64 + FRAME),
                Payload::Blob(_) => None,
            },
            Ended::Failed(failure) if failure.holds_blob() => None,
            Ended::Failed(failure) => {
                let text = serde_json::to_string(failure).unwrap_or_default();
                Some(text.len() as u64 + FRAME)
            }
        }
    }

    /// Returns all results in the order of the items, each formatted by `write`.
    pub fn results_of(&self, fan: &Fan, write: impl Fn(Result<'_>, &mut String)) -> Stopped<String> {
        let named = fan.values().filter_map(|value| self.memory.values.get(value));
        let apart = named.filter_map(|payload| match payload {
            Payload::Blob(blob) => Some(blob),
            Payload::Inline(_) => None,
        });
        self.need_stored(fan.segments.iter().chain(apart))?;
        let mut kept: BTreeMap<usize, Stored> = BTreeMap::new();
        for segment in &fan.segments {
            let content = self.stored(segment).unwrap_or_default();
            let Ok(entries) = serde_json::from_slice::<Vec<(usize, Stored)>>(content) else {
                let message = format!("results kept in {} are damaged", segment.hash);
                return Stop::failed(rhythm_core::failure::codes::BAD_PAYLOAD, message);
            };
            kept.extend(entries);
        }
        let mut text = String::from("[");
        for place in 0..fan.count {
            text.push_str(if place == 0 { "" } else { "," });
            match (kept.get(&place), fan.given.get(&place)) {
                (Some(Stored::Given(raw)), _) => write(Result::Given(raw.get()), &mut text),
                (Some(Stored::Failed(failure)), _) | (None, Some(Ended::Failed(failure))) => {
                    write(Result::Failed(failure), &mut text);
                }
                (None, Some(Ended::Given(value))) => write(Result::Given(self.text(*value)?), &mut text),
                (None, None) => write(Result::Given("null"), &mut text),
            }
        }
        text.push(']');
        Ok(text)
    }
}
