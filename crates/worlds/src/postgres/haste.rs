//! Which connection a periodical duty takes: beside claims and commits as long as it is quick, the one on demand when it
//! took long the last time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::link::Link;

/// What takes longer keeps claims and commits waiting.
const QUICK: Duration = Duration::from_millis(20);
/// Quicker than this it does not wait for a read that goes on.
const BEARABLE: Duration = Duration::from_secs(1);

/// How long a duty took the last time; nobody knows before the first.
pub struct Haste(AtomicU64);

impl Default for Haste {
    fn default() -> Self {
        Self(AtomicU64::new(BEARABLE.as_micros() as u64 - 1))
    }
}

impl Haste {
    pub async fn link(&self, quick: &Link, slow: &Link) -> Link {
        let last = self.last();
        let waits = last > QUICK && (last >= BEARABLE || !slow.is_busy().await);
        if waits { slow.clone() } else { quick.clone() }
    }

    pub async fn timed<T>(&self, duty: impl Future<Output = T>) -> T {
        let began = Instant::now();
        let done = duty.await;
        self.0.store(u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
        done
    }

    fn last(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }
}
