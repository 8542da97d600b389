//! After the faults, gives every run the input it waits for, so that all runs must end. A run that still does
//! not end was forgotten by the engine.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rhythm_core::{Payload, RunId, TaskId};
use rhythm_engine::client::Client;
use rhythm_engine::error::EngineError;
use rhythm_engine::world::*;

use crate::checks::Objection;
use crate::client::decide;
use crate::listing;
use crate::network::Network;

const EVERY_MS: u64 = 2_000;

/// Calls the world directly; its requests are not subject to faults.
pub struct Caretaker {
    pub network: Arc<Network>,
    pub client: Client,
    /// Set when nothing is left to do.
    pub done: Arc<AtomicBool>,
    pub requeued: BTreeSet<TaskId>,
}

impl Caretaker {
    pub async fn work(mut self) {
        let mut round = 0_u64;
        loop {
            round += 1;
            // A request may race with the engine. The next round sees the outcome.
            match self.round(round).await {
                Ok(true) => {
                    self.done.store(true, Ordering::SeqCst);
                    return;
                }
                Err(error) if !may_cross(&error) => {
                    self.network.object("caretaker", Objection::general(error.to_string()));
                    return;
                }
                _ => {}
            }
            self.network.kernel.sleep(EVERY_MS).await;
        }
    }

    /// Returns whether every run and task has ended.
    async fn round(&mut self, round: u64) -> Result<bool, EngineError> {
        let (world, tenant) = (self.client.world().clone(), self.client.tenant().clone());
        for schedule in world.schedules(&tenant).await?.iter().filter(|schedule| !schedule.paused) {
            self.client.control(Control::PauseSchedule { name: schedule.name.clone() }).await?;
        }
        for queue in world.queues(&tenant).await?.into_iter().filter(|queue| queue.paused) {
            self.client.control(Control::ResumeQueue { queue: queue.name }).await?;
        }
        for row in world.workflows(&tenant).await?.into_iter().filter(|row| row.paused) {
            self.client.control(Control::ResumeWorkflow { workflow: row.workflow }).await?;
        }
        let mut ended = true;
        for run in live_runs(&self.client).await? {
            ended = false;
            self.care_for(&run, round).await?;
        }
        let mut tasks = listing::tasks(&self.client).await?;
        // Worlds list tasks of the same millisecond in different orders; sort by id to be deterministic.
        tasks.sort_by(|one, other| one.id.cmp(&other.id));
        for task in tasks {
            match task.state {
                // Some tasks cannot succeed. The second time their letter is discarded, so that the run gets
                // the failure.
                TaskState::Held if self.requeued.insert(task.id.clone()) => {
                    self.client.requeue_dead(&task.id).await?;
                }
                TaskState::Held => self.client.discard_dead(&task.id).await?,
                TaskState::Completed | TaskState::Failed | TaskState::Cancelled => continue,
                TaskState::Delayed | TaskState::Ready | TaskState::Running => {}
            }
            ended = false;
        }
        Ok(ended)
    }

    async fn care_for(&self, run: &RunId, round: u64) -> Result<(), EngineError> {
        let picture = self.client.picture(run).await?;
        if picture.summary.paused {
            let reason = "the calm has come".to_owned();
            self.client.control(Control::ResumeRun { run: run.clone(), reason }).await?;
        }
        let quarantined = picture.summary.blocked.is_some() && picture.ready_since.is_none();
        if quarantined && picture.dead.iter().all(|letter| !letter.held) {
            self.client.retry_run(run, "the calm has come").await?;
        }
        for name in picture.row.awaiting().iter() {
            if name.starts_with("@approval") {
                decide(&self.client, run).await?;
            } else if !name.starts_with('@') {
                let id = format!("calm-{run}-{round}");
                self.client.signal(run, name, Payload::null(), Some(id)).await?;
            }
        }
        Ok(())
    }
}

/// Returns whether the error only means that another process was faster.
fn may_cross(error: &EngineError) -> bool {
    use EngineError::{Ended, PastDeadline, UnknownLetter, World};
    match error {
        World(error) => matches!(error, WorldError::Conflict(_) | WorldError::NotFound(_)),
        error => matches!(error, Ended(_) | PastDeadline(_) | UnknownLetter(_)),
    }
}

async fn live_runs(client: &Client) -> Result<Vec<RunId>, EngineError> {
    Ok(listing::runs(client)
        .await?
        .into_iter()
        .filter(|run| !run.status.is_final())
        .map(|run| run.id)
        .collect())
}
