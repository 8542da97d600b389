//! Room for tasks: over all queues and per queue.

use std::collections::BTreeMap;

use rhythm_core::{Millis, TaskSpec};

use super::handler::Handlers;
use crate::config::Config;

/// What a worker could take on, counted down as it is promised.
pub struct Slots<'a> {
    free: usize,
    queues: BTreeMap<String, usize>,
    handlers: &'a Handlers,
}

impl<'a> Slots<'a> {
    pub fn new<'b>(config: &Config, handlers: &'a Handlers, running: impl Iterator<Item = &'b str>) -> Self {
        let mut queues: BTreeMap<String, usize> = config.queues.iter().cloned().collect();
        let mut free = config.concurrency;
        for queue in running {
            free = free.saturating_sub(1);
            if let Some(room) = queues.get_mut(queue) {
                *room = room.saturating_sub(1);
            }
        }
        Self { free, queues, handlers }
    }

    /// No room at all.
    pub fn none(handlers: &'a Handlers) -> Self {
        Self { free: 0, queues: BTreeMap::new(), handlers }
    }

    /// What to ask of each queue: an even share of the room, the odd rest to a different queue each turn.
    pub fn wanted(&self, turn: usize) -> Vec<(String, usize)> {
        let open: Vec<(&String, usize)> =
            self.queues.iter().filter(|(_, room)| **room > 0).map(|(queue, room)| (queue, *room)).collect();
        let count = open.len();
        let share = |place: usize| {
            let extra = (place + turn) % count < self.free % count;
            self.free / count + usize::from(extra)
        };
        let asked = open
            .into_iter()
            .enumerate()
            .map(|(place, (queue, room))| (queue.clone(), room.min(share(place))));
        asked.filter(|(_, limit)| *limit > 0).collect()
    }

    /// Promises room for a task that is about to be created, if this worker could do it at once.
    pub fn take(&mut self, task: &TaskSpec) -> bool {
        let Some(room) = self.queues.get_mut(&task.options.queue) else { return false };
        let fits = self.free > 0 && *room > 0 && task.options.delay == Millis::ZERO;
        if !fits || self.handlers.get(&task.name).is_none() {
            return false;
        }
        self.free -= 1;
        *room -= 1;
        true
    }

    /// Room that becomes free with results about to be committed.
    pub fn give(&mut self, queue: &str) {
        self.free += 1;
        if let Some(room) = self.queues.get_mut(queue) {
            *room = room.saturating_add(1);
        }
    }
}
