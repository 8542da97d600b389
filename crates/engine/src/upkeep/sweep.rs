//! Due timers and delayed tasks become ready; claims of the dead are freed.

use super::Kept;
use crate::process::Process;
use crate::world::{Upkeep, WorldResult};

/// How much one sweep moves: enough to keep up with storms, small enough to let others in between.
const LIMIT: usize = 2_000;

pub async fn run(process: &Process) -> WorldResult<Kept> {
    process.agenda.take();
    let request = Upkeep::Sweep { limit: LIMIT, silence: process.config.silence };
    let report = process.world.upkeep(request).await?;
    process.time.observe(report.at);
    if let Some(due) = report.next_due {
        process.agenda.note(due);
    }
    let more = report.next_due.is_some_and(|due| due <= report.at);
    Ok(Kept { runs_ready: report.runs_ready, tasks_ready: report.tasks_ready, more })
}
