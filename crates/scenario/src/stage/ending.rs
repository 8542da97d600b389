//! Builds the outcome of a run when nothing is left that could move it.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::{BlockedCode, Payload, Status, WorkflowKind};
use rhythm_engine::error::EngineError;
use rhythm_engine::tokens::unclear_of;
use rhythm_engine::world::*;
use rhythm_flow::Flow;
use rhythm_flow::inspect::{Waiting, WaitingKind, describe};
use rhythm_graph::machine::recount;
use rhythm_syntax::did_you_mean::closest;

use super::{Act, Hint, Played, Stage};
use crate::file::Scenario;
use crate::lint;
use crate::outcome::{Call, Ending, Fault, Outcome, value};
use crate::script::ANY;

impl Stage {
    /// Returns the names of what the run waits for. A flow does not list calls that it started without
    /// waiting for them.
    async fn waiting(&mut self, picture: &Picture) -> Result<Vec<String>, EngineError> {
        if self.is_graph {
            let stuck =
                picture.summary.blocked.as_ref().filter(|blocked| blocked.code != BlockedCode::DeadLetter);
            let standing = self.standing(&self.run.clone()).await?.filter(|_| stuck.is_none());
            return Ok(standing.map_or_else(|| waiting(picture), |standing| standing.names()));
        }
        let row = &picture.row;
        let (tenant, workflow, version) =
            (row.tenant.clone(), row.workflow.clone(), Some(row.version.clone()));
        let definition = self.world.definition(DefinitionQuery { tenant, workflow, version }).await?;
        let flow = definition.filter(|definition| definition.kind == WorkflowKind::Flow);
        let flow = flow.and_then(|definition| Flow::load(&definition.compiled).ok());
        let described =
            flow.zip(row.state.snapshot.as_ref()).and_then(|(flow, snapshot)| describe(&flow, snapshot).ok());
        // A run blocked by a dead letter still waits for that task.
        let stuck =
            picture.summary.blocked.as_ref().filter(|blocked| blocked.code != BlockedCode::DeadLetter);
        let Some(described) = described.filter(|_| stuck.is_none()) else {
            return Ok(waiting(picture));
        };
        let kind = |waiting: &Waiting| match waiting.kind {
            WaitingKind::Task => "task",
            WaitingKind::Child => "child",
            WaitingKind::Timer => "timer",
            WaitingKind::Signal => "signal",
        };
        let kinds: BTreeSet<&str> = described.waiting_for.iter().map(kind).collect();
        Ok(kinds.into_iter().map(str::to_owned).collect())
    }

    pub(super) async fn played(mut self, scenario: &Scenario) -> Result<Played, EngineError> {
        let mut histories = BTreeMap::new();
        for run in self.seen.keys() {
            histories.insert(run.clone(), self.client.history(run).await?);
        }
        let mut outcome = self.outcome().await?;
        if self.is_graph {
            let history = histories.get(&self.run).map(Vec::as_slice).unwrap_or_default();
            let counted = recount(history).map_err(|wrong| EngineError::Invalid(wrong.to_string()))?;
            outcome.counter = i64::try_from(counted).ok();
        }
        let unanswered = if outcome.status == Ending::Waiting { self.unanswered() } else { Vec::new() };
        let mut notes = self.notes;
        if self.is_graph {
            let mut known = self.graphs.nodes;
            known.extend(self.rides.own().iter().cloned());
            known.extend(outcome.calls.iter().map(|Call(name, _)| name.clone()));
            notes.extend(lint::about(scenario, &known));
            let left = self.rides.nodes().into_iter().filter(|node| known.contains(node));
            notes.extend(left.map(|node| format!("patches: {node} had no result that one could ride on")));
        }
        for note in histories.values().flatten().filter_map(unclear_of).map(|told| told.to_string()) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes.extend(lint::expects_nothing(scenario));
        let mut hints = self.hints;
        hints.extend(unanswered);
        Ok(Played { outcome, histories, notes, hints })
    }

    /// Returns a hint for each held task that the scenario does not script.
    fn unanswered(&self) -> Vec<Hint> {
        let mut names: Vec<&str> = Vec::new();
        for plan in &self.plans {
            let Act::Hold(task) = &plan.act else { continue };
            let name = self.scripted_name(task);
            if !self.script.answers_for(name) && !names.contains(&name) {
                names.push(name);
            }
        }
        let hint = |name: &str| {
            let others = self.script.unasked().filter(|other| *other != ANY);
            Hint::Unanswered { name: name.to_owned(), near: closest(name, others).map(str::to_owned) }
        };
        names.into_iter().map(hint).collect()
    }

    async fn outcome(&mut self) -> Result<Outcome, EngineError> {
        let picture = self.client.picture(&self.run).await?;
        let status = match picture.summary.status {
            Status::Completed => Ending::Completed,
            Status::Failed => Ending::Failed,
            Status::Cancelled => Ending::Cancelled,
            Status::Pending | Status::Running | Status::Waiting => Ending::Waiting,
        };
        let mut output = picture.output.as_ref().map(value);
        if let Some(large @ Payload::Blob(_)) = &picture.output {
            output = serde_json::from_str(&self.client.load(large).await?).ok();
        }
        let end = picture.summary.ended_at.unwrap_or_else(|| self.clock.now());
        let waiting = if status == Ending::Waiting { self.waiting(&picture).await? } else { Vec::new() };
        let mut counts = self.further.clone();
        for name in &self.order {
            *counts.entry(name.clone()).or_insert(0) += 1;
        }
        Ok(Outcome {
            output,
            error: picture.failure.as_ref().map(Fault::from),
            calls: std::mem::take(&mut self.calls),
            order: std::mem::take(&mut self.order),
            counts,
            waiting,
            patch_rejected: self.graphs.patch_rejected,
            elapsed: end.since(self.start).as_u64() as f64 / 1_000.0,
            ..Outcome::of(status)
        })
    }
}

/// Returns the kinds of things that a run waits for.
fn waiting(picture: &Picture) -> Vec<String> {
    let mut kinds = Vec::new();
    if let Some(blocked) = &picture.summary.blocked {
        kinds.push(format!("{:?}: {}", blocked.code, blocked.detail).to_lowercase());
    }
    let awaits = |named: bool| picture.row.state.awaiting.iter().any(|name| name.starts_with('@') == named);
    for (there, kind) in [
        (awaits(false), "signal"),
        (awaits(true), "approval"),
        (!picture.tasks.is_empty(), "task"),
        (picture.timers.iter().any(|timer| timer.timer.is_some()), "timer"),
        (picture.children.iter().any(|child| !child.status.is_final()), "child"),
    ] {
        if there {
            kinds.push(kind.to_owned());
        }
    }
    kinds
}
