//! The world's time: the host's clock or an injected one, never behind the stored high-water mark. If the
//! host's clock is set back behind that mark, time goes on at half its pace until the host catches up. It
//! never stands still, so timers still fire and claims still expire.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rhythm_core::Timestamp;
use rhythm_engine::world::Clock;

pub struct WorldClock {
    source: Option<Arc<dyn Clock>>,
    floor: Mutex<Floor>,
}

/// Latest time that this handle returned or found stored.
#[derive(Clone, Copy)]
struct Floor {
    at: i64,
    /// When that was, by the monotonic clock.
    own: Instant,
}

impl WorldClock {
    pub fn new(source: Option<Arc<dyn Clock>>) -> Self {
        Self { source, floor: Mutex::new(Floor { at: 0, own: Instant::now() }) }
    }

    pub fn now(&self) -> Timestamp {
        let told = self.source.as_ref().map_or_else(host_time, |clock| clock.now());
        self.raise(told)
    }

    /// Whether a test injected the clock.
    pub fn is_injected(&self) -> bool {
        self.source.is_some()
    }

    /// Raises the lower bound to `mark`, unless it is higher already. Returns the world's time.
    pub fn raise(&self, mark: Timestamp) -> Timestamp {
        let mut floor = self.lock();
        let own = Instant::now();
        let least = if self.source.is_some() { floor.at } else { floor.after_half(own) };
        if mark.millis() >= least {
            *floor = Floor { at: mark.millis(), own };
        }
        Timestamp(mark.millis().max(least))
    }

    fn lock(&self) -> MutexGuard<'_, Floor> {
        self.floor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Floor {
    fn after_half(&self, own: Instant) -> i64 {
        let half = own.saturating_duration_since(self.own).as_millis() / 2;
        // No time was read yet.
        if self.at == 0 { 0 } else { self.at.saturating_add(i64::try_from(half).unwrap_or(i64::MAX)) }
    }
}

fn host_time() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn time_behind_the_mark_goes_on_at_half_its_pace() {
        let clock = WorldClock::new(None);
        let ahead = host_time().millis() + 3_600_000;
        assert_eq!(clock.raise(Timestamp(ahead)).millis(), ahead);
        let floor = *clock.lock();
        assert_eq!(floor.after_half(floor.own + Duration::from_secs(10)), ahead + 5_000);
        let (first, second) = (clock.now(), clock.now());
        assert!(first.millis() >= ahead && second >= first, "{first:?} {second:?}");
    }

    #[test]
    fn an_injected_clock_stands_still_when_it_is_told_to() {
        let manual = rhythm_engine::world::ManualClock::at(Timestamp(5_000));
        let clock = WorldClock::new(Some(manual.clone()));
        assert_eq!(clock.now(), Timestamp(5_000));
        manual.set(Timestamp(1_000));
        assert_eq!((clock.now(), clock.now()), (Timestamp(5_000), Timestamp(5_000)));
    }
}
