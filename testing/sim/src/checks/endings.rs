//! I2 and I12: once the faults are over, every run ends. An ended run leaves no open task, timer or message
//! and no running child.

use rhythm_core::Status;
use rhythm_engine::world::TaskState;

use super::{Check, Objection, View};

pub struct Endings;

impl Check for Endings {
    fn name(&self) -> &'static str {
        "endings"
    }

    fn ended(&mut self, view: &View<'_>) -> Result<(), Objection> {
        for (run, seen) in &view.runs {
            let summary = &seen.picture.summary;
            if !summary.status.is_final() {
                let what = format!("still {:?} after the calm: {}", summary.status, waiting_for(seen));
                return Err(Objection::of_run(run, what));
            }
            if !seen.picture.timers.is_empty() && summary.status != Status::Failed {
                return Err(Objection::of_run(run, "it ended and still has timers"));
            }
            if seen.picture.output.is_some() != (summary.status == Status::Completed) {
                return Err(Objection::of_run(run, "only a completed run has an output"));
            }
            let cut_short = matches!(summary.status, Status::Cancelled);
            let running = seen.picture.children.iter().find(|child| !child.status.is_final());
            if let (true, Some(child)) = (cut_short, running) {
                return Err(Objection::of_run(
                    run,
                    format!("it was cancelled, its child {} runs on", child.id),
                ));
            }
        }
        for task in &view.tasks {
            let open = matches!(task.state, TaskState::Delayed | TaskState::Ready | TaskState::Running);
            if open || task.state == TaskState::Held {
                return Err(Objection::of_task(&task.id, format!("still {:?} after the calm", task.state)));
            }
        }
        for queue in &view.queues {
            if queue.ready + queue.delayed + queue.running + queue.held > 0 {
                return Err(Objection::general(format!("queue {} counts tasks that are gone", queue.name)));
            }
        }
        Ok(())
    }
}

fn waiting_for(seen: &super::Seen) -> String {
    let picture = &seen.picture;
    format!(
        "ready since {:?}, claimed by {:?}, blocked {:?}, awaiting {:?}, {} tasks, {} timers, {} children, inbox {:?}",
        picture.ready_since,
        picture.claimed_by,
        picture.summary.blocked,
        picture.row.awaiting(),
        picture.tasks.len(),
        picture.timers.len(),
        picture.children.len(),
        picture.inbox.iter().map(|message| message.id.as_str()).collect::<Vec<_>>(),
    )
}
