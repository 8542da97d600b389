//! Marks runs that no live worker can help, and says so in their history, so that people see why they do not move.

use rhythm_core::event::{EventData, Warning};
use rhythm_core::failure::codes;
use rhythm_core::{Actor, Millis, RunId, TenantId};

use crate::process::Process;
use crate::world::*;

/// With [`IDLE`], and a moment for the look, half a minute after work became ready.
pub const EVERY: Millis = Millis::from_secs(10);
const IDLE: Millis = Millis::from_secs(15);
const LIMIT: usize = 1_000;
/// A run that is marked again and again says so once in so many rows of its history.
const ROWS: u64 = 200;

pub async fn run(process: &Process) -> WorldResult<()> {
    let report = process.world.upkeep(Upkeep::MarkUnserved { idle: IDLE, limit: LIMIT }).await?;
    for (tenant, run, why) in report.unserved {
        match warn(process, tenant, run, why).await {
            // It ended meanwhile.
            Ok(()) | Err(WorldError::NotFound(_) | WorldError::Conflict(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Says in the history of a run that nobody can help it, unless it says so already.
pub async fn warn(process: &Process, tenant: TenantId, run: RunId, message: String) -> WorldResult<()> {
    let Some(picture) = process.world.picture(&tenant, &run).await? else { return Ok(()) };
    let event = EventData::Warning(Warning { code: codes::NO_WORKER.into(), message });
    let after = picture.summary.seq.saturating_sub(ROWS);
    let query = HistoryQuery { tenant: tenant.clone(), run: run.clone(), after, limit: ROWS as usize };
    if process.world.history(query).await?.iter().any(|row| row.data == event) {
        return Ok(());
    }
    tracing::warn!(%run, ?event, "no worker can help this run");
    let request =
        ControlRequest { tenant, actor: Actor::system(), control: Control::Annotate { run, event } };
    process.world.control(request).await.map(|_| ())
}
