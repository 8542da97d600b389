//! The world's time: the host's clock, or an injected one, never behind the stored high-water mark.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rhythm_core::Timestamp;
use rhythm_engine::world::Clock;

pub struct WorldClock {
    source: Option<Arc<dyn Clock>>,
    /// The latest time anybody was told through this handle, or found stored.
    floor: AtomicI64,
}

impl WorldClock {
    pub fn new(source: Option<Arc<dyn Clock>>) -> Self {
        Self { source, floor: AtomicI64::new(0) }
    }

    pub fn now(&self) -> Timestamp {
        let told = self.source.as_ref().map_or_else(host_time, |clock| clock.now());
        self.raise(told)
    }

    /// Time does not go back behind this any more.
    pub fn raise(&self, mark: Timestamp) -> Timestamp {
        Timestamp(self.floor.fetch_max(mark.millis(), Ordering::SeqCst).max(mark.millis()))
    }
}

fn host_time() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
