//! Marks ready runs that no live worker can step, so that people see why they do not move.

use rhythm_core::Millis;

use crate::process::Process;
use crate::world::{Upkeep, WorldResult};

pub const EVERY: Millis = Millis::from_secs(15);
const IDLE: Millis = Millis::from_secs(15);
const LIMIT: usize = 1_000;

pub async fn run(process: &Process) -> WorldResult<()> {
    process.world.upkeep(Upkeep::MarkUnserved { idle: IDLE, limit: LIMIT }).await?;
    Ok(())
}
