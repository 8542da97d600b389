//! The attempts in progress here, counted per queue: every commit needs those counts and must not scan all
//! attempts.

use std::collections::BTreeMap;

use rhythm_core::{RunId, TaskId};

use super::TaskContext;

pub(super) struct Running {
    pub claim: u64,
    pub queue: String,
    pub run: Option<RunId>,
    /// Since when its run has kept this slot through consecutive tasks, by the process's own counter.
    pub turn: u64,
    pub context: TaskContext,
}

#[derive(Default)]
pub(super) struct RunningTasks {
    tasks: BTreeMap<TaskId, Running>,
    queues: BTreeMap<String, usize>,
}

impl RunningTasks {
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Number of running attempts of this queue.
    pub fn of_queue(&self, queue: &str) -> usize {
        self.queues.get(queue).copied().unwrap_or(0)
    }

    pub fn get(&self, task: &TaskId) -> Option<&Running> {
        self.tasks.get(task)
    }

    /// Iterates in the order of task ids.
    pub fn iter(&self) -> impl Iterator<Item = (&TaskId, &Running)> {
        self.tasks.iter()
    }

    /// Adds an attempt. One with the same task id, whose claim was lost, is replaced.
    pub fn insert(&mut self, task: TaskId, running: Running) {
        match self.queues.get_mut(&running.queue) {
            Some(count) => *count += 1,
            None => drop(self.queues.insert(running.queue.clone(), 1)),
        }
        if let Some(before) = self.tasks.insert(task, running) {
            self.leave(&before.queue);
        }
    }

    pub fn remove(&mut self, task: &TaskId) -> Option<Running> {
        let over = self.tasks.remove(task)?;
        self.leave(&over.queue);
        Some(over)
    }

    fn leave(&mut self, queue: &str) {
        if let Some(count) = self.queues.get_mut(queue) {
            *count -= 1;
        }
    }
}
