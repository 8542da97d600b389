//! Marks runs that no live worker can serve and writes a warning into their history, which explains to users
//! why they wait.

use rhythm_core::event::{EventData, Warning};
use rhythm_core::failure::codes;
use rhythm_core::{Actor, Millis, RunId, TenantId};

use crate::process::Process;
use crate::world::*;

/// With [`IDLE`] and the duration of a scan, a run is marked within 30 s after it became ready.
pub const EVERY: Millis = Millis::from_secs(10);
const IDLE: Millis = Millis::from_secs(15);
const LIMIT: usize = 1_000;
/// The warning is written once per this many history rows, however often a run is marked.
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

/// Writes a warning into a run's history, unless its last rows have the same one. Fails with `NotFound` if
/// the run ended.
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
