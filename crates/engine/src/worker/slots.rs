//! Task slots, in total and per queue. A claim reserves all free slots until its answer; plans reserve them
//! task by task, so that unused slots stay free for others.

use std::collections::BTreeMap;

use rhythm_core::{Millis, TaskSpec};

use super::Worker;

/// Free slots, counted down as they are promised to tasks. A slot that a request may still use is reserved
/// until this is dropped. Several requests are in flight at once, and a worker never exceeds its configured
/// concurrency.
pub struct Slots<'a> {
    free: usize,
    queues: BTreeMap<String, usize>,
    /// Slots reserved by this request.
    kept: Reserved,
    /// Reserved slots that are promised to tasks.
    taken: Reserved,
    /// Slots of tasks that end with this commit. They are still in `running`.
    given: Reserved,
    /// Whether it reserves more free slots when a task needs one.
    grows: bool,
    worker: &'a Worker,
}

/// Reserved slots, in total and per queue.
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

    fn of(&self, queue: &str) -> usize {
        self.queues.get(queue).copied().unwrap_or(0)
    }

    fn keep(&mut self, kept: &Self) {
        self.total += kept.total;
        for (queue, count) in &kept.queues {
            self.add(queue, *count);
        }
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

impl Worker {
    /// Reserves one free slot of this queue. `own`: the total slot is reserved already, only the queue's is
    /// needed. `given` slots are both in `running` and reserved, so they are subtracted once.
    fn keep_one(&self, queue: &str, own: bool, given: &Reserved) -> bool {
        let config = &self.process.config;
        let Some((_, most)) = config.queues.iter().find(|(name, _)| name == queue) else { return false };
        let running = self.lock_running();
        let mut reserved = self.lock_reserved();
        let total = running.len() + reserved.total - given.total;
        let of_queue = running.of_queue(queue) + reserved.of(queue) - given.of(queue);
        let fits = (own || total < config.concurrency) && of_queue < *most;
        if fits {
            reserved.total += usize::from(!own);
            reserved.add(queue, 1);
        }
        fits
    }
}

impl<'a> Slots<'a> {
    /// Reserves all slots that are neither running nor reserved.
    pub(super) fn all(worker: &'a Worker) -> Self {
        let config = &worker.process.config;
        let running = worker.lock_running();
        let mut reserved = worker.lock_reserved();
        let free = config.concurrency.saturating_sub(running.len()).saturating_sub(reserved.total);
        let mut queues: BTreeMap<String, usize> = config.queues.iter().cloned().collect();
        let mut kept = Reserved { total: free, queues: BTreeMap::new() };
        for (queue, room) in &mut queues {
            *room = room.saturating_sub(running.of_queue(queue));
            *room = room.saturating_sub(reserved.of(queue));
            kept.add(queue, free.min(*room));
        }
        reserved.keep(&kept);
        drop((running, reserved));
        let (taken, given) = Default::default();
        Self { free, queues, kept, taken, given, grows: false, worker }
    }

    /// Reserves a free slot whenever a task needs one.
    pub(super) fn growing(worker: &'a Worker) -> Self {
        let mut slots = Self::own(worker);
        slots.grows = true;
        slots
    }

    /// Takes over the slots of a request that got no answer.
    pub(super) fn keeping(worker: &'a Worker, kept: Reserved) -> Self {
        let mut slots = Self::own(worker);
        slots.kept = kept;
        slots
    }

    /// Keeps the slots reserved after this request is dropped.
    pub(super) fn keep(mut self) -> Reserved {
        std::mem::take(&mut self.kept)
    }

    /// Keeps only the slots of promised tasks reserved.
    pub(super) fn keep_taken(mut self) -> Reserved {
        let taken = std::mem::take(&mut self.taken);
        self.kept.give_back(&taken);
        taken
    }

    /// Starts without slots; only results about to be committed free some.
    pub(super) fn own(worker: &'a Worker) -> Self {
        let queues = worker.process.config.queues.iter().map(|(queue, _)| (queue.clone(), 0)).collect();
        let (kept, taken, given) = Default::default();
        Self { free: 0, queues, kept, taken, given, grows: false, worker }
    }

    /// Returns how many tasks to claim from each queue: an equal share of the slots, with the remainder
    /// rotating by `turn`.
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

    /// Reserves a slot for a task about to be created, if this worker could start it at once.
    pub fn take(&mut self, task: &TaskSpec) -> bool {
        let queue = &task.options.queue;
        let Some(room) = self.queues.get_mut(queue) else { return false };
        if task.options.delay != Millis::ZERO || self.worker.handlers.get(&task.name).is_none() {
            return false;
        }
        let own = self.free > 0;
        if own && *room > 0 {
            *room -= 1;
        } else if self.grows && self.worker.keep_one(queue, own, &self.given) {
            self.kept.total += usize::from(!own);
            self.kept.add(queue, 1);
        } else {
            return false;
        }
        self.free -= usize::from(own);
        self.taken.take(queue);
        true
    }

    /// Adds the slot of a task whose result is about to be committed.
    pub fn give(&mut self, queue: &str) {
        self.free += 1;
        self.given.take(queue);
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
    fn room_that_a_plan_does_not_use_is_there_for_others() {
        let worker = worker(3, &[("default", 2)]);
        let mut one = worker.slots_for_new();
        let mut other = worker.slots_for_new();
        assert!(one.take(&task()) && other.take(&task()));
        assert!(!one.take(&task()), "its queue has no more");
        drop(other);
        assert!(one.take(&task()));
        drop(one);
        assert_eq!(asked(&worker.slots()), 2);
    }

    #[test]
    fn a_run_may_go_on_in_another_queue_with_the_room_it_had() {
        let worker = worker(1, &[("default", 1), ("other", 1)]);
        let mut settling = worker.slots_for_new();
        settling.give("other");
        assert!(settling.take(&task()), "the room of one queue is room for the next task");
        assert!(!settling.take(&task()));
        drop(settling);
        assert_eq!(asked(&worker.slots()), 1);
    }

    #[test]
    fn a_plan_takes_no_room_that_a_claim_on_its_way_may_use() {
        let worker = worker(3, &[("default", usize::MAX)]);
        let mut plan = worker.slots_for_new();
        let claim = worker.slots();
        assert!(!plan.take(&task()));
        drop(claim);
        assert!(plan.take(&task()));
        assert_eq!(asked(&worker.slots()), 2);
    }

    #[test]
    fn tasks_of_a_commit_without_an_answer_keep_their_room() {
        let worker = worker(3, &[("default", usize::MAX)]);
        let mut slots = worker.slots_for_new();
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
