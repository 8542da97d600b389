//! Due timers and delayed tasks become ready; claims of the dead are freed.

use rhythm_core::{Millis, Timestamp};

use super::Kept;
use crate::process::Process;
use crate::world::{Upkeep, WorldResult};

/// The longest line of runs, and of tasks, that is made ready or woken up together once it is due for longer than others can ask it
/// to wait. Before, a short line (`storm_line`) gives everybody a turn soon.
const LONG_LINE: usize = 500;
/// Long enough for 100,000 timers by short lines.
const PATIENCE: Millis = Millis::from_secs(28);

/// How many runs, and how many tasks, may become ready at once of what is due since then.
pub fn line(process: &Process, due: Option<Timestamp>) -> usize {
    let late = due.map(|due| process.time.now().since(due));
    if late > Some(PATIENCE) { LONG_LINE } else { process.world.storm_line() }
}

/// `beside` the lines that are being woken up one timer is enough: it tells how late they are.
pub async fn run(process: &Process, beside: bool) -> WorldResult<Kept> {
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
    Ok(Kept { runs_ready: report.runs_ready, tasks_ready: report.tasks_ready, more })
}
