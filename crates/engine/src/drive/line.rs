//! Results on their way into the world: several batches at once, those of one run one after the other. A second commit of
//! a run would be refused while the first is under way, and its message could overtake.

use std::collections::{HashMap, VecDeque};

use rhythm_core::RunId;

use crate::config::Batches;
use crate::worker::Finished;

pub struct Line {
    sizes: Batches,
    /// Those that can go, in the order they came.
    free: VecDeque<Finished>,
    /// For every run that has results under way those that came after them.
    behind: HashMap<RunId, Vec<Finished>>,
    under_way: usize,
}

impl Line {
    pub fn new(sizes: Batches) -> Self {
        Self { sizes, free: VecDeque::new(), behind: HashMap::new(), under_way: 0 }
    }

    pub fn add(&mut self, results: impl IntoIterator<Item = Finished>) {
        for result in results {
            match result.run().and_then(|run| self.behind.get_mut(run)) {
                Some(behind) => behind.push(result),
                None => self.free.push_back(result),
            }
        }
    }

    /// The next batch, if one should go now.
    pub fn next(&mut self) -> Option<Vec<Finished>> {
        let least = if self.under_way == 0 { 1 } else { self.sizes.beside };
        if self.under_way == self.sizes.at_once || self.free.len() < least {
            return None;
        }
        let batch: Vec<Finished> = self.free.drain(..self.free.len().min(self.sizes.most)).collect();
        for run in batch.iter().filter_map(Finished::run) {
            if !self.behind.contains_key(run) {
                self.behind.insert(run.clone(), Vec::new());
            }
        }
        // What was left has to wait if its run is in this batch.
        let left = std::mem::take(&mut self.free);
        self.add(left);
        self.under_way += 1;
        Some(batch)
    }

    /// A batch is through, or its results are kept elsewhere: those behind it can go.
    pub fn done(&mut self, runs: impl IntoIterator<Item = RunId>) {
        self.under_way -= 1;
        for run in runs {
            self.free.extend(self.behind.remove(&run).unwrap_or_default());
        }
    }
}

/// The runs a batch is about; some may be named more than once.
pub fn runs_of(batch: &[Finished]) -> Vec<RunId> {
    batch.iter().filter_map(Finished::run).cloned().collect()
}

#[cfg(test)]
mod tests {
    use rhythm_core::{CommandId, Payload, TaskOptions, Timestamp};

    use super::*;
    use crate::world::ClaimedTask;

    const SIZES: Batches = Batches { most: 500, at_once: 4, beside: 64 };

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
        let mut line = Line::new(SIZES);
        line.add([result(1, Some("a")), result(2, Some("b"))]);
        let first = line.next().unwrap();
        assert_eq!(ids(&first), ["1", "2"]);
        line.add((3..100).map(|task| result(task, None)));
        line.add([result(100, Some("a")), result(101, Some("c"))]);
        let second = line.next().unwrap();
        assert_eq!(second.len(), 98, "all but the one of a run that is under way");
        assert!(!ids(&second).contains(&"100"));
        assert!(line.next().is_none());
        line.done(runs_of(&first));
        line.done(runs_of(&second));
        assert_eq!(ids(&line.next().unwrap()), ["100"]);
    }

    #[test]
    fn a_batch_goes_beside_others_only_when_it_is_large_and_they_are_few() {
        let mut line = Line::new(SIZES);
        line.add([result(0, None)]);
        assert_eq!(line.next().unwrap().len(), 1, "nobody waits for company");
        line.add((1..SIZES.beside as u64).map(|task| result(task, None)));
        assert!(line.next().is_none());
        line.add([result(SIZES.beside as u64, None)]);
        assert_eq!(line.next().unwrap().len(), SIZES.beside);
        for _ in 2..SIZES.at_once {
            line.add((0..SIZES.beside as u64).map(|task| result(task, None)));
            assert!(line.next().is_some());
        }
        line.add((0..SIZES.beside as u64).map(|task| result(task, None)));
        assert!(line.next().is_none(), "so many are enough");
        line.done([]);
        assert!(line.next().is_some());
    }

    #[test]
    fn what_does_not_fit_waits_for_the_run_it_shares() {
        let mut line = Line::new(SIZES);
        line.add((0..SIZES.most as u64).map(|task| result(task, Some("a"))));
        line.add((0..SIZES.beside as u64).map(|task| result(1_000 + task, Some("a"))));
        let first = line.next().unwrap();
        assert_eq!(first.len(), SIZES.most);
        assert!(line.next().is_none());
        line.done(runs_of(&first));
        assert_eq!(line.next().unwrap().len(), SIZES.beside);
    }
}
