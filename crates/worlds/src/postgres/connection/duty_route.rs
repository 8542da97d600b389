//! Chooses the connection of a periodic duty: the one of claims and commits while the duty is fast, the one
//! on demand if it was slow the last time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::postgres::connection::reconnecting::ReconnectingClient;

/// A duty slower than this delays claims and commits.
const QUICK: Duration = Duration::from_millis(20);
/// A duty faster than this does not wait for a read that is running on the connection on demand.
const BEARABLE: Duration = Duration::from_secs(1);

/// Duration of the last call in microseconds. Before the first call it is just under [`BEARABLE`].
pub struct DutyRoute(AtomicU64);

impl Default for DutyRoute {
    fn default() -> Self {
        Self(AtomicU64::new(BEARABLE.as_micros() as u64 - 1))
    }
}

impl DutyRoute {
    pub async fn link(&self, quick: &ReconnectingClient, slow: &ReconnectingClient) -> ReconnectingClient {
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
