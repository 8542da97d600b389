//! Removes what ended long enough ago.

use rhythm_core::Millis;

use crate::process::Process;
use crate::world::{Upkeep, WorldResult};

pub const EVERY: Millis = Millis::from_secs(600);
const LIMIT: usize = 1_000;

pub async fn run(process: &Process) -> WorldResult<()> {
    process.world.upkeep(Upkeep::Retain { keep: process.config.keep, limit: LIMIT }).await?;
    Ok(())
}
