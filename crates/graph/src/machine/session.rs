//! Several messages of one commit: the snapshot is read once and written once as long as they only move tokens to joins
//! that go on waiting, or a `parallel` node to its next item, as most answers to a fan-out do. Whatever does more is stepped
//! as always.

use std::mem;
use std::sync::Arc;

use rhythm_core::event::EventData;
use rhythm_core::message::{Message, MessageBody};
use rhythm_core::payload::{Blobs, Contents};
use rhythm_core::program::{Noted, Progress, RunFacts, Session, Snapshot, StepInput};
use rhythm_core::time::Timestamp;

use super::memory::Memory;
use super::plan::Plan;
use super::values::ROOM;
use super::{GraphProgram, Machine};

/// A byte that came from outside takes at most this many in a snapshot.
const GROWTH: usize = 2;
/// What surrounds a result and its tokens in a snapshot, generously.
const FRAME: usize = 1024;

pub struct GraphSession<'a> {
    program: &'a GraphProgram,
    plan: Arc<Plan>,
    /// What it began with.
    opened: Snapshot,
    /// What was applied since.
    noted: Vec<Applied>,
    memory: Memory,
    /// The snapshot would have no more bytes than this.
    size_at_most: usize,
}

/// A message as it was applied.
struct Applied {
    message: Message,
    at: Timestamp,
    blobs: Blobs,
}

impl<'a> GraphSession<'a> {
    pub fn open(program: &'a GraphProgram, snapshot: &Snapshot) -> Option<Self> {
        let memory = Memory::load(snapshot).ok()?;
        let plan = program.plan_of(&memory).ok()?;
        let size_at_most = snapshot.bytes.len();
        Some(Self { program, plan, opened: snapshot.clone(), noted: Vec::new(), memory, size_at_most })
    }

    /// The memory after all that was noted. A message that turns out to do more has been applied by then: keeping a copy of
    /// the memory for each would make the answers to a wide fan-out cost the square of their number.
    fn as_noted(&self, facts: &RunFacts) -> Memory {
        let mut memory = Memory::load(&self.opened).expect("it was loaded before");
        for Applied { message, at, blobs } in &self.noted {
            let input = StepInput { facts, snapshot: Some(&self.opened), message, at: *at, blobs };
            let mut machine = Machine::with(self.program, self.plan.clone(), input, memory);
            // It is what it was the first time: nothing but more tokens at joins.
            let _ = machine.consume();
            memory = machine.memory;
        }
        memory
    }
}

impl Session for GraphSession<'_> {
    fn note(&mut self, input: StepInput<'_>) -> Option<Noted> {
        let MessageBody::TaskCompleted(done) = &input.message.body else { return None };
        // As long as this fits, no value has to leave the snapshot, and nobody has to be warned.
        let grown = self.size_at_most + FRAME + GROWTH * done.output.to_stored().len();
        if grown as u64 > ROOM {
            return None;
        }
        let of_fan = self.memory.fan_of(done.task).is_some_and(|fan| !fan.is_last());
        let memory = mem::take(&mut self.memory);
        let mut machine = Machine::with(self.program, self.plan.clone(), input, memory);
        let awaited = machine.awaiting();
        match machine.consume() {
            Ok(None) => {
                self.memory = machine.memory;
                Some(Noted::default())
            }
            Ok(Some(Progress::Waiting))
                if (of_fan || machine.commands.is_empty() && machine.blobs.is_empty())
                    && machine.awaiting() == awaited
                    && !machine.events.iter().any(changes_graph) =>
            {
                self.memory = machine.memory;
                self.size_at_most = grown;
                let (message, blobs) = (input.message.clone(), input.blobs.clone());
                self.noted.push(Applied { message, at: input.at, blobs });
                Some(Noted {
                    commands: machine.commands,
                    events: machine.events,
                    blobs: machine.blobs,
                    read: Vec::new(),
                })
            }
            _ => {
                self.memory = self.as_noted(input.facts);
                None
            }
        }
    }

    fn snapshot(&mut self) -> Option<(Snapshot, Contents)> {
        // As long as everything fits, nothing leaves it but with its message.
        (!self.noted.is_empty()).then(|| (self.memory.clone().save().0, Vec::new()))
    }
}

fn changes_graph(event: &EventData) -> bool {
    matches!(event, EventData::PatchAdopted(_))
}
