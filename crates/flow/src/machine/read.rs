//! Whose failures an await has read. The dead letters of those are settled: whoever reads a failure decides what to do about it.
//! A group that has settled lets its members go, so it keeps the numbers of the tasks whose failures an await of it reads.

use std::collections::BTreeSet;

use super::Machine;
use super::handle::{Handle, Kind, State};
use super::memory::Memory;
use crate::numbers::Numbers;

impl Memory {
    /// The tasks whose failures an await of this handle reads: those that have failed, and those that are open. An open one
    /// has lost a race, or its group has failed without it: whatever it comes to changes nothing. Maps that go on are
    /// among them, for what their later items come to.
    fn behind(&self, number: u64) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        let mut next = vec![number];
        // A group may be a member of many groups: each is looked at once.
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

    /// A group has settled: an await of it, whenever it comes, reads what its members came to.
    pub fn keep_unread(&mut self, number: u64) {
        let behind: Numbers = self.behind(number).into_iter().collect();
        if !behind.is_empty() {
            self.unread.insert(number, behind);
        }
    }

    /// A map has ended with a failure, and lets these items go. The group that has read it, or will, has them too.
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

    /// Forgets those of handles that nobody can await any more.
    pub fn drop_unread(&mut self) {
        let handles = &self.handles;
        self.unread.retain(|number, _| handles.contains_key(number));
    }
}

impl Machine<'_> {
    /// An await of this handle was answered.
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
