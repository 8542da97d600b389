//! Decides which fires of a schedule start now. The poll may be a second or a month late.

use serde::{Deserialize, Serialize};

use super::Cron;
use crate::time::{Millis, Timestamp};

/// Fires that one call takes when every missed fire is caught up.
pub const CATCH_UP_LIMIT: usize = 100;

/// A fire no older than this is late, not missed.
const GRACE: Millis = Millis::from_secs(60);

/// Missed fires are counted exactly up to this number. A rule that fires every second misses 31 million a
/// year.
const MISSED_LIMIT: u64 = 10_000;

/// Policy for fires that came due while no process polled the schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// Drops missed fires. The newest still starts when it is at most one minute late.
    #[default]
    Skip,
    /// Starts only the newest, however late.
    One,
    /// Starts each one, oldest first.
    All,
}

/// Policy for a fire while the run of an earlier fire is still going.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    #[default]
    Skip,
    Allow,
    CancelPrevious,
}

/// Result of [`due_fires`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// The fires to start now, oldest first.
    pub fires: Vec<Timestamp>,
    /// Number of dropped fires. Counting stops at 10 000.
    pub missed: u64,
    /// Next fire to store: not later than `now` when `limit` left fires for another call, `None` when the
    /// rule never fires again.
    pub next_at: Option<Timestamp>,
}

/// Returns the fires to start at `now`, the number dropped, and the next fire to store. `next_at` is the
/// stored next fire. It counts as a fire even if the rule, changed since, no longer contains it.
pub fn due_fires(cron: &Cron, next_at: Timestamp, now: Timestamp, catch_up: CatchUp, limit: usize) -> Due {
    if next_at > now {
        return Due { next_at: Some(next_at), ..Due::default() };
    }
    if catch_up == CatchUp::All {
        return every(cron, next_at, now, limit);
    }
    let (count, newest) = newest(cron, next_at, now);
    let taken = catch_up == CatchUp::One || now.since(newest) <= GRACE;
    Due {
        fires: if taken { vec![newest] } else { Vec::new() },
        missed: (count - u64::from(taken)).min(MISSED_LIMIT),
        next_at: cron.next_after(now),
    }
}

fn every(cron: &Cron, next_at: Timestamp, now: Timestamp, limit: usize) -> Due {
    let mut due = Due { next_at: Some(next_at), ..Due::default() };
    while let Some(fire) = due.next_at.filter(|fire| *fire <= now && due.fires.len() < limit) {
        due.fires.push(fire);
        due.next_at = cron.next_after(fire);
    }
    due
}

/// Returns the number of fires from `first` to `now` (counted to one past the limit) and the newest of them.
fn newest(cron: &Cron, first: Timestamp, now: Timestamp) -> (u64, Timestamp) {
    let mut count = 1;
    let mut newest = first;
    while let Some(fire) = cron.next_after(newest).filter(|fire| *fire <= now) {
        newest = fire;
        count += 1;
        if count > MISSED_LIMIT {
            return (count, bisect(cron, newest, now));
        }
    }
    (count, newest)
}

/// Returns the newest fire not after `now`, given one such fire. Bisection takes about sixty searches instead
/// of one for each fire.
fn bisect(cron: &Cron, fire: Timestamp, now: Timestamp) -> Timestamp {
    let mut newest = fire;
    let mut beyond = now;
    // The answer lies between `newest`, which is a fire, and `beyond`, after which no fire comes until `now`.
    while newest < beyond {
        let gap = beyond.since(newest).as_u64();
        let middle = newest.plus(Millis(gap / 2));
        match cron.next_after(middle).filter(|fire| *fire <= now) {
            Some(fire) => newest = fire,
            None => beyond = middle,
        }
    }
    newest
}

#[cfg(test)]
mod tests;
