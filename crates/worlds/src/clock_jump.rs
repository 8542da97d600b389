//! Guards leases and heartbeats against clock jumps. They are stored in the world's time. When that time
//! jumps ahead of this process's monotonic clock, all of them look expired at once. For 15 s after a jump
//! they are checked against the extrapolated old time, so that live workers can send a heartbeat under the
//! new time. A process that just connected cannot see an earlier jump, so it counts a silence only as far as
//! it has watched it itself.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Gain of the world's time that is no jump: an answer may have been late.
const TOLERANCE: Duration = Duration::from_millis(500);
/// The world's clock may also run faster, by one part in this many.
const DRIFT: u32 = 10;
/// Time after a jump until the new time is believed: three ordinary heartbeats.
const GRACE: Duration = Duration::from_secs(15);
/// Milliseconds for which a process must have watched a world before it lets claims expire.
pub const BEFORE_EXPIRY: i64 = GRACE.as_millis() as i64;

#[derive(Debug)]
pub struct ClockJumpGuard {
    since: Instant,
    seen: Mutex<Option<Seen>>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Latest time that was believed.
    believed: Moment,
    /// Latest time that was read.
    told: Moment,
    /// When the world's time last jumped; `None` once the new time is believed.
    leapt: Option<Instant>,
}

/// The world's time, and this process's monotonic time at that moment.
#[derive(Clone, Copy, Debug)]
struct Moment {
    world: i64,
    own: Instant,
}

impl Default for ClockJumpGuard {
    fn default() -> Self {
        Self { since: Instant::now(), seen: Mutex::default() }
    }
}

impl ClockJumpGuard {
    /// Milliseconds for which this process has watched the world.
    pub fn observed_for(&self) -> i64 {
        i64::try_from(self.since.elapsed().as_millis()).unwrap_or(i64::MAX)
    }

    /// Latest time, in the world's milliseconds, by which leases may be judged now.
    pub fn limit(&self) -> i64 {
        self.lock().map_or(i64::MAX, |seen| seen.believed.limit(Instant::now()))
    }

    /// Records the world's time, and returns the time to judge leases by.
    pub fn judge(&self, now: i64) -> i64 {
        self.judge_at(Moment { world: now, own: Instant::now() })
    }

    fn judge_at(&self, now: Moment) -> i64 {
        let mut state = self.lock();
        let Some(seen) = *state else {
            *state = Some(Seen { believed: now, told: now, leapt: None });
            return now.world;
        };
        let leaps = now.world > seen.told.limit(now.own);
        let leapt = if leaps { Some(now.own) } else { seen.leapt };
        let limit = seen.believed.limit(now.own);
        let over = leapt.is_none_or(|leapt| now.own.duration_since(leapt) >= GRACE);
        // A clock that was set right again did no harm, and is believed.
        if over || now.world <= limit {
            *state = Some(Seen { believed: now, told: now, leapt: None });
            return now.world;
        }
        *state = Some(Seen { told: now, leapt, ..seen });
        limit
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Moment {
    /// Latest world time that is possible at a later moment without a jump.
    fn limit(&self, own: Instant) -> i64 {
        let gone = own.duration_since(self.own);
        let gone = gone + gone / DRIFT + TOLERANCE;
        self.world.saturating_add(i64::try_from(gone.as_millis()).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    /// Reads the world's time at a given second.
    fn looks() -> impl Fn(u64, i64) -> i64 {
        let (patience, start) = (ClockJumpGuard::default(), Instant::now());
        move |seconds, world| patience.judge_at(Moment { world, own: start + Duration::from_secs(seconds) })
    }

    #[test]
    fn a_leap_ahead_is_not_believed_until_the_living_could_beat() {
        let look = looks();
        assert_eq!(look(0, 1_000), 1_000, "the first look is believed");
        assert_eq!(look(1, 2_500), 2_500);
        let leapt = 2_500 + HOUR;
        assert_eq!(look(2, leapt + 1_000), 2_500 + 1_100 + 500);
        assert_eq!(look(11, leapt + 10_000), 2_500 + 11_000 + 500);
        assert_eq!(look(17, leapt + 16_000), leapt + 16_000);
        assert_eq!(look(18, leapt + 17_000), leapt + 17_000);
    }

    #[test]
    fn every_further_leap_takes_its_own_time() {
        let look = looks();
        look(0, 0);
        look(1, HOUR);
        assert_eq!(look(14, 2 * HOUR), 15_400 + 500);
        assert_eq!(look(17, 2 * HOUR + 3_000), 18_700 + 500, "the second leap was three seconds ago");
        assert_eq!(look(29, 2 * HOUR + 15_000), 2 * HOUR + 15_000);
    }

    #[test]
    fn a_step_back_is_believed_at_once() {
        let look = looks();
        assert_eq!((look(0, HOUR), look(1, 1_000), look(2, 2_000)), (HOUR, 1_000, 2_000));
        assert_eq!(look(3, HOUR), 3_600);
        assert_eq!((look(4, 4_000), look(5, 5_000)), (4_000, 5_000), "set right again");
    }

    #[test]
    fn a_clock_that_runs_much_too_fast_leaps_all_the_time() {
        let look = looks();
        let judged = (0..=60).map(|second| look(second, second as i64 * 3_000)).last().unwrap();
        assert!(judged <= 70_000, "after a minute {judged} ms are believed");
        assert_eq!(look(90, 210_000), 210_000, "it has been right for a while");
    }

    #[test]
    fn a_process_that_was_away_believes_what_went_by() {
        let look = looks();
        look(0, 0);
        assert_eq!(look(3_600, HOUR), HOUR);
    }
}
