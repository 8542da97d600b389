//! Where ready work begins. What was worked off stays in an index while anybody holds a snapshot from before, and every claim
//! reads past it to get to the first that is ready. Once that takes long, claims begin where the last one found something, at
//! a place of its own for every priority, and whole looks are made only now and then.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rhythm_engine::world::Hint;

use super::hints::Hints;

/// What a look may take in the server, whatever it finds.
pub const CHEAP: Duration = Duration::from_millis(3);
/// For each row it takes a look may take one part in so many of that again.
const ROWS: u32 = 60;
/// Whole looks take one part in so many of the time, as far as that is no longer than [`AT_MOST`].
const SHARE: u32 = 40;
/// What is ready before the front, or of a priority nobody has seen, waits for so long.
const AT_MOST: Duration = Duration::from_secs(5);
/// Commits under way may still bring what was ready so long ago.
const MARGIN_MS: i64 = 1_000;
/// Every priority is a look of its own; more of them wait for whole looks.
const PRIORITIES: usize = 16;

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

/// Where to begin, the highest priority first.
#[derive(Clone, Debug, PartialEq)]
pub struct Front {
    since: BTreeMap<Reverse<i32>, i64>,
    until: Instant,
    /// Somebody waits for its end.
    awaited: bool,
}

/// What a look at a line came to.
pub struct Look {
    pub began: Instant,
    /// In the server: the way there and back is nobody's rot.
    pub took: Duration,
    pub now: i64,
    pub rows: usize,
    /// It could have taken more.
    pub short: bool,
    /// Priority and time of all that was taken, in the order of the line.
    pub taken: Vec<(i32, i64)>,
}

impl Fronts {
    pub fn new(hints: Arc<Hints>, hint: Hint, cheap: Duration) -> Self {
        Self { known: Mutex::default(), hints, hint, cheap }
    }

    /// Where to begin; nowhere in particular when it is time for a whole look.
    pub fn of(&self, line: LineOf) -> Option<Front> {
        self.lock().get(&line).filter(|front| Instant::now() < front.until).cloned()
    }

