//! Due timers and delayed tasks become ready; claims of the dead are freed.

use super::Kept;
use crate::process::Process;
use crate::world::{Upkeep, WorldResult};

/// The longest line of ready runs, and of ready tasks, a sweep makes of what is due: enough to keep everybody busy until
/// the next one, short enough that others get their turn.
const LIMIT: usize = 500;

pub async fn run(process: &Process) -> WorldResult<Kept> {
    process.agenda.take();
    let request = Upkeep::Sweep { limit: LIMIT };
    let report = process.world.upkeep(request).await?;
    process.time.observe(report.at);
    if let Some(due) = report.next_due {
        process.agenda.note(due);
    }
    let more = report.next_due.is_some_and(|due| due <= report.at);
    Ok(Kept { runs_ready: report.runs_ready, tasks_ready: report.tasks_ready, more })
}
