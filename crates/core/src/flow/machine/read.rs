//! Whose failures an await has read. The dead letters of those are settled: whoever reads a failure decides what to do about it.

use std::collections::BTreeSet;

use super::Machine;
use super::handle::{Kind, State};

impl Machine<'_> {
    /// An await of this handle was answered.
    pub fn note_read(&mut self, number: u64) {
        let mut next = vec![number];
        // A group may be a member of many groups: each is looked at once.
        let mut seen = BTreeSet::new();
        while let Some(number) = next.pop() {
            if !seen.insert(number) {
                continue;
            }
            // A group that was decided lets its members go, perhaps long before it is awaited: any of them may have failed.
            let Some(handle) = self.memory.handles.get(&number) else {
                self.read.insert(number);
                continue;
            };
            match &handle.kind {
                // An open one has lost a race: whatever it comes to changes nothing.
                Kind::Task { .. }
                    if !matches!(handle.state, State::Done(..) | State::Kept { failed: false }) =>
                {
                    self.read.insert(number);
                }
                Kind::Timeout { of, .. } => next.push(*of),
                Kind::Group(group) => next.extend(group.members.iter()),
                _ => {}
            }
        }
    }
}
