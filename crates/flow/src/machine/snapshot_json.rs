//! The JSON form of `Memory`:
//! `{"format":1,"position":3,"wait":2,"commands":2,"locals":{"order":..},"handles":{"2":{"task":"ship","step":3}}}`.
//! Fields with their default value are left out, so most snapshots have a few hundred bytes. Many similar
//! handles are written as one, see [`super::crowd`].

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::sync::Arc;

use rhythm_core::payload::{BlobRef, Payload};
use rhythm_core::program::ProgramError;
use rhythm_core::time::Timestamp;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, de};

use super::Flow;
use super::child::Again;
use super::crowd::{self, Crowd};
use super::handle::{Group, Handle, Kind, Manner, State};
use super::memory::{FORMAT, Memory, OLDEST, Stage, Thrown};
use super::settled::Segment;
use super::stored_map::{self, StoredMap};
use crate::json::{Stored, StoredError, write_stored, write_stored_error, write_text};
use crate::library::Combinator;
use crate::numbers::{Numbers, Run, runs, spread};

/// From this number on, the members of a group are written as runs of numbers.
const MANY_MEMBERS: usize = 8;

pub fn write(flow: &Flow, memory: &Memory) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    put(&mut out, format_args!("{{\"format\":{FORMAT},\"position\":{}", memory.position));
    match memory.stage {
        Stage::Fresh => put(&mut out, format_args!(",\"stage\":\"fresh\"")),
        Stage::Ended => put(&mut out, format_args!(",\"stage\":\"ended\"")),
        Stage::Running => {}
    }
    if let Some(wait) = memory.wait {
        put(&mut out, format_args!(",\"wait\":{wait}"));
    }
    if memory.commands > 0 {
        put(&mut out, format_args!(",\"commands\":{}", memory.commands));
    }
    if memory.clock > 0 {
        put(&mut out, format_args!(",\"clock\":{}", memory.clock));
    }
    if flow.code.reads_context && memory.stage == Stage::Running {
        put(&mut out, format_args!(",\"started_at\":{}", memory.started_at.millis()));
    }
    if let Some(signal) = &memory.last_signal {
        put(&mut out, format_args!(",\"last_signal\":"));
        write_text(signal, &mut out);
    }
    if memory.warned {
        put(&mut out, format_args!(",\"warned\":true"));
    }
    match memory.thrown {
        Some(Thrown::Cancel) => put(&mut out, format_args!(",\"thrown\":\"cancel\"")),
        Some(Thrown::Deadline) => put(&mut out, format_args!(",\"thrown\":\"deadline\"")),
        None => {}
    }
    if let Some(grace) = memory.grace {
        put(&mut out, format_args!(",\"grace\":{grace}"));
    }
    if let Some(since) = memory.since {
        put(&mut out, format_args!(",\"since\":{since}"));
    }
    if let Some(input) = &memory.input {
        put(&mut out, format_args!(",\"input\":{}", input.to_stored()));
    }
    write_locals(flow, memory, &mut out);
    let (crowds, singles) = crowd::gather(&memory.handles);
    write_handles(&singles, &mut out);
    if !crowds.is_empty() {
        out.extend_from_slice(b",\"crowds\":");
        // Writing to memory cannot fail, and every field can be serialised.
        let _ = serde_json::to_writer(&mut out, &crowds);
    }
    for (place, Segment { blob, least, most }) in memory.segments.iter().enumerate() {
        put(&mut out, format_args!("{}", if place > 0 { "," } else { ",\"segments\":[" }));
        let BlobRef { hash, bytes } = &**blob;
        put(&mut out, format_args!("{{\"$blob\":\"{hash}\",\"bytes\":{bytes},\"of\":[{least},{most}]}}"));
    }
    out.extend_from_slice(if memory.segments.is_empty() { b"" } else { b"]" });
    if !memory.unread.is_empty() {
        out.extend_from_slice(b",\"unread\":");
        let _ = serde_json::to_writer(&mut out, &memory.unread);
    }
    out.push(b'}');
    out
}

