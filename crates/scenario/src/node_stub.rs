//! Replaces the work of graph nodes by the script: each such node becomes a task, which the script answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rhythm_core::{ProgramError, WorkflowKind};
use rhythm_engine::world::Definition;
use rhythm_graph::ir::{Config, Node, NodeKind};
use rhythm_graph::{Graph, GraphProgram, Registry, document, patch};
use serde_json::Value;

use crate::file::Scenario;
use crate::script::{ANY, Answer};

/// Prefix of the names of these tasks. No graph uses it.
const STAND_IN: &str = "stand-in:";

/// Chooses the nodes that the script plays, in the graphs of a scenario and after patches.
pub struct Cast {
    answers: BTreeMap<String, Vec<Answer>>,
    /// Nodes with scripted decisions of people.
    decided: BTreeSet<String>,
    /// Workflows that the scenario contains.
    workflows: BTreeSet<String>,
    /// Content of the scenario, by reference.
    content: BTreeMap<String, Value>,
}

/// Returns the task's name for the scenario's author: without the prefix.
pub fn called(task: &str) -> &str {
    task.strip_prefix(STAND_IN).unwrap_or(task)
}

impl Cast {
    pub fn of(scenario: &Scenario) -> Self {
        Self {
            answers: scenario.tasks.clone(),
            decided: scenario.decisions.keys().cloned().collect(),
            workflows: scenario.workflows.keys().cloned().collect(),
            content: scenario.content(),
        }
    }

    /// Replaces the scripted nodes of a graph.
    pub fn replace(&self, definition: &mut Definition) {
        if definition.kind != WorkflowKind::Graph {
            return;
        }
        let Ok(mut graph) = serde_json::from_slice::<Graph>(&definition.compiled) else { return };
        self.play(&mut graph);
        definition.compiled = serde_json::to_vec(&graph).unwrap_or_default();
    }

    pub fn program(self: &Arc<Self>, definition: &Definition) -> Result<GraphProgram, ProgramError> {
        let bad = |problem: String| ProgramError::BadDefinition(problem);
        let graph = serde_json::from_slice(&definition.compiled).map_err(|error| bad(error.to_string()))?;
        let document = document::read(&definition.source).map_err(|wrong| bad(wrong.title))?;
        let (cast, compile) = (self.clone(), patch::compiler(Registry::built_in().clone()));
        // A patched document is compiled again, so replace its nodes too.
        let again = move |document: &Value, base: &Graph| {
            let mut base = base.clone();
            base.contents.extend(cast.content.clone());
            let mut made = compile(document, &base)?;
            cast.play(&mut made);
            Ok(made)
        };
        GraphProgram::new(graph, document.to_json(), Arc::new(again))
    }

    fn play(&self, graph: &mut Graph) {
        for node in &mut graph.nodes {
            if self.plays(node) {
                // Keep the name of the type for code that reads it.
                node.kind = NodeKind::Registered(patch::type_name(&node.kind).to_owned());
                node.task = Some(format!("{STAND_IN}{}", node.id));
            }
            // A scripted node does not need its config.
            if matches!(node.config, Config::Unresolved(_)) && self.answers_for(&node.id) {
                node.config = Config::default();
            }
            // Retry policies apply, but without jitter, so that results do not vary.
            let undoing = node.compensator.as_mut().and_then(|compensator| compensator.retry.as_mut());
            for policy in node.retry.as_mut().into_iter().chain(undoing) {
                policy.jitter = 0.0;
            }
        }
    }

    fn answers_for(&self, node: &str) -> bool {
        [node, ANY].iter().any(|name| self.answers.contains_key(*name)) || self.decided.contains(node)
    }

    /// Whether the script replaces this node. Nodes that start a task anyway need no replacement. Nodes that
    /// compute or wait are replaced only if the script names them.
    fn plays(&self, node: &Node) -> bool {
        let answers = self.answers.get(&node.id);
        match &node.kind {
            NodeKind::Task
            | NodeKind::Http
            | NodeKind::Agent
            | NodeKind::Transform
            | NodeKind::Registered(_) => false,
            NodeKind::Human => answers.is_some() && !self.decided.contains(&node.id),
            NodeKind::Child => answers.is_some() || self.is_elsewhere(node),
            NodeKind::Parallel if starts_workflows(node) => answers.is_some() || self.is_elsewhere(node),
            NodeKind::Parallel => answers.is_some_and(|answers| are_lists(answers)),
            _ => answers.is_some(),
        }
    }

    /// Whether a node starts a workflow that the scenario does not contain, so that the script answers for
    /// it.
    fn is_elsewhere(&self, node: &Node) -> bool {
        let named = workflow(node).is_some_and(|name| self.workflows.contains(name));
        !named && self.answers.contains_key(ANY)
    }
}

/// Whether all answers are lists. A list is the answer of a whole node with many items; other answers are for
/// single items.
fn are_lists(answers: &[Answer]) -> bool {
    let mut given = answers.iter().filter_map(|answer| answer.ok.as_ref()).peekable();
    given.peek().is_some() && given.all(|ok| ok.get().trim_start().starts_with('['))
}

fn starts_workflows(node: &Node) -> bool {
    workflow(node).is_some() && config(node, "task").is_none()
}

fn workflow(node: &Node) -> Option<&str> {
    config(node, "workflow").and_then(Value::as_str)
}

fn config<'n>(node: &'n Node, key: &str) -> Option<&'n Value> {
    match &node.config {
        Config::Inline(config) => config.get(key).filter(|value| !value.is_null()),
        Config::Unresolved(_) => None,
    }
}
