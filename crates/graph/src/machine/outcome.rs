//! Ends a visit: with a result that is stored and routed, or with a failure that leads to the node's error
//! path or fails the run.

use rhythm_core::failure::{Failure, codes as task_codes};
use rhythm_core::id::CommandId;
use rhythm_core::payload::Payload;
use rhythm_core::retry::Verdict;
use rhythm_core::task::OnExhausted;
use rhythm_core::time::Millis;
use serde_json::{Value, json};

use super::execute::options_of;
use super::memory::{Done, Undo, Visit, Wait};
use super::values::ValueId;
use super::{Machine, Stop, Stopped, codes};
use crate::ir::NodeKind;

impl Machine<'_> {
    /// Ends a visit with an output from outside as its result.
    pub fn outcome(
        &mut self,
        visit: Visit,
        command: Option<CommandId>,
        output: Payload,
        attempt: u32,
    ) -> Stopped {
        let value = self.memory.values.add(output);
        self.result(visit, command, value, attempt)
    }

    pub fn result(
        &mut self,
        visit: Visit,
        command: Option<CommandId>,
        value: ValueId,
        attempt: u32,
    ) -> Stopped {
        if let Some(failure) = self.unfit_output(&visit, value)? {
            return self.fail_node(visit, command, &failure);
        }
        let Some(visit) = self.ask_for(visit, command, (value, attempt))? else { return Ok(()) };
        let place = self.place(&visit.node);
        if self.plan.node(place).kind != NodeKind::Agent {
            self.record(&visit, value, attempt)?;
            return self.route(visit, command, value);
        }
        match self.take_patch(value)? {
            Some((rest, patch)) => {
                self.record(&visit, rest, attempt)?;
                self.agent_patch(visit, command, rest, patch)
            }
            None => {
                self.record(&visit, value, attempt)?;
                self.route_decided(visit, command, value)
            }
        }
    }

    /// Stores the result for conditions, references and compensators.
    pub fn record(&mut self, visit: &Visit, value: ValueId, attempt: u32) -> Stopped {
        self.check_size(value, &format!("the output of {}", visit.node))?;
        self.remember(visit, value, attempt);
        if self.plan.node(self.place(&visit.node)).compensator.is_some() {
            let (node, config) = (visit.node.clone(), visit.config);
            self.memory.undo.push(Undo { node, value, config });
        }
        Ok(())
    }

    pub fn remember(&mut self, visit: &Visit, value: ValueId, attempt: u32) {
        let (completed_at, duration_ms) = (self.input.at, self.input.at.since(visit.since).as_u64());
        self.memory.done.insert(visit.node.clone(), Done { value, completed_at, duration_ms, attempt });
    }

    /// Returns a task's failure. When its policy allowed a retry but the deadline left no time, the failure
    /// has the deadline's type.
    pub fn out_of_time(&self, visit: &Visit, task: CommandId, failure: &Failure) -> Failure {
        let node = self.plan.node(self.place(&visit.node));
        let (policy, key) = (options_of(node).policy(), self.input.facts.run.task(task));
        let verdict =
            policy.verdict(key.as_str(), failure.attempts, &failure.code, &failure.kind, failure.retryable);
        match verdict {
            Verdict::Retry { delay } if self.is_too_late(visit, delay) => hurried(failure.clone()),
            _ => failure.clone(),
        }
    }

    /// Returns whether the node's deadline comes before the next attempt.
    pub fn is_too_late(&self, visit: &Visit, delay: Millis) -> bool {
        let deadline = self.plan.node(self.place(&visit.node)).limits.deadline;
        deadline.is_some_and(|deadline| self.input.at.plus(delay) >= visit.since.plus(deadline))
    }

    /// Returns the failure of a wait that took too long: a deadline failure when the node's deadline has
    /// passed, else a timeout.
    pub fn late(&self, visit: &Visit, message: impl Into<String>) -> Failure {
        let deadline = self.plan.node(self.place(&visit.node)).limits.deadline;
        let is_over = deadline.is_some_and(|deadline| self.input.at >= visit.since.plus(deadline));
        let code = if is_over { task_codes::DEADLINE_EXCEEDED } else { task_codes::TIMEOUT };
        Failure::permanent(code, message)
    }

    /// Ends a visit without attempts left. A node with `on_exhausted: hold` keeps its tokens; any other
    /// fails.
    pub fn fail_node(&mut self, mut visit: Visit, command: Option<CommandId>, failure: &Failure) -> Stopped {
        let place = self.place(&visit.node);
        if self.plan.node(place).on_exhausted == OnExhausted::Fail {
            return self.give_up(visit, command, failure);
        }
        let why = failure.to_string();
        visit.since = self.input.at;
        visit.wait = Wait::Held { held: self.number(), why };
        self.memory.open.insert(visit.tokens[0].id, visit);
        Ok(())
    }

    /// Sends `{error}` to the error path. Without an error path the run fails.
    pub fn give_up(&mut self, visit: Visit, command: Option<CommandId>, failure: &Failure) -> Stopped {
        let plan = self.plan.clone();
        let node = plan.node(self.place(&visit.node));
        let Some(path) = &node.error_path else {
            return Err(Stop::Failed(Box::new(failure_of_run(&node.id, failure))));
        };
        let value = self.made(json!({"error": shown(&node.id, failure)}));
        self.remember(&visit, value, failure.attempts.max(1));
        self.memory.passes.remove(&visit.node);
        self.emit_as(visit, command, (value, true), path)
    }
}

/// Returns the failure of work that would have been retried if there had been time.
pub fn hurried(mut failure: Failure) -> Failure {
    failure.kind = codes::DEADLINE.to_owned();
    failure.message += &format!("; {}: no time is left for another attempt", codes::DEADLINE);
    failure
}

/// Returns a node's failure as the failure of its run; the type stays that of the cause.
fn failure_of_run(node: &str, cause: &Failure) -> Failure {
    if cause.kind == codes::CONDITION_ERROR && codes::failed_node(&cause.code) == Some(node) {
        return cause.clone();
    }
    let kind = match cause.code.as_str() {
        task_codes::DEADLINE_EXCEEDED => codes::DEADLINE.to_owned(),
        code if cause.kind.is_empty() => code.to_owned(),
        _ => cause.kind.clone(),
    };
    Failure {
        code: format!("{}:{node}", codes::NODE_FAILED),
        message: cause.to_string(),
        kind,
        ..cause.clone()
    }
}

/// Returns a failure in the form nodes and conditions see.
pub fn shown(node: &str, failure: &Failure) -> Value {
    let kind = if failure.kind.is_empty() { &failure.code } else { &failure.kind };
    let mut shown = json!({
        "node": node,
        "code": failure.code,
        "message": failure.message,
        "type": kind,
        "attempts": failure.attempts,
    });
    let data = failure.data.as_ref().and_then(Payload::text).and_then(|text| serde_json::from_str(text).ok());
    if let Some(data) = data {
        shown["data"] = data;
    }
    shown
}
