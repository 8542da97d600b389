//! Prepares storage in advance: partitions of the coming months, in worlds that have them.

use rhythm_core::Millis;

use crate::process::Process;
use crate::world::{Upkeep, WorldResult};

pub const EVERY: Millis = Millis::from_secs(3_600);

pub async fn run(process: &Process) -> WorldResult<()> {
    process.world.upkeep(Upkeep::Prepare).await?;
    Ok(())
}
