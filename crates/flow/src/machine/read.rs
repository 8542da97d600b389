//! Tracks the failures that awaits have read. Reading a failure settles its dead letter, because the program
//! decides how to handle it. A settled group drops its members, so it keeps the numbers of the tasks whose
//! failures its await reads.

use std::collections::BTreeSet;

use super::Machine;
use super::handle::{Handle, Kind, State};
use super::memory::Memory;
use crate::numbers::Numbers;

impl Memory {
    /// Returns the tasks whose failures an await of this handle reads: those that have failed, and those
    /// still open. An open one lost a race, or its group failed without it, so its outcome is irrelevant.
    /// Open maps are included for the sake of their later items.
    fn behind(&self, number: u64) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        let mut next = vec![number];
        // A group may be a member of several groups: visit each once.
        let mut seen = BTreeSet::new();
        while let Some(number) = next.pop() {
            if !seen.insert(number) {
                continue;
            }
            if let Some(kept) = self.unread.get(&number) {
                next.extend(kept.iter());
                continue;
            }
            let Some(handle) = self.handles.get(&number) else {
                found.insert(number);
                continue;
            };
            match &handle.kind {
                Kind::Map(map) => {
                    found.insert(number);
                    next.extend(map.open.keys().filter(|_| !map.of_children));
                }
                Kind::Task { .. }
                    if !matches!(handle.state, State::Done(..) | State::Kept { failed: false }) =>
                {
                    found.insert(number);
                }
                Kind::Timeout { of, .. } => next.push(*of),
                Kind::Group(group) => next.extend(group.members.iter()),
                _ => {}
            }
        }
        found
    }

    /// Records, for a settled group, the failures that its await will read.
    pub fn keep_unread(&mut self, number: u64) {
        let behind: Numbers = self.behind(number).into_iter().collect();
        if !behind.is_empty() {
            self.unread.insert(number, behind);
        }
    }

    /// Records the released items of a failed map, also for each settled group that contains the map.
    pub fn keep_items_unread(&mut self, map: u64, items: impl Iterator<Item = u64>) {
        let items: Numbers = items.collect();
        if items.is_empty() {
            return;
        }
        for group in self.unread.values_mut().filter(|group| group.contains(map)) {
            items.iter().for_each(|item| group.insert(item));
        }
        self.unread.insert(map, items);
    }

    /// Forgets the records of handles that cannot be awaited any more.
    pub fn drop_unread(&mut self) {
        let handles = &self.handles;
        self.unread.retain(|number, _| handles.contains_key(number));
    }
}

impl Machine<'_> {
    /// Records that an await of this handle was answered.
    pub fn note_read(&mut self, number: u64) {
        let behind = self.memory.behind(number);
        self.memory.unread.remove(&number);
        for number in &behind {
            if let Some(Handle { kind: Kind::Map(map), .. }) = self.memory.handles.get_mut(number) {
                map.is_read = true;
            }
        }
        self.read.extend(behind);
    }
}
