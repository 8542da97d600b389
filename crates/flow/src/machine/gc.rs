//! Drops everything a waiting program cannot reach: variables out of scope, outcomes that cannot be awaited,
//! timers without an observer, and waits for signals, which must not consume a signal meant for another wait.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::command::Command;
use rhythm_core::id::CommandId;
use rhythm_core::run::Grace;

use super::Machine;
use super::handle::{Kind, State};
use super::memory::Thrown;

impl Machine<'_> {
    pub fn sweep(&mut self) {
        self.forget_out_of_scope();
        let reached = self.reached();
        let mut idle_timers = BTreeSet::new();
        self.memory.handles.retain(|number, handle| {
            let keep = reached.contains(number);
            if !keep && matches!((&handle.kind, &handle.state), (Kind::Timer { .. }, State::Open)) {
                idle_timers.insert(CommandId(*number));
            }
            keep
        });
        self.memory.maps.retain(|map| reached.contains(map));
        self.memory.drop_unread();
        // A timer started in this same transition is simply not started.
        self.commands.retain(|command| match command {
            Command::StartTimer(timer) => !idle_timers.remove(&timer.timer),
            _ => true,
        });
        self.commands.extend(idle_timers.into_iter().map(Command::CancelTimer));
    }

    pub fn forget_out_of_scope(&mut self) {
        let position = self.memory.position;
        for (slot, value) in self.flow.code.slots.iter().zip(&mut self.memory.slots) {
            if value.is_some() && !slot.covers(position) {
                *value = None;
            }
        }
    }

    /// Returns the handles that a variable holds or the program waits for, and those they wait for in turn.
    fn reached(&self) -> BTreeSet<u64> {
        let mut reached = BTreeSet::new();
        let mut next: Vec<u64> = self.memory.wait.into_iter().collect();
        // A child or map that will start more must be kept even if nothing waits for it.
        let pending = self.memory.handles.iter().filter(|(_, handle)| match &handle.kind {
            Kind::Child { again: Some(again), .. } => handle.is_open() && again.has_more(),
            Kind::Map(map) => handle.is_open() && map.has_more(),
            _ => false,
        });
        next.extend(pending.map(|(number, _)| *number));
        for value in self.memory.slots.iter().flatten() {
            value.each_handle(&mut |handle| next.push(handle));
        }
        while let Some(number) = next.pop() {
            let Some(handle) = self.memory.handles.get(&number) else { continue };
            if reached.insert(number) && handle.is_open() {
                handle.each_member(|member| next.push(member));
            }
        }
        reached
    }

    /// Returns the labels of the awaited signals; of several waits for one name, the label of the first.
    pub fn labels(&self) -> BTreeMap<String, String> {
        let open = self.memory.handles.values().rev().filter(|handle| handle.is_open());
        let labels = open.filter_map(|handle| match (&handle.kind, &handle.label) {
            (Kind::Signal { name }, Some(label)) => Some((name.to_string(), label.to_string())),
            _ => None,
        });
        labels.collect()
    }

    /// Returns the names of the signals that reachable waits wait for, and the mark of clean-up after the
    /// deadline.
    pub fn awaiting(&self) -> BTreeSet<String> {
        let open = self.memory.handles.values().filter(|handle| handle.is_open());
        let signals = open.filter_map(|handle| match &handle.kind {
            Kind::Signal { name } => Some(name.to_string()),
            _ => None,
        });
        let cancelled = self.memory.thrown == Some(Thrown::Cancel);
        let grace = self.memory.grace.map(|timer| Grace { timer: CommandId(timer), cancelled }.mark());
        signals.chain(grace).collect()
    }
}
