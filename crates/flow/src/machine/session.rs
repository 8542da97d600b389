//! Handles several messages of one commit with one read and one write of the snapshot. This works while the
//! messages only settle tasks and children without waking the program, as most results of a fan-out do. Any
//! other message is stepped normally.

use std::collections::BTreeMap;

use rhythm_core::fold::{SNAPSHOT_MAX_BYTES, SNAPSHOT_WARN_BYTES};
use rhythm_core::id::CommandId;
use rhythm_core::message::MessageBody;
use rhythm_core::payload::Contents;
use rhythm_core::program::{Noted, Session, Snapshot, StepInput};

use super::handle::{Kind, State};
use super::keep::Keeper;
use super::memory::keep_outcome;
use super::message::Answer;
use super::settled::{entry, is_full};
use super::{Flow, Loaded, Machine, Memory};
use crate::library::Combinator;

/// Upper bound, in bytes, of the text around an outcome in a snapshot.
const FRAME: usize = 128;
/// Upper bound, in bytes, of what an ended item of a map and the next one add to a snapshot.
const ITEM: usize = 640;

pub struct FlowSession<'a> {
    flow: &'a Flow,
    memory: Memory,
    /// Pairs of an open group's member and the group, once for each time the group names it.
    waiters: Vec<(u64, u64)>,
    /// Number of open members of each group.
    open: BTreeMap<u64, usize>,
    /// Upper bound of the snapshot's size in bytes.
    size_at_most: usize,
    /// Bytes of inline outcomes that could move to a segment.
    at_hand: usize,
    /// Values read for items of maps.
    loaded: Loaded,
    changed: bool,
}

impl<'a> FlowSession<'a> {
    pub fn open(flow: &'a Flow, snapshot: &Snapshot) -> Option<Self> {
        let memory = Memory::load(flow, snapshot).ok()?;
        let mut waiters = Vec::new();
        let mut open = BTreeMap::new();
        for (number, handle) in memory.handles.iter().filter(|(_, handle)| handle.is_open()) {
            let mut members = 0;
            handle.each_member(|member| {
                waiters.push((member, *number));
                let is_open = memory.handles.get(&member).is_none_or(|member| member.is_open());
                members += usize::from(is_open);
            });
            open.insert(*number, members);
        }
        waiters.sort_unstable();
        let at_hand = memory.bytes_at_hand();
        let size_at_most = snapshot.bytes.len();
        let loaded = Loaded::default();
        Some(Self { flow, memory, waiters, open, size_at_most, at_hand, loaded, changed: false })
    }

    fn waiters(&self, number: u64) -> &[(u64, u64)] {
        let from = self.waiters.partition_point(|(member, _)| *member < number);
        let more = &self.waiters[from..];
        &more[..more.partition_point(|(member, _)| *member == number)]
    }

    /// Returns whether this outcome neither wakes the program nor decides a group.
    fn wakes_nobody(&self, number: u64, state: &State) -> bool {
        if self.memory.wait == Some(number) {
            return false;
        }
        let has_failed = matches!(state, State::Failed(..));
        let throws = has_failed && self.memory.handles.get(&number).is_some_and(|handle| !handle.settles());
        self.waiters(number).chunk_by(|one, other| one.1 == other.1).all(|times| {
            let waiter = times[0].1;
            let Some(handle) = self.memory.handles.get(&waiter) else { return true };
            let Kind::Group(group) = &handle.kind else { return false };
            let more = self.open.get(&waiter).is_some_and(|open| *open > times.len());
            more && match group.combinator {
                Combinator::All => !throws,
                Combinator::AllSettled => true,
                Combinator::Any | Combinator::AnyKv => has_failed,
                Combinator::Race | Combinator::RaceKv => false,
            }
        })
    }

    /// Returns whether the message ends a task or child for good, so that no retry follows.
    fn is_last_word(&self, body: &MessageBody) -> bool {
        match body {
            MessageBody::TaskCompleted(_) | MessageBody::TaskFailed(_) => true,
            MessageBody::ChildCompleted(done) => self.is_tried_once(done.child.0),
            MessageBody::ChildFailed(failed) => self.is_tried_once(failed.child.0),
            _ => false,
        }
    }

