//! Makes due timers and delayed tasks ready; frees claims of dead workers.

use rhythm_core::{Millis, Timestamp};

use super::TickReport;
use crate::process::Process;
use crate::world::{Upkeep, WorldResult};

/// Batch size of runs, and of tasks, once they are overdue by more than `PATIENCE`. Until then the smaller
/// `timer_batch_size` lets other work through early.
const OVERDUE_BATCH: usize = 500;
/// Enough time to drain 100,000 timers in small batches.
const PATIENCE: Millis = Millis::from_secs(28);

/// Number of runs, and of tasks, that may become ready at once, given when the first of them was due.
pub fn line(process: &Process, due: Option<Timestamp>) -> usize {
    let late = due.map(|due| process.time.now().since(due));
    if late > Some(PATIENCE) { OVERDUE_BATCH } else { process.world.timer_batch_size() }
}

/// `beside`: batches are being woken up already. Then one timer is enough, to learn how late they are.
pub async fn run(process: &Process, beside: bool) -> WorldResult<TickReport> {
    let line = line(process, process.agenda.take());
    process.meter.swept();
    let request = Upkeep::Sweep { runs: if beside { 1 } else { line }, tasks: line };
    let asked = process.time.own_millis();
    let report = process.world.upkeep(request).await?;
    process.time.observe(report.at, asked);
    process.agenda.forget_short(report.at);
    if let Some(due) = report.next_due {
        process.agenda.note(due);
    }
    let more = report.next_due.is_some_and(|due| due <= report.at);
    Ok(TickReport { runs_ready: report.runs_ready, tasks_ready: report.tasks_ready, more })
}