fn write_locals(flow: &Flow, memory: &Memory, out: &mut Vec<u8>) {
    let mut opened = false;
    for (slot, value) in flow.code.slots.iter().zip(&memory.slots) {
        let Some(value) = value else { continue };
        out.extend_from_slice(if opened { b"," } else { b",\"locals\":{" });
        opened = true;
        write_text(slot.key(), out);
        out.push(b':');
        write_stored(value, out);
    }
    if opened {
        out.push(b'}');
    }
}

fn write_handles(handles: &[(u64, &Handle)], out: &mut Vec<u8>) {
    for (place, (number, handle)) in handles.iter().enumerate() {
        out.extend_from_slice(if place > 0 { b"," } else { b",\"handles\":{" });
        put(out, format_args!("\"{number}\":{{"));
        match &handle.state {
            // Its crowd writes it.
            State::Kept { .. } => {}
            State::Open => {
                write_kind(&handle.kind, out);
                if let Some(label) = &handle.label {
                    out.extend_from_slice(b",\"label\":");
                    write_text(label, out);
                }
                put(out, format_args!(",\"step\":{}", handle.step));
            }
            State::Done(value, order) => {
                write_settled(handle, *order, "done", out);
                write_stored(value, out);
            }
            State::Failed(error, order) => {
                write_settled(handle, *order, "failed", out);
                write_stored_error(error, out);
            }
        }
        out.push(b'}');
    }
    if !handles.is_empty() {
        out.push(b'}');
    }
}

fn write_settled(handle: &Handle, order: u64, how: &str, out: &mut Vec<u8>) {
    let settle = if handle.settles() { "\"settle\":true," } else { "" };
    put(out, format_args!("{settle}\"order\":{order},\"{how}\":"));
}

fn write_kind(kind: &Kind, out: &mut Vec<u8>) {
    let named = |out: &mut Vec<u8>, kind: &str, name: &str| {
        put(out, format_args!("\"{kind}\":"));
        write_text(name, out);
    };
    match kind {
        Kind::Task { name, how } => {
            named(out, "task", name);
            write_manner(*how, out);
        }
        Kind::Child { workflow, how, again } => {
            named(out, "child", workflow);
            write_manner(*how, out);
            if let Some(again) = again {
                out.extend_from_slice(b",\"again\":");
                // Writing to memory cannot fail, and every field can be serialised.
                let _ = serde_json::to_writer(&mut *out, again);
            }
        }
        Kind::Timer { at } => put(out, format_args!("\"timer\":{}", at.millis())),
        Kind::Signal { name } => named(out, "signal", name),
        Kind::Timeout { of, timer } => put(out, format_args!("\"timeout\":[{of},{timer}]")),
        Kind::Group(group) => {
            named(out, "group", combinator_name(group.combinator));
            write_members(&group.members, out);
            if let Some(keys) = &group.keys {
                out.extend_from_slice(b",\"keys\":[");
                for (place, key) in keys.iter().enumerate() {
                    out.extend_from_slice(if place > 0 { b"," } else { b"" });
                    write_text(key, out);
                }
                out.push(b']');
            }
            if group.cancel {
                out.extend_from_slice(b",\"cancel\":true");
            }
        }
        Kind::Map(map) => {
            out.extend_from_slice(b"\"map\":");
            stored_map::write(map, out);
        }
    }
}

fn write_members(members: &[u64], out: &mut Vec<u8>) {
    if members.is_empty() {
        return;
    }
    out.extend_from_slice(b",\"of\":");
    // Writing to memory cannot fail.
    let _ = match members.len() {
        0..MANY_MEMBERS => serde_json::to_writer(out, members),
        _ => serde_json::to_writer(out, &runs(members.iter().copied())),
    };
}

fn write_manner(how: Manner, out: &mut Vec<u8>) {
    if how.settle {
        out.extend_from_slice(b",\"settle\":true");
    }
    if how.cancel {
        out.extend_from_slice(b",\"cancel\":true");
    }
    if how.cancelled {
        out.extend_from_slice(b",\"cancelled\":true");
    }
}

