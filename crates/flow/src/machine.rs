//! The interpreter: takes a snapshot and one message, executes steps until the program waits or ends, and
//! returns a snapshot. It keeps no host stack between steps and no state between messages.

mod access;
mod assign;
mod child;
mod crowd;
mod evaluate;
mod execute;
mod failure;
mod gathered;
mod gc;
mod group;
mod handle;
mod keep;
mod load;
mod log;
mod map;
mod memory;
mod message;
mod options;
mod read;
mod session;
mod settled;
mod snapshot_json;
mod start;
mod stored_map;
mod take_over;

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::command::Command;
use rhythm_core::event::EventData;
use rhythm_core::failure::Failure;
use rhythm_core::fold::{late_failure, oversize, past_deadline};
use rhythm_core::id::CommandId;
use rhythm_core::message::VersionChanged;
use rhythm_core::payload::{BlobRef, Contents};
use rhythm_core::program::{Program, ProgramError, Progress, Session, Snapshot, Step, StepInput, Transition};

use super::code::{Code, Index};
use super::library::{self, Function};
use super::limits::WriteStats;
use super::runtime_error::{Stop, codes};
use super::value::Value;

pub(super) use handle::Kind;
pub use memory::FORMAT;
use memory::Thrown;
pub(super) use memory::{Memory, Stage};
pub(super) use options::{Unit, length_refusal, refusal};
use session::FlowSession;

/// A compiled program, ready to be stepped.
#[derive(Clone, Debug)]
pub struct Flow {
    code: Code,
    /// The library functions behind the names in `code.functions`.
    functions: Vec<&'static Function>,
    /// Index of the handler of every step.
    handlers: Vec<Option<Index>>,
    /// Slots by their key in a snapshot.
    slots: BTreeMap<String, usize>,
}

impl Flow {
    /// Validates a compiled form and prepares it for execution. Fails when it is damaged.
    pub fn new(code: Code) -> Result<Self, ProgramError> {
        code.check().map_err(|error| ProgramError::BadDefinition(error.to_string()))?;
        let functions = code.functions.iter().filter_map(|name| library::function(name)).collect();
        let mut handlers = vec![None; code.steps.len()];
        // Outer handlers come later in the table; going backwards, the innermost is written last.
        for (place, handler) in code.handlers.iter().enumerate().rev() {
            let covered = handlers.get_mut(handler.from as usize..handler.to as usize);
            covered.into_iter().flatten().for_each(|of_step| *of_step = Index::try_from(place).ok());
        }
        let keys = code.slots.iter().enumerate().map(|(place, slot)| (slot.key().to_owned(), place));
        let slots: BTreeMap<String, usize> = keys.collect();
        if slots.len() != code.slots.len() {
            return Err(ProgramError::BadDefinition("two slots have one key".to_owned()));
        }
        Ok(Self { functions, handlers, slots, code })
    }

    /// Reads a stored compiled form. Fails when it is damaged or has an unknown format.
    pub fn load(stored: &[u8]) -> Result<Self, ProgramError> {
        Self::new(Code::from_json(stored)?)
    }

    pub fn code(&self) -> &Code {
        &self.code
    }

    /// Returns the index of the step at which the run stops after this message: where it waits, ends or
    /// fails. Returns the blobs to load if a step reads values that are not loaded.
    pub fn stops_at(&self, input: StepInput<'_>) -> Result<Result<usize, Vec<BlobRef>>, ProgramError> {
        let mut machine = self.machine(input)?;
        match machine.consume() {
            Err(Stop::NeedBlobs(blobs)) => Ok(Err(blobs)),
            _ => Ok(Ok(machine.memory.position)),
        }
    }

    fn machine<'a>(&'a self, input: StepInput<'a>) -> Result<Machine<'a>, ProgramError> {
        Ok(Machine::with(self, input, Memory::before(self, input.snapshot)?))
    }
}

impl Program for Flow {
    fn step(&self, input: StepInput<'_>) -> Result<Step, ProgramError> {
        let mut machine = self.machine(input)?;
        let progress = match machine.consume() {
            Ok(None) => return Ok(Step::Transition(machine.unchanged())),
            Ok(Some(progress)) => progress,
            Err(Stop::NeedBlobs(blobs)) => return Ok(Step::NeedBlobs(blobs)),
            Err(Stop::Limit(limit)) => Progress::Failed(limit.failure()),
            Err(Stop::Thrown(error)) => match machine.failure(&error) {
                Ok(failure) => Progress::Failed(failure),
                Err(Stop::NeedBlobs(blobs)) => return Ok(Step::NeedBlobs(blobs)),
                Err(Stop::Limit(limit)) => Progress::Failed(limit.failure()),
                Err(Stop::Thrown(error)) => {
                    Progress::Failed(Failure::permanent(&*error.code, &*error.message))
                }
            },
        };
        let progress = machine.after_deadline(progress);
        Ok(Step::Transition(machine.finish(progress)?))
    }

    fn catches_deadline(&self) -> bool {
        true
    }

