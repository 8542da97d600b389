//! Waits for a condition with a time limit. A scenario sleeps only for the length of a fault or for a random
//! pause between two faults, never to give something time to happen.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Longest wait for any condition in a scenario.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Returns whether the condition became true in time.
pub async fn until<F, Fut>(patience: Duration, mut condition: F) -> bool
where
    F: FnMut() -> Fut,
    Fut: Future<Output = bool>,
{
    let give_up = Instant::now() + patience;
    // The pause grows, because checking a condition costs time too.
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

/// Returns the host's wall clock, which ledger, client log and scenarios share.
pub fn wall_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
