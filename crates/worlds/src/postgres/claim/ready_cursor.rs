//! Scan cursors for ready work. Finished work leaves dead tuples in the index while an old snapshot is open,
//! and every claim reads past them to the first ready row. When that gets slow, claims begin where the last
//! one found something, with one position per priority. Full scans are then made only from time to time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rhythm_engine::world::Hint;

use crate::postgres::connection::wakeups::WakeupHints;

/// Server time below which a scan counts as fast, besides the allowance per row.
pub const CHEAP: Duration = Duration::from_millis(3);
/// Every row found allows a ROWS-th of that time more.
const ROWS: u32 = 60;
/// The pause after a slow full scan is this multiple of its duration, but at most [`AT_MOST`].
const SHARE: u32 = 40;
/// Longest pause between full scans. Work before the cursor, or of an unknown priority, waits at most this
/// long.
const AT_MOST: Duration = Duration::from_secs(60);
/// Distance the cursor stays behind, because commits under way may add work with an earlier ready time.
const MARGIN_MS: i64 = 1_000;
/// Largest number of priorities with a cursor, because each is a scan of its own. Lower ones wait for full
/// scans.
const PRIORITIES: usize = 16;

/// Identifies what a claim looks for: tenant, queue, and what the worker can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScanKey(u64);

impl ScanKey {
    pub fn new(parts: &impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        parts.hash(&mut hasher);
        Self(hasher.finish())
    }
}

pub struct ReadyCursor {
    known: Mutex<HashMap<ScanKey, Front>>,
    hints: Arc<WakeupHints>,
    /// Wake-up to send when the next full scan is due.
    hint: Hint,
    cheap: Duration,
}

/// Start time of the scan for each priority, the highest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Front {
    since: BTreeMap<Reverse<i32>, i64>,
    until: Instant,
    /// A wake-up at `until` is scheduled.
    awaited: bool,
}

/// Result of a scan.
pub struct Look {
    /// Time in the server. Network time would say nothing about dead tuples.
    pub took: Duration,
    pub now: i64,
    pub rows: usize,
    /// It found fewer rows than its limit.
    pub short: bool,
    /// Priority and ready time of all rows found, in the order of the queue.
    pub taken: Vec<(i32, i64)>,
}

impl ReadyCursor {
    pub fn new(hints: Arc<WakeupHints>, hint: Hint, cheap: Duration) -> Self {
        Self { known: Mutex::default(), hints, hint, cheap }
    }

    /// Returns the cursor of a line, or `None` when a full scan is due.
    pub fn of(&self, line: ScanKey) -> Option<Front> {
        self.lock().get(&line).filter(|front| Instant::now() < front.until).cloned()
    }

    /// Whether the last full scan was slow. The next one should then not delay other claims.
    pub fn is_slow(&self, line: ScanKey) -> bool {
        self.lock().contains_key(&line)
    }

    /// Records a full scan.
    pub fn looked(&self, line: ScanKey, look: &Look) {
        let mut known = self.lock();
        if look.is_cheap(self.cheap) {
            known.remove(&line);
            return;
        }
        // Priorities without ready rows are kept: their next row must not wait for a full scan.
        let mut front = known.remove(&line).map(|front| front.since).unwrap_or_default();
        look.moves(&mut front);
        known.insert(line, Front::new(front, (look.took * SHARE).min(AT_MOST)));
    }

    /// Records a scan that began at a cursor.
    pub fn looked_from(&self, line: ScanKey, from: &Front, look: &Look) {
        let mut known = self.lock();
        // Another full scan may have replaced the cursor.
        let Some(front) = known.get_mut(&line).filter(|front| front.until == from.until) else { return };
        look.moves(&mut front.since);
        // A claim that found too little is repeated when the next full scan is due.
        if look.short && !front.awaited {
            front.awaited = true;
            let (until, hints, hint) = (front.until, self.hints.clone(), self.hint);
            tokio::spawn(async move {
                tokio::time::sleep_until(until.into()).await;
                hints.heard(hint);
            });
        }
    }

