//! Which fires of a schedule start now, after a poll that may be late by a second or by a month.

use serde::{Deserialize, Serialize};

use super::Cron;
use crate::time::{Millis, Timestamp};

/// How many fires one call takes when everything missed is caught up.
pub const CATCH_UP_LIMIT: usize = 100;

/// A fire no older than this is late, not missed.
const GRACE: Millis = Millis::from_secs(60);

/// Missed fires are counted exactly up to here; a rule by the second misses 31 million a year.
const MISSED_LIMIT: u64 = 10_000;

/// What becomes of fires that nobody was there to start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// Dropped. The newest still starts while it is at most a minute late.
    #[default]
    Skip,
    /// Only the newest starts, however late.
    One,
    /// Each starts, oldest first.
    All,
}

/// What becomes of a fire while the run of an earlier one is not done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    #[default]
    Skip,
    Allow,
    CancelPrevious,
}

/// The answer of [`due_fires`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// The fires to start now, oldest first.
    pub fires: Vec<Timestamp>,
    /// How many were dropped; stops counting at 10 000.
    pub missed: u64,
    /// The next fire to store. Not later than now when `limit` left some to take; none when it never fires again.
    pub next_at: Option<Timestamp>,
}

/// Decides what to start at `now`. `next_at` is the stored next fire and is believed, whatever the rule says.
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

/// The number of fires from `first` to `now` (counted to one past the limit) and the newest of them.
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

/// The newest fire not after `now`, given one that is: some sixty looks instead of a walk through all.
fn bisect(cron: &Cron, fire: Timestamp, now: Timestamp) -> Timestamp {
    let mut newest = fire;
    let mut beyond = now;
    // Between `newest` (a fire) and `beyond` (no fire after it until now) lies the answer.
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
