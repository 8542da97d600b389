//! Rules of a node's registered type: inputs and outputs must fit its schemas, the number of concurrent tasks
//! is limited, handlers may see earlier results, and an answer may request an approval.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rhythm_core::failure::Failure;
use rhythm_core::id::CommandId;
use rhythm_syntax::schema::{Schema, TOLD};
use serde_json::Value;

use super::approval::OwnQuestion;
use super::execute::Trouble;
use super::look::object;
use super::memory::{Visit, Wait};
use super::values::ValueId;
use super::{Machine, Stopped, codes};
use crate::compile::read_question;
use crate::condition::Metadata;
use crate::ir::{EscalationPolicy, Graph, Human, Node, NodeKind};
use crate::node_type::NodeType;

/// Schemas of a graph's registered types, each compiled on first use.
#[derive(Debug, Default)]
pub struct Schemas(BTreeMap<String, Both>);

#[derive(Debug, Default)]
struct Both {
    input: OnceLock<Option<Schema>>,
    output: OnceLock<Option<Schema>>,
}

impl Schemas {
    pub fn of(graph: &Graph) -> Self {
        Self(graph.types.keys().map(|name| (name.clone(), Both::default())).collect())
    }

    fn input(&self, kind: &NodeType) -> Option<&Schema> {
        let slot = &self.0.get(&kind.name)?.input;
        slot.get_or_init(|| compiled(kind.input_schema.as_ref())).as_ref()
    }

    fn output(&self, kind: &NodeType) -> Option<&Schema> {
        let slot = &self.0.get(&kind.name)?.output;
        slot.get_or_init(|| compiled(kind.output_schema.as_ref())).as_ref()
    }
}

fn compiled(schema: Option<&Value>) -> Option<Schema> {
    schema.and_then(|schema| Schema::compile(schema).ok())
}

/// Returns the registered type of a node, or `None` for a built-in type.
pub fn type_of<'g>(graph: &'g Graph, node: &Node) -> Option<&'g NodeType> {
    match &node.kind {
        NodeKind::Registered(name) => graph.types.get(name),
        _ => None,
    }
}

