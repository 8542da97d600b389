//! Batches results for the world. Several batches may be in flight, but results of one run are sent one after
//! the other: a second commit of a run would be refused while the first is in flight, and its message could
//! overtake.

use std::collections::{HashMap, VecDeque};

use rhythm_core::RunId;

use crate::config::Batches;
use crate::worker::Finished;

/// Results of one process that wait to be sent.
pub struct ResultBatcher {
    sizes: Batches,
    /// Results that can be sent, in order of arrival.
    free: VecDeque<Finished>,
    /// Results that wait for an earlier batch of their run. A run has an entry while one is in flight.
    behind: HashMap<RunId, Vec<Finished>>,
    under_way: usize,
}

impl ResultBatcher {
    pub fn new(sizes: Batches) -> Self {
        Self { sizes, free: VecDeque::new(), behind: HashMap::new(), under_way: 0 }
    }

    /// Adds results. A result waits if its run has one in flight.
    pub fn add(&mut self, results: impl IntoIterator<Item = Finished>) {
        for result in results {
            match result.run().and_then(|run| self.behind.get_mut(run)) {
                Some(behind) => behind.push(result),
                None => self.free.push_back(result),
            }
        }
    }

    /// Returns the next batch, if one should be sent now. `in_hand` counts all tasks of this process,
    /// including those with results in flight.
    pub fn next(&mut self, in_hand: usize) -> Option<Vec<Finished>> {
        let Batches { at_once, beside, few, .. } = self.sizes;
        let goes = match self.under_way {
            0 => !self.free.is_empty(),
            others => in_hand >= few && others < at_once && self.free.len() >= beside,
        };
        if !goes {
            return None;
        }
        let batch: Vec<Finished> = self.free.drain(..self.free.len().min(self.sizes.most)).collect();
        for run in batch.iter().filter_map(Finished::run) {
            if !self.behind.contains_key(run) {
                self.behind.insert(run.clone(), Vec::new());
            }
        }
        // A remaining result waits if its run is in this batch.
        let left = std::mem::take(&mut self.free);
        self.add(left);
        self.under_way += 1;
        Some(batch)
    }

    /// Records that a batch was written, or that its results are kept elsewhere. Results behind it can go.
    pub fn done(&mut self, runs: impl IntoIterator<Item = RunId>) {
        self.under_way -= 1;
        for run in runs {
            self.free.extend(self.behind.remove(&run).unwrap_or_default());
        }
    }
}

/// Returns the runs of a batch, possibly with duplicates.
pub fn runs_of(batch: &[Finished]) -> Vec<RunId> {
    batch.iter().filter_map(Finished::run).cloned().collect()
}

#[cfg(test)]
mod tests {
    use rhythm_core::{CommandId, Payload, TaskOptions, Timestamp};

    use super::*;
    use crate::world::ClaimedTask;

    const SIZES: Batches = Batches { most: 500, at_once: 4, beside: 64, few: 300 };
    const MANY: usize = SIZES.few;

    fn result(task: u64, run: Option<&str>) -> Finished {
        let task = ClaimedTask {
            id: task.to_string().as_str().into(),
            run: run.map(|run| (run.into(), CommandId(task))),
            name: "noop".to_owned(),
            input: Payload::null(),
            options: TaskOptions::default(),
            claim: 1,
            attempt: 1,
            delivery: 1,
            progress: None,
            created_at: Timestamp::default(),
            deadline_at: None,
            trace: None,
        };
        Finished { task, result: Ok(Payload::null()) }
    }

    fn ids(batch: &[Finished]) -> Vec<&str> {
        batch.iter().map(|result| result.task.id.as_str()).collect()
    }

    #[test]
    fn results_of_a_run_wait_for_those_before_them() {
        let mut line = ResultBatcher::new(SIZES);
        line.add([result(1, Some("a")), result(2, Some("b"))]);
        let first = line.next(MANY).unwrap();
        assert_eq!(ids(&first), ["1", "2"]);
        line.add((3..100).map(|task| result(task, None)));
        line.add([result(100, Some("a")), result(101, Some("c"))]);
        let second = line.next(MANY).unwrap();
        assert_eq!(second.len(), 98, "all but the one of a run that is under way");
        assert!(!ids(&second).contains(&"100"));
        assert!(line.next(MANY).is_none());
        line.done(runs_of(&first));
        line.done(runs_of(&second));
        assert_eq!(ids(&line.next(MANY).unwrap()), ["100"]);
    }

    #[test]
    fn a_batch_goes_beside_others_only_when_it_is_large_and_they_are_few() {
        let mut line = ResultBatcher::new(SIZES);
        line.add([result(0, None)]);
        assert_eq!(line.next(MANY).unwrap().len(), 1, "nobody waits for company");
        line.add((1..SIZES.beside as u64).map(|task| result(task, None)));
        assert!(line.next(MANY).is_none());
        line.add([result(SIZES.beside as u64, None)]);
        assert_eq!(line.next(MANY).unwrap().len(), SIZES.beside);
        for _ in 2..SIZES.at_once {
            line.add((0..SIZES.beside as u64).map(|task| result(task, None)));
            assert!(line.next(MANY).is_some());
        }
        line.add((0..SIZES.beside as u64).map(|task| result(task, None)));
        assert!(line.next(MANY).is_none(), "so many are enough");
        line.done([]);
        assert!(line.next(MANY).is_some());
    }

    #[test]
    fn what_does_not_fit_waits_for_the_run_it_shares() {
        let mut line = ResultBatcher::new(SIZES);
        line.add((0..SIZES.most as u64).map(|task| result(task, Some("a"))));
        line.add((0..SIZES.beside as u64).map(|task| result(1_000 + task, Some("a"))));
        let first = line.next(MANY).unwrap();
        assert_eq!(first.len(), SIZES.most);
        assert!(line.next(MANY).is_none());
        line.done(runs_of(&first));
        assert_eq!(line.next(MANY).unwrap().len(), SIZES.beside);
    }

    #[test]
    fn whoever_has_little_in_hand_sends_one_batch_at_a_time() {
        let mut line = ResultBatcher::new(SIZES);
        line.add((0..200).map(|task| result(task, None)));
        assert_eq!(line.next(299).unwrap().len(), 200);
        line.add((0..99).map(|task| result(task, None)));
        assert!(line.next(299).is_none());
        assert_eq!(line.next(300).unwrap().len(), 99, "more was taken on meanwhile");
        line.add((0..64).map(|task| result(task, None)));
        assert!(line.next(299).is_none(), "two are under way, and it has become less");
        line.done([]);
        assert!(line.next(299).is_none());
        line.done([]);
        assert_eq!(line.next(299).unwrap().len(), 64);
    }
}
