//! Everything a run remembers between messages, as one flat object.

use std::collections::BTreeMap;

use super::handle::Handle;
use super::{Flow, stored};
use crate::flow::value::Value;
use crate::payload::Payload;
use crate::program::{ProgramError, Snapshot};
use crate::time::Timestamp;

/// The snapshot format this build writes and reads.
pub const FORMAT: u32 = 1;

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
    pub slots: Vec<Option<Value>>,
    pub handles: BTreeMap<u64, Handle>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Nothing has happened yet.
    #[default]
    Fresh,
    Running,
    Ended,
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
        if snapshot.format != FORMAT {
            return Err(ProgramError::UnknownFormat { found: snapshot.format, known: FORMAT });
        }
        let memory = stored::read(flow, snapshot.open()?)?;
        if memory.position >= flow.code.steps.len() {
            return Err(ProgramError::BadSnapshot(format!("there is no step {}", memory.position)));
        }
        Ok(memory)
    }

    pub fn save(&self, flow: &Flow) -> Snapshot {
        Snapshot::seal(FORMAT, stored::write(flow, self))
    }

    /// Nothing of a run that has ended is needed any more.
    pub fn end(&mut self) {
        *self = Self { stage: Stage::Ended, position: self.position, ..Self::default() };
    }
}
