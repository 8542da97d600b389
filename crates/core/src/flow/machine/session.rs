//! Several messages of one commit: the snapshot is read once and written once as long as they only settle tasks that
//! wake nobody up, as most answers to a fan-out do. Whatever does more is stepped as always.

use std::collections::BTreeMap;

use super::handle::{Kind, State};
use super::message::Answer;
use super::{Flow, Machine, Memory};
use crate::event::EventData;
use crate::flow::library::Combinator;
use crate::fold::SNAPSHOT_WARN_BYTES;
use crate::message::MessageBody;
use crate::payload::Contents;
use crate::program::{Session, Snapshot, StepInput};

/// A byte that came from outside takes at most this many in a snapshot.
const GROWTH: usize = 6;
/// What surrounds an outcome in a snapshot, generously.
const FRAME: usize = 128;

pub struct FlowSession<'a> {
    flow: &'a Flow,
    memory: Memory,
    /// Who waits for a handle, and how often it names it.
    waiters: BTreeMap<u64, BTreeMap<u64, usize>>,
    /// How many members of a group are open.
    open: BTreeMap<u64, usize>,
    /// The snapshot would have no more bytes than this.
    size_at_most: usize,
    changed: bool,
}

impl<'a> FlowSession<'a> {
    pub fn open(flow: &'a Flow, snapshot: &Snapshot) -> Option<Self> {
        let memory = Memory::load(flow, snapshot).ok()?;
        let mut waiters: BTreeMap<u64, BTreeMap<u64, usize>> = BTreeMap::new();
        let mut open = BTreeMap::new();
        for (number, handle) in memory.handles.iter().filter(|(_, handle)| handle.is_open()) {
            handle.each_member(|member| {
                *waiters.entry(member).or_default().entry(*number).or_default() += 1;
                let is_open = memory.handles.get(&member).is_none_or(|member| member.is_open());
                *open.entry(*number).or_default() += usize::from(is_open);
            });
        }
        Some(Self { flow, memory, waiters, open, size_at_most: snapshot.bytes.len(), changed: false })
    }

    /// Whether this outcome leaves whoever waits for it as it is.
    fn wakes_nobody(&self, number: u64, state: &State) -> bool {
        let undecided = |(waiter, times): (&u64, &usize)| {
            let Some(handle) = self.memory.handles.get(waiter) else { return true };
            let Kind::Group(group) = &handle.kind else { return false };
            let more = self.open.get(waiter).is_some_and(|open| open > times);
            more && match group.combinator {
                Combinator::All | Combinator::AllSettled => matches!(state, State::Done(..)),
                Combinator::Any | Combinator::AnyKv | Combinator::Race | Combinator::RaceKv => false,
            }
        };
        let waiters = self.waiters.get(&number);
        self.memory.wait != Some(number) && waiters.is_none_or(|waiters| waiters.iter().all(undecided))
    }
}

impl Session for FlowSession<'_> {
    fn note(&mut self, input: StepInput<'_>) -> Option<Vec<EventData>> {
        let MessageBody::TaskCompleted(done) = &input.message.body else { return None };
        let grown = self.size_at_most + FRAME + GROWTH * done.output.to_stored().len();
        if grown > SNAPSHOT_WARN_BYTES {
            return None;
        }
        let mut machine = Machine::with(self.flow, input, std::mem::take(&mut self.memory));
        let answer = machine.outcome(input.message);
        self.memory = machine.memory;
        match answer {
            Ok(Answer::Nothing) => Some(Vec::new()),
            Ok(Answer::Settles(number, state)) if self.wakes_nobody(number, &state) => {
                self.memory.handles.get_mut(&number)?.state = state;
                self.memory.clock += 1;
                for (waiter, times) in self.waiters.get(&number).into_iter().flatten() {
                    if let Some(open) = self.open.get_mut(waiter) {
                        *open -= times;
                    }
                }
                self.size_at_most = grown;
                self.changed = true;
                Some(Vec::new())
            }
            _ => None,
        }
    }

    fn snapshot(&mut self) -> Option<(Snapshot, Contents)> {
        if !self.changed {
            return None;
        }
        // It holds less than would have to leave: what is noted fits.
        let blobs = self.memory.keep().unwrap_or_default();
        Some((self.memory.save(self.flow), blobs))
    }
}
