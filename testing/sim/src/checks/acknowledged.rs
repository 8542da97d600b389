//! I1: a request that was acknowledged to a client took effect.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::{MessageId, RunId, Status};
use rhythm_engine::world::{Control, Controlled, Delivered};

use super::{Applied, Check, Moment, Objection, View};
use crate::client::{Acknowledged as Told, ClientLog};

#[derive(Default)]
pub struct Acknowledged {
    delivered: BTreeMap<RunId, Vec<MessageId>>,
    /// Messages that waited when a run was reopened for compensation. The run drops them and keeps only the
    /// compensation request.
    dropped: BTreeSet<(RunId, MessageId)>,
}

impl Check for Acknowledged {
    fn name(&self) -> &'static str {
        "acknowledged"
    }

    fn applied(&mut self, applied: &Applied<'_>, _at: &Moment<'_>) -> Result<(), Objection> {
        match applied {
            Applied::Deliver(request, answers) => {
                let accepted = request.deliveries.iter().zip(*answers);
                for (delivery, _) in accepted.filter(|(_, answer)| **answer == Delivered::Accepted) {
                    let known = self.delivered.entry(delivery.to.clone()).or_default();
                    known.push(delivery.message.id.clone());
                }
            }
            Applied::Control(request, Controlled::Done) => {
                if let Control::TakeBack { run, .. } = &request.control {
                    let before = self.delivered.remove(run).unwrap_or_default();
                    self.dropped.extend(before.into_iter().map(|message| (run.clone(), message)));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn ended(&mut self, view: &View<'_>) -> Result<(), Objection> {
        let log: &ClientLog = view.client;
        for told in log.acknowledged().iter() {
            match told {
                Told::Started(run) => {
                    if !view.runs.contains_key(run) {
                        return Err(Objection::of_run(run, "its start was acknowledged, it does not exist"));
                    }
                }
                Told::Enqueued(task) => {
                    if !view.tasks.iter().any(|known| known.id == *task) {
                        return Err(Objection::of_task(task, "it was acknowledged, it does not exist"));
                    }
                }
                Told::Delivered(run, message) => self.arrived(view, run, message)?,
            }
        }
        Ok(())
    }
}

impl Acknowledged {
    /// A delivered message was consumed once or still waits. Only a run that ended for good, or was
    /// compensated, may drop messages it never awaited. `inboxes` checks that nothing else was dropped.
    fn arrived(&self, view: &View<'_>, run: &RunId, message: &MessageId) -> Result<(), Objection> {
        let Some(seen) = view.runs.get(run) else {
            return Err(Objection::of_run(
                run,
                format!("{message} was acknowledged, the run does not exist"),
            ));
        };
        let consumed = seen.history.iter().filter(|event| event.message.as_ref() == Some(message)).count();
        let waits = seen.picture.inbox.iter().any(|waiting| waiting.id == *message);
        let over = matches!(seen.picture.summary.status, Status::Completed | Status::Cancelled)
            || self.dropped.contains(&(run.clone(), message.clone()));
        if consumed == 1 || (consumed == 0 && (waits || over)) {
            return Ok(());
        }
        Err(Objection::of_run(run, format!("{message} was acknowledged and consumed {consumed} times")))
    }
}
