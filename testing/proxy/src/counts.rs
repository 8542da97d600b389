//! Counts of faults that really happened. A fault that was switched on without effect is not counted.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the proxy started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub accepted: u64,
    pub refused: u64,
    /// Connections ended by `cut_all`.
    pub cut: u64,
    /// Connections ended by `reset_after`.
    pub reset: u64,
    /// Pieces that were delayed.
    pub delayed: u64,
    /// Pieces that waited for the end of a partition.
    pub held: u64,
    pub swallowed_bytes: u64,
    /// Connections that lost bytes.
    pub silenced: u64,
    /// Commits that the server made and confirmed.
    pub commits: u64,
    /// Confirmed commits whose answer was cut off.
    pub cut_commits: u64,
}

/// Commits of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Commits {
    pub made: u64,
    /// Commits of this kind whose answer was cut off.
    pub cut: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub accepted: AtomicU64,
    pub refused: AtomicU64,
    pub cut: AtomicU64,
    pub reset: AtomicU64,
    pub delayed: AtomicU64,
    pub held: AtomicU64,
    pub swallowed_bytes: AtomicU64,
    pub silenced: AtomicU64,
    pub commits: AtomicU64,
    pub cut_commits: AtomicU64,
}

pub(crate) fn count(counter: &AtomicU64) -> u64 {
    counter.fetch_add(1, Ordering::AcqRel) + 1
}

impl Counters {
    pub fn read(&self) -> Counts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Acquire);
        Counts {
            accepted: of(&self.accepted),
            refused: of(&self.refused),
            cut: of(&self.cut),
            reset: of(&self.reset),
            delayed: of(&self.delayed),
            held: of(&self.held),
            swallowed_bytes: of(&self.swallowed_bytes),
            silenced: of(&self.silenced),
            commits: of(&self.commits),
            cut_commits: of(&self.cut_commits),
        }
    }
}
