//! Removes runs and tasks whose retention time is over.

use rhythm_core::Millis;

use crate::process::Process;
use crate::world::{Upkeep, WorldResult};

pub const EVERY: Millis = Millis::from_secs(600);
const LIMIT: usize = 1_000;

/// Largest number of batches per duty. The rest waits for the next, so that other duties run too.
const ROUNDS: usize = 200;

pub async fn run(process: &Process) -> WorldResult<()> {
    for _ in 0..ROUNDS {
        let (keep, keep_failed) = (process.config.keep, process.config.keep_failed);
        let request = Upkeep::Retain { keep, keep_failed, limit: LIMIT };
        if process.world.upkeep(request).await?.changed < LIMIT as u64 {
            break;
        }
    }
    Ok(())
}
