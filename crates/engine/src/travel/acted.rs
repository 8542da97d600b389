//! The tasks that a fork of a run repeats and whose handlers may have acted already.

use std::collections::BTreeSet;

use rhythm_core::event::{Event, EventData};
use rhythm_core::failure::codes;
use rhythm_core::state_at_event::Open;
use rhythm_core::{CommandId, RunId, TaskId};
use serde::Serialize;

use crate::client::Client;
use crate::error::EngineError;
use crate::world::*;

/// A task that may be done a second time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Acted {
    pub task: TaskId,
    pub name: String,
    /// `completed`, `failed` or `under way`.
    pub state: &'static str,
}

/// The part of a run after the last event a fork shares with it.
pub struct Rest<'a> {
    pub run: &'a RunId,
    pub after: u64,
    /// Work that was open at that event and is started again.
    pub open: Option<&'a Open>,
}

/// Returns such tasks of the run and of the children that are started again, in the order they were
/// requested.
pub async fn acted(client: &Client, rest: Rest<'_>) -> Result<Vec<Acted>, EngineError> {
    let mut found = Vec::new();
    let open = rest.open.cloned().unwrap_or_default();
    let (tasks, children) = (open.tasks.into_keys().collect(), open.children.into_keys().collect());
    let mut left = vec![(rest.run.clone(), rest.after, tasks, children)];
    while let Some((run, after, tasks, children)) = left.pop() {
        let history = client.history(&run).await?;
        let is_again = |row: &Event, again: &BTreeSet<CommandId>, number: CommandId| {
            row.seq > after || again.contains(&number)
        };
        let mut below = Vec::new();
        for row in &history {
            match &row.data {
                EventData::StepScheduled(asked) if is_again(row, &tasks, asked.task) => {
                    let task = run.task(asked.task);
                    if let Some(state) = state_of(client, &run, &history, asked.task).await? {
                        found.push(Acted { task, name: asked.name.clone(), state });
                    }
                }
                EventData::ChildStarted(child) if is_again(row, &children, child.child) => {
                    below.push((child.run.clone(), 0, BTreeSet::new(), BTreeSet::new()));
                }
                _ => {}
            }
        }
        left.extend(below.into_iter().rev());
    }
    Ok(found)
}

/// Returns `None` for a task that no worker ever claimed.
async fn state_of(
    client: &Client,
    run: &RunId,
    history: &[Event],
    number: CommandId,
) -> Result<Option<&'static str>, EngineError> {
    for row in history {
        match &row.data {
            EventData::StepCompleted(done) if done.task == number => return Ok(Some("completed")),
            EventData::StepFailed(failed) if failed.task == number => {
                let failure = &failed.failure;
                let never_ran = failure.code == codes::CANCELLED && failure.attempts == 0;
                return Ok((!never_ran).then_some("failed"));
            }
            _ => {}
        }
    }
    let summary = client.world().task(client.tenant(), &run.task(number)).await?;
    let untouched = |task: &TaskSummary| {
        let waits = matches!(task.state, TaskState::Delayed | TaskState::Ready);
        waits && task.attempt <= 1 && task.delivery == 0
    };
    Ok(match summary {
        Some(task) if untouched(&task) => None,
        Some(task) if task.state == TaskState::Completed => Some("completed"),
        Some(task) if task.state == TaskState::Failed => Some("failed"),
        _ => Some("under way"),
    })
}
