//! Estimates the world's time between its answers. The engine has no clock: it extrapolates from the last
//! answer with the driver's monotonic counter. A late answer does not move the time back. Only a world clock
//! that was set back does, because timers would otherwise be late by that much. The two cases differ by the
//! time of the request: the world read its clock after it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rhythm_core::{Millis, Timestamp};
use tokio::sync::Notify;

/// Milliseconds an answer may be behind the time expected at its request, because clocks differ.
const LATE_ANSWER: u64 = 2_000;
/// If all answers are behind for this many milliseconds, the world's clock was set back.
const SET_BACK: u64 = 3_000;

/// Milliseconds since some fixed moment; never decreases.
pub trait Monotonic: Send + Sync {
    fn millis(&self) -> u64;
}

/// The world's time, as estimated by this process.
#[derive(Clone)]
pub struct WorldTime {
    source: Arc<dyn Monotonic>,
    anchors: Arc<Mutex<Anchors>>,
}

#[derive(Clone, Copy, Default)]
struct Anchors {
    /// Basis of the extrapolated time.
    latest: Anchor,
    /// Since when all answers have been behind it.
    behind: Option<u64>,
    /// The last answer, even if it was behind: the world's clock may have been set back, or run slowly.
    last: Anchor,
}

#[derive(Clone, Copy, Default)]
struct Anchor {
    world: Timestamp,
    own: u64,
}

impl WorldTime {
    /// Starts at time 0; [`Self::observe`] sets the time from the first answer.
    pub fn new(source: Arc<dyn Monotonic>) -> Self {
        Self { source, anchors: Arc::default() }
    }

    /// Records the time in an answer. `asked` is when the request was sent, on the process's own counter.
    pub fn observe(&self, at: Timestamp, asked: u64) {
        let own = self.source.millis();
        let mut anchors = self.lock();
        let told = Anchor { world: at, own };
        if at < extrapolate(anchors.last, asked) || at > extrapolate(anchors.last, own) {
            anchors.last = told;
        }
        let expected = extrapolate(anchors.latest, asked);
        if at.plus(Millis(LATE_ANSWER)) >= expected {
            anchors.behind = None;
        }
        let set_back =
            at < expected && anchors.behind.is_some_and(|since| own.saturating_sub(since) >= SET_BACK);
        if at >= extrapolate(anchors.latest, own) || set_back {
            anchors.latest = told;
            anchors.behind = None;
        } else if at.plus(Millis(LATE_ANSWER)) < expected {
            anchors.behind.get_or_insert(own);
        }
    }

    /// Returns the world's time, as estimated now.
    pub fn now(&self) -> Timestamp {
        extrapolate(self.lock().latest, self.source.millis())
    }

    /// Returns the time until the world's clock reaches `due`, by its last answer.
    pub fn until(&self, due: Timestamp) -> Millis {
        due.since(extrapolate(self.lock().last, self.source.millis()))
    }

    /// The process's own counter, for durations unrelated to the world.
    pub fn own_millis(&self) -> u64 {
        self.source.millis()
    }

