//! Waits for work to be done, with a limit: work that is stuck counts as lost.

use std::time::{Duration, Instant};

use crate::BenchError;

const PAUSE: Duration = Duration::from_millis(1);
/// When nothing has moved for this long, the work is stuck.
const STUCK: Duration = Duration::from_secs(60);

/// State of the work at one moment.
pub struct Look {
    pub done: bool,
    /// Any number that changes while work is done.
    pub moved: u64,
}

/// Polls until the work is done or stuck.
pub async fn until(mut look: impl AsyncFnMut() -> Result<Look, BenchError>) -> Result<(), BenchError> {
    let (mut moved, mut since) = (u64::MAX, Instant::now());
    loop {
        let now = look().await?;
        if now.done || (now.moved == moved && since.elapsed() > STUCK) {
            return Ok(());
        }
        if now.moved != moved {
            (moved, since) = (now.moved, Instant::now());
        }
        tokio::time::sleep(PAUSE).await;
    }
}
