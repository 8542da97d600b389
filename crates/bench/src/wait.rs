//! Waiting for work to be done, but not for ever: what got stuck is lost, and counted as such.

use std::time::{Duration, Instant};

use crate::BenchError;

const PAUSE: Duration = Duration::from_millis(1);
/// When nothing has moved for so long, nothing will.
const STUCK: Duration = Duration::from_secs(60);

/// What is to be seen at one moment.
pub struct Look {
    pub done: bool,
    /// Any number that changes while work is done.
    pub moved: u64,
}

/// Looks again and again until it is done or has got stuck.
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
