//! The world's time: the database's clock, unless a test injects one. Statements take the injected time as a
//! parameter; NULL makes the database read its own clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use rhythm_core::Timestamp;
use rhythm_engine::world::Clock;

/// Milliseconds; longer than a statement of a hot session may run.
const SET_BACK: i64 = 15_000;

pub struct Time {
    clock: Option<Arc<dyn Clock>>,
    /// Latest time this handle has seen. An injected clock never goes back behind it, the database's clock
    /// only if it was set back.
    high_water: AtomicI64,
}

impl Time {
    pub fn new(clock: Option<Arc<dyn Clock>>) -> Self {
        Self { clock, high_water: AtomicI64::new(0) }
    }

    pub fn param(&self) -> Option<i64> {
        let now = self.clock.as_ref()?.now().millis();
        Some(self.high_water.fetch_max(now, Ordering::AcqRel).max(now))
    }

    pub fn saw(&self, at: Timestamp) {
        let before = self.high_water.fetch_max(at.millis(), Ordering::AcqRel);
        // No answer is this old, so the database's clock was set back. Its new time counts.
        if self.clock.is_none() && at.millis() + SET_BACK < before {
            self.high_water.store(at.millis(), Ordering::Release);
        }
    }

    /// Latest time seen, for answers without a query of the time.
    pub fn last(&self) -> Timestamp {
        Timestamp::from_millis(self.param().unwrap_or_else(|| self.high_water.load(Ordering::Acquire)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_time_follows_a_server_that_was_set_back_but_not_a_late_answer() {
        let time = Time::new(None);
        for (seen, latest) in [(100_000, 100_000), (90_000, 100_000), (101_000, 101_000), (50_000, 50_000)] {
            time.saw(Timestamp::from_millis(seen));
            assert_eq!(time.last().millis(), latest);
        }
    }
}
