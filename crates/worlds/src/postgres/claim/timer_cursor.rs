//! Scan position for due timers during a timer burst, for sweeps and for claims of sleeping runs. Timers that
//! have fired stay in the index until they are vacuumed: reading past 100,000 entries takes longer than
//! firing the next timers.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Position of a timer in the index: due time, number.
pub type Place = (i64, i64);

pub const BEGINNING: Place = (i64::MIN, i64::MIN);
/// Pause between scans from the beginning, which find timers that were locked or committed late.
const LOOK_AT_ALL_EVERY: Duration = Duration::from_millis(200);

#[derive(Default)]
pub struct TimerCursor(Mutex<Option<Front>>);

#[derive(Clone, Copy)]
struct Front {
    place: Place,
    looked_at_all: Instant,
}

impl TimerCursor {
    pub fn from(&self) -> Place {
        let front = self.lock().filter(|front| front.looked_at_all.elapsed() < LOOK_AT_ALL_EVERY);
        front.map_or(BEGINNING, |front| front.place)
    }

    /// Records a scan that began at `from`. The next one begins at `to` if more timers may be due.
    pub fn moved(&self, from: Place, to: Option<Place>, more: bool) {
        let mut front = self.lock();
        let looked_at_all = match *front {
            Some(front) if from != BEGINNING => front.looked_at_all,
            _ => Instant::now(),
        };
        *front = to.filter(|_| more).map(|place| Front { place, looked_at_all });
    }

    fn lock(&self) -> MutexGuard<'_, Option<Front>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_goes_on_from_what_the_last_sweep_fired_first() {
        let storm = TimerCursor::default();
        assert_eq!(storm.from(), BEGINNING);
        storm.moved(BEGINNING, Some((5, 1)), true);
        assert_eq!(storm.from(), (5, 1));
        storm.moved((5, 1), Some((5, 9)), true);
        assert_eq!(storm.from(), (5, 9));
    }

    #[test]
    fn it_ends_with_the_first_sweep_that_takes_all() {
        let storm = TimerCursor::default();
        storm.moved(BEGINNING, Some((5, 1)), true);
        storm.moved((5, 1), Some((5, 9)), false);
        assert_eq!(storm.from(), BEGINNING);
        storm.moved(BEGINNING, None, true);
        assert_eq!(storm.from(), BEGINNING);
    }

    #[test]
    fn everything_is_looked_at_from_time_to_time_however_long_it_lasts() {
        let storm = TimerCursor::default();
        storm.moved(BEGINNING, Some((5, 1)), true);
        let long_ago = Instant::now().checked_sub(LOOK_AT_ALL_EVERY).unwrap();
        let front = storm.lock().map(|front| Front { looked_at_all: long_ago, ..front });
        *storm.lock() = front;
        storm.moved((5, 1), Some((5, 9)), true);
        assert_eq!(storm.from(), BEGINNING, "going on is no look at everything");
        storm.moved(BEGINNING, Some((6, 1)), true);
        assert_eq!(storm.from(), (6, 1));
    }
}
