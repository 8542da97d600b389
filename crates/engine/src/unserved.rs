//! Finds work that no live worker can do, at read time: there may be no process to mark it.

use rhythm_core::{Millis, Timestamp};
use serde::Serialize;

use crate::client::Client;
use crate::error::EngineError;
use crate::world::*;

/// Work that has been ready for longer than this is reported.
pub const PATIENCE: Millis = Millis::from_secs(30);

/// Ready work with one need that no live worker meets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unserved {
    /// `task teleport of queue default`, `runs of flow workflow order`.
    pub what: String,
    pub count: u64,
    pub oldest: Timestamp,
    /// Shell command that helps.
    pub command: String,
}

/// Returns work that has been ready for longer than [`PATIENCE`], is not held up, and that no live worker can
/// do.
pub async fn unserved(client: &Client) -> Result<Vec<Unserved>, EngineError> {
    let (world, tenant) = (client.world(), client.tenant());
    let now = world.now().await?;
    let workers = world.workers(tenant).await?;
    let work = world.ready_work(tenant).await?;
    Ok(judge(work, &workers, now))
}

fn judge(work: Vec<ReadyWork>, workers: &[WorkerRow], now: Timestamp) -> Vec<Unserved> {
    let is_lost = |work: &ReadyWork| {
        let able = |worker: &WorkerRow| worker.live && work.need.is_met_by(&worker.card);
        now.since(work.oldest) > PATIENCE && !workers.iter().any(able)
    };
    let tell = |work: ReadyWork| {
        let ReadyWork { need, count, oldest } = work;
        let (what, command) = match need {
            Need::Task { queue, name } => {
                let served = workers.iter().any(|worker| worker.live && worker.card.queues.contains(&queue));
                let command = match served {
                    true => "rhythm workers".to_owned(),
                    false => format!("rhythm worker --queue {queue}"),
                };
                (format!("task {name} of queue {queue}"), command)
            }
            Need::Run { kind, workflow } => {
                (format!("runs of {} workflow {workflow}", kind.as_str()), "rhythm worker".to_owned())
            }
        };
        Unserved { what, count, oldest, command }
    };
    work.into_iter().filter(is_lost).map(tell).collect()
}
