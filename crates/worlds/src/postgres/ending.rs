//! The ends of runs: moved out of the way after their commit, or, where a whole batch is over, by the commit itself.

use rhythm_core::Failure;
use rhythm_core::fold::End;
use rhythm_engine::world::{CommitItem, Fence};

use super::batch::{Transition, completes};
use super::columns::json;
use super::pipeline::{Owned, params};

/// How runs ended, by column.
#[derive(Default)]
pub struct EndColumns {
    status: Vec<Option<&'static str>>,
    output: Vec<Option<String>>,
    failure: Vec<Option<String>>,
    failed_by: Vec<Option<String>>,
}

impl EndColumns {
    /// A run that goes on has no status here.
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

/// Then all of its messages and timers go with it.
pub fn is_over_for_good(item: &CommitItem) -> bool {
    matches!(item.end, Some(End::Completed(_) | End::Cancelled(_)))
}

/// Whether every run of a batch is over and leaves nothing behind for others. Only then may their rows leave with the fence: rows of
/// runs are locked in the order of their ids, which two statements, one for each kind, would not keep.
pub fn all_are_over(items: &[Transition<'_>]) -> bool {
    items.iter().all(|Transition { item, .. }| {
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
