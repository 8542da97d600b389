//! Makes room ahead: partitions of the months to come, where the world has them.

use rhythm_core::Millis;

use crate::process::Process;
use crate::world::{Upkeep, WorldResult};

pub const EVERY: Millis = Millis::from_secs(3_600);

pub async fn run(process: &Process) -> WorldResult<()> {
    process.world.upkeep(Upkeep::Prepare).await?;
    Ok(())
}
