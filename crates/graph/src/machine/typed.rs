//! What the registered type of a node asks of a run: that inputs and outputs fit its schemas, that no more of its tasks are
//! under way than it allows, what its handlers see, and questions its answers put to a person.

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

/// The schemas of a graph's registered types, each compiled when it is first needed.
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

/// Of a node; nothing for built-in types.
pub fn type_of<'g>(graph: &'g Graph, node: &Node) -> Option<&'g NodeType> {
    match &node.kind {
        NodeKind::Registered(name) => graph.types.get(name),
        _ => None,
    }
}

impl Machine<'_> {
    /// A node does not begin with an input its type does not take.
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

    /// The failure of a node whose handler gave what its type does not give.
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

    /// Whether as many tasks of the node's type are under way as it allows.
    pub fn has_no_turn(&self, node: &Node) -> bool {
        let most = type_of(&self.plan.graph, node).and_then(NodeType::max_concurrency);
        let of_type = |visit: &&Visit| {
            matches!(visit.wait, Wait::Task(_)) && self.plan.node(self.place(&visit.node)).kind == node.kind
        };
        most.is_some_and(|most| self.memory.open.values().filter(of_type).count() >= most)
    }

    /// The oldest visit that waits for its turn and may have it now.
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

    /// `{node: {output, metadata}}` of the nodes that have ended, as conditions see them.
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

    /// Puts the question that an answer of a type with `creates_approval` brings along. Gives the visit back when there
    /// is none.
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
        // The work is done, whatever is decided: it can be undone from now on.
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

/// What the author of the graph says counts before what an answer says.
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
