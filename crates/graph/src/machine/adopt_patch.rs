//! Patches of one run. A checked proposal is compared with the positions of the tokens. It is adopted whole,
//! or refused with the reason while the run goes on unchanged.

use std::collections::BTreeSet;
use std::sync::Arc;

use rhythm_core::event::{EventData, PatchAdopted, PatchRefused};
use rhythm_core::id::CommandId;
use rhythm_core::message::{ApprovalDecided, Patched};
use rhythm_core::payload::Payload;
use serde_json::{Value, json};

use super::approval::{Decision, PatchQuestion, Question};
use super::filter::Sifting;
use super::memory::{self, Proposal, Stage, Visit, Wait};
use super::plan::Plan;
use super::values::ValueId;
use super::{Machine, Stopped};
use crate::ir::{Human, Node, NodeIndex};
use crate::patch::{self, Changed, Refused, codes};

/// Prefix of an actor that sends a patch for an agent's node. Such a patch must respect that agent's limits.
const AGENT: &str = "agent:";

/// Author of a patch, with the reason given.
struct Author {
    name: String,
    reason: String,
    /// The agent's node, when an agent is the author.
    agent: Option<String>,
}

impl Machine<'_> {
    /// Handles a patch sent from outside.
    pub fn patch(&mut self, patched: &Patched) -> Stopped {
        let operations = self.memory.values.add(patched.operations.clone());
        let operations = self.look(operations)?;
        self.note_outside();
        let name = self.input.message.actor.0.clone();
        let agent = name.strip_prefix(AGENT).map(str::to_owned);
        let plan = self.plan.clone();
        let place = agent.as_deref().and_then(|agent| plan.place(agent));
        if let Some(node) = place.map(|place| plan.node(place)).filter(|node| node.requires_approval) {
            let patch = self.made(json!({"operations": *operations, "reason": patched.reason}));
            let question = self.put(node, &may_approve(node), patch, None);
            let proposal = Proposal { node: node.id.as_str().into(), patch };
            self.memory.proposals.insert(question.approval, proposal);
            return Ok(());
        }
        self.consider(&Author { name, reason: patched.reason.clone(), agent }, &operations)
    }

    pub fn proposal_decided(&mut self, proposal: &Proposal, decided: &ApprovalDecided) -> Stopped {
        let (author, operations) = self.asked_by(&proposal.node, proposal.patch)?;
        match Decision::is_approval(&decided.decision) {
            true => self.consider(&author, &operations)?,
            false => self.refuse(&author, &operations, not_approved(&decided.by)),
        }
        Ok(())
    }

    /// Returns an agent's answer without its patch, and the patch, when the answer holds one.
    pub fn take_patch(&mut self, value: ValueId) -> Stopped<Option<(ValueId, ValueId)>> {
        let answer = self.look(value)?;
        let Some(patch) = answer.get("patch").filter(|patch| !patch.is_null()).cloned() else {
            return Ok(None);
        };
        let mut rest = Value::clone(&answer);
        if let Some(fields) = rest.as_object_mut() {
            // In place, so that the other keys keep their order.
            fields.retain(|key, _| key != "patch");
        }
        Ok(Some((self.made(rest), self.made(patch))))
    }

    /// Applies an agent's patch before its answer is routed. When the node requires approval, a person
    /// decides first.
    pub fn agent_patch(
        &mut self,
        mut visit: Visit,
        command: Option<CommandId>,
        value: ValueId,
        patch: ValueId,
    ) -> Stopped {
        let plan = self.plan.clone();
        let node = plan.node(self.place(&visit.node));
        if !node.requires_approval {
            self.consider_from(&visit, node, patch)?;
            return self.route_decided(visit, command, value);
        }
        let question =
            self.put(node, &may_approve(node), patch, Some(PatchQuestion { value, patch, command }));
        visit.wait = Wait::Person(question);
        self.memory.open.insert(visit.tokens[0].id, visit);
        Ok(())
    }

    pub fn patch_decided(
        &mut self,
        visit: Visit,
        question: PatchQuestion,
        approved: bool,
        by: &str,
    ) -> Stopped {
        let plan = self.plan.clone();
        let node = plan.node(self.place(&visit.node));
        if approved {
            self.consider_from(&visit, node, question.patch)?;
        } else {
            let (author, operations) = self.asked_by(&node.id, question.patch)?;
            self.refuse(&author, &operations, not_approved(by));
        }
        self.route_decided(visit, question.command, question.value)
    }

    /// Routes an agent's result once every earlier patch from this agent has been decided.
    pub fn route_decided(&mut self, mut visit: Visit, command: Option<CommandId>, value: ValueId) -> Stopped {
        let mut proposals = self.memory.proposals.iter();
        let asked = proposals.find(|(_, proposal)| proposal.node == visit.node).map(|(asked, _)| *asked);
        let Some((approval, proposal)) = asked.and_then(|asked| self.memory.proposals.remove_entry(&asked))
        else {
            return self.route(visit, command, value);
        };
        let patch = PatchQuestion { value, patch: proposal.patch, command };
        visit.wait = Wait::Person(Question::about(approval, patch));
        self.memory.open.insert(visit.tokens[0].id, visit);
        Ok(())
    }

    /// Considers the patch of an agent whose visit just ended. The agent still counts as being at its node,
    /// so its token is compared with the patch too.
    fn consider_from(&mut self, visit: &Visit, node: &Node, patch: ValueId) -> Stopped {
        let (author, operations) = self.asked_by(&node.id, patch)?;
        let number = visit.tokens[0].id;
        self.memory.open.insert(number, visit.clone());
        let considered = self.consider(&author, &operations);
        self.memory.open.remove(&number);
        considered
    }

    /// Reads a patch: a bare list of operations, or `{operations, reason}`.
    fn asked_by(&mut self, node: &str, patch: ValueId) -> Stopped<(Author, Value)> {
        let patch = self.look(patch)?;
        let operations = patch.get("operations").unwrap_or(&patch).clone();
        let reason = patch.get("reason").or_else(|| patch.get("description")).and_then(Value::as_str);
        let reason = reason.unwrap_or_default().to_owned();
        Ok((Author { name: format!("{AGENT}{node}"), reason, agent: Some(node.to_owned()) }, operations))
    }

    /// Adopts or refuses a patch.
    fn consider(&mut self, author: &Author, operations: &Value) -> Stopped {
        match self.checked(author, operations) {
            Ok((plan, changed)) => self.adopt(author, operations, plan, changed),
            Err(refused) => {
                self.refuse(author, operations, refused);
                Ok(())
            }
        }
    }

    fn checked(&self, author: &Author, operations: &Value) -> Result<(Plan, Changed), Refused> {
        if !matches!(self.memory.stage, Stage::Fresh | Stage::Running) {
            return Refused::because(codes::TOO_LATE, "the run takes back what it did, and ends");
        }
        let document = match &self.memory.patched {
            Some(patched) => &patched.document,
            None => &*self.program.document,
        };
        let changed = patch::propose((document, &self.plan.graph), operations, &self.program.compile)?;
        if let Some(agent) = &author.agent {
            let node = self.plan.place(agent).map(|place| self.plan.node(place));
            let Some(node) = node else {
                return Refused::because(codes::UNAUTHORIZED, format!("there is no agent {agent}"));
            };
            patch::check_agent(&self.plan.graph, &changed.graph, node)?;
        }
        patch::check_permission(&self.plan.graph, &changed.graph)?;
        let plan = Plan::new(changed.graph.clone(), &mut self.program.conditions.clone())
            .map_err(|error| Refused { code: codes::INVALID_GRAPH, message: error.to_string() })?;
        self.compare(&plan)?;
        Ok((plan, changed))
    }

    /// Checks that the run could continue with this graph from its position. Fails with the reason it could
    /// not.
    pub(super) fn compare(&self, next: &Plan) -> Result<(), Refused> {
        let visited = self.memory.open.values().map(|visit| &visit.node);
        let queued = self.memory.queued.iter().map(|token| &token.to);
        let live = visited.chain(queued).chain(self.memory.parked.keys());
        if let Some(node) = live.into_iter().find(|node| next.place(node).is_none()) {
            return Refused::because(codes::LIVE_NODE, format!("something is under way at {node}"));
        }
        let can_undo =
            |node: &str| next.place(node).is_some_and(|place| next.node(place).compensator.is_some());
        if let Some(undo) = self.memory.undo.iter().find(|undo| !can_undo(&undo.node)) {
            let message = format!("{} has done something, and nothing else could undo it", undo.node);
            return Refused::because(codes::LIVE_NODE, message);
        }
        let active: BTreeSet<NodeIndex> =
            self.active().into_iter().filter_map(|place| next.place(self.plan.id(place))).collect();
        for (node, tokens) in &self.memory.parked {
            let (old, new) = (self.place(node), next.place(node).unwrap_or_default());
            if let Some(token) = tokens.iter().find(|token| !next.joins(new, token.from.as_deref())) {
                let from = token.from.as_deref().unwrap_or_default();
                let message = format!("{node} has a token of {from} and would no longer wait for it");
                return Refused::because(codes::JOIN, message);
            }
            let could = self.plan.reach(&self.active(), old);
            let can = next.reach(&active, new);
            let cut_off = self.missing(old).into_iter().find(|sender| {
                let there = next.place(self.plan.id(*sender));
                let waits = there.is_some_and(|there| next.node(new).dependencies.contains(&there));
                let reached = there.is_some_and(|there| active.contains(&there) || can.contains(&there));
                waits && could.contains(sender) && !reached
            });
            if let Some(sender) = cut_off {
                let message =
                    format!("{node} waits for {}, which nothing would lead to", self.plan.id(sender));
                return Refused::because(codes::JOIN, message);
            }
        }
        Ok(())
    }

    fn adopt(&mut self, author: &Author, operations: &Value, plan: Plan, changed: Changed) -> Stopped {
        self.events.push(EventData::PatchAdopted(PatchAdopted {
            author: author.name.clone(),
            reason: author.reason.clone(),
            operations: written(operations),
            inverse: written(&changed.inverse),
        }));
        self.memory.passes.retain(|node, _| plan.place(node).is_some());
        let Changed { document, graph, .. } = changed;
        self.memory.patched = Some(Box::new(memory::Patched { document, graph }));
        let before = std::mem::replace(&mut self.plan, Arc::new(plan));
        self.ask_anew(&before)
    }

    /// Evaluates waiting conditions again when they have changed. An answer under way is about the old
    /// condition.
    pub(super) fn ask_anew(&mut self, before: &Plan) -> Stopped {
        let plan = self.plan.clone();
        let changed = |visit: &Visit| {
            let (old, new) = (before.place(&visit.node), plan.place(&visit.node));
            let (Some(old), Some(new)) = (old, new) else { return false };
            let (old, new) = (before.node(old), plan.node(new));
            match &visit.wait {
                Wait::Routing(routing) => routing.asked_of(old) != routing.asked_of(new),
                Wait::Sifting(_) => Sifting::asked_of(old) != Sifting::asked_of(new),
                _ => false,
            }
        };
        let open = self.memory.open.iter();
        let moot: Vec<u64> = open.filter(|(_, visit)| changed(visit)).map(|(number, _)| *number).collect();
        for number in moot {
            let Some(mut visit) = self.memory.open.remove(&number) else { continue };
            let wait = std::mem::replace(&mut visit.wait, Wait::Nothing);
            self.commands.extend(wait.stops());
            match wait {
                Wait::Routing(routing) => self.reroute(visit, routing)?,
                _ => self.execute(visit)?,
            }
        }
        Ok(())
    }

    fn refuse(&mut self, author: &Author, operations: &Value, refused: Refused) {
        self.events.push(EventData::PatchRefused(PatchRefused {
            author: author.name.clone(),
            reason: author.reason.clone(),
            operations: written(operations),
            code: refused.code.to_owned(),
            message: refused.message,
        }));
    }
}

/// Returns the settings of the approval for an agent's patches.
fn may_approve(agent: &Node) -> Human {
    let approvers = agent.agent_config.as_ref().and_then(|config| config.get("approvers"));
    let approvers = approvers.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let approvers = approvers.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    Human { approvers, ..Human::default() }
}

fn not_approved(by: &str) -> Refused {
    Refused { code: codes::REJECTED, message: format!("{by} did not approve it") }
}

fn written(value: &Value) -> Payload {
    Payload::of(&json!(value)).expect("values always serialise")
}
