//! I9, the other half: once the faults are over nothing that was due long ago is still to come, and nothing that
//! could be done is left lying.

use std::collections::BTreeMap;

use rhythm_core::{Millis, Timestamp};
use rhythm_engine::world::{TaskState, TaskSummary};

use super::{Applied, Check, Moment, Objection, Seen, View};

/// Sweeps and polls come every few seconds.
const BOUND: Millis = Millis(30_000);

/// A schedule fires within a second, and a request takes its time.
const ON_TIME: Millis = Millis(2_000);

/// A worker may be busy so long: with a task until its timeout and after that until it is given up, and then with another queue.
const LONGEST_TURN: Millis = Millis(90_000);

/// When something of each queue was last handed out, in virtual time. What runs claim with their own commits does not count:
/// they must not keep the room for ever that others wait for.
#[derive(Default)]
pub struct Lateness {
    handed_out: BTreeMap<String, u64>,
}

impl Lateness {
    /// Whether a ready task waits in a queue from which nothing was handed out, although whatever kept the workers busy must
    /// be over. Among those that are handed out the order is the world's, which others judge.
    fn is_forgotten(&self, task: &TaskSummary, view: &View<'_>) -> bool {
        let queue = task.options.queue.as_str();
        let paused = view.queues.iter().any(|known| known.paused && known.name == queue);
        let last = self.handed_out.get(queue).copied().unwrap_or_default();
        let idle = Millis(view.virtual_ms.saturating_sub(last));
        // Some tasks have no handler anywhere.
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

/// A message a run could consume now.
fn left_lying(seen: &Seen) -> Option<&str> {
    let row = &seen.picture.row;
    // Before its start a run consumes nothing.
    row.state.snapshot.as_ref()?;
    let consumable = |name: Option<&str>| name.is_none_or(|name| row.awaiting().contains(name));
    let message = seen.picture.inbox.iter().find(|message| consumable(message.body.signal_name()))?;
    Some(message.id.as_str())
}
