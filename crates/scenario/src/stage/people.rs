//! People: their scripted decisions, made under the engine's rules, and approvals without a scripted
//! decision.

use std::collections::BTreeSet;

use rhythm_core::event::ApprovalCreated;
use rhythm_core::message::ApprovalDecided;
use rhythm_core::{Actor, CommandId, Payload, RunId, Timestamp};
use rhythm_engine::client::{Client, Decide, Decision as Verdict};
use rhythm_engine::error::EngineError;
use rhythm_engine::world::*;
use rhythm_graph::machine::WaitingFor;

use super::{Act, Stage};
use crate::file::{Decision, Says};
use crate::script::seconds;

/// A person's decision about one approval.
pub struct Said {
    run: RunId,
    node: String,
    approval: CommandId,
    decision: Decision,
}

impl Stage {
    /// Plans the decision for this visit. A scripted timeout needs no act if the node has a timer.
    pub(super) fn ask(&mut self, run: &RunId, asked: &ApprovalCreated) {
        let visit = asked.visit.map_or(0, |visit| visit.saturating_sub(1) as usize);
        let decision = self.graphs.decisions.get(&asked.node).and_then(|all| all.get(visit)).cloned();
        let (run, approval, node) = (run.clone(), asked.approval, asked.node.clone());
        let Some(decision) = decision else {
            self.graphs.undecided.insert((run, approval));
            return;
        };
        if decision.decision == Says::Timeout && asked.timeout_at.is_some() {
            return;
        }
        let at = self.start.plus(seconds(decision.at)).max(self.clock.now());
        self.plan(at, Act::Decide(Box::new(Said { run, node, approval, decision })));
    }

    /// Decides an approval under its rules. A decision without a person's name is always allowed.
    pub(super) async fn decide(&mut self, said: &Said) -> Result<(), EngineError> {
        let again = usize::from(self.duplicated.contains(&said.node));
        for _ in 0..self.times() + again {
            let told = match said.decision.decision {
                Says::Approve if said.is_signed() => self.as_themselves(said, Verdict::Approve).await,
                Says::Reject if said.is_signed() => self.as_themselves(said, Verdict::Reject).await,
                _ => self.client.answer_unasked(&said.run, said.unsigned()).await,
            };
            match told {
                Err(error @ (EngineError::NotAnApprover { .. } | EngineError::Invalid(_))) => {
                    self.graphs.undecided.insert((said.run.clone(), said.approval));
                    let note = format!("decisions.{}: {}: {error}", said.node, error.code());
                    if !self.notes.contains(&note) {
                        self.notes.push(note);
                    }
                }
                // The decision came too late.
                Err(
                    EngineError::ApprovalClosed(_) | EngineError::AnswerKept { .. } | EngineError::Ended(_),
                )
                | Ok(()) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn as_themselves(&self, said: &Said, verdict: Verdict) -> Result<(), EngineError> {
        let Decision { by, comments, data, .. } = said.decision.clone();
        let person = Client::new(self.world.clone(), self.client.tenant().clone(), Actor(by));
        let data = Payload::of(&data).unwrap_or_default();
        let asked = Decide::new(said.run.clone(), said.approval, verdict);
        person.decide(&Decide { comments, data, ..asked }).await
    }

    /// Whether the next event is a timeout of an approval that the scenario does not script, with no scripted
    /// act left. Playing ends then, and the run waits for these approvals.
    pub(super) async fn people_are_late_next(&mut self) -> Result<bool, EngineError> {
        let written = self.plans.iter().any(|plan| match &plan.act {
            Act::Answer { late, .. } => !late,
            Act::Hold(_) => false,
            Act::Send(_) | Act::Decide(_) => true,
        });
        if written || self.graphs.undecided.is_empty() {
            return Ok(false);
        }
        let unwritten =
            self.plans.iter().filter(|plan| !matches!(plan.act, Act::Hold(_))).map(|plan| plan.at);
        let mut others: Vec<Timestamp> = unwritten.chain(self.deadlines.values().copied()).collect();
        let mut people: Vec<Timestamp> = Vec::new();
        for run in self.seen.keys().cloned().collect::<Vec<_>>() {
            let picture = self.client.picture(&run).await?;
            let standing = self.standing(&run).await?;
            let waits = standing.iter().flat_map(|standing| &standing.waiting);
            let theirs = waits.filter(|wait| {
                let approval = wait.command.filter(|_| wait.what == WaitingFor::Approval);
                approval.is_some_and(|approval| self.graphs.undecided.contains(&(run.clone(), approval)))
            });
            let theirs: BTreeSet<CommandId> = theirs.flat_map(|wait| wait.timers.iter().copied()).collect();
            for timer in &picture.timers {
                let is_theirs = timer.timer.is_some_and(|timer| theirs.contains(&timer));
                if is_theirs { people.push(timer.due_at) } else { others.push(timer.due_at) }
            }
            let delayed = picture.tasks.iter().filter(|task| task.state == TaskState::Delayed);
            others.extend(delayed.map(|task| task.since));
        }
        let (people, others) = (people.into_iter().min(), others.into_iter().min());
        Ok(people.is_some_and(|late| others.is_none_or(|other| late <= other)))
    }
}

impl Said {
    fn is_signed(&self) -> bool {
        !self.decision.by.is_empty()
    }

    fn unsigned(&self) -> ApprovalDecided {
        let Decision { decision, comments, data, .. } = self.decision.clone();
        let by = if decision == Says::Timeout { "system" } else { "" };
        ApprovalDecided {
            approval: self.approval,
            decision: decision.as_str().to_owned(),
            by: by.to_owned(),
            comments,
            data: Payload::of(&data).unwrap_or_default(),
        }
    }
}