    /// Records a full scan that the server cancelled, so that the next one is not made at once.
    pub fn gave_up(&self, line: ScanKey, now: i64) {
        let mut known = self.lock();
        let fresh = || BTreeMap::from([(Reverse(0), now - MARGIN_MS)]);
        let since = known.remove(&line).map_or_else(fresh, |front| front.since);
        known.insert(line, Front::new(since, AT_MOST));
    }

    /// Work with this ready time became ready: moves cursors that are past it back.
    pub fn lower(&self, to: i64) {
        let mut known = self.lock();
        let places = known.values_mut().flat_map(|front| front.since.values_mut());
        places.for_each(|since| *since = to.saturating_sub(MARGIN_MS).min(*since));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ScanKey, Front>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Front {
    fn new(since: BTreeMap<Reverse<i32>, i64>, lasting: Duration) -> Self {
        Self { since, until: Instant::now() + lasting, awaited: false }
    }

    /// Priorities, the highest first.
    pub fn priorities(&self) -> Vec<i32> {
        self.since.keys().map(|priority| priority.0).collect()
    }

    /// Start times, in the order of the priorities.
    pub fn since(&self) -> Vec<i64> {
        self.since.values().copied().collect()
    }
}

impl Look {
    fn is_cheap(&self, cheap: Duration) -> bool {
        self.took <= cheap + cheap / ROWS * u32::try_from(self.rows).unwrap_or(u32::MAX)
    }

    /// Moves each priority to its first row found. A priority that was scanned to its end without a row moves
    /// to the present.
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

    /// World time of all scans in these tests.
    const NOW: i64 = 1_000_000;
    const LINE: ScanKey = ScanKey(7);

    fn look(took: u64, short: bool, taken: &[(i32, i64)]) -> Look {
        let took = Duration::from_millis(took);
        Look { took, now: NOW, rows: taken.len(), short, taken: taken.to_vec() }
    }

    fn ready_cursor() -> (Arc<WakeupHints>, ReadyCursor) {
        let hints = Arc::new(WakeupHints::default());
        let hint = Hint { tasks: true, ..Hint::default() };
        (hints.clone(), ReadyCursor::new(hints, hint, CHEAP))
    }

    fn places(ready_cursor: &ReadyCursor) -> Option<(Vec<i32>, Vec<i64>)> {
        ready_cursor.of(LINE).map(|front| (front.priorities(), front.since()))
    }

    /// Remaining lifetime of the cursor in whole seconds, just after it was made.
    fn lasting(ready_cursor: &ReadyCursor) -> u64 {
        let left = ready_cursor.of(LINE).unwrap().until.duration_since(Instant::now());
        left.as_secs_f64().ceil() as u64
    }

    #[test]
    fn while_looks_are_cheap_all_are_whole() {
        let (_, ready_cursor) = ready_cursor();
        ready_cursor.looked(LINE, &look(3, true, &[]));
        assert_eq!(places(&ready_cursor), None);
        ready_cursor.looked(LINE, &look(13, false, &[(0, 7); 200]));
        assert_eq!(places(&ready_cursor), None);
    }

    #[test]
    fn after_one_that_took_long_claims_begin_at_what_it_found_of_each_priority() {
        let (_, ready_cursor) = ready_cursor();
        ready_cursor.looked(LINE, &look(250, false, &[(3, 900_000), (3, 950_000), (0, 400_000)]));
        assert_eq!(places(&ready_cursor), Some((vec![3, 0], vec![899_000, 399_000])));
        assert_eq!(lasting(&ready_cursor), 10);
        ready_cursor.looked(LINE, &look(9_000, true, &[]));
        let in_vain = NOW - MARGIN_MS;
        assert_eq!(
            places(&ready_cursor),
            Some((vec![3, 0], vec![in_vain, in_vain])),
            "a priority is not forgotten"
        );
        assert_eq!(lasting(&ready_cursor), AT_MOST.as_secs(), "however long the look took itself");
    }

    #[tokio::test]
    async fn a_front_goes_on_with_every_look_but_not_past_what_was_not_looked_at() {
        let (_, ready_cursor) = ready_cursor();
        ready_cursor.looked(LINE, &look(2_500, false, &[(5, 100_000), (3, 500_000), (0, 400_000)]));
        let first = ready_cursor.of(LINE).unwrap();
        ready_cursor.looked_from(LINE, &first, &look(1, false, &[(3, 600_000), (3, 700_000)]));
        let in_vain = NOW - MARGIN_MS;
        assert_eq!(places(&ready_cursor), Some((vec![5, 3, 0], vec![in_vain, 599_000, 399_000])));
        ready_cursor.looked_from(LINE, &first, &look(1, true, &[(0, 800_000)]));
        assert_eq!(places(&ready_cursor), Some((vec![5, 3, 0], vec![in_vain, in_vain, 799_000])));
        assert_eq!(
            ready_cursor.of(LINE).unwrap().until,
            first.until,
            "only a whole look puts the next one off"
        );
        ready_cursor.looked(LINE, &look(2_500, false, &[(0, 900_000)]));
        let second = places(&ready_cursor);
        ready_cursor.looked_from(LINE, &first, &look(1, true, &[]));
        assert_eq!(places(&ready_cursor), second, "this look began before the last whole one");
    }

    #[test]
    fn what_becomes_ready_late_is_before_no_front() {
        let (_, ready_cursor) = ready_cursor();
        ready_cursor.looked(LINE, &look(2_500, true, &[]));
        ready_cursor.lower(400_000);
        assert_eq!(places(&ready_cursor), Some((vec![0], vec![399_000])));
        ready_cursor.lower(500_000);
        assert_eq!(places(&ready_cursor), Some((vec![0], vec![399_000])));
    }

    #[test]
    fn a_look_that_the_server_gave_up_is_not_made_again_at_once() {
        let (_, ready_cursor) = ready_cursor();
        ready_cursor.gave_up(LINE, NOW);
        assert_eq!(places(&ready_cursor), Some((vec![0], vec![NOW - MARGIN_MS])));
        ready_cursor.looked(LINE, &look(250, false, &[(3, 900_000), (0, 400_000)]));
        let known = places(&ready_cursor);
        ready_cursor.gave_up(LINE, NOW);
        assert_eq!((places(&ready_cursor), lasting(&ready_cursor)), (known, AT_MOST.as_secs()));
    }

    #[test]
    fn of_too_many_priorities_the_lowest_are_left_out() {
        let (_, ready_cursor) = ready_cursor();
        let many: Vec<(i32, i64)> = (1..100).rev().map(|priority| (priority, 500_000)).collect();
        ready_cursor.looked(LINE, &look(2_500, false, &many));
        let highest: Vec<i32> = (0..100).rev().take(PRIORITIES).collect();
        assert_eq!(ready_cursor.of(LINE).unwrap().priorities(), highest);
    }

    #[test]
    fn a_front_is_of_one_line_and_is_forgotten_in_time() {
        let (_, ready_cursor) = ready_cursor();
        ready_cursor.looked(LINE, &look(2_500, true, &[]));
        assert!(ready_cursor.of(LINE).is_some());
        assert_eq!(ready_cursor.of(ScanKey::new(&("tenant", "other"))), None);
        ready_cursor.lock().get_mut(&LINE).unwrap().until = Instant::now();
        assert_eq!(ready_cursor.of(LINE), None);
        assert!(ready_cursor.is_slow(LINE), "the next look takes long again");
    }

    #[tokio::test]
    async fn whoever_fell_short_is_told_to_look_again() {
        let (hints, ready_cursor) = ready_cursor();
        let mut wakeups = hints.subscribe().tasks;
        wakeups.mark_unchanged();
        ready_cursor.looked(LINE, &look(10, true, &[]));
        let front = ready_cursor.lock()[&LINE].clone();
        ready_cursor.looked_from(LINE, &front, &look(1, true, &[]));
        wakeups.changed().await.unwrap();
    }
}
