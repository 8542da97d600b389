//! All tasks that were asked for, with their options, recorded from the requests. Used by the checkers that
//! depend on task options.

use std::collections::BTreeMap;

use rhythm_core::{TaskId, TaskOptions, Timestamp};
use rhythm_engine::world::*;

use super::{Applied, Moment};

#[derive(Default)]
pub struct Book(BTreeMap<TaskId, Known>);

pub struct Known {
    pub options: TaskOptions,
    /// Time it was created or last requeued.
    pub since: Timestamp,
    /// Earliest time of its next claim.
    pub due: Timestamp,
}

impl Book {
    pub fn applied(&mut self, applied: &Applied<'_>, at: &Moment<'_>) {
        match applied {
            Applied::EnqueueTasks(request, answers) => {
                let created = request.tasks.iter().zip(*answers).filter(|(_, a)| **a == Creation::Created);
                created.for_each(|(task, _)| self.asked(task, at.now));
            }
            Applied::Commit(commit, committed) => {
                let done = commit.items.iter().zip(&committed.outcomes);
                let done = done.filter(|(_, outcome)| outcome.is_done());
                done.flat_map(|(item, _)| &item.tasks).for_each(|task| self.asked(task, committed.at));
            }
            Applied::FinishTasks(request, answers) => {
                let done = request.finished.iter().zip(*answers).filter(|(_, a)| **a == Finish::Done);
                for (finished, _) in done {
                    if let TaskOutcome::Retry { delay, .. } = &finished.outcome
                        && let Some(known) = self.0.get_mut(&finished.task)
                    {
                        known.due = at.now.plus(*delay);
                    }
                }
            }
            Applied::Control(request, Controlled::Done) => match &request.control {
                Control::RequeueDead { task } => self.starts_anew(task, at.now),
                Control::Reopen { requeue, fresh, .. } => {
                    requeue.iter().for_each(|task| self.starts_anew(task, at.now));
                    for task in fresh.iter().flat_map(|fresh| &fresh.tasks) {
                        self.0.remove(&task.id);
                        self.asked(task, at.now);
                    }
                }
                Control::FireSchedule { tasks, .. } => tasks.iter().for_each(|task| self.asked(task, at.now)),
                _ => {}
            },
            _ => {}
        }
    }

    pub fn task(&self, task: &TaskId) -> Option<&Known> {
        self.0.get(task)
    }

    fn asked(&mut self, task: &NewTask, now: Timestamp) {
        let options = task.options.clone();
        let known = Known { since: now, due: now.plus(options.delay), options };
        self.0.entry(task.id.clone()).or_insert(known);
    }

    /// A requeued task is due at once, and its time limits start again.
    fn starts_anew(&mut self, task: &TaskId, now: Timestamp) {
        if let Some(known) = self.0.get_mut(task) {
            (known.since, known.due) = (now, now);
        }
    }
}
