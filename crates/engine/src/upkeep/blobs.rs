//! Collects unreferenced blobs in batches: each check reads everything that may refer to a blob.

use rhythm_core::Millis;

use crate::process::Process;
use crate::world::{Upkeep, WorldResult};

pub const EVERY: Millis = Millis::from_secs(3_600);
const LIMIT: usize = 1_000;

/// Largest number of batches per duty; the rest waits for the next.
const LOOKS: usize = 10;

pub async fn run(process: &Process) -> WorldResult<()> {
    for _ in 0..LOOKS {
        let request = Upkeep::CollectBlobs { grace: process.config.blob_grace, limit: LIMIT };
        if process.world.upkeep(request).await?.changed < LIMIT as u64 {
            break;
        }
    }
    Ok(())
}