impl Machine<'_> {
    /// Fails a node whose input does not fit the schema of its type.
    pub fn check_input(&mut self, node: &Node, input: ValueId) -> Result<(), Trouble> {
        let plan = self.plan.clone();
        let Some(kind) = type_of(&plan.graph, node) else { return Ok(()) };
        let Some(schema) = plan.schemas.input(kind) else { return Ok(()) };
        match unfit(schema, &*self.look(input)?) {
            Some(told) => {
                let message = format!("the input does not fit the type {}: {told}", kind.name);
                Err(Trouble::Node(Failure::permanent(codes::BAD_INPUT, message)))
            }
            None => Ok(()),
        }
    }

    /// Returns the failure of a node whose output does not fit the schema of its type.
    pub fn unfit_output(&mut self, visit: &Visit, output: ValueId) -> Stopped<Option<Failure>> {
        let plan = self.plan.clone();
        let Some(kind) = type_of(&plan.graph, plan.node(self.place(&visit.node))) else { return Ok(None) };
        let Some(schema) = plan.schemas.output(kind) else { return Ok(None) };
        let told = unfit(schema, &*self.look(output)?);
        Ok(told.map(|told| {
            let message = format!("the output does not fit the type {}: {told}", kind.name);
            Failure::permanent(codes::BAD_OUTPUT, message)
        }))
    }

    /// Returns whether the number of tasks of the node's type has reached its limit.
    pub fn has_no_turn(&self, node: &Node) -> bool {
        let most = type_of(&self.plan.graph, node).and_then(NodeType::max_concurrency);
        let of_type = |visit: &&Visit| {
            matches!(visit.wait, Wait::Task(_)) && self.plan.node(self.place(&visit.node)).kind == node.kind
        };
        most.is_some_and(|most| self.memory.open.values().filter(of_type).count() >= most)
    }

    /// Removes and returns the oldest visit that waited for a free slot and may begin now.
    pub fn next_turn(&mut self) -> Option<Visit> {
        if self.plan.graph.types.values().all(|kind| kind.max_concurrency().is_none()) {
            return None;
        }
        let may_begin = |visit: &Visit| {
            visit.wait == Wait::Turn && !self.has_no_turn(self.plan.node(self.place(&visit.node)))
        };
        let number = self.memory.open.iter().find(|(_, visit)| may_begin(visit)).map(|(number, _)| *number);
        number.and_then(|number| self.memory.open.remove(&number))
    }

    /// Returns `{node: {output, metadata}}` of the nodes that have ended, in the form conditions see.
    pub fn context(&self) -> Stopped<String> {
        self.need(self.memory.done.values().map(|done| done.value))?;
        let mut parts = Vec::new();
        for (node, done) in &self.memory.done {
            let (completed_at, duration_ms, attempt) = (done.completed_at, done.duration_ms, done.attempt);
            let metadata = serde_json::to_string(&Metadata { completed_at, duration_ms, attempt });
            let metadata = metadata.expect("metadata always serialises");
            let past = object(&[("output", self.text(done.value)?), ("metadata", &metadata)]);
            parts.push((node, past));
        }
        let parts: Vec<(&str, &str)> =
            parts.iter().map(|(node, past)| (&***node, past.text().unwrap_or("null"))).collect();
        Ok(object(&parts).text().unwrap_or("{}").to_owned())
    }

    /// Creates the approval that an answer of a type with `creates_approval` requests. Returns the visit when
    /// the answer requests none.
    pub fn ask_for(
        &mut self,
        mut visit: Visit,
        command: Option<CommandId>,
        (value, attempt): (ValueId, u32),
    ) -> Stopped<Option<Visit>> {
        let plan = self.plan.clone();
        let node = plan.node(self.place(&visit.node));
        if !type_of(&plan.graph, node).is_some_and(NodeType::creates_approval) {
            return Ok(Some(visit));
        }
        let answer = self.look(value)?;
        let Some(asked) = answer.get("approval").filter(|asked| !asked.is_null()) else {
            return Ok(Some(visit));
        };
        let asked = match read_question(asked) {
            Ok(asked) => asked,
            Err(reason) => {
                let failure = Failure::permanent(codes::BAD_OUTPUT, format!("`approval`: {reason}"));
                return self.fail_node(visit, command, &failure).map(|()| None);
            }
        };
        let mut about = Value::clone(&answer);
        if let Some(fields) = about.as_object_mut() {
            fields.retain(|key, _| key != "approval");
        }
        let about = self.made(about);
        // The work is done whatever the decision, so from now on it can be undone.
        self.record(&visit, about, attempt)?;
        let human = together(node.human.clone().unwrap_or_default(), asked);
        let mut question = self.put(node, &human, about, None);
        question.own = Some(OwnQuestion { about, human });
        self.consume_tokens(&visit, command);
        visit.consumed = true;
        visit.wait = Wait::Person(question);
        self.memory.open.insert(visit.tokens[0].id, visit);
        Ok(None)
    }
}

/// Merges two settings. The graph's settings take precedence over those in the answer.
fn together(own: Human, asked: Human) -> Human {
    let is_said = own.escalation_policy != EscalationPolicy::default() || own.timeout.is_some();
    Human {
        approvers: if own.approvers.is_empty() { asked.approvers } else { own.approvers },
        timeout: own.timeout.or(asked.timeout),
        escalation_policy: if is_said { own.escalation_policy } else { asked.escalation_policy },
        escalation: if own.escalation.is_empty() { asked.escalation } else { own.escalation },
        timeout_approves: if is_said { own.timeout_approves } else { asked.timeout_approves },
        approval_ui_url: asked.approval_ui_url.or(own.approval_ui_url),
    }
}

fn unfit(schema: &Schema, value: &Value) -> Option<String> {
    let misfits = schema.misfits(value);
    let told: Vec<String> = misfits.iter().take(TOLD).map(ToString::to_string).collect();
    (!told.is_empty()).then(|| told.join("; "))
}
