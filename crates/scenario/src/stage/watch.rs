//! Reads new history of the played runs, and follows the children they start.

use rhythm_core::message::Message;
use rhythm_core::{Event, EventData, RunId};
use rhythm_engine::error::EngineError;
use rhythm_engine::world::*;

use super::{Stage, Way};
use crate::node_stub::called;
use crate::outcome::Call;

impl Stage {
    /// Reads the history rows since the last look.
    pub(super) async fn look(&mut self) -> Result<(), EngineError> {
        let mut runs: Vec<(RunId, u64)> = self.seen.iter().map(|(run, seen)| (run.clone(), *seen)).collect();
        while let Some((run, after)) = runs.pop() {
            let (tenant, limit) = (self.client.tenant().clone(), usize::MAX);
            let rows = self.world.history(HistoryQuery { tenant, run: run.clone(), after, limit }).await?;
            let Some(last) = rows.last() else { continue };
            self.seen.insert(run.clone(), last.seq);
            self.events += rows.len() as u64;
            for row in &rows {
                self.unsettled |= may_cancel(&row.data);
                match &row.data {
                    EventData::StepScheduled(step) => {
                        let input = self.client.load(&step.input).await?;
                        let input = serde_json::from_str(&input).unwrap_or_default();
                        self.calls.push(Call(called(&step.name).to_owned(), input));
                        let task = self.world.task(self.client.tenant(), &run.task(step.task)).await?;
                        let waits = task.filter(|task| task.state == TaskState::Delayed);
                        let until = waits.and_then(|task| Some((task.id, task.deadline_at?)));
                        self.deadlines.extend(until);
                    }
                    EventData::ChildStarted(child) => {
                        let child = run.child(child.child);
                        self.seen.insert(child.clone(), 0);
                        runs.push((child, 0));
                    }
                    _ => {}
                }
            }
            self.watch_graph(&run, &rows).await?;
            let again: Vec<Message> = match self.way {
                Way::Twice => rows.iter().filter_map(Event::to_message).collect(),
                Way::Straight | Way::Reloaded => self.duplicated_answers(&rows),
            };
            self.repeat(&run, again).await?;
        }
        Ok(())
    }

    /// Returns the messages that made nodes under `duplicate` consume their tokens.
    fn duplicated_answers(&self, rows: &[Event]) -> Vec<Message> {
        let (mut last, mut again) = (None, Vec::new());
        if self.duplicated.is_empty() {
            return again;
        }
        for row in rows {
            last = row.to_message().or(last);
            let EventData::NodeConsumed(moved) = &row.data else { continue };
            if self.duplicated.contains(&moved.to) {
                again.extend(last.take());
            }
        }
        again
    }

    /// Delivers consumed messages a second time.
    async fn repeat(&self, run: &RunId, messages: Vec<Message>) -> Result<(), EngineError> {
        if messages.is_empty() {
            return Ok(());
        }
        let again = |message: Message| Delivery { to: run.clone(), message };
        let deliveries: Vec<Delivery> = messages.into_iter().map(again).collect();
        self.world.deliver(Deliver { tenant: self.client.tenant().clone(), deliveries }).await?;
        Ok(())
    }
}

/// Whether the event may come with cancelled tasks. Most events do not.
fn may_cancel(event: &EventData) -> bool {
    !matches!(
        event,
        EventData::WorkflowStarted(_)
            | EventData::StepScheduled(_)
            | EventData::StepCompleted(_)
            | EventData::TimerScheduled(_)
            | EventData::Log(_)
    )
}
