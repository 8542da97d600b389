//! Everything a run remembers between messages, as one flat object.

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

/// The snapshot format this build writes and reads.
pub const FORMAT: u32 = 4;
/// The oldest it reads.
pub const OLDEST: u32 = 1;

#[derive(Clone, Debug, Default)]
pub struct Memory {
    pub stage: Stage,
    /// Index of the step to be executed, or of the one that waits.
    pub position: usize,
    /// The handle it waits for.
    pub wait: Option<u64>,
    /// Number of the last command.
    pub commands: u64,
    /// How many messages have settled something.
    pub clock: u64,
    pub started_at: Timestamp,
    /// Kept only for programs that read them.
    pub input: Option<Payload>,
    /// The last signal consumed, so that a repeated delivery is no second signal.
    pub last_signal: Option<String>,
    /// The snapshot was large once, and the history says so.
    pub warned: bool,
    /// It was thrown once that somebody cancelled the run, or that its deadline has passed.
    pub thrown: Option<Thrown>,
    /// The timer its clean-up ends with, once the deadline has passed.
    pub grace: Option<u64>,
    pub slots: Vec<Option<Value>>,
    pub handles: BTreeMap<u64, Handle>,
    /// Those of them that are maps and go on.
    pub maps: BTreeSet<u64>,
    /// How those ended whose outcome is not at hand.
    pub segments: Vec<Segment>,
    /// Of groups and maps that have settled, the tasks whose failures an await of them reads.
    pub unread: BTreeMap<u64, Numbers>,
    /// The earlier format in which it was written once: what that did not keep is not known.
    pub since: Option<u32>,
    /// The blobs that what was read refers to.
    pub known: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Nothing has happened yet.
    #[default]
    Fresh,
    Running,
    Ended,
}

/// What reached a run from outside at its current wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thrown {
    Cancel,
    Deadline,
}

impl Memory {
    /// As the message finds it.
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

    /// The same, and remembers that the history was told when it is large.
    pub fn save_warned(&mut self, flow: &Flow) -> Snapshot {
        let snapshot = self.save(flow);
        if self.warned || snapshot.bytes.len() <= SNAPSHOT_WARN_BYTES {
            return snapshot;
        }
        self.warned = true;
        self.save(flow)
    }

    /// Moves what is large out of the snapshot. Gives the contents that have to be stored.
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

    /// Builds that wrote formats before 4 did not keep these, or not from the beginning.
    fn forget_what_is_new(&mut self) {
        (self.thrown, self.since) = (None, None);
        self.unread.clear();
        for map in &self.maps {
            if let Some(Handle { kind: Kind::Map(map), .. }) = self.handles.get_mut(map) {
                map.is_read = false;
            }
        }
    }

    /// Nothing of a run that has ended is needed any more.
    pub fn end(&mut self) {
        *self = Self { stage: Stage::Ended, position: self.position, ..Self::default() };
    }
}

/// Whether both say the same of a run that an earlier format has begun, as far as that format could say it.
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
