//! Several messages of one commit: the snapshot is read once and written once as long as they only move tokens to joins
//! that go on waiting, as most answers to a fan-out do. Whatever does more is stepped as always.

use std::sync::Arc;

use super::memory::Memory;
use super::plan::Plan;
use super::values::ROOM;
use super::{GraphProgram, Machine};
use crate::event::EventData;
use crate::message::MessageBody;
use crate::program::{Progress, Session, Snapshot, StepInput};

/// A byte that came from outside takes at most this many in a snapshot.
const GROWTH: usize = 2;
/// What surrounds a result and its tokens in a snapshot, generously.
const FRAME: usize = 1024;

pub struct GraphSession<'a> {
    program: &'a GraphProgram,
    plan: Arc<Plan>,
    memory: Memory,
    /// The snapshot would have no more bytes than this.
    size_at_most: usize,
    changed: bool,
}

impl<'a> GraphSession<'a> {
    pub fn open(program: &'a GraphProgram, snapshot: &Snapshot) -> Option<Self> {
        let memory = Memory::load(snapshot).ok()?;
        let plan = program.plan_of(&memory).ok()?;
        Some(Self { program, plan, memory, size_at_most: snapshot.bytes.len(), changed: false })
    }
}

impl Session for GraphSession<'_> {
    fn note(&mut self, input: StepInput<'_>) -> Option<Vec<EventData>> {
        let MessageBody::TaskCompleted(done) = &input.message.body else { return None };
        // As long as this fits, no value has to leave the snapshot, and nobody has to be warned.
        let grown = self.size_at_most + FRAME + GROWTH * done.output.to_stored().len();
        if grown as u64 > ROOM {
            return None;
        }
        let mut machine = Machine::with(self.program, self.plan.clone(), input, self.memory.clone());
        let awaited = machine.awaiting();
        match machine.consume() {
            Ok(None) => Some(Vec::new()),
            Ok(Some(Progress::Waiting))
                if machine.commands.is_empty()
                    && machine.awaiting() == awaited
                    && machine.memory.patched == self.memory.patched =>
            {
                self.memory = machine.memory;
                self.size_at_most = grown;
                self.changed = true;
                Some(machine.events)
            }
            _ => None,
        }
    }

    fn snapshot(&self) -> Option<Snapshot> {
        self.changed.then(|| self.memory.clone().save().0)
    }
}
