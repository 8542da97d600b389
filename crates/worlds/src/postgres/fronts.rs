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
const AT_MOST: Duration = Duration::from_secs(60);
/// Commits under way may still bring what was ready so long ago.
const MARGIN_MS: i64 = 1_000;
/// Every priority is a look of its own; the lowest of more wait for whole looks.
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

    /// Whether the last whole look took long, so that nobody else should wait for the next.
    pub fn are_dear(&self, line: LineOf) -> bool {
        self.lock().contains_key(&line)
    }

    /// A look at everything.
    pub fn looked(&self, line: LineOf, look: &Look) {
        let mut known = self.lock();
        if look.is_cheap(self.cheap) {
            known.remove(&line);
            return;
        }
        // A priority is remembered though none of it is ready now: what comes next of it must not wait for a whole look.
        let mut front = known.remove(&line).map(|front| front.since).unwrap_or_default();
        look.moves(&mut front);
        known.insert(line, Front::new(front, (look.took * SHARE).min(AT_MOST)));
    }

    /// A look from a front on.
    pub fn looked_from(&self, line: LineOf, from: &Front, look: &Look) {
        let mut known = self.lock();
        // Somebody may have looked at everything meanwhile.
        let Some(front) = known.get_mut(&line).filter(|front| front.until == from.until) else { return };
        look.moves(&mut front.since);
        // Whoever got less than it wanted is told when it is time for a whole look.
        if look.short && !front.awaited {
            front.awaited = true;
            let (until, hints, hint) = (front.until, self.hints.clone(), self.hint);
            tokio::spawn(async move {
                tokio::time::sleep_until(until.into()).await;
                hints.heard(hint);
            });
        }
    }

    /// The server gave up a whole look: the next one must not be made at once.
    pub fn gave_up(&self, line: LineOf, now: i64) {
        let mut known = self.lock();
        let fresh = || BTreeMap::from([(Reverse(0), now - MARGIN_MS)]);
        let since = known.remove(&line).map_or_else(fresh, |front| front.since);
        known.insert(line, Front::new(since, AT_MOST));
    }

    /// Something became ready that counts as ready since then: no front may be past it.
    pub fn lower(&self, to: i64) {
        let mut known = self.lock();
        let places = known.values_mut().flat_map(|front| front.since.values_mut());
        places.for_each(|since| *since = to.saturating_sub(MARGIN_MS).min(*since));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LineOf, Front>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Front {
    fn new(since: BTreeMap<Reverse<i32>, i64>, lasting: Duration) -> Self {
        Self { since, until: Instant::now() + lasting, awaited: false }
    }

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

    /// Nothing is ready before the first of its priority, nor at all of one that was looked at to its end in vain.
    fn moves(&self, since: &mut BTreeMap<Reverse<i32>, i64>) {
        let lowest = self.taken.last().map_or(i32::MAX, |(priority, _)| *priority);
        let at_end = since.iter_mut().filter(|(priority, _)| self.short || priority.0 > lowest);
        at_end.for_each(|(_, since)| *since = self.now - MARGIN_MS);
        since.entry(Reverse(0)).or_insert(self.now - MARGIN_MS);
        since
            .extend(self.taken.iter().rev().map(|(priority, ready)| (Reverse(*priority), ready - MARGIN_MS)));
        while since.len() > PRIORITIES {
            since.pop_last();
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
        Look { took, now: NOW, rows: taken.len(), short, taken: taken.to_vec() }
    }

    fn fronts() -> (Arc<Hints>, Fronts) {
        let hints = Arc::new(Hints::default());
        let hint = Hint { tasks: true, ..Hint::default() };
        (hints.clone(), Fronts::new(hints, hint, CHEAP))
    }

    fn places(fronts: &Fronts) -> Option<(Vec<i32>, Vec<i64>)> {
        fronts.of(LINE).map(|front| (front.priorities(), front.since()))
    }

    /// How long the front lasts, in whole seconds, a moment after it was made.
    fn lasting(fronts: &Fronts) -> u64 {
        let left = fronts.of(LINE).unwrap().until.duration_since(Instant::now());
        left.as_secs_f64().ceil() as u64
    }

    #[test]
    fn while_looks_are_cheap_all_are_whole() {
        let (_, fronts) = fronts();
        fronts.looked(LINE, &look(3, true, &[]));
        assert_eq!(places(&fronts), None);
        fronts.looked(LINE, &look(13, false, &[(0, 7); 200]));
        assert_eq!(places(&fronts), None);
    }

    #[test]
    fn after_one_that_took_long_claims_begin_at_what_it_found_of_each_priority() {
        let (_, fronts) = fronts();
        fronts.looked(LINE, &look(250, false, &[(3, 900_000), (3, 950_000), (0, 400_000)]));
        assert_eq!(places(&fronts), Some((vec![3, 0], vec![899_000, 399_000])));
        assert_eq!(lasting(&fronts), 10);
        fronts.looked(LINE, &look(9_000, true, &[]));
        let in_vain = NOW - MARGIN_MS;
        assert_eq!(
            places(&fronts),
            Some((vec![3, 0], vec![in_vain, in_vain])),
            "a priority is not forgotten"
        );
        assert_eq!(lasting(&fronts), AT_MOST.as_secs(), "however long the look took itself");
    }

    #[tokio::test]
    async fn a_front_goes_on_with_every_look_but_not_past_what_was_not_looked_at() {
        let (_, fronts) = fronts();
        fronts.looked(LINE, &look(2_500, false, &[(5, 100_000), (3, 500_000), (0, 400_000)]));
        let first = fronts.of(LINE).unwrap();
        fronts.looked_from(LINE, &first, &look(1, false, &[(3, 600_000), (3, 700_000)]));
        let in_vain = NOW - MARGIN_MS;
        assert_eq!(places(&fronts), Some((vec![5, 3, 0], vec![in_vain, 599_000, 399_000])));
        fronts.looked_from(LINE, &first, &look(1, true, &[(0, 800_000)]));
        assert_eq!(places(&fronts), Some((vec![5, 3, 0], vec![in_vain, in_vain, 799_000])));
        assert_eq!(fronts.of(LINE).unwrap().until, first.until, "only a whole look puts the next one off");
        fronts.looked(LINE, &look(2_500, false, &[(0, 900_000)]));
        let second = places(&fronts);
        fronts.looked_from(LINE, &first, &look(1, true, &[]));
        assert_eq!(places(&fronts), second, "this look began before the last whole one");
    }

    #[test]
    fn what_becomes_ready_late_is_before_no_front() {
        let (_, fronts) = fronts();
        fronts.looked(LINE, &look(2_500, true, &[]));
        fronts.lower(400_000);
        assert_eq!(places(&fronts), Some((vec![0], vec![399_000])));
        fronts.lower(500_000);
        assert_eq!(places(&fronts), Some((vec![0], vec![399_000])));
    }

    #[test]
    fn a_look_that_the_server_gave_up_is_not_made_again_at_once() {
        let (_, fronts) = fronts();
        fronts.gave_up(LINE, NOW);
        assert_eq!(places(&fronts), Some((vec![0], vec![NOW - MARGIN_MS])));
        fronts.looked(LINE, &look(250, false, &[(3, 900_000), (0, 400_000)]));
        let known = places(&fronts);
        fronts.gave_up(LINE, NOW);
        assert_eq!((places(&fronts), lasting(&fronts)), (known, AT_MOST.as_secs()));
    }

    #[test]
    fn of_too_many_priorities_the_lowest_are_left_out() {
        let (_, fronts) = fronts();
        let many: Vec<(i32, i64)> = (1..100).rev().map(|priority| (priority, 500_000)).collect();
        fronts.looked(LINE, &look(2_500, false, &many));
        let highest: Vec<i32> = (0..100).rev().take(PRIORITIES).collect();
        assert_eq!(fronts.of(LINE).unwrap().priorities(), highest);
    }

    #[test]
    fn a_front_is_of_one_line_and_is_forgotten_in_time() {
        let (_, fronts) = fronts();
        fronts.looked(LINE, &look(2_500, true, &[]));
        assert!(fronts.of(LINE).is_some());
        assert_eq!(fronts.of(LineOf::new(&("tenant", "other"))), None);
        fronts.lock().get_mut(&LINE).unwrap().until = Instant::now();
        assert_eq!(fronts.of(LINE), None);
        assert!(fronts.are_dear(LINE), "the next look takes long again");
    }

    #[tokio::test]
    async fn whoever_fell_short_is_told_to_look_again() {
        let (hints, fronts) = fronts();
        let mut wakeups = hints.subscribe().tasks;
        wakeups.mark_unchanged();
        fronts.looked(LINE, &look(10, true, &[]));
        let front = fronts.lock()[&LINE].clone();
        fronts.looked_from(LINE, &front, &look(1, true, &[]));
        wakeups.changed().await.unwrap();
    }
}
