//! I9, the other half: once the faults are over, nothing is long overdue and no available work is left
//! undone.

use std::collections::BTreeMap;

use rhythm_core::{Millis, Timestamp};
use rhythm_engine::world::{TaskState, TaskSummary};

use super::{Applied, Check, Moment, Objection, Seen, View};

/// Longest allowed delay. Sweeps and polls run every few seconds.
const BOUND: Millis = Millis(30_000);

/// Longest allowed delay of a schedule: it fires within a second, and the request takes time as well.
const ON_TIME: Millis = Millis(2_000);

/// Longest time a worker can be busy: one task until its timeout, the time until it is given up, then a turn
/// of another queue.
const LONGEST_TURN: Millis = Millis(90_000);

/// Virtual time at which a task of each queue was last handed out. Tasks claimed by their run's own commit do
/// not count: they must not starve the waiting ones.
#[derive(Default)]
pub struct Lateness {
    handed_out: BTreeMap<String, u64>,
}

impl Lateness {
    /// Returns whether a ready task waits in a queue that handed out nothing for longer than any worker can
    /// be busy. The order within a queue is not judged here.
    fn is_forgotten(&self, task: &TaskSummary, view: &View<'_>) -> bool {
        let queue = task.options.queue.as_str();
        let paused = view.queues.iter().any(|known| known.paused && known.name == queue);
        let last = self.handed_out.get(queue).copied().unwrap_or_default();
        let idle = Millis(view.virtual_ms.saturating_sub(last));
        // Tasks named `unknown` have no handler on any worker.
        let served = !paused && task.name != "unknown";
        served && idle > LONGEST_TURN && view.now.since(task.since) > LONGEST_TURN
    }
}

impl Check for Lateness {
    fn name(&self) -> &'static str {
        "lateness"
    }

    fn applied(&mut self, applied: &Applied<'_>, at: &Moment<'_>) -> Result<(), Objection> {
        if let Applied::ClaimTasks(_, claimed) = applied {
            let queues = claimed.tasks.iter().map(|task| (task.options.queue.clone(), at.virtual_ms));
            self.handed_out.extend(queues);
        }
        Ok(())
    }

    fn settled(&mut self, view: &View<'_>) -> Result<(), Objection> {
        let long_ago = |moment: Timestamp| moment.plus(BOUND) < view.now;
        for (run, seen) in &view.runs {
            if let Some(timer) = seen.picture.timers.iter().find(|timer| long_ago(timer.due_at)) {
                let late = view.now.since(timer.due_at);
                return Err(Objection::of_run(run, format!("{} is {late} late", timer.what)));
            }
            let summary = &seen.picture.summary;
            let may_step = !summary.status.is_final() && !summary.paused && !seen.picture.workflow_paused;
            let open = may_step && summary.blocked.is_none();
            if open && seen.picture.ready_since.is_some_and(long_ago) {
                return Err(Objection::of_run(run, "it is ready, and nobody steps it"));
            }
            if let (true, Some(message)) = (open, left_lying(seen)) {
                return Err(Objection::of_run(run, format!("{message} lies in its inbox, unconsumed")));
            }
        }
        for task in &view.tasks {
            let waits = match task.state {
                TaskState::Delayed => long_ago(task.since),
                TaskState::Ready => self.is_forgotten(task, view),
                TaskState::Running | TaskState::Held => false,
                TaskState::Completed | TaskState::Failed | TaskState::Cancelled => false,
            };
            if waits {
                let late = view.now.since(task.since);
                return Err(Objection::of_task(&task.id, format!("{:?}, {late} after its time", task.state)));
            }
        }
        for schedule in view.schedules.iter().filter(|schedule| !schedule.paused) {
            if schedule.next_at.is_some_and(|due| due.plus(ON_TIME) < view.now) {
                return Err(Objection::general(format!("schedule {} does not fire", schedule.name)));
            }
        }
        Ok(())
    }
}

/// Returns a message the run could consume now, if there is one.
fn left_lying(seen: &Seen) -> Option<&str> {
    let row = &seen.picture.row;
    // A run consumes nothing before its start.
    row.state.snapshot.as_ref()?;
    let consumable = |name: Option<&str>| name.is_none_or(|name| row.awaiting().contains(name));
    let message = seen.picture.inbox.iter().find(|message| consumable(message.body.signal_name()))?;
    Some(message.id.as_str())
}
