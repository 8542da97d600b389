//! Waiting for a condition, with an end. A scenario sleeps only for as long as a fault lasts, or to leave a random moment
//! between two of them; never to let something happen.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A scenario that waits this long for anything has failed.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Whether the condition came true in time.
pub async fn until<F, Fut>(patience: Duration, mut condition: F) -> bool
where
    F: FnMut() -> Fut,
    Fut: Future<Output = bool>,
{
    let give_up = Instant::now() + patience;
    // Looking costs the machine something too.
    let mut pause = Duration::from_millis(10);
    loop {
        if condition().await {
            return true;
        }
        if Instant::now() >= give_up {
            return false;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 3 / 2).min(Duration::from_millis(150));
    }
}

/// The host's wall clock: what ledger, client log and scenarios are compared by.
pub fn wall_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
