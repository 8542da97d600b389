//! I9, the other half: once the faults are over nothing that was due long ago is still to come, and nothing that
//! could be done is left lying.

use rhythm_core::{Millis, Timestamp};
use rhythm_engine::world::{TaskState, TaskSummary};

use super::{Check, Objection, Seen, View};

/// Sweeps and polls come every few seconds.
const BOUND: Millis = Millis(30_000);

/// What a task of the workload takes at most.
const LONGEST_TASK: Millis = Millis(8_000);

pub struct Lateness;

impl Check for Lateness {
    fn name(&self) -> &'static str {
        "lateness"
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
        // All that can be handed out at once; whoever is behind them has to wait, however long that takes. While everybody is
        // busy that may be for ever: what is urgent goes first, and what is under way brings more of it.
        let running = view.tasks.iter().filter(|task| task.state == TaskState::Running).count();
        let all_busy = running >= view.slots;
        let at_hand = |task: &&TaskSummary| matches!(task.state, TaskState::Ready | TaskState::Running);
        let at_hand = view.tasks.iter().filter(at_hand).count() as u64;
        let queue = Millis(at_hand * LONGEST_TASK.as_u64() / view.slots.max(1) as u64);
        for task in &view.tasks {
            let paused = view.queues.iter().any(|queue| queue.paused && queue.name == task.options.queue);
            let waits = match task.state {
                TaskState::Delayed => long_ago(task.since),
                // Some tasks have no handler anywhere.
                TaskState::Ready => {
                    long_ago(task.since.plus(queue)) && !all_busy && !paused && task.name != "unknown"
                }
                TaskState::Running | TaskState::Held => false,
                TaskState::Completed | TaskState::Failed | TaskState::Cancelled => false,
            };
            if waits {
                let late = view.now.since(task.since);
                return Err(Objection::of_task(&task.id, format!("{:?}, {late} after its time", task.state)));
            }
        }
        for schedule in view.schedules.iter().filter(|schedule| !schedule.paused) {
            if schedule.next_at.is_some_and(long_ago) {
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