    fn take_over(
        &self,
        before: &dyn Program,
        input: StepInput<'_>,
        changed: &VersionChanged,
    ) -> Result<Step, ProgramError> {
        match before.as_any().downcast_ref::<Self>() {
            Some(before) => self.takes_over(before, input, changed).map(Step::Transition),
            None => {
                let message = "the other version is no flow".to_owned();
                Err(ProgramError::Misfit { code: "other_kind".to_owned(), message })
            }
        }
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn is_same(&self, folded: &Snapshot, stored: &Snapshot) -> bool {
        folded == stored || memory::is_same(self, folded, stored)
    }

    fn blob_refs(&self, snapshot: &Snapshot) -> Result<Vec<BlobRef>, ProgramError> {
        let mut found = BTreeSet::new();
        Memory::load(self, snapshot)?.each_blob(&mut |blob| {
            found.insert(blob.clone());
        });
        Ok(found.into_iter().collect())
    }

    fn session<'a>(&'a self, snapshot: &Snapshot) -> Option<Box<dyn Session + 'a>> {
        Some(Box::new(FlowSession::open(self, snapshot)?))
    }
}

/// One transition in progress.
struct Machine<'a> {
    flow: &'a Flow,
    input: StepInput<'a>,
    memory: Memory,
    meter: WriteStats,
    /// Weight of everything in slots.
    live: u64,
    loaded: Loaded,
    settled: settled::Read,
    /// Number of open tasks and children, once counted.
    under_way: Option<usize>,
    /// Result of the wait in the step before.
    awaited: Value,
    commands: Vec<Command>,
    events: Vec<EventData>,
    /// Contents that move out of the snapshot into blobs.
    blobs: Contents,
    /// Tasks whose failures the program has read.
    read: BTreeSet<u64>,
}

/// Values loaded in this transition, so that each is read only once.
#[derive(Default)]
struct Loaded {
    blobs: BTreeMap<String, Value>,
    segments: BTreeMap<String, Value>,
    weight: u64,
    inputs: Option<Value>,
    context: Option<Value>,
}

impl Loaded {
    /// Called between the messages of one commit. Each message gets the whole limit; a few segments and blobs
    /// are kept for the next message.
    fn forget_weight(&mut self) {
        self.weight = 0;
        if self.segments.len() > 4 || self.blobs.len() > 4 {
            *self = Self::default();
        }
    }
}

impl<'a> Machine<'a> {
    fn with(flow: &'a Flow, input: StepInput<'a>, memory: Memory) -> Self {
        Self {
            flow,
            input,
            memory,
            meter: WriteStats::default(),
            live: 0,
            loaded: Loaded::default(),
            settled: settled::Read::default(),
            under_way: None,
            awaited: Value::Null,
            commands: Vec::new(),
            events: Vec::new(),
            blobs: Vec::new(),
            read: BTreeSet::new(),
        }
    }
}

impl Machine<'_> {
    /// A run whose deadline has passed fails with the deadline error, whatever its clean-up returns.
    fn after_deadline(&self, progress: Progress) -> Progress {
        match progress {
            _ if self.memory.thrown != Some(Thrown::Deadline) => progress,
            Progress::Waiting => Progress::Waiting,
            Progress::Failed(failure) if failure.code != codes::DEADLINE_EXCEEDED => {
                Progress::Failed(late_failure(&failure))
            }
            Progress::Failed(failure) => Progress::Failed(failure),
            Progress::Completed(_) => Progress::Failed(past_deadline()),
        }
    }

    /// Returns a transition without effect, for a message that has no meaning for this run.
    fn unchanged(self) -> Transition {
        let snapshot = match self.input.snapshot {
            Some(snapshot) => snapshot.clone(),
            None => self.memory.save(self.flow),
        };
        self.transition(snapshot, Progress::Waiting)
    }

    fn finish(mut self, progress: Progress) -> Result<Transition, ProgramError> {
        match progress {
            Progress::Waiting => self.sweep(),
            Progress::Completed(_) => {
                self.tell_unstarted();
                self.memory.end();
            }
            Progress::Failed(_) => return self.fail(progress),
        }
        match self.memory.keep() {
            Ok(mut made) => self.blobs.append(&mut made),
            Err(limit) => return self.fail(Progress::Failed(limit.failure())),
        }
        let warned = self.memory.warned;
        let snapshot = self.memory.save_warned(self.flow);
        if let Some(failure) = oversize(&snapshot) {
            return self.fail(Progress::Failed(failure));
        }
        Ok(Transition { warned, ..self.transition(snapshot, progress) })
    }

    /// Restores the state from before the message. Only the command numbers that were used stay used.
    fn fail(mut self, failed: Progress) -> Result<Transition, ProgramError> {
        let before = Memory::before(self.flow, self.input.snapshot)?;
        self.memory = Memory { commands: self.memory.commands, ..before };
        let snapshot = self.memory.save(self.flow);
        Ok(self.transition(snapshot, failed))
    }

    fn transition(self, snapshot: Snapshot, progress: Progress) -> Transition {
        let (awaiting, labels, warned) = (self.awaiting(), self.labels(), self.memory.warned);
        let Self { commands, events, blobs, read, .. } = self;
        let read = read.into_iter().map(CommandId).collect();
        Transition { snapshot, commands, events, awaiting, labels, progress, blobs, warned, read }
    }
}

#[cfg(test)]
pub(super) mod tests;
