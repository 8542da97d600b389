//! I9, the other half: once the faults are over nothing that was due long ago is still to come, and nothing that
//! could be done is left lying.

use rhythm_core::{Millis, Timestamp};
use rhythm_engine::world::{TaskState, TaskSummary};

use super::{Check, Objection, Seen, View};
use crate::process::Setup;

/// Sweeps and polls come every few seconds.
const BOUND: Millis = Millis(30_000);

/// What a task of the workload takes at most.
const LONGEST_TASK: Millis = Millis(8_000);

const SEVERAL: u64 = 3;

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
        for task in &view.tasks {
            let waits = match task.state {
                TaskState::Delayed => long_ago(task.since),
                TaskState::Ready => is_forgotten(task, view),
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

/// Whether a ready task waits longer than all that is before it can take.
fn is_forgotten(task: &TaskSummary, view: &View<'_>) -> bool {
    let queue = task.options.queue.as_str();
    let paused = view.queues.iter().any(|known| known.paused && known.name == queue);
    // Some tasks have no handler anywhere.
    if paused || task.name == "unknown" {
        return false;
    }
    let at_hand = |other: &&TaskSummary| matches!(other.state, TaskState::Ready | TaskState::Running);
    let at_hand: Vec<&TaskSummary> = view.tasks.iter().filter(at_hand).collect();
    let rooms: usize = view.setups.iter().map(|setup| setup.room_for(queue)).sum();
    // All that can be handed out at once; whoever is behind them has to wait, however long that takes.
    let before = Millis(at_hand.len() as u64 * LONGEST_TASK.as_u64() / rooms.max(1) as u64);
    let patience = BOUND.as_u64() + before.as_u64();
    let waited = view.now.since(task.since).as_u64();
    if !view.setups.iter().all(|setup| is_full(setup, queue, &at_hand)) {
        return waited > patience;
    }
    // While everybody is busy what is urgent goes first, and what is under way brings more of it, for ever maybe. Among
    // equals nobody waits so long that all of them could have gone several times.
    let is_outranked = at_hand
        .iter()
        .any(|other| other.options.queue == queue && other.options.priority > task.options.priority);
    !is_outranked && waited > SEVERAL * patience
}

/// Whether a worker has no room for tasks of a queue.
fn is_full(setup: &Setup, queue: &str, at_hand: &[&TaskSummary]) -> bool {
    let here = |task: &&&TaskSummary| {
        task.state == TaskState::Running && task.worker.as_deref() == Some(setup.name.as_str())
    };
    let of_queue = |task: &&&TaskSummary| here(task) && task.options.queue == queue;
    at_hand.iter().filter(here).count() >= setup.concurrency
        || at_hand.iter().filter(of_queue).count() >= setup.room_for(queue)
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
