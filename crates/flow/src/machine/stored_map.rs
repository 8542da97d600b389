//! The JSON form of a map:
//! `{"task":"echo","items":{"$kept":[..]},"count":9000,"next":20,"at_once":10,"open":"11-20","places":"10-19",..}`.

use std::collections::BTreeMap;
use std::sync::Arc;

use rhythm_core::payload::BlobRef;
use rhythm_core::task::TaskOptions;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::gathered::Gathered;
use super::handle::Manner;
use super::map::Map;
use super::snapshot_json::{Entries, put};
use crate::json::{Stored, write_stored, write_text};
use crate::numbers::Numbers;
use crate::value::Value;

pub fn write(map: &Map, out: &mut Vec<u8>) {
    out.extend_from_slice(if map.of_children { b"{\"child\":" } else { b"{\"task\":" });
    write_text(&map.name, out);
    out.extend_from_slice(b",\"items\":");
    write_stored(&map.items, out);
    put(out, format_args!(",\"count\":{},\"next\":{},\"at_once\":{}", map.count, map.next, map.at_once));
    if let Some(key) = &map.key {
        out.extend_from_slice(b",\"key\":");
        write_text(key, out);
    }
    if map.options != TaskOptions::default() {
        out.extend_from_slice(b",\"options\":");
        // Writing to memory cannot fail, and every field can be serialised.
        let _ = serde_json::to_writer(&mut *out, &map.options);
    }
    for (name, flag) in [("settle", map.how.settle), ("cancel", map.how.cancel), ("read", map.is_read)] {
        if flag {
            put(out, format_args!(",\"{name}\":true"));
        }
    }
    let open: Numbers = map.open.keys().copied().collect();
    let places: Numbers = map.open.values().copied().collect();
    out.extend_from_slice(b",\"open\":");
    let _ = serde_json::to_writer(&mut *out, &open);
    out.extend_from_slice(b",\"places\":");
    let _ = serde_json::to_writer(&mut *out, &places);
    write_gathered(&map.gathered, out);
    out.push(b'}');
}

fn write_gathered(gathered: &Gathered, out: &mut Vec<u8>) {
    if !gathered.segments.is_empty() {
        out.extend_from_slice(b",\"segments\":");
        let _ = serde_json::to_writer(&mut *out, &gathered.segments);
    }
    if !gathered.tail.is_empty() {
        put(out, format_args!(",\"results\":[{}]", gathered.tail));
    }
    for (place, (item, value)) in gathered.large.iter().enumerate() {
        put(out, format_args!("{}\"{item}\":", if place > 0 { "," } else { ",\"large\":{" }));
        write_stored(value, out);
    }
    if !gathered.large.is_empty() {
        out.push(b'}');
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredMap {
    #[serde(default)]
    task: Option<Arc<str>>,
    #[serde(default)]
    child: Option<Arc<str>>,
    items: Stored,
    count: u64,
    next: u64,
    at_once: u64,
    #[serde(default)]
    key: Option<Arc<str>>,
    #[serde(default)]
    options: TaskOptions,
    #[serde(default)]
    settle: bool,
    #[serde(default)]
    cancel: bool,
    #[serde(default)]
    read: bool,
    open: Numbers,
    places: Numbers,
    #[serde(default)]
    segments: Vec<BlobRef>,
    #[serde(default)]
    results: Option<Box<RawValue>>,
    #[serde(default)]
    large: Entries<Stored>,
}

impl StoredMap {
    /// Returns the map; `None` if its fields contradict each other.
    pub fn into_map(self, number: u64) -> Option<Map> {
        let (name, of_children) = match (self.task, self.child) {
            (Some(task), None) => (task, false),
            (None, Some(child)) => (child, true),
            _ => return None,
        };
        let items = match &self.items.0 {
            Value::List(list) => list.len() as u64,
            Value::Kept(list) if list.is_list() => list.count() as u64,
            _ => return None,
        };
        let fits = items == self.count
            && self.next <= self.count
            && self.open.len() == self.places.len()
            && self.open.first().is_none_or(|first| first > number)
            && self.places.last().is_none_or(|last| last < self.next);
        if !fits {
            return None;
        }
        // Items are started in order, so later ones have larger numbers.
        let open: BTreeMap<u64, u64> = self.open.iter().zip(self.places.iter()).collect();
        let tail = match &self.results {
            Some(results) => results.get().strip_prefix('[')?.strip_suffix(']')?.to_owned(),
            None => String::new(),
        };
        let large = self.large.0.into_iter().map(|(item, value)| Some((item.parse().ok()?, value.0)));
        Some(Map {
            name,
            of_children,
            items: self.items.0,
            count: self.count,
            next: self.next,
            at_once: self.at_once,
            key: self.key,
            options: self.options,
            how: Manner { settle: self.settle, cancel: self.cancel, cancelled: false },
            is_read: self.read,
            open,
            gathered: Gathered { tail, segments: self.segments, large: large.collect::<Option<_>>()? },
        })
    }
}