    /// Returns a function that tells whether `length` has passed since now.
    pub fn is_over(&self, length: Millis) -> impl Fn() -> bool + '_ {
        let since = self.own_millis();
        move || self.own_millis().saturating_sub(since) >= length.as_u64()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Anchors> {
        self.anchors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the time at `own`, which may be before the anchor.
fn extrapolate(anchor: Anchor, own: u64) -> Timestamp {
    match own.checked_sub(anchor.own) {
        Some(after) => anchor.world.plus(Millis(after)),
        None => Timestamp(anchor.world.millis().saturating_sub_unsigned(anchor.own - own)),
    }
}

/// When the next thing becomes due, as far as this process knows: from its own commits and the last sweep.
/// The driver sleeps no longer than that.
#[derive(Clone, Default)]
pub struct Agenda {
    dues: Arc<Mutex<Dues>>,
    changed: Arc<Notify>,
}

#[derive(Default)]
struct Dues {
    /// Next due time that needs a sweep.
    next: Option<Timestamp>,
    /// Short timers that this process started: their runs are woken up without a sweep.
    short: BTreeSet<Timestamp>,
}

/// Delay of a sweep that is put off because a short timer is due at the same moment.
const PUT_OFF: Millis = Millis(100);
/// Largest number of short timers; sweeps handle the rest.
const MOST_SHORT: usize = 1_000;

impl Agenda {
    /// Records a due time that needs a sweep.
    pub fn note(&self, due: Timestamp) {
        let mut dues = self.lock();
        if dues.next.is_none_or(|known| due < known) {
            dues.next = Some(due);
            self.changed.notify_one();
        }
    }

    /// Records the due time of a short timer.
    pub fn note_short(&self, due: Timestamp) {
        let mut dues = self.lock();
        if dues.short.len() >= MOST_SHORT {
            drop(dues);
            return self.note(due);
        }
        let is_first = dues.short.first().is_none_or(|first| due < *first);
        if dues.short.insert(due) && is_first && dues.next.is_none_or(|next| due < next) {
            self.changed.notify_one();
        }
    }

    /// Returns whether short timers are due and no sweep is. Removes them: the caller wakes up their runs.
    pub fn take_short(&self, now: Timestamp) -> bool {
        let mut dues = self.lock();
        let Some(first) = dues.short.first().copied().filter(|first| *first <= now) else { return false };
        match dues.next {
            // The due time from the last sweep is mostly this same timer.
            Some(next) if dues.short.contains(&next) => dues.next = Some(first.plus(PUT_OFF).max(next)),
            Some(next) if next <= now => return false,
            _ => {}
        }
        dues.short = dues.short.split_off(&now.plus(Millis(1)));
        true
    }

    /// Removes and returns the next due time, before a sweep that reports the next one.
    pub fn take(&self) -> Option<Timestamp> {
        let mut dues = self.lock();
        let short = dues.short.first().copied();
        [dues.next.take(), short].into_iter().flatten().min()
    }

    /// Returns the next due time, if one is known.
    pub fn next(&self) -> Option<Timestamp> {
        let dues = self.lock();
        [dues.next, dues.short.first().copied()].into_iter().flatten().min()
    }

    /// Removes short timers up to this time, because a sweep handled them.
    pub fn forget_short(&self, until: Timestamp) {
        let mut dues = self.lock();
        dues.short = dues.short.split_off(&until.plus(Millis(1)));
    }

    /// Returns whether the next due time is that of a short timer.
    pub fn is_short(&self) -> bool {
        let dues = self.lock();
        dues.short.first().is_some_and(|first| dues.next.is_none_or(|next| *first <= next))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Dues> {
        self.dues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resolves when an earlier due time was recorded.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}

#[cfg(test)]
pub mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Counter that moves only when a test sets it.
    #[derive(Default)]
    pub struct Counter(pub AtomicU64);

    impl Monotonic for Counter {
        fn millis(&self) -> u64 {
            self.0.load(Ordering::SeqCst)
        }
    }

    #[test]
    fn time_runs_on_between_answers_and_never_goes_back() {
        let counter = Arc::new(Counter::default());
        let time = WorldTime::new(counter.clone());
        time.observe(Timestamp(1_000), 0);
        counter.0.store(50, Ordering::SeqCst);
        assert_eq!(time.now(), Timestamp(1_050));
        time.observe(Timestamp(900), 50);
        assert_eq!(time.now(), Timestamp(1_050));
        time.observe(Timestamp(2_000), 50);
        assert_eq!(time.now(), Timestamp(2_000));
    }

    #[test]
    fn time_follows_a_clock_that_was_set_back_but_not_a_late_answer() {
        let counter = Arc::new(Counter::default());
        let time = WorldTime::new(counter.clone());
        let told = |own: u64, at: i64| {
            counter.0.store(own, Ordering::SeqCst);
            time.observe(Timestamp(at), own);
            time.now().millis()
        };
        assert_eq!(told(0, 100_000), 100_000);
        assert_eq!(told(1_000, 90_000), 101_000, "it was long on its way");
        assert_eq!(told(2_000, 102_000), 102_000);
        assert_eq!(told(6_000, 90_000), 106_000, "and so was this one");
        assert_eq!(told(7_000, 91_000), 107_000);
        assert_eq!(told(9_000, 93_000), 93_000, "nobody has said anything else for three seconds");
        assert_eq!(told(10_000, 94_000), 94_000);
    }

    #[test]
    fn answers_that_are_all_long_on_their_way_set_no_clock_back() {
        let counter = Arc::new(Counter::default());
        let time = WorldTime::new(counter.clone());
        time.observe(Timestamp(100_000), 0);
        for (asked, own, at) in [(10, 10_000, 100_020), (20, 14_000, 100_030), (30, 21_000, 100_040)] {
            counter.0.store(own, Ordering::SeqCst);
            time.observe(Timestamp(at), asked);
            let now = 100_000 + i64::try_from(own).unwrap();
            assert_eq!(time.now().millis(), now);
            assert_eq!(time.until(Timestamp(now + 5)), Millis(5), "nor is anything waited for longer");
        }
    }

    #[test]
    fn waiting_follows_a_clock_that_was_set_back() {
        let counter = Arc::new(Counter::default());
        let time = WorldTime::new(counter.clone());
        time.observe(Timestamp(10_000), 0);
        time.observe(Timestamp(1_000), 0);
        counter.0.store(50, Ordering::SeqCst);
        assert_eq!((time.now(), time.until(Timestamp(1_200))), (Timestamp(10_050), Millis(150)));
    }

    #[test]
    fn an_agenda_keeps_the_earliest() {
        let agenda = Agenda::default();
        agenda.note(Timestamp(5));
        agenda.note(Timestamp(9));
        assert_eq!(agenda.take(), Some(Timestamp(5)));
        assert_eq!(agenda.next(), None);
    }

    #[test]
    fn short_timers_need_no_sweep_unless_something_else_is_due() {
        let agenda = Agenda::default();
        agenda.note_short(Timestamp(5));
        agenda.note_short(Timestamp(7));
        assert!(!agenda.take_short(Timestamp(4)));
        assert!(agenda.is_short() && agenda.take_short(Timestamp(5)) && !agenda.take_short(Timestamp(6)));
        assert_eq!(agenda.next(), Some(Timestamp(7)));
        agenda.note(Timestamp(6));
        assert!(!agenda.is_short() && !agenda.take_short(Timestamp(7)), "a sweep sees to both");
        agenda.take();
        agenda.note(Timestamp(7));
        assert!(agenda.take_short(Timestamp(7)), "the sweep before saw this timer coming");
        assert_eq!(agenda.next(), Some(Timestamp(107)), "what else may be due then is not forgotten");
    }
}
