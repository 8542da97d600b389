//! The world's time between its answers. The engine has no clock: it extrapolates from the last answer with a
//! monotonic counter that the driver hands in, and never goes back.

use std::sync::{Arc, Mutex, PoisonError};

use rhythm_core::{Millis, Timestamp};
use tokio::sync::Notify;

/// Milliseconds since some fixed moment; never decreases.
pub trait Monotonic: Send + Sync {
    fn millis(&self) -> u64;
}

/// What time the world has, as far as this process can tell.
#[derive(Clone)]
pub struct WorldTime {
    source: Arc<dyn Monotonic>,
    anchor: Arc<Mutex<Anchor>>,
}

#[derive(Clone, Copy, Default)]
struct Anchor {
    world: Timestamp,
    own: u64,
}

impl WorldTime {
    pub fn new(source: Arc<dyn Monotonic>) -> Self {
        Self { source, anchor: Arc::default() }
    }

    /// Learns the time an answer carried.
    pub fn observe(&self, at: Timestamp) {
        let own = self.source.millis();
        let mut anchor = self.lock();
        if at >= extrapolate(*anchor, own) {
            *anchor = Anchor { world: at, own };
        }
    }

    pub fn now(&self) -> Timestamp {
        extrapolate(*self.lock(), self.source.millis())
    }

    /// The process's own counter, for lengths that have nothing to do with the world.
    pub fn own_millis(&self) -> u64 {
        self.source.millis()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Anchor> {
        self.anchor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn extrapolate(anchor: Anchor, own: u64) -> Timestamp {
    anchor.world.plus(Millis(own.saturating_sub(anchor.own)))
}

/// When the next thing becomes due, as far as this process knows: what it scheduled itself and what the last
/// sweep told. The driver sleeps no longer than that.
#[derive(Clone, Default)]
pub struct Agenda {
    next: Arc<Mutex<Option<Timestamp>>>,
    changed: Arc<Notify>,
}

impl Agenda {
    /// Something becomes due then.
    pub fn note(&self, due: Timestamp) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if next.is_none_or(|known| due < known) {
            *next = Some(due);
            self.changed.notify_one();
        }
    }

    /// Forgets what is known, for a sweep that will tell anew.
    pub fn take(&self) -> Option<Timestamp> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub fn next(&self) -> Option<Timestamp> {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resolves when something earlier than before was noted.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[derive(Default)]
    struct Counter(AtomicU64);

    impl Monotonic for Counter {
        fn millis(&self) -> u64 {
            self.0.load(Ordering::SeqCst)
        }
    }

    #[test]
    fn time_runs_on_between_answers_and_never_goes_back() {
        let counter = Arc::new(Counter::default());
        let time = WorldTime::new(counter.clone());
        time.observe(Timestamp(1_000));
        counter.0.store(50, Ordering::SeqCst);
        assert_eq!(time.now(), Timestamp(1_050));
        time.observe(Timestamp(900));
        assert_eq!(time.now(), Timestamp(1_050));
        time.observe(Timestamp(2_000));
        assert_eq!(time.now(), Timestamp(2_000));
    }

    #[test]
    fn an_agenda_keeps_the_earliest() {
        let agenda = Agenda::default();
        agenda.note(Timestamp(5));
        agenda.note(Timestamp(9));
        assert_eq!(agenda.take(), Some(Timestamp(5)));
        assert_eq!(agenda.next(), None);
    }
}
