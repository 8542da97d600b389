//! Where ready work begins. What was worked off stays in an index while anybody holds a snapshot from before, and every claim
//! reads past it to get to the first that is ready. Once that takes long, claims begin where the last whole look found
//! something, and whole looks are made only now and then.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rhythm_engine::world::Hint;

use super::hints::Hints;

/// What a look may take in the server, whatever it finds.
pub const CHEAP: Duration = Duration::from_millis(3);
/// For each row it takes a look may take one part in so many of that again.
const ROWS: u32 = 60;
/// Whole looks take one part in so many of the time, as far as that is no longer than [`AT_MOST`].
const SHARE: u32 = 20;
/// What is ready before the front, or of another priority, waits for so long.
const AT_MOST: Duration = Duration::from_millis(900);
/// Commits under way may still bring what was ready so long ago.
const MARGIN_MS: i64 = 5_000;

/// A line as one who claims sees it: tenant, queue, and what it can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LineOf(u64);

impl LineOf {
    pub fn new(parts: &impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        parts.hash(&mut hasher);
        Self(hasher.finish())
    }
}

pub struct Fronts {
    known: Mutex<HashMap<LineOf, Front>>,
    hints: Arc<Hints>,
    /// What to say when it is time for a whole look.
    hint: Hint,
    cheap: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Front {
    pub priority: i32,
    pub since: i64,
    until: Instant,
}

/// What a whole look at a line came to.
pub struct Look {
    pub began: Instant,
    /// In the server: the way there and back is nobody's rot.
    pub took: Duration,
    pub now: i64,
    pub rows: usize,
    /// Priority and time of the first that was ready.
    pub first: Option<(i32, i64)>,
}

impl Fronts {
    pub fn new(hints: Arc<Hints>, hint: Hint, cheap: Duration) -> Self {
        Self { known: Mutex::default(), hints, hint, cheap }
    }

    /// Where to begin; nowhere in particular when it is time for a whole look.
    pub fn of(&self, line: LineOf) -> Option<Front> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let front = known.get(&line).copied()?;
        if Instant::now() < front.until {
            return Some(front);
        }
        known.remove(&line);
        None
    }

    pub fn looked(&self, line: LineOf, look: &Look) {
        if let Some(front) = look.front(self.cheap) {
            self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(line, front);
        }
    }

    /// Whoever got less than it wanted from a front on is told when it is time for a whole look.
    pub fn fell_short(&self, front: Front) {
        let (hints, hint) = (self.hints.clone(), self.hint);
        tokio::spawn(async move {
            tokio::time::sleep_until(front.until.into()).await;
            hints.heard(hint);
        });
    }
}

impl Look {
    fn front(&self, cheap: Duration) -> Option<Front> {
        let cheap = cheap + cheap / ROWS * u32::try_from(self.rows).unwrap_or(u32::MAX);
        let (priority, ready) = self.first.unwrap_or((0, self.now));
        let until = self.began + (self.took * SHARE).min(AT_MOST);
        (self.took > cheap).then_some(Front { priority, since: ready - MARGIN_MS, until })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(rows: usize, first: Option<(i32, i64)>, took: u64) -> Look {
        Look { began: Instant::now(), took: Duration::from_millis(took), now: 1_000_000, rows, first }
    }

    fn fronts() -> (Arc<Hints>, Fronts) {
        let hints = Arc::new(Hints::default());
        let hint = Hint { tasks: true, ..Hint::default() };
        (hints.clone(), Fronts::new(hints, hint, CHEAP))
    }

    #[test]
    fn while_looks_are_cheap_all_are_whole() {
        assert_eq!(look(0, None, 3).front(CHEAP), None);
        assert_eq!(look(200, Some((0, 7)), 13).front(CHEAP), None);
    }

    #[test]
    fn after_one_that_took_long_claims_begin_at_what_it_found() {
        let short = look(200, Some((3, 900_000)), 25);
        let front = short.front(CHEAP).unwrap();
        assert_eq!((front.priority, front.since), (3, 895_000));
        assert_eq!(front.until, short.began + Duration::from_millis(500));
        let long = look(200, None, 4_000);
        assert_eq!(long.front(CHEAP).unwrap().until, long.began + AT_MOST);
    }

    #[test]
    fn a_front_is_of_one_line_and_is_forgotten_in_time() {
        let (_, fronts) = fronts();
        let (line, other) = (LineOf::new(&("tenant", "default")), LineOf::new(&("tenant", "other")));
        fronts.looked(line, &look(0, None, 50));
        assert_eq!(fronts.of(line).map(|front| front.since), Some(995_000));
        assert_eq!(fronts.of(other), None);
        let past = Front { priority: 0, since: 0, until: Instant::now() };
        fronts.known.lock().unwrap().insert(line, past);
        assert_eq!(fronts.of(line), None);
    }

    #[tokio::test]
    async fn whoever_fell_short_is_told_to_look_again() {
        let (hints, fronts) = fronts();
        let mut wakeups = hints.subscribe().tasks;
        wakeups.mark_unchanged();
        fronts.fell_short(Front { priority: 0, since: 0, until: Instant::now() + CHEAP });
        wakeups.changed().await.unwrap();
    }
}
