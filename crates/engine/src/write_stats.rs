//! Counts what a process has written, for measurements.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::world::{Commit, CommitOutcome, Committed};

/// Counters of what one process has written.
#[derive(Debug, Default)]
pub struct WriteStats {
    commits: AtomicU64,
    items: AtomicU64,
    ended: AtomicU64,
    snapshot_bytes: AtomicU64,
    sweeps: AtomicU64,
}

/// Totals so far. Refused items do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub commits: u64,
    /// Transitions of runs.
    pub items: u64,
    /// Runs that ended with one of them.
    pub ended: u64,
    pub snapshot_bytes: u64,
    /// Number of sweeps.
    pub sweeps: u64,
}

impl WriteStats {
    pub(crate) fn count(&self, commit: &Commit, committed: &Committed) {
        let outcomes = commit.items.iter().zip(&committed.outcomes);
        let done = outcomes.filter(|(_, outcome)| matches!(outcome, CommitOutcome::Done(_)));
        let (mut items, mut ended, mut bytes) = (0, 0, 0);
        for (item, _) in done {
            items += 1;
            ended += u64::from(item.end.is_some());
            bytes += item.state.snapshot.as_ref().map_or(0, |snapshot| snapshot.bytes.len() as u64);
        }
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.snapshot_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.items.fetch_add(items, Ordering::Relaxed);
        self.ended.fetch_add(ended, Ordering::Relaxed);
    }

    pub(crate) fn swept(&self) {
        self.sweeps.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the totals so far.
    pub fn written(&self) -> Written {
        Written {
            commits: self.commits.load(Ordering::Relaxed),
            items: self.items.load(Ordering::Relaxed),
            ended: self.ended.load(Ordering::Relaxed),
            snapshot_bytes: self.snapshot_bytes.load(Ordering::Relaxed),
            sweeps: self.sweeps.load(Ordering::Relaxed),
        }
    }
}