fn combinator_name(combinator: Combinator) -> &'static str {
    match combinator {
        Combinator::All => "all",
        Combinator::Any => "any",
        Combinator::Race => "race",
        Combinator::AnyKv => "any_kv",
        Combinator::RaceKv => "race_kv",
        Combinator::AllSettled => "all_settled",
    }
}

pub fn put(out: &mut Vec<u8>, text: fmt::Arguments<'_>) {
    // Writing to memory cannot fail.
    let _ = out.write_fmt(text);
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredMemory {
    format: u32,
    position: usize,
    #[serde(default)]
    stage: Option<String>,
    #[serde(default)]
    wait: Option<u64>,
    #[serde(default)]
    commands: u64,
    #[serde(default)]
    clock: u64,
    #[serde(default)]
    started_at: Timestamp,
    #[serde(default)]
    last_signal: Option<String>,
    #[serde(default)]
    warned: bool,
    #[serde(default)]
    thrown: Option<String>,
    #[serde(default)]
    grace: Option<u64>,
    #[serde(default, deserialize_with = "present")]
    input: Option<Payload>,
    #[serde(default)]
    locals: Entries<Stored>,
    #[serde(default)]
    handles: Entries<StoredHandle>,
    #[serde(default)]
    crowds: Vec<Crowd>,
    #[serde(default)]
    segments: Vec<StoredSegment>,
    #[serde(default)]
    unread: BTreeMap<u64, Numbers>,
    #[serde(default)]
    since: Option<u32>,
}

/// A segment with outcomes of handles; `of` is the first and the last number.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredSegment {
    #[serde(rename = "$blob")]
    hash: String,
    bytes: u64,
    of: (u64, u64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredHandle {
    #[serde(default)]
    step: u32,
    #[serde(default)]
    label: Option<Arc<str>>,
    #[serde(default)]
    order: u64,
    #[serde(default)]
    task: Option<Arc<str>>,
    #[serde(default)]
    child: Option<Arc<str>>,
    #[serde(default)]
    again: Option<Box<Again>>,
    #[serde(default)]
    timer: Option<Timestamp>,
    #[serde(default)]
    signal: Option<Arc<str>>,
    #[serde(default)]
    timeout: Option<(u64, u64)>,
    #[serde(default)]
    group: Option<Combinator>,
    #[serde(default)]
    map: Option<Box<StoredMap>>,
    #[serde(default)]
    of: Vec<Run>,
    #[serde(default)]
    keys: Option<Vec<Arc<str>>>,
    #[serde(default)]
    settle: bool,
    #[serde(default)]
    cancel: bool,
    #[serde(default)]
    cancelled: bool,
    #[serde(default, deserialize_with = "present")]
    done: Option<Stored>,
    #[serde(default)]
    failed: Option<StoredError>,
}

/// Reads a present field as `Some`, even if it is null.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

pub fn read(flow: &Flow, bytes: &[u8]) -> Result<Memory, ProgramError> {
    let bad = |error: serde_json::Error| ProgramError::BadSnapshot(error.to_string());
    let stored: StoredMemory = serde_json::from_slice(bytes).map_err(bad)?;
    if !(OLDEST..=FORMAT).contains(&stored.format) {
        return Err(ProgramError::UnknownFormat { found: stored.format, known: FORMAT });
    }
    let mut memory = Memory {
        stage: match stored.stage.as_deref() {
            None => Stage::Running,
            Some("fresh") => Stage::Fresh,
            Some("ended") => Stage::Ended,
            Some(other) => return Err(ProgramError::BadSnapshot(format!("there is no stage {other:?}"))),
        },
        position: stored.position,
        wait: stored.wait,
        commands: stored.commands,
        clock: stored.clock,
        started_at: stored.started_at,
        input: stored.input,
        last_signal: stored.last_signal,
        warned: stored.warned,
        thrown: match stored.thrown.as_deref() {
            None => None,
            Some("cancel") => Some(Thrown::Cancel),
            Some("deadline") => Some(Thrown::Deadline),
            Some(other) => return Err(ProgramError::BadSnapshot(format!("nobody throws {other:?}"))),
        },
        grace: stored.grace,
        unread: stored.unread,
        since: stored.since.or_else(|| (stored.format < FORMAT).then_some(stored.format)),
        slots: vec![None; flow.code.slots.len()],
        ..Memory::default()
    };
    for (key, Stored(value)) in stored.locals.0 {
        let slot = flow.slots.get(&key).and_then(|&slot| memory.slots.get_mut(slot));
        let slot = slot.ok_or_else(|| ProgramError::BadSnapshot(format!("there is no local {key:?}")))?;
        *slot = Some(value);
    }
    let mut handles = Vec::with_capacity(stored.handles.0.len());
    for (number, handle) in stored.handles.0 {
        let number =
            number.parse().map_err(|_| ProgramError::BadSnapshot(format!("no handle {number:?}")))?;
        handles.push((number, handle.into_handle(number)?));
    }
    memory.handles = crowd::scatter(stored.crowds, handles)
        .ok_or_else(|| ProgramError::BadSnapshot("its handles do not fit together".into()))?;
    let is_map = |(_, handle): &(&u64, &Handle)| matches!(handle.kind, Kind::Map(_));
    memory.maps = memory.handles.iter().filter(is_map).map(|(number, _)| *number).collect();
    let segments = stored.segments.into_iter();
    let segment = |StoredSegment { hash, bytes, of: (least, most) }| Segment {
        blob: Arc::new(BlobRef { hash, bytes }),
        least,
        most,
    };
    memory.segments = segments.map(segment).collect();
    if memory.segments.iter().any(|segment| segment.least > segment.most) {
        return Err(ProgramError::BadSnapshot("a segment of nothing".into()));
    }
    Ok(memory)
}

impl StoredHandle {
    fn into_handle(self, number: u64) -> Result<Handle, ProgramError> {
        let bad = || ProgramError::BadSnapshot(format!("handle {number} is none"));
        let state = match (self.done, self.failed) {
            (None, None) => State::Open,
            (Some(Stored(value)), None) => State::Done(value, self.order),
            (None, Some(StoredError(error))) => State::Failed(Arc::new(error), self.order),
            (Some(_), Some(_)) => return Err(bad()),
        };
        let how = Manner { settle: self.settle, cancel: self.cancel, cancelled: self.cancelled };
        let of: Vec<u64> = spread::<serde_json::Error>(&self.of).map_err(|_| bad())?;
        let members = |members: &[u64]| members.iter().all(|member| *member < number);
        if let Some(map) = self.map {
            let is_open = matches!(state, State::Open);
            let map = map.into_map(number).filter(|_| is_open).ok_or_else(bad)?;
            return Ok(Handle { kind: Kind::Map(Box::new(map)), step: self.step, label: None, state });
        }
        let kind = match (self.task, self.child, self.timer, self.signal, self.timeout, self.group) {
            (Some(name), None, None, None, None, None) => Kind::Task { name, how },
            (None, Some(workflow), None, None, None, None) => {
                Kind::Child { workflow, how, again: self.again }
            }
            (None, None, Some(at), None, None, None) => Kind::Timer { at },
            (None, None, None, Some(name), None, None) => Kind::Signal { name },
            (None, None, None, None, Some((of, timer)), None) if members(&[of, timer]) => {
                Kind::Timeout { of, timer }
            }
            (None, None, None, None, None, Some(combinator)) if members(&of) => {
                let keys = self.keys;
                if keys.as_ref().is_some_and(|keys| keys.len() != of.len()) {
                    return Err(bad());
                }
                Kind::Group(Group { combinator, members: of.into(), keys, cancel: self.cancel })
            }
            // Of a settled handle only its outcome is stored, and whether an await returns it as a value.
            (None, None, None, None, None, None) if !matches!(state, State::Open) => {
                Kind::Task { name: Arc::from(""), how }
            }
            _ => return Err(bad()),
        };
        Ok(Handle { kind, step: self.step, label: self.label, state })
    }
}

/// A JSON object as a list of its entries, in order.
pub struct Entries<T>(pub Vec<(String, T)>);

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Entries<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                if entries.len() > 1_000_000 {
                    return Err(<A::Error as de::Error>::custom("too many entries"));
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(Reader(std::marker::PhantomData)).map_err(D::Error::custom)
    }
}
