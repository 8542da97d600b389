//! Approvals: create one, escalate it, read the decision, or end it by timeout. A node that asks has already
//! consumed its tokens; the approval keeps the run open.

use rhythm_core::command::Command;
use rhythm_core::event::{ApprovalCreated, ApprovalEscalated, EventData};
use rhythm_core::failure::Failure;
use rhythm_core::id::CommandId;
use rhythm_core::message::ApprovalDecided;
use rhythm_core::payload::Payload;
use rhythm_core::time::Millis;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::memory::{Visit, Wait};
use super::plan::Plan;
use super::values::ValueId;
use super::{Machine, Stopped, codes};
use crate::ir::{EscalationPolicy, Human, Node};

/// Actor of a decision by timeout.
pub const SYSTEM: &str = "system";
pub const TIMEOUT: &str = "timeout";
const APPROVE: &str = "approve";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub approval: CommandId,
    /// Fires when the approval times out.
    timeout: Option<CommandId>,
    /// Fires at the next escalation step.
    escalation: Option<CommandId>,
    step: usize,
    /// Set when the approval is about an agent's patch; otherwise it is the node's own question.
    pub patch: Option<PatchQuestion>,
    /// Question in the answer of a registered type; otherwise the graph holds the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<OwnQuestion>,
}

/// A question that a handler returned with its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnQuestion {
    pub about: ValueId,
    pub human: Human,
}

/// A result that waits for a decision about the patch that came with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PatchQuestion {
    pub value: ValueId,
    pub patch: ValueId,
    pub command: Option<CommandId>,
}

/// Meaning of a decision.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Approved,
    Rejected,
    /// The approval timed out, and its policy is to fail.
    Failed,
}

impl Decision {
    pub fn is_approval(word: &str) -> bool {
        matches!(word, APPROVE | "approved")
    }
}

impl Question {
    /// Returns the question of an agent's proposal that was asked before the agent's result arrived.
    pub fn about(approval: CommandId, patch: PatchQuestion) -> Self {
        Self { approval, timeout: None, escalation: None, step: 0, patch: Some(patch), own: None }
    }

    pub fn commands(&self) -> Vec<CommandId> {
        [Some(self.approval), self.timeout, self.escalation].into_iter().flatten().collect()
    }

    pub fn value(&self) -> Vec<ValueId> {
        let patch = self.patch.iter().flat_map(|patch| [patch.value, patch.patch]);
        patch.chain(self.own.iter().map(|own| own.about)).collect()
    }

    pub fn timers(&self) -> impl Iterator<Item = CommandId> {
        self.timeout.into_iter().chain(self.escalation)
    }
}

