//! Applies several messages of one commit with the snapshot decoded and encoded once. This works while the
//! messages only move tokens to joins that keep waiting, or a `parallel` node to its next item, as most
//! answers to a fan-out do. Any other message is stepped as usual.

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

/// Maximum bytes in a snapshot for one byte from outside.
const GROWTH: usize = 2;
/// Upper bound of the bytes around a result and its tokens in a snapshot.
const FRAME: usize = 1024;

pub struct GraphSession<'a> {
    program: &'a GraphProgram,
    plan: Arc<Plan>,
    /// The snapshot the session began with.
    opened: Snapshot,
    /// Messages applied since.
    noted: Vec<Applied>,
    memory: Memory,
    /// Upper bound of the bytes of the current snapshot.
    size_at_most: usize,
}

/// A message that was applied, with its arguments.
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

    /// Rebuilds the memory after all noted messages. It is needed when a message turns out to do more:
    /// consuming that message has changed the memory. A copy of the memory for each message would make the
    /// answers to a wide fan-out cost the square of their number.
    fn as_noted(&self, facts: &RunFacts) -> Memory {
        let mut memory = Memory::load(&self.opened).expect("it was loaded before");
        for Applied { message, at, blobs } in &self.noted {
            let input = StepInput { facts, snapshot: Some(&self.opened), message, at: *at, blobs };
            let mut machine = Machine::with(self.program, self.plan.clone(), input, memory);
            // The result is the same as the first time: only more tokens at joins.
            let _ = machine.consume();
            memory = machine.memory;
        }
        memory
    }
}

impl Session for GraphSession<'_> {
    fn note(&mut self, input: StepInput<'_>) -> Option<Noted> {
        let MessageBody::TaskCompleted(done) = &input.message.body else { return None };
        // While this fits, no value has to move out of the snapshot and no size warning is due.
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
        // While everything fits, contents leave the snapshot only together with their message.
        (!self.noted.is_empty()).then(|| (self.memory.clone().save().0, Vec::new()))
    }
}

fn changes_graph(event: &EventData) -> bool {
    matches!(event, EventData::PatchAdopted(_))
}
