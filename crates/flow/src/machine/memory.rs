//! The state a run keeps between messages, as one flat object.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::fold::SNAPSHOT_WARN_BYTES;
use rhythm_core::payload::{BlobRef, Contents, Payload};
use rhythm_core::program::{ProgramError, Snapshot};
use rhythm_core::time::Timestamp;

use super::handle::{Handle, Kind, State};
use super::keep::Keeper;
use super::settled::Segment;
use super::{Flow, snapshot_json};
use crate::limits::Limit;
use crate::numbers::Numbers;
use crate::value::Value;

/// Snapshot format this build writes.
pub const FORMAT: u32 = 4;
/// Oldest snapshot format this build reads.
pub const OLDEST: u32 = 1;

#[derive(Clone, Debug, Default)]
pub struct Memory {
    pub stage: Stage,
    /// Index of the next step, or of the step that waits.
    pub position: usize,
    /// The handle it waits for.
    pub wait: Option<u64>,
    /// Number of the last command.
    pub commands: u64,
    /// Number of messages that have settled something.
    pub clock: u64,
    pub started_at: Timestamp,
    /// Stored only for programs that read their inputs.
    pub input: Option<Payload>,
    /// Id of the last consumed signal, to recognise a repeated delivery.
    pub last_signal: Option<String>,
    /// Whether the history already has a warning about a large snapshot.
    pub warned: bool,
    /// Whether a cancellation or the deadline was thrown already; each run gets this once.
    pub thrown: Option<Thrown>,
    /// The timer that ends the clean-up after the deadline.
    pub grace: Option<u64>,
    pub slots: Vec<Option<Value>>,
    pub handles: BTreeMap<u64, Handle>,
    /// Numbers of the handles that are open maps.
    pub maps: BTreeSet<u64>,
    /// Segments with the outcomes that are not inline.
    pub segments: Vec<Segment>,
    /// For each settled group and map: the tasks whose failures count as read when it is awaited.
    pub unread: BTreeMap<u64, Numbers>,
    /// The earlier format in which the run was once written. Data which that format did not keep is unknown.
    pub since: Option<u32>,
    /// Hashes of the blobs that the loaded snapshot refers to.
    pub known: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// The run has not started.
    #[default]
    Fresh,
    Running,
    Ended,
}

/// The interruption that was thrown into a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thrown {
    Cancel,
    Deadline,
}

impl Memory {
    /// Returns the state before the message: loaded from the snapshot, or fresh.
    pub fn before(flow: &Flow, snapshot: Option<&Snapshot>) -> Result<Self, ProgramError> {
        snapshot.map_or_else(|| Ok(Self::fresh(flow)), |snapshot| Self::load(flow, snapshot))
    }

    pub fn fresh(flow: &Flow) -> Self {
        Self { slots: vec![None; flow.code.slots.len()], ..Self::default() }
    }

    pub fn load(flow: &Flow, snapshot: &Snapshot) -> Result<Self, ProgramError> {
        if !(OLDEST..=FORMAT).contains(&snapshot.format) {
            return Err(ProgramError::UnknownFormat { found: snapshot.format, known: FORMAT });
        }
        let mut memory = snapshot_json::read(flow, snapshot.open()?)?;
        let mut known = BTreeSet::new();
        memory.each_blob(&mut |blob| {
            known.insert(blob.hash.clone());
        });
        memory.known = known;
        if memory.position >= flow.code.steps.len() {
            return Err(ProgramError::BadSnapshot(format!("there is no step {}", memory.position)));
        }
        Ok(memory)
    }

    pub fn save(&self, flow: &Flow) -> Snapshot {
        Snapshot::seal(FORMAT, snapshot_json::write(flow, self))
    }

    /// Saves the state, and sets `warned` if the snapshot is large.
    pub fn save_warned(&mut self, flow: &Flow) -> Snapshot {
        let snapshot = self.save(flow);
        if self.warned || snapshot.bytes.len() <= SNAPSHOT_WARN_BYTES {
            return snapshot;
        }
        self.warned = true;
        self.save(flow)
    }

    /// Moves large values out of the snapshot; returns the contents that must be stored.
    pub fn keep(&mut self) -> Result<Contents, Limit> {
        let mut keeper = Keeper::knowing(std::mem::take(&mut self.known));
        self.slots.iter_mut().flatten().try_for_each(|value| keeper.keep(value))?;
        for handle in self.handles.values_mut() {
            keep_outcome(&mut handle.state, &mut keeper)?;
        }
        self.drop_segments();
        self.keep_settled(&mut keeper);
        let (known, made) = keeper.done();
        self.known = known;
        Ok(made)
    }

    /// Calls `found` with every blob the snapshot refers to.
    pub fn each_blob(&self, found: &mut impl FnMut(&BlobRef)) {
        if let Some(Payload::Blob(blob)) = &self.input {
            found(blob);
        }
        self.slots.iter().flatten().for_each(|value| value.each_blob(&mut |blob| found(blob)));
        self.segments.iter().for_each(|segment| found(&segment.blob));
        for handle in self.handles.values() {
            match &handle.state {
                State::Open | State::Kept { .. } => {}
                State::Done(value, _) => value.each_blob(&mut |blob| found(blob)),
                State::Failed(error, _) => Value::Error(error.clone()).each_blob(&mut |blob| found(blob)),
            }
            match &handle.kind {
                Kind::Child { again: Some(again), .. } => {
                    if let Payload::Blob(blob) = again.input() {
                        found(blob);
                    }
                }
                Kind::Map(map) => {
                    map.items.each_blob(&mut |blob| found(blob));
                    map.gathered.each_blob(found);
                }
                _ => {}
            }
        }
    }

    /// Clears the fields that builds with formats before 4 did not keep, or not from the start of the run.
    fn forget_what_is_new(&mut self) {
        (self.thrown, self.since) = (None, None);
        self.unread.clear();
        for map in &self.maps {
            if let Some(Handle { kind: Kind::Map(map), .. }) = self.handles.get_mut(map) {
                map.is_read = false;
            }
        }
    }

    /// Drops all state of a run that has ended.
    pub fn end(&mut self) {
        *self = Self { stage: Stage::Ended, position: self.position, ..Self::default() };
    }
}

/// Compares two snapshots of a run that began in an earlier format, by the fields that format kept.
pub fn is_same(flow: &Flow, folded: &Snapshot, stored: &Snapshot) -> bool {
    let (Ok(mut folded), Ok(mut stored)) = (Memory::load(flow, folded), Memory::load(flow, stored)) else {
        return false;
    };
    if stored.since.is_none() {
        return false;
    }
    folded.forget_what_is_new();
    stored.forget_what_is_new();
    snapshot_json::write(flow, &folded) == snapshot_json::write(flow, &stored)
}

/// Moves an outcome out of the snapshot if it is large.
pub fn keep_outcome(state: &mut State, keeper: &mut Keeper) -> Result<(), Limit> {
    match state {
        State::Open | State::Kept { .. } => Ok(()),
        State::Done(value, _) => keeper.keep(value),
        State::Failed(error, _) => {
            let mut value = Value::Error(error.clone());
            keeper.keep(&mut value)?;
            if let Value::Error(kept) = value {
                *error = kept;
            }
            Ok(())
        }
    }
}
