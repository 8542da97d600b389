//! Ends runs: moves them to `ended_run` after their commit, or with the commit if every run of a batch ends.

use rhythm_core::Failure;
use rhythm_core::fold::End;
use rhythm_engine::world::{CommitItem, Fence};

use crate::postgres::commit::batch::{OwnedItem, completes};
use crate::postgres::commit::columns::json;
use crate::postgres::connection::pipeline::{Owned, params};

/// Columns that say how runs ended.
#[derive(Default)]
pub struct EndColumns {
    status: Vec<Option<&'static str>>,
    output: Vec<Option<String>>,
    failure: Vec<Option<String>>,
    failed_by: Vec<Option<String>>,
}

impl EndColumns {
    /// Adds a run. One that goes on has no status here.
    pub fn push(&mut self, item: &CommitItem) {
        let (status, output, failure) = match &item.end {
            Some(End::Completed(output)) => (Some("completed"), Some(output.to_stored()), None),
            Some(End::Failed(failure)) => (Some("failed"), None, Some(json(failure))),
            Some(End::Cancelled(reason)) => {
                (Some("cancelled"), None, Some(json(&Failure::cancelled(reason.clone()))))
            }
            None => (None, None, None),
        };
        self.status.push(status);
        self.output.push(output);
        self.failure.push(failure);
        self.failed_by.push(item.failed_by.as_ref().map(json));
    }

    pub fn into_params<'a>(self) -> Vec<Owned<'a>> {
        params![self.status, self.output, self.failure, self.failed_by]
    }
}

/// Whether a run completed or was cancelled. All its messages and timers are then deleted.
pub fn is_over_for_good(item: &CommitItem) -> bool {
    matches!(item.end, Some(End::Completed(_) | End::Cancelled(_)))
}

/// Whether every run of a batch completes or is cancelled, and the batch changes nothing else. Only then the
/// fence may delete the rows of the runs. A mixed batch would need one statement for each kind, and two
/// statements would not lock the runs in the order of their ids.
pub fn all_are_over(items: &[OwnedItem<'_>]) -> bool {
    items.iter().all(|OwnedItem { item, .. }| {
        let asks_for_nothing =
            item.tasks.is_empty() && item.children.is_empty() && item.deliveries.is_empty();
        let cancels_nothing = item.cancel_tasks.is_empty() && item.cancel_open.is_none();
        is_over_for_good(item)
            && item.fence == Fence::Fused
            && asks_for_nothing
            && cancels_nothing
            && item.settled.is_empty()
            && item.finished.iter().all(|finished| completes(&finished.outcome))
    })
}
