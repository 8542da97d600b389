//! Finds the tasks of a fork that ask for the same work as tasks of its origin. Outside services know that
//! work by the key of the first task, so the fork's tasks carry the same key.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rhythm_core::event::{EventData, StepScheduled};
use rhythm_core::{CommandId, Payload, RunId, TaskId, TenantId};
use serde_json::Value;

use crate::travel::origin_by_labels;
use crate::world::*;

/// Number of history rows read at once.
const PAGE: usize = 1_000;
/// With more runs than this, the cache is emptied.
const MOST_RUNS: usize = 1_000;
/// Largest number of forks followed to the first origin.
const MOST_FORKS: usize = 20;

/// Cache of forks and their origins. For a live origin, new rows are read on each use.
#[derive(Debug, Default)]
pub struct Origins {
    /// The origin of each fork, if it has one.
    of: Mutex<HashMap<RunId, Option<RunId>>>,
    asked: Mutex<HashMap<RunId, Asked>>,
}

/// The tasks a run has requested, up to a row of its history.
#[derive(Clone, Debug, Default)]
struct Asked {
    last: u64,
    tasks: BTreeMap<CommandId, StepScheduled>,
}

impl Origins {
    /// Sets `stands_for` of every new task of a fork to the origin's task that asked for the same work.
    pub async fn name(&self, world: &dyn World, tenant: &TenantId, tasks: &mut [NewTask]) -> WorldResult<()> {
        for task in tasks {
            let Some((run, number)) = &task.run else { continue };
            if run.split_fork().is_some() {
                let asked = (*number, task.name.as_str(), &task.input);
                task.options.stands_for = self.task_of(world, tenant, run, asked).await?;
            }
        }
        Ok(())
    }

    /// Records the origin of a fork that does not exist yet, from the labels it will have.
    pub fn know(&self, fork: &RunId, labels: &BTreeMap<String, String>) {
        lock(&self.of).insert(fork.clone(), origin_by_labels(labels).map(|forked| forked.from));
    }

    /// Returns the first task that requested this work, along the chain of forks.
    async fn task_of(
        &self,
        world: &dyn World,
        tenant: &TenantId,
        run: &RunId,
        (number, name, input): (CommandId, &str, &Payload),
    ) -> WorldResult<Option<TaskId>> {
        let mut found = None;
        let mut run = run.clone();
        for _ in 0..MOST_FORKS {
            let Some((fork, path)) = run.split_fork() else { break };
            let Some(origin) = self.origin_of(world, tenant, &fork).await? else { break };
            let same = RunId::new(format!("{origin}{path}"));
            let Some(asked) = self.asked(world, tenant, &same, number).await? else { break };
            if asked.name != name || !is_same(world, tenant, &asked.input, input).await? {
                break;
            }
            found = Some(same.task(number));
            run = same;
        }
        Ok(found)
    }

    async fn origin_of(
        &self,
        world: &dyn World,
        tenant: &TenantId,
        fork: &RunId,
    ) -> WorldResult<Option<RunId>> {
        if let Some(known) = lock(&self.of).get(fork) {
            return Ok(known.clone());
        }
        let Some(picture) = world.picture(tenant, fork).await? else { return Ok(None) };
        let found = origin_by_labels(&picture.summary.labels).map(|forked| forked.from);
        let mut known = lock(&self.of);
        if known.len() >= MOST_RUNS {
            known.clear();
        }
        known.insert(fork.clone(), found.clone());
        Ok(found)
    }

    async fn asked(
        &self,
        world: &dyn World,
        tenant: &TenantId,
        run: &RunId,
        number: CommandId,
    ) -> WorldResult<Option<StepScheduled>> {
        let known = lock(&self.asked).get(run).cloned().unwrap_or_default();
        if let Some(task) = known.tasks.get(&number) {
            return Ok(Some(task.clone()));
        }
        let Asked { mut last, mut tasks } = known;
        loop {
            let query = HistoryQuery { tenant: tenant.clone(), run: run.clone(), after: last, limit: PAGE };
            let page = world.history(query).await?;
            let whole = page.len() < PAGE;
            for row in page {
                last = row.seq;
                if let EventData::StepScheduled(asked) = row.data {
                    tasks.insert(asked.task, asked);
                }
            }
            if whole {
                break;
            }
        }
        let found = tasks.get(&number).cloned();
        let mut known = lock(&self.asked);
        if known.len() >= MOST_RUNS {
            known.clear();
        }
        known.insert(run.clone(), Asked { last, tasks });
        Ok(found)
    }
}

/// Compares two inputs as JSON values.
async fn is_same(world: &dyn World, tenant: &TenantId, one: &Payload, other: &Payload) -> WorldResult<bool> {
    if one == other {
        return Ok(true);
    }
    let (one, other) = (text(world, tenant, one).await?, text(world, tenant, other).await?);
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    Ok(read(&one).is_some_and(|one| Some(one) == read(&other)))
}

async fn text(world: &dyn World, tenant: &TenantId, payload: &Payload) -> WorldResult<String> {
    match payload {
        Payload::Inline(raw) => Ok(raw.get().to_owned()),
        Payload::Blob(blob) => {
            let content = world.read_blob(tenant, blob).await?;
            Ok(String::from_utf8_lossy(&content).into_owned())
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
