//! `child`: runs another workflow. A node with its own retry policy retries the child; otherwise retries are
//! left to the child.

use rhythm_core::command::{ChildSpec, Command};
use rhythm_core::failure::Failure;
use rhythm_core::id::CommandId;
use rhythm_core::payload::Payload;
use rhythm_core::retry::Verdict;
use rhythm_core::time::{Millis, Timestamp};
use serde_json::Value;

use super::execute::Trouble;
use super::memory::{Visit, Wait};
use super::outcome::hurried;
use super::values::ValueId;
use super::{Machine, Stopped};
use crate::ir::Node;

impl Machine<'_> {
    pub fn start_child(
        &mut self,
        node: &Node,
        config: &Value,
        input: ValueId,
        (since, attempt): (Timestamp, u32),
    ) -> Result<Wait, Trouble> {
        let Some(workflow) = config.get("workflow").and_then(Value::as_str) else {
            return Trouble::bad_config("`workflow` is the name of a workflow");
        };
        let inputs = match config.get("inputs").or_else(|| config.get("input")) {
            Some(inputs) => Payload::of(inputs).expect("values always serialise"),
            None => self.memory.values.get(input).cloned().unwrap_or_default(),
        };
        let child = self.run_child(workflow.to_owned(), inputs, self.left_of(node, since), (node, None));
        let timer = node.timeout.map(|timeout| self.timer(self.input.at.plus(timeout)));
        Ok(Wait::Child { child, timer, attempt })
    }

    /// Returns the rest of a node's deadline, which covers everything since its visit began.
    pub fn left_of(&self, node: &Node, since: Timestamp) -> Option<Millis> {
        let deadline = node.limits.deadline?;
        // At least 1 ms, because started work must end by a deadline of its own.
        Some(deadline.saturating_sub(self.input.at.since(since)).max(Millis(1)))
    }

    /// Starts a child for a node, or for one item of its list.
    pub fn run_child(
        &mut self,
        workflow: String,
        input: Payload,
        deadline: Option<Millis>,
        (node, item): (&Node, Option<u64>),
    ) -> CommandId {
        let (child, label) = (self.number(), node.label.clone());
        let spec = ChildSpec { child, workflow, version: None, input, priority: 0, deadline, label, item };
        self.commands.push(Command::StartChild(spec));
        child
    }

    pub fn child_failed(
        &mut self,
        mut visit: Visit,
        (child, attempt): (CommandId, u32),
        failure: &Failure,
    ) -> Stopped {
        let plan = self.plan.clone();
        let node = plan.node(self.place(&visit.node));
        match self.pause_before_next(node, (child, attempt), failure) {
            Some(delay) if self.is_too_late(&visit, delay) => {
                self.fail_node(visit, Some(child), &hurried(failure.clone().with_attempts(attempt)))
            }
            Some(delay) => {
                let timer = self.timer(self.input.at.plus(delay));
                visit.wait = Wait::Pause { timer, attempt: attempt + 1 };
                self.memory.open.insert(visit.tokens[0].id, visit);
                Ok(())
            }
            None => self.fail_node(visit, Some(child), &failure.clone().with_attempts(attempt)),
        }
    }

    /// Returns the delay before a node retries a failed child, or `None` when it does not.
    pub fn pause_before_next(
        &self,
        node: &Node,
        (child, attempt): (CommandId, u32),
        failure: &Failure,
    ) -> Option<Millis> {
        let key = self.input.facts.run.child(child);
        let policy = node.retry.as_ref()?;
        match policy.verdict(key.as_str(), attempt, &failure.code, &failure.kind, failure.retryable) {
            Verdict::Retry { delay } => Some(delay),
            Verdict::Exhausted => None,
        }
    }

    pub fn try_child(&mut self, mut visit: Visit, attempt: u32) -> Stopped {
        let (plan, place) = (self.plan.clone(), self.place(&visit.node));
        let input = self.input_of(&visit)?;
        let config = match visit.config {
            Some(config) => Ok(Value::clone(&*self.look(config)?)),
            None => self.config_of(place),
        };
        match config
            .and_then(|config| self.start_child(plan.node(place), &config, input, (visit.since, attempt)))
        {
            Ok(wait) => {
                visit.wait = wait;
                self.memory.open.insert(visit.tokens[0].id, visit);
                Ok(())
            }
            Err(Trouble::Node(failure)) => self.fail_node(visit, None, &failure),
            Err(Trouble::Stop(stop)) => Err(stop),
        }
    }
}