impl Machine<'_> {
    pub fn ask(&mut self, node: &Node, about: ValueId) -> Wait {
        let human = node.human.clone().unwrap_or_default();
        Wait::Person(self.put(node, &human, about, None))
    }

    pub fn put(
        &mut self,
        node: &Node,
        human: &Human,
        about: ValueId,
        patch: Option<PatchQuestion>,
    ) -> Question {
        let approval = self.number();
        let visit = {
            let asked = self.memory.asked.entry(node.id.as_str().into()).or_default();
            *asked += 1;
            *asked
        };
        let timeout_at = given_up_after(human).map(|after| self.input.at.plus(after));
        self.events.push(EventData::ApprovalCreated(ApprovalCreated {
            approval,
            node: node.id.clone(),
            approvers: human.approvers.clone(),
            payload: self.memory.values.get(about).cloned().unwrap_or_default(),
            visit: Some(visit),
            timeout_at,
            approval_ui_url: human.approval_ui_url.clone(),
        }));
        let timeout = timeout_at.map(|at| self.timer(at));
        let first = human.escalation.first();
        let escalation = first.map(|step| self.timer(self.input.at.plus(step.after)));
        Question { approval, timeout, escalation, step: 0, patch, own: None }
    }

    /// Handles a decision by a person, or a request from outside to end the approval as timed out.
    pub fn decided(&mut self, visit: Visit, question: Question, decided: &ApprovalDecided) -> Stopped {
        self.commands.extend(question.timers().map(Command::CancelTimer));
        let decided = &self.recorded(&visit, &question, decided.clone());
        let decision = match decided.decision.as_str() {
            word if Decision::is_approval(word) => Decision::Approved,
            TIMEOUT => self.when_overdue(&visit, &question),
            _ => Decision::Rejected,
        };
        self.conclude(visit, question, decided, decision)
    }

    /// Handles one of the question's timers.
    pub fn overdue(&mut self, mut visit: Visit, mut question: Question, timer: CommandId) -> Stopped {
        if question.escalation == Some(timer) {
            self.escalate(&visit, &mut question);
            visit.wait = Wait::Person(question);
            self.memory.open.insert(visit.tokens[0].id, visit);
            return Ok(());
        }
        self.commands.extend(question.escalation.map(Command::CancelTimer));
        let given_up = ApprovalDecided {
            approval: question.approval,
            decision: TIMEOUT.to_owned(),
            by: SYSTEM.to_owned(),
            comments: String::new(),
            data: Payload::null(),
        };
        let given_up = self.recorded(&visit, &question, given_up);
        self.events.push(EventData::ApprovalDecided(given_up.clone()));
        let decision = self.when_overdue(&visit, &question);
        self.conclude(visit, question, &given_up, decision)
    }

    /// Lets the approvers of the next step decide; nothing else changes.
    fn escalate(&mut self, visit: &Visit, question: &mut Question) {
        let plan = self.plan.clone();
        let human = self.settings_of(&plan, visit, question);
        let steps = human.map(|human| human.escalation.clone()).unwrap_or_default();
        if let Some(step) = steps.get(question.step) {
            let (approval, approvers) = (question.approval, step.approvers.clone());
            self.events.push(EventData::ApprovalEscalated(ApprovalEscalated { approval, approvers }));
            let next = steps.get(question.step + 1);
            let wait = next.map(|next| next.after.saturating_sub(step.after));
            question.escalation = wait.map(|wait| self.timer(self.input.at.plus(wait)));
        } else {
            question.escalation = None;
        }
        question.step += 1;
    }

    /// Returns the decision as recorded. A timeout that approves is recorded as an approval by the system
    /// with the reason.
    fn recorded(&self, visit: &Visit, question: &Question, decided: ApprovalDecided) -> ApprovalDecided {
        let approves = self.settings_of(&self.plan, visit, question).is_some_and(|human| {
            human.timeout_approves && human.escalation_policy == EscalationPolicy::AutoApprove
        });
        match decided.decision == TIMEOUT && approves && question.patch.is_none() {
            true => ApprovalDecided {
                decision: APPROVE.to_owned(),
                by: SYSTEM.to_owned(),
                comments: TIMEOUT.to_owned(),
                ..decided
            },
            false => decided,
        }
    }

    fn settings_of<'q>(&self, plan: &'q Plan, visit: &Visit, question: &'q Question) -> Option<&'q Human> {
        let own = question.own.as_ref().map(|own| &own.human);
        own.or_else(|| plan.node(self.place(&visit.node)).human.as_ref())
    }

    fn when_overdue(&self, visit: &Visit, question: &Question) -> Decision {
        let human = self.settings_of(&self.plan, visit, question);
        match human.map(|human| human.escalation_policy).unwrap_or_default() {
            EscalationPolicy::AutoApprove => Decision::Approved,
            EscalationPolicy::Reject | EscalationPolicy::Escalate => Decision::Rejected,
            EscalationPolicy::Fail => Decision::Failed,
        }
    }

    fn conclude(
        &mut self,
        visit: Visit,
        question: Question,
        decided: &ApprovalDecided,
        decision: Decision,
    ) -> Stopped {
        if let Some(patch) = question.patch {
            return self.patch_decided(visit, patch, decision == Decision::Approved, &decided.by);
        }
        if decision == Decision::Failed {
            let failure = Failure::permanent(codes::APPROVAL_TIMEOUT, "nobody decided in time");
            return self.fail_node(visit, Some(question.approval), &failure);
        }
        let own = question.own.map(|own| own.about);
        let about = own.map_or_else(|| self.input_of(&visit), Ok)?;
        let given = self.memory.values.add(decided.data.clone());
        self.need([about, given])?;
        let enriched = enriched(&*self.look(about)?, decided, &*self.look(given)?);
        let value = self.made(enriched);
        match own {
            Some(_) => self.remember(&visit, value, 1),
            None => self.record(&visit, value, 1)?,
        }
        if decision == Decision::Approved {
            return self.route(visit, Some(question.approval), value);
        }
        let plan = self.plan.clone();
        let node = plan.node(self.place(&visit.node));
        if node.looping.as_ref().is_some_and(|looping| looping.hears_rejections) {
            return self.route_rejection(visit, Some(question.approval), value);
        }
        self.memory.passes.remove(&visit.node);
        self.emit(visit, Some(question.approval), value, &node.rejection_path)
    }
}

/// Returns the time after which an approval times out. The last approvers asked get as much time as the
/// first.
fn given_up_after(human: &Human) -> Option<Millis> {
    let timeout = human.timeout?;
    let last = human.escalation.iter().map(|step| step.after).max().unwrap_or_default();
    Some(if last < timeout { timeout } else { last.saturating_add(timeout) })
}

/// Returns whether this is an approval by timeout.
pub fn is_automatic(decided: &ApprovalDecided) -> bool {
    decided.by == SYSTEM && decided.decision == APPROVE && decided.comments == TIMEOUT
}

/// Returns the subject of the approval with the answer added.
fn enriched(about: &Value, decided: &ApprovalDecided, data: &Value) -> Value {
    let mut fields = match about {
        Value::Object(fields) => fields.clone(),
        Value::Null => Map::new(),
        other => Map::from_iter([("input".to_owned(), other.clone())]),
    };
    fields.insert("decision".to_owned(), json!(decided.decision));
    fields.insert("decided_by".to_owned(), json!(decided.by));
    if is_automatic(decided) {
        fields.insert("reason".to_owned(), json!(TIMEOUT));
    } else if !decided.comments.is_empty() {
        fields.insert("comments".to_owned(), json!(decided.comments));
    }
    if !data.is_null() {
        fields.insert("data".to_owned(), data.clone());
    }
    Value::Object(fields)
}
