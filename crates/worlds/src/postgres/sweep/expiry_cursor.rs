//! Scan position for expired claims. Entries of freed claims stay in the index while an old snapshot is open.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Shortest pause in milliseconds between scans from the beginning. Such a scan reads past every claim there
/// ever was while an old snapshot is open, so the pause is also at least RESCAN_SHARE times its duration.
const RESCAN: i64 = 60_000;
const RESCAN_SHARE: i64 = 50;
/// Milliseconds that the position stays behind. A claim is written with an expiry in the future. An older
/// expiry shows up only if its commit was slow or its row was locked: sweeps find it within this margin,
/// scans from the beginning find the rest.
const MARGIN: i64 = 30_000;
/// The margin while the index is bloated: every sweep reads past all entries within it.
const MARGIN_BLOATED: i64 = 1_000;
/// A sweep slower than this is scanning mostly dead tuples.
const BLOATED: Duration = Duration::from_millis(10);

/// Position up to which expired claims were freed. Dead index entries before it are skipped.
#[derive(Default)]
pub struct ExpiryCursor {
    looked_to: AtomicI64,
    /// World time of the next scan from the beginning.
    rescan_at: AtomicI64,
    swept_at: AtomicI64,
    /// Time of the last search for dead workers.
    judged: Mutex<Option<Instant>>,
}

/// Shortest pause between two searches for dead workers.
const JUDGE_EVERY: Duration = Duration::from_millis(200);

impl ExpiryCursor {
    pub fn from(&self) -> i64 {
        self.looked_to.load(Ordering::Acquire)
    }

    pub fn is_time_to_judge(&self) -> bool {
        let mut judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        let is_time = judged.is_none_or(|last| last.elapsed() >= JUDGE_EVERY);
        if is_time {
            *judged = Some(Instant::now());
        }
        is_time
    }

    /// Records a sweep of expiries `from` to `now`. `all`: it found every expired claim, and did not stop at
    /// its limit.
    pub fn moved(&self, (from, now): (i64, i64), all: bool, took: Duration) {
        if from == 0 {
            self.rest(now, took);
        }
        let before = self.swept_at.swap(now, Ordering::AcqRel);
        // After the clock was set back, the position is useless.
        if now >= self.rescan_at.load(Ordering::Acquire) || now + MARGIN_BLOATED < before {
            self.looked_to.store(0, Ordering::Release);
        } else if all {
            let margin = if took > BLOATED { MARGIN_BLOATED } else { MARGIN };
            // The position is the end of the sweep before, so every claim is seen twice.
            let seen = if before == 0 { now } else { now.min(before) };
            self.looked_to.store(seen - margin, Ordering::Release);
        }
    }

    /// Records a scan from the beginning that the server cancelled. Sweeps go on with claims that expire from
    /// now on.
    pub fn gave_up(&self, now: i64, took: Duration) {
        self.rest(now, took);
        self.looked_to.store(now - MARGIN, Ordering::Release);
    }

    fn rest(&self, now: i64, took: Duration) {
        let took = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
        let pause = RESCAN.max(took.saturating_mul(RESCAN_SHARE));
        self.rescan_at.store(now.saturating_add(pause), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeps_that_follow_each_other_closely_judge_once() {
        let expiry_cursor = ExpiryCursor::default();
        assert!(expiry_cursor.is_time_to_judge());
        assert!(!expiry_cursor.is_time_to_judge());
        *expiry_cursor.judged.lock().unwrap() = Instant::now().checked_sub(JUDGE_EVERY);
        assert!(expiry_cursor.is_time_to_judge());
    }

    const HOUR: i64 = 3_600_000;
    const SHORT: Duration = Duration::from_millis(2);
    const LONG: Duration = Duration::from_secs(2);

    #[test]
    fn sweeps_begin_before_where_the_last_but_one_ended() {
        let expiry_cursor = ExpiryCursor::default();
        expiry_cursor.moved((0, HOUR), true, SHORT);
        assert_eq!(expiry_cursor.from(), HOUR - MARGIN);
        expiry_cursor.moved((expiry_cursor.from(), HOUR + 1_000), true, SHORT);
        assert_eq!(expiry_cursor.from(), HOUR - MARGIN, "what was locked is seen once more");
        expiry_cursor.moved((expiry_cursor.from(), HOUR + 2_000), true, LONG);
        assert_eq!(expiry_cursor.from(), HOUR + 1_000 - MARGIN_BLOATED);
        expiry_cursor.moved((expiry_cursor.from(), HOUR + 3_000), false, LONG);
        assert_eq!(expiry_cursor.from(), HOUR + 1_000 - MARGIN_BLOATED, "there was more");
    }

    #[test]
    fn a_clock_that_was_set_back_starts_the_search_anew() {
        let expiry_cursor = ExpiryCursor::default();
        expiry_cursor.moved((0, HOUR), true, SHORT);
        expiry_cursor.moved((expiry_cursor.from(), 1_000), true, SHORT);
        assert_eq!(expiry_cursor.from(), 0, "what runs out now lies before everything looked for");
    }

    #[test]
    fn a_search_from_the_beginning_comes_again_and_later_when_it_took_long() {
        let expiry_cursor = ExpiryCursor::default();
        expiry_cursor.moved((0, HOUR), true, SHORT);
        expiry_cursor.moved((expiry_cursor.from(), HOUR + RESCAN - 1), true, LONG);
        assert_ne!(expiry_cursor.from(), 0);
        expiry_cursor.moved((expiry_cursor.from(), HOUR + RESCAN), true, SHORT);
        assert_eq!(expiry_cursor.from(), 0);
        expiry_cursor.moved((0, HOUR + RESCAN), true, LONG);
        expiry_cursor.moved((expiry_cursor.from(), HOUR + 2 * RESCAN), true, SHORT);
        assert_ne!(expiry_cursor.from(), 0);
        expiry_cursor.moved((expiry_cursor.from(), HOUR + RESCAN + 100_000), true, SHORT);
        assert_eq!(expiry_cursor.from(), 0);
    }

    #[test]
    fn a_search_that_the_server_gave_up_is_not_made_again_at_once() {
        let expiry_cursor = ExpiryCursor::default();
        expiry_cursor.gave_up(HOUR, LONG);
        assert_eq!(expiry_cursor.from(), HOUR - MARGIN);
        expiry_cursor.moved((expiry_cursor.from(), HOUR + RESCAN), true, LONG);
        assert_ne!(expiry_cursor.from(), 0);
        expiry_cursor.moved((expiry_cursor.from(), HOUR + 100_000), true, LONG);
        assert_eq!(expiry_cursor.from(), 0);
    }
}
