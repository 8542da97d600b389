//! A failure handled by its run is not a pending dead letter, and its task is not run again. Every dead
//! letter shows the true state of its run.

use std::collections::BTreeSet;

use rhythm_core::{EventData, Status, TaskId, WorkflowKind};
use rhythm_engine::world::*;

use super::{Applied, Check, Moment, Objection, View};

#[derive(Default)]
pub struct Letters {
    handled: BTreeSet<TaskId>,
}

impl Check for Letters {
    fn name(&self) -> &'static str {
        "letters"
    }

    fn applied(&mut self, applied: &Applied<'_>, _at: &Moment<'_>) -> Result<(), Objection> {
        match applied {
            Applied::Commit(commit, committed) => {
                for (item, outcome) in commit.items.iter().zip(&committed.outcomes) {
                    if matches!(outcome, CommitOutcome::Done(_)) {
                        item.finished.iter().for_each(|finished| self.finished(finished));
                        self.settled(item);
                    }
                }
                Ok(())
            }
            Applied::FinishTasks(request, answers) => {
                let done = request.finished.iter().zip(*answers).filter(|(_, a)| **a == Finish::Done);
                done.for_each(|(finished, _)| self.finished(finished));
                Ok(())
            }
            Applied::Control(request, Controlled::Done) => match &request.control {
                Control::RequeueDead { task } => self.requeued(task),
                Control::Reopen { requeue, .. } => requeue.iter().try_for_each(|task| self.requeued(task)),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn ended(&mut self, view: &View<'_>) -> Result<(), Objection> {
        view.letters.iter().try_for_each(|letter| self.judge(letter, view))
    }
}

impl Letters {
    /// A held task is decided by an operator, even if it lost a race before.
    fn finished(&mut self, finished: &FinishedTask) {
        if matches!(finished.outcome, TaskOutcome::Exhausted { hold: true, .. }) {
            self.handled.remove(&finished.task);
        }
    }

    fn settled(&mut self, item: &CommitItem) {
        for settled in &item.settled {
            let task = item.run.task(settled.task);
            match settled.handled {
                true => self.handled.insert(task),
                false => self.handled.remove(&task),
            };
        }
    }

    fn requeued(&self, task: &TaskId) -> Result<(), Objection> {
        match self.handled.contains(task) {
            true => {
                Err(Objection::of_task(task, "its run handled the failure, and it is run again all the same"))
            }
            false => Ok(()),
        }
    }

    fn judge(&self, letter: &DeadLetter, view: &View<'_>) -> Result<(), Objection> {
        let object = |what: String| Err(Objection::of_task(&letter.task, what));
        match (letter.status, self.handled.contains(&letter.task)) {
            (LetterStatus::Pending, true) if !letter.held => {
                return object("its run handled the failure, and it is a dead letter".to_owned());
            }
            (LetterStatus::Handled, false) => return object("nobody has handled the failure".to_owned()),
            _ => {}
        }
        let Some(seen) = letter.run.as_ref().and_then(|run| view.runs.get(run)) else { return Ok(()) };
        let status = seen.picture.summary.status;
        let fits = match letter.fate {
            Fate::Handled | Fate::Held => true,
            Fate::FailedRun => status == Status::Failed,
            Fate::Unread => status.is_final(),
            Fate::Undecided => !matches!(status, Status::Completed | Status::Cancelled),
            Fate::Standalone => false,
        };
        if !fits {
            return object(format!("its fate is {:?}, its run is {status:?}", letter.fate));
        }
        // A graph handles every failure it receives.
        let heard = || {
            seen.history.iter().any(|event| {
                matches!(&event.data, EventData::StepFailed(failed) if Some(failed.task) == letter.number)
            })
        };
        let of_graph = seen.picture.summary.kind == WorkflowKind::Graph;
        let unread = letter.fate == Fate::Unread && letter.status == LetterStatus::Pending;
        let plain = status == Status::Completed
            && seen.picture.summary.compensation == rhythm_core::Compensation::None;
        if of_graph && unread && plain && heard() {
            return object("its graph completed after it heard of the failure".to_owned());
        }
        Ok(())
    }
}