    fn is_tried_once(&self, number: u64) -> bool {
        let handle = self.memory.handles.get(&number);
        handle.is_some_and(|handle| matches!(handle.kind, Kind::Child { again: None, .. }))
    }

    fn memory_has_item(&self, number: u64) -> bool {
        self.memory.map_of(number).is_some()
    }

    /// Handles the end of an item of a map and, unless it was the last one, starts the next.
    fn note_item(&mut self, input: StepInput<'_>, item: u64, state: State) -> Option<Noted> {
        let number = self.memory.map_of(item)?;
        let handle = self.memory.handles.get(&item)?;
        let throws = matches!(state, State::Failed(..)) && !handle.settles();
        let grown = self.size_at_most + ITEM + entry(item, &state).map_or(0, |(_, _, text)| text.len());
        let limit = if self.memory.warned { SNAPSHOT_MAX_BYTES } else { SNAPSHOT_WARN_BYTES };
        if throws || grown > limit {
            return None;
        }
        let mut machine = Machine::with(self.flow, input, std::mem::take(&mut self.memory));
        machine.loaded = std::mem::take(&mut self.loaded);
        let goes_on = machine.goes_on(number);
        let settled = goes_on.then(|| machine.item_settled(number, item, state));
        let Machine { memory, loaded, commands, blobs, read, .. } = machine;
        (self.memory, self.loaded) = (memory, loaded);
        self.loaded.forget_weight();
        // `goes_on` has checked that the next item can be started.
        settled?.expect("what was looked at before is there");
        self.memory.clock += 1;
        self.size_at_most = grown;
        self.changed = true;
        let read = read.into_iter().map(CommandId).collect();
        Some(Noted { commands, blobs, read, events: Vec::new() })
    }

    /// Stores an outcome as a step would. Returns nothing if it could make the snapshot too large.
    fn keep(&mut self, number: u64, mut state: State) -> Option<Contents> {
        let mut keeper = Keeper::knowing(std::mem::take(&mut self.memory.known));
        let kept = keep_outcome(&mut state, &mut keeper);
        let leaves = state.can_leave();
        let bytes = entry(number, &state).map_or(0, |(_, _, text)| text.len() + 1);
        let grown = self.size_at_most + FRAME + bytes;
        let limit = if self.memory.warned { SNAPSHOT_MAX_BYTES } else { SNAPSHOT_WARN_BYTES };
        let fits = kept.is_ok() && grown <= limit;
        if let Some(handle) = self.memory.handles.get_mut(&number).filter(|_| fits) {
            handle.state = state;
            self.size_at_most = grown;
            self.at_hand += if leaves { bytes } else { 0 };
            if is_full(self.at_hand, self.memory.segments.len()) {
                self.size_at_most -= self.at_hand;
                let closed = self.memory.segments.len();
                self.at_hand = self.memory.keep_settled(&mut keeper);
                self.size_at_most += self.at_hand + FRAME * (self.memory.segments.len() - closed);
            }
        }
        let (known, made) = keeper.done();
        self.memory.known = known;
        fits.then_some(made)
    }
}

impl Session for FlowSession<'_> {
    fn note(&mut self, input: StepInput<'_>) -> Option<Noted> {
        if !self.is_last_word(&input.message.body) {
            return None;
        }
        let mut machine = Machine::with(self.flow, input, std::mem::take(&mut self.memory));
        let answer = machine.outcome(input.message);
        self.memory = machine.memory;
        match answer {
            Ok(Answer::Nothing) => Some(Noted::default()),
            Ok(Answer::Settles(number, state)) if self.memory_has_item(number) => {
                self.note_item(input, number, state)
            }
            Ok(Answer::Settles(number, state)) if self.wakes_nobody(number, &state) => {
                let blobs = self.keep(number, state)?;
                self.memory.clock += 1;
                let from = self.waiters.partition_point(|(member, _)| *member < number);
                for (_, waiter) in self.waiters[from..].iter().take_while(|(member, _)| *member == number) {
                    if let Some(open) = self.open.get_mut(waiter) {
                        *open -= 1;
                    }
                }
                self.changed = true;
                Some(Noted { blobs, ..Noted::default() })
            }
            _ => None,
        }
    }

    fn snapshot(&mut self) -> Option<(Snapshot, Contents)> {
        self.changed.then(|| (self.memory.save(self.flow), Contents::new()))
    }
}
