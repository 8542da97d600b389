//! Room for tasks: over all queues and per queue.

use std::collections::BTreeMap;

use rhythm_core::{Millis, TaskSpec};

use super::Worker;

/// What a worker could take on, counted down as it is promised. Room that one request may still use is kept from all
/// others until it is dropped: several are on their way at once, and a worker runs no more than it was told to.
pub struct Slots<'a> {
    free: usize,
    queues: BTreeMap<String, usize>,
    /// What is kept from others.
    kept: Reserved,
    /// The part of it that tasks were promised.
    taken: Reserved,
    worker: &'a Worker,
}

/// Room that requests on their way may use: over all queues, and of each.
#[derive(Clone, Debug, Default)]
pub(super) struct Reserved {
    total: usize,
    queues: BTreeMap<String, usize>,
}

impl Reserved {
    fn add(&mut self, queue: &str, count: usize) {
        *self.queues.entry(queue.to_owned()).or_default() += count;
    }

    fn take(&mut self, queue: &str) {
        self.total += 1;
        self.add(queue, 1);
    }

    pub(super) fn give_back(&mut self, kept: &Self) {
        self.total = self.total.saturating_sub(kept.total);
        for (queue, count) in &kept.queues {
            if let Some(reserved) = self.queues.get_mut(queue) {
                *reserved = reserved.saturating_sub(*count);
            }
        }
    }
}

impl Drop for Slots<'_> {
    fn drop(&mut self) {
        self.worker.lock_reserved().give_back(&self.kept);
    }
}

impl<'a> Slots<'a> {
    /// All the room that neither runs nor is promised to others.
    pub(super) fn all(worker: &'a Worker) -> Self {
        let config = &worker.process.config;
        let running = worker.lock_running();
        let mut reserved = worker.lock_reserved();
        let free = config.concurrency.saturating_sub(running.len()).saturating_sub(reserved.total);
        let mut queues: BTreeMap<String, usize> = config.queues.iter().cloned().collect();
        let mut kept = Reserved { total: free, queues: BTreeMap::new() };
        for (queue, room) in &mut queues {
            *room = room.saturating_sub(running.of_queue(queue));
            *room = room.saturating_sub(reserved.queues.get(queue).copied().unwrap_or(0));
            kept.add(queue, free.min(*room));
        }
        reserved.total += kept.total;
        for (queue, count) in &kept.queues {
            reserved.add(queue, *count);
        }
        drop((running, reserved));
        Self { free, queues, kept, taken: Reserved::default(), worker }
    }

    /// Room that was kept from others by a request that got no answer.
    pub(super) fn keeping(worker: &'a Worker, kept: Reserved) -> Self {
        let mut slots = Self::own(worker);
        slots.kept = kept;
        slots
    }

    /// Keeps the room from others although this request is over.
    pub(super) fn keep(mut self) -> Reserved {
        std::mem::take(&mut self.kept)
    }

    /// Keeps only the room of promised tasks.
    pub(super) fn keep_taken(mut self) -> Reserved {
        let taken = std::mem::take(&mut self.taken);
        self.kept.give_back(&taken);
        taken
    }

    /// Only what becomes free with results about to be committed.
    pub(super) fn own(worker: &'a Worker) -> Self {
        let queues = worker.process.config.queues.iter().map(|(queue, _)| (queue.clone(), 0)).collect();
        Self { free: 0, queues, kept: Reserved::default(), taken: Reserved::default(), worker }
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
        if !fits || self.worker.handlers.get(&task.name).is_none() {
            return false;
        }
        self.free -= 1;
        *room -= 1;
        self.taken.take(&task.options.queue);
        true
    }

    /// Room that becomes free with results about to be committed.
    pub fn give(&mut self, queue: &str) {
        self.free += 1;
        self.kept.take(queue);
        self.worker.lock_reserved().take(queue);
        if let Some(room) = self.queues.get_mut(queue) {
            *room = room.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rhythm_core::{Failure, Payload, WorkerId};

    use super::*;
    use crate::config::Config;
    use crate::memory::MemoryWorld;
    use crate::process::Process;
    use crate::programs::Programs;
    use crate::time::{Monotonic, WorldTime};
    use crate::worker::{Handler, Handlers, TaskContext};

    struct Nothing;

    #[async_trait::async_trait]
    impl Handler for Nothing {
        async fn handle(&self, _: TaskContext, input: Payload) -> Result<Payload, Failure> {
            Ok(input)
        }
    }

    struct Still;

    impl Monotonic for Still {
        fn millis(&self) -> u64 {
            0
        }
    }

    fn worker(concurrency: usize, queues: &[(&str, usize)]) -> Worker {
        let queues = queues.iter().map(|(queue, most)| ((*queue).to_owned(), *most)).collect();
        let config = Config { concurrency, queues, ..Config::new(WorkerId::new("w")) };
        let world = Arc::new(MemoryWorld::new(None));
        let process = Process::new(world, config, Programs::default(), WorldTime::new(Arc::new(Still)));
        let mut handlers = Handlers::default();
        handlers.add("work", Arc::new(Nothing));
        Worker::new(Arc::new(process), handlers, "here".into(), 1)
    }

    fn asked(slots: &Slots<'_>) -> usize {
        slots.wanted(0).iter().map(|(_, count)| count).sum()
    }

    fn task() -> TaskSpec {
        TaskSpec {
            task: rhythm_core::CommandId(1),
            name: "work".into(),
            input: Payload::null(),
            options: Default::default(),
        }
    }

    #[test]
    fn two_requests_on_their_way_share_the_room() {
        let worker = worker(3, &[("default", usize::MAX)]);
        let first = worker.slots();
        let second = worker.slots();
        assert_eq!((asked(&first), asked(&second)), (3, 0));
        drop(first);
        assert_eq!(asked(&worker.slots()), 3, "what was not used is there again");
    }

    #[test]
    fn room_that_becomes_free_is_for_whoever_frees_it() {
        let worker = worker(1, &[("default", 1)]);
        let mut settling = Slots::own(&worker);
        assert!(!settling.take(&task()));
        settling.give("default");
        assert_eq!(asked(&worker.slots()), 0, "it is promised to the run that goes on");
        assert!(settling.take(&task()));
        drop(settling);
        assert_eq!(asked(&worker.slots()), 1);
    }

    #[test]
    fn tasks_of_a_commit_without_an_answer_keep_their_room() {
        let worker = worker(3, &[("default", usize::MAX)]);
        let mut slots = worker.slots();
        assert!(slots.take(&task()));
        worker.keep_room(slots);
        assert_eq!(asked(&worker.slots()), 2, "they may be held here");
        worker.give_room_back();
        assert_eq!(asked(&worker.slots()), 3);
    }

    #[test]
    fn a_queue_has_its_own_limit() {
        let worker = worker(10, &[("default", 2), ("other", 5)]);
        let mut slots = worker.slots();
        assert!(slots.take(&task()) && slots.take(&task()) && !slots.take(&task()));
    }

    #[test]
    fn what_waits_in_the_queues_comes_before_what_is_new() {
        let worker = worker(5, &[("default", 5)]);
        worker.backlog.store(true, std::sync::atomic::Ordering::SeqCst);
        assert!(!worker.slots_for_new().take(&task()));
        worker.backlog.store(false, std::sync::atomic::Ordering::SeqCst);
        assert!(worker.slots_for_new().take(&task()));
    }
}
