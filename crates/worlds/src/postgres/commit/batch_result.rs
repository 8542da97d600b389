//! Reads the result rows of a batch of transitions.

use std::collections::{HashMap, HashSet};

use rhythm_core::Timestamp;
use rhythm_engine::world::{Done, Hint, TaskClaim};
use tokio_postgres::Row;

use crate::postgres::commit::batch::OwnedItem;
use crate::postgres::read::rows::count;

/// Result of a written batch.
pub struct Written {
    pub at: Timestamp,
    /// One for each transition, in order.
    pub done: Vec<Done>,
    pub hint: Hint,
}

/// Positions of the needed result sets among the answers; `None` for a statement that was not sent.
#[derive(Default)]
pub struct Places {
    pub commit: usize,
    pub settle: Option<usize>,
    pub cancel: Option<usize>,
    pub late_tasks: Option<usize>,
    pub children: Option<usize>,
    pub messages: Option<usize>,
}

impl Places {
    pub fn read(&self, items: &[OwnedItem<'_>], answers: &[Vec<Row>]) -> Written {
        let at = answers[self.commit].first().map_or(0, |row| row.get("now"));
        let mut settled: HashMap<(&str, &str), (i64, i64)> = HashMap::new();
        let mut stays = false;
        for row in self.settle.iter().flat_map(|place| &answers[*place]) {
            settled.insert((row.get(0), row.get(1)), (row.get(2), row.get(3)));
            stays |= row.get::<_, bool>(4);
        }
        let mut taken: HashSet<(&str, &str)> = HashSet::new();
        let mut waiting_tasks = false;
        let late = self.late_tasks.iter().flat_map(|place| &answers[*place]);
        for row in answers[self.commit].iter().chain(late) {
            match row.get("taken") {
                Some(true) => drop(taken.insert((row.get("tenant"), row.get("id")))),
                Some(false) => waiting_tasks = true,
                None => {}
            }
        }
        let done = items.iter().map(|OwnedItem { by, item }| {
            // Without a row from `commit_settle`, the values are those the fence checked.
            let told = settled.get(&(by.tenant.as_str(), item.run.as_str()));
            let (revision, arrived) =
                told.map_or((item.revision + 1, item.arrived), |told| (count(told.0), count(told.1)));
            let ours =
                item.tasks.iter().filter(|task| taken.contains(&(by.tenant.as_str(), task.id.as_str())));
            let claimed = ours.map(|task| TaskClaim { task: task.id.clone(), claim: 1 }).collect();
            Done { revision, arrived, claimed }
        });
        let readied =
            self.messages.and_then(|place| answers[place].first()).map_or(0, |row| row.get::<_, i64>(0));
        let flagged =
            self.cancel.and_then(|place| answers[place].first()).map_or(0, |row| row.get::<_, i64>(0));
        let opened = items.iter().any(|t| t.item.cancel_open.is_some());
        let hint = Hint {
            runs: stays || readied > 0 || opened || self.children.is_some(),
            tasks: waiting_tasks,
            cancels: flagged > 0,
        };
        Written { at: Timestamp::from_millis(at), done: done.collect(), hint }
    }
}
