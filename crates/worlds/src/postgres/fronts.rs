//! Where ready work begins. What was worked off stays in an index while anybody holds a snapshot from before, and every claim
//! reads past it to get to the first that is ready. Once that takes long, claims begin where the last whole look found
//! something, and whole looks are made only now and then.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rhythm_core::TenantId;

/// What a look may take, whatever it finds, and beside that for each row it takes.
const CHEAP: Duration = Duration::from_millis(3);
const EACH: Duration = Duration::from_micros(50);
/// Whole looks take one part in so many of the time.
const SHARE: u32 = 20;
/// However long they take: what is ready before the front waits no longer than the next sweep.
const AT_MOST: Duration = Duration::from_millis(900);
/// Commits under way may still bring what was ready so long ago.
const MARGIN_MS: i64 = 5_000;

/// For each queue with its tenant.
#[derive(Default)]
pub struct Fronts(Mutex<HashMap<(TenantId, String), Front>>);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Front {
    pub priority: i32,
    pub since: i64,
    until: Instant,
}

/// What a whole look at a queue came to.
pub struct Look {
    pub began: Instant,
    pub now: i64,
    pub rows: usize,
    /// Priority and time of the first that was ready.
    pub first: Option<(i32, i64)>,
}

impl Fronts {
    /// Where to begin; nowhere in particular when it is time for a whole look.
    pub fn of(&self, tenant: &TenantId, queue: &str) -> Option<Front> {
        let mut fronts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let front = fronts.get(&(tenant.clone(), queue.to_owned())).copied()?;
        if Instant::now() < front.until {
            return Some(front);
        }
        fronts.remove(&(tenant.clone(), queue.to_owned()));
        None
    }

    pub fn looked(&self, tenant: &TenantId, queue: &str, look: &Look) {
        if let Some(front) = look.front(look.began.elapsed()) {
            let mut fronts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            fronts.insert((tenant.clone(), queue.to_owned()), front);
        }
    }
}

impl Look {
    fn front(&self, took: Duration) -> Option<Front> {
        let cheap = CHEAP + EACH * u32::try_from(self.rows).unwrap_or(u32::MAX);
        let (priority, ready) = self.first.unwrap_or((0, self.now));
        let until = self.began + took + (took * SHARE).min(AT_MOST);
        (took > cheap).then_some(Front { priority, since: ready - MARGIN_MS, until })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(rows: usize, first: Option<(i32, i64)>) -> Look {
        Look { began: Instant::now(), now: 1_000_000, rows, first }
    }

    #[test]
    fn while_looks_are_cheap_all_are_whole() {
        assert_eq!(look(0, None).front(Duration::from_millis(3)), None);
        assert_eq!(look(200, Some((0, 7))).front(Duration::from_millis(13)), None);
    }

    #[test]
    fn after_one_that_took_long_claims_begin_at_what_it_found() {
        let look = look(200, Some((3, 900_000)));
        let front = look.front(Duration::from_millis(25)).unwrap();
        assert_eq!((front.priority, front.since), (3, 895_000));
        assert_eq!(front.until, look.began + Duration::from_millis(25 + 500));
        let long = look.front(Duration::from_secs(4)).unwrap();
        assert_eq!(long.until, look.began + Duration::from_secs(4) + AT_MOST);
    }

    #[test]
    fn a_front_is_forgotten_in_time() {
        let fronts = Fronts::default();
        let tenant = TenantId::default();
        let mut look = look(0, None);
        look.began -= Duration::from_millis(50);
        fronts.looked(&tenant, "default", &look);
        assert_eq!(fronts.of(&tenant, "default").map(|front| front.since), Some(995_000));
        assert_eq!(fronts.of(&tenant, "other"), None);
        let past = Front { priority: 0, since: 0, until: Instant::now() };
        fronts.0.lock().unwrap().insert((tenant.clone(), "default".into()), past);
        assert_eq!(fronts.of(&tenant, "default"), None);
    }
}