    /// A look at everything, or `from` a front on.
    pub fn looked(&self, line: LineOf, from: Option<Front>, look: &Look) {
        let mut known = self.lock();
        let until = match &from {
            Some(front) => front.until,
            None if look.is_cheap(self.cheap) => {
                known.remove(&line);
                return;
            }
            None => look.began + (look.took * SHARE).min(AT_MOST),
        };
        let fresh = Front { since: BTreeMap::new(), until, awaited: false };
        let front = known.entry(line).or_insert(fresh);
        if from.is_none() {
            (front.until, front.awaited) = (until, false);
        }
        look.moves(&mut front.since);
        // Whoever got less than it wanted is told when it is time for a whole look.
        if from.is_some() && look.short && !front.awaited {
            front.awaited = true;
            let (hints, hint) = (self.hints.clone(), self.hint);
            tokio::spawn(async move {
                tokio::time::sleep_until(until.into()).await;
                hints.heard(hint);
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LineOf, Front>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Front {
    /// The highest first.
    pub fn priorities(&self) -> Vec<i32> {
        self.since.keys().map(|priority| priority.0).collect()
    }

    /// One for each of the priorities.
    pub fn since(&self) -> Vec<i64> {
        self.since.values().copied().collect()
    }
}

impl Look {
    fn is_cheap(&self, cheap: Duration) -> bool {
        self.took <= cheap + cheap / ROWS * u32::try_from(self.rows).unwrap_or(u32::MAX)
    }

    /// Nothing is ready before the first of its priority, nor at all where a look that could have taken more found nothing.
    fn moves(&self, since: &mut BTreeMap<Reverse<i32>, i64>) {
        if self.short {
            since.values_mut().for_each(|since| *since = self.now - MARGIN_MS);
        }
        since.entry(Reverse(0)).or_insert(self.now - MARGIN_MS);
        for (priority, ready) in self.taken.iter().rev() {
            if since.len() < PRIORITIES || since.contains_key(&Reverse(*priority)) {
                since.insert(Reverse(*priority), ready - MARGIN_MS);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The world's time of all looks here.
    const NOW: i64 = 1_000_000;
    const LINE: LineOf = LineOf(7);

    fn look(took: u64, short: bool, taken: &[(i32, i64)]) -> Look {
        let took = Duration::from_millis(took);
        Look { began: Instant::now(), took, now: NOW, rows: taken.len(), short, taken: taken.to_vec() }
    }

    fn fronts() -> (Arc<Hints>, Fronts) {
        let hints = Arc::new(Hints::default());
        let hint = Hint { tasks: true, ..Hint::default() };
        (hints.clone(), Fronts::new(hints, hint, CHEAP))
    }

    fn places(fronts: &Fronts) -> Option<(Vec<i32>, Vec<i64>)> {
        fronts.of(LINE).map(|front| (front.priorities(), front.since()))
    }

    #[test]
    fn while_looks_are_cheap_all_are_whole() {
        let (_, fronts) = fronts();
        fronts.looked(LINE, None, &look(3, true, &[]));
        assert_eq!(places(&fronts), None);
        fronts.looked(LINE, None, &look(13, false, &[(0, 7); 200]));
        assert_eq!(places(&fronts), None);
    }

    #[test]
    fn after_one_that_took_long_claims_begin_at_what_it_found_of_each_priority() {
        let (_, fronts) = fronts();
        let first = look(25, false, &[(3, 900_000), (3, 950_000), (0, 400_000)]);
        fronts.looked(LINE, None, &first);
        assert_eq!(places(&fronts), Some((vec![3, 0], vec![899_000, 399_000])));
        assert_eq!(fronts.of(LINE).unwrap().until, first.began + Duration::from_secs(1));
        let long = look(4_000, true, &[]);
        fronts.looked(LINE, None, &long);
        assert_eq!(places(&fronts), Some((vec![3, 0], vec![NOW - MARGIN_MS; 2])));
        assert_eq!(fronts.of(LINE).unwrap().until, long.began + AT_MOST);
    }

    #[tokio::test]
    async fn a_front_goes_on_with_every_look_but_not_past_what_was_not_looked_at() {
        let (_, fronts) = fronts();
        fronts.looked(LINE, None, &look(25, false, &[(3, 500_000), (0, 400_000)]));
        let until = fronts.of(LINE).unwrap().until;
        fronts.looked(LINE, fronts.of(LINE), &look(1, false, &[(3, 600_000), (3, 700_000)]));
        assert_eq!(places(&fronts), Some((vec![3, 0], vec![599_000, 399_000])));
        fronts.looked(LINE, fronts.of(LINE), &look(1, true, &[(0, 800_000)]));
        assert_eq!(places(&fronts), Some((vec![3, 0], vec![NOW - MARGIN_MS, 799_000])));
        assert_eq!(fronts.of(LINE).unwrap().until, until, "only a whole look puts the next one off");
    }

    #[test]
    fn priorities_have_an_end() {
        let (_, fronts) = fronts();
        let many: Vec<(i32, i64)> = (1..100).rev().map(|priority| (priority, 500_000)).collect();
        fronts.looked(LINE, None, &look(50, false, &many));
        assert_eq!(fronts.of(LINE).unwrap().priorities().len(), PRIORITIES);
    }

    #[test]
    fn a_front_is_of_one_line_and_is_forgotten_in_time() {
        let (_, fronts) = fronts();
        fronts.looked(LINE, None, &look(50, true, &[]));
        assert!(fronts.of(LINE).is_some());
        assert_eq!(fronts.of(LineOf::new(&("tenant", "other"))), None);
        fronts.lock().get_mut(&LINE).unwrap().until = Instant::now();
        assert_eq!(fronts.of(LINE), None);
    }

    #[tokio::test]
    async fn whoever_fell_short_is_told_to_look_again() {
        let (hints, fronts) = fronts();
        let mut wakeups = hints.subscribe().tasks;
        wakeups.mark_unchanged();
        fronts.looked(LINE, None, &look(4, true, &[]));
        fronts.looked(LINE, fronts.of(LINE), &look(1, true, &[]));
        wakeups.changed().await.unwrap();
    }
}
