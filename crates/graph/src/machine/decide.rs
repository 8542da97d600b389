//! Evaluates conditions. They are compiled once with the graph. The values each one reads are collected for
//! each evaluation.

use std::sync::Arc;

use serde_json::Value;

use super::memory::NodeId;
use super::values::ValueId;
use super::{Machine, Stopped};
use crate::condition::{Answers, Condition, Conditions, Metadata, Past, Scope, Verdict, written};
use crate::ir::{Branch, Config, Node, NodeKind};

/// The conditions of one node.
#[derive(Debug)]
pub struct Rules {
    pub looping: Option<Prepared>,
    pub branch: Vec<Prepared>,
    /// The condition of a `filter`.
    pub filter: Option<Prepared>,
}

#[derive(Debug)]
pub struct Prepared {
    /// The condition, or the reason this build cannot compile it: another build stored it.
    condition: Result<Arc<Condition>, String>,
    reads: Reads,
    source: Value,
}

/// Node results that a condition may read. Other results are not decoded.
#[derive(Debug)]
enum Reads {
    Named(Vec<NodeId>),
    Everything,
}

impl Rules {
    pub fn of(node: &Node, ids: &[NodeId], known: &mut Conditions) -> Self {
        let mut prepare = |source: &Value| Prepared::of(source, ids, known);
        let branch = match &node.branch {
            Some(Branch::Conditional { rules, .. }) => {
                rules.iter().map(|rule| prepare(&rule.condition)).collect()
            }
            _ => Vec::new(),
        };
        let filter = match (&node.kind, &node.config) {
            (NodeKind::Filter, Config::Inline(config)) => config.get("condition").map(&mut prepare),
            _ => None,
        };
        let looping = node.looping.as_ref().and_then(|looping| looping.condition.as_ref()).map(prepare);
        Self { looping, branch, filter }
    }
}

impl Prepared {
    /// Compiles a condition. `known` holds the conditions compiled before: the graph of a patched run is
    /// prepared again for every message.
    pub fn of(source: &Value, ids: &[NodeId], known: &mut Conditions) -> Self {
        let condition = known.compile(source).map_err(|error| error.to_string());
        Self { condition, reads: Reads::of(&source.to_string(), ids), source: source.clone() }
    }

    /// Returns the condition as text for people.
    pub fn written(&self) -> String {
        written(&self.source)
    }
}

impl Reads {
    /// Returns the ids that occur in the text, or `Everything` when the text could compute an id.
    fn of(text: &str, ids: &[NodeId]) -> Self {
        let mut mentions =
            text.match_indices("ctx").map(|(place, name)| text[place + name.len()..].chars().next());
        if text.contains("python_sandbox") || mentions.any(|next| next != Some('.')) {
            return Self::Everything;
        }
        Self::Named(ids.iter().filter(|id| text.contains(&***id)).cloned().collect())
    }
}

impl Machine<'_> {
    pub fn verdict(&mut self, prepared: &Prepared, output: ValueId, answers: &Answers) -> Stopped<Verdict> {
        let seen = self.seen(prepared, [output])?;
        let output = self.look(output)?;
        Ok(seen.evaluate(prepared, &output, answers))
    }

    /// Collects the values a condition reads besides its output. Values in `also` are loaded in the same
    /// request.
    pub fn seen(&mut self, prepared: &Prepared, also: impl IntoIterator<Item = ValueId>) -> Stopped<Seen> {
        let done = &self.memory.done;
        let nodes: Vec<(NodeId, ValueId, Metadata)> = match &prepared.reads {
            Reads::Everything => done.iter().map(|(node, done)| (node.clone(), done)).collect::<Vec<_>>(),
            Reads::Named(ids) => ids.iter().filter_map(|id| Some((id.clone(), done.get(id)?))).collect(),
        }
        .into_iter()
        .map(|(node, done)| {
            let (completed_at, duration_ms, attempt) = (done.completed_at, done.duration_ms, done.attempt);
            (node, done.value, Metadata { completed_at, duration_ms, attempt })
        })
        .collect();
        let inputs = self.memory.inputs;
        self.need(nodes.iter().map(|(_, value, _)| *value).chain([inputs]).chain(also))?;
        let mut context = Vec::new();
        for (node, value, metadata) in nodes {
            context.push((node, self.look(value)?, metadata));
        }
        Ok(Seen { inputs: self.look(inputs)?, context })
    }
}

pub struct Seen {
    inputs: Arc<Value>,
    context: Vec<(NodeId, Arc<Value>, Metadata)>,
}

impl Seen {
    pub fn evaluate(&self, prepared: &Prepared, output: &Value, answers: &Answers) -> Verdict {
        match &prepared.condition {
            Ok(condition) => condition.evaluate(&self.scope(output), answers),
            Err(reason) => Verdict::NotEvaluable(reason.clone()),
        }
    }

    /// Describes the values read by a condition that cannot be evaluated.
    pub fn looked_at(&self, prepared: &Prepared, output: &Value) -> String {
        match &prepared.condition {
            Ok(condition) => condition.looked_at(&self.scope(output)),
            Err(_) => "this build cannot read it".to_owned(),
        }
    }

    fn scope<'a>(&'a self, output: &'a Value) -> Scope<'a> {
        let context = self
            .context
            .iter()
            .map(|(node, output, metadata)| (&**node, Past { output, metadata: *metadata }));
        Scope { output, context: context.collect(), inputs: &self.inputs }
    }
}
