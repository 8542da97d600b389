//! How long somebody has been silent, told by a clock that may jump. Claims and heartbeats are stored as moments of the
//! world's time. When that time leaps ahead of this process's own monotonic clock, everybody looks long dead at once; so
//! for a while they are judged by the time it would be without the leap, and the living get to beat by the new time.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What the world's time may gain between two looks without being taken for a leap.
const TOLERANCE: Duration = Duration::from_secs(2);
/// Three ordinary heartbeats.
const GRACE: Duration = Duration::from_secs(15);

#[derive(Debug, Default)]
pub struct Patience(Mutex<Option<Seen>>);

/// The last time that was believed.
#[derive(Clone, Copy, Debug)]
struct Seen {
    world: i64,
    own: Instant,
    leapt: Option<Instant>,
}

impl Patience {
    /// The latest time, in the world's milliseconds, by which anybody may be judged now.
    pub fn limit(&self) -> i64 {
        self.lock().map_or(i64::MAX, |seen| seen.limit(Instant::now()))
    }

    /// Learns the world's time and gives the one to judge by.
    pub fn judge(&self, now: i64) -> i64 {
        self.judge_at(now, Instant::now())
    }

    fn judge_at(&self, now: i64, own: Instant) -> i64 {
        let mut state = self.lock();
        let fresh = Seen { world: now, own, leapt: None };
        let Some(seen) = *state else {
            *state = Some(fresh);
            return now;
        };
        let limit = seen.limit(own);
        if now <= limit {
            *state = Some(fresh);
            return now;
        }
        let leapt = seen.leapt.unwrap_or(own);
        let over = own.duration_since(leapt) >= GRACE;
        *state = Some(if over { fresh } else { Seen { leapt: Some(leapt), ..seen } });
        if over { now } else { limit }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Seen>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn limit(&self, own: Instant) -> i64 {
        let gone = own.duration_since(self.own) + TOLERANCE;
        self.world.saturating_add(i64::try_from(gone.as_millis()).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    #[test]
    fn a_leap_ahead_is_not_believed_until_the_living_could_beat() {
        let patience = Patience::default();
        let start = Instant::now();
        let after = |seconds: u64| start + Duration::from_secs(seconds);
        assert_eq!(patience.judge_at(1_000, start), 1_000, "the first look is believed");
        assert_eq!(patience.judge_at(2_500, after(1)), 2_500);
        let leapt = 2_500 + HOUR;
        assert_eq!(patience.judge_at(leapt + 1_000, after(2)), 2_500 + 1_000 + 2_000);
        assert_eq!(patience.judge_at(leapt + 10_000, after(11)), 2_500 + 10_000 + 2_000);
        assert_eq!(patience.judge_at(leapt + 16_000, after(17)), leapt + 16_000);
        assert_eq!(patience.judge_at(leapt + 17_000, after(18)), leapt + 17_000);
    }

    #[test]
    fn a_step_back_is_believed_at_once() {
        let patience = Patience::default();
        let start = Instant::now();
        patience.judge_at(HOUR, start);
        let second = start + Duration::from_secs(1);
        assert_eq!(patience.judge_at(1_000, second), 1_000);
        assert_eq!(patience.judge_at(2_000, second + Duration::from_secs(1)), 2_000);
    }

    #[test]
    fn a_process_that_was_away_believes_what_went_by() {
        let patience = Patience::default();
        let start = Instant::now();
        patience.judge_at(0, start);
        assert_eq!(patience.judge_at(HOUR, start + Duration::from_secs(3_600)), HOUR);
    }
}
