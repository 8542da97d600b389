//! Nodes of a graph whose work the script does: whatever they are, they ask for a task and get its answer.

use std::sync::Arc;

use rhythm_core::graph::ir::{Config, Node, NodeKind};
use rhythm_core::graph::{Graph, GraphProgram, Registry, document, patch};
use rhythm_core::{Program, ProgramError};
use rhythm_engine::world::Definition;
use serde_json::Value;

use crate::file::Scenario;
use crate::script::{ANY, Answer};

/// Begins the names of tasks that no graph asks for by itself.
const STAND_IN: &str = "stand-in:";

/// Lets the script answer for the nodes it names.
pub fn replace(definition: &mut Definition, scenario: &Scenario) {
    let Ok(mut graph) = serde_json::from_slice::<Graph>(&definition.compiled) else { return };
    for node in &mut graph.nodes {
        if is_scripted(node, scenario) {
            take_over(node);
        }
        // Whoever answers for a node needs no config to do so.
        if matches!(node.config, Config::Unresolved(_)) && has_answers(&node.id, scenario) {
            node.config = Config::default();
        }
    }
    definition.compiled = serde_json::to_vec(&graph).unwrap_or_default();
}

pub fn load(definition: &Definition) -> Result<Arc<dyn Program>, ProgramError> {
    Ok(Arc::new(program(definition)?))
}

pub fn program(definition: &Definition) -> Result<GraphProgram, ProgramError> {
    let bad = |problem: String| ProgramError::BadDefinition(problem);
    let graph = serde_json::from_slice(&definition.compiled).map_err(|error| bad(error.to_string()))?;
    let document = document::read(&definition.source).map_err(|wrong| bad(wrong.title))?;
    let compile = patch::compiler(Registry::built_in().clone());
    let again = move |document: &Value, base: &Graph| compile(document, base).map(|made| keep(base, made));
    GraphProgram::new(graph, document.to_json(), Arc::new(again))
}

/// What a patch makes of the document has the same stand-ins.
fn keep(base: &Graph, mut made: Graph) -> Graph {
    for node in &mut made.nodes {
        let Some(known) = base.find(&node.id).map(|place| &base.nodes[place]) else { continue };
        if known.task.as_ref().is_some_and(|task| task.starts_with(STAND_IN)) {
            take_over(node);
        }
        if matches!((&node.config, &known.config), (Config::Unresolved(_), Config::Inline(_))) {
            node.config = known.config.clone();
        }
    }
    made
}

fn take_over(node: &mut Node) {
    node.kind = NodeKind::Task;
    node.task = Some(format!("{STAND_IN}{}", node.id));
}

fn has_answers(node: &str, scenario: &Scenario) -> bool {
    scenario.tasks.contains_key(node) || scenario.tasks.contains_key(ANY)
}

/// Nodes that ask for a task anyway need nobody in their place. Those that compute or wait do so unless they are named.
fn is_scripted(node: &Node, scenario: &Scenario) -> bool {
    let answers = scenario.tasks.get(&node.id);
    match &node.kind {
        NodeKind::Task | NodeKind::Http | NodeKind::Agent | NodeKind::Transform | NodeKind::Registered(_) => {
            false
        }
        NodeKind::Human => answers.is_some() && !scenario.decisions.contains_key(&node.id),
        NodeKind::Child => answers.is_some() || is_elsewhere(node, scenario),
        NodeKind::Parallel if starts_workflows(node) => answers.is_some() || is_elsewhere(node, scenario),
        NodeKind::Parallel => answers.is_some_and(|answers| are_lists(answers)),
        _ => answers.is_some(),
    }
}

/// Answers to a node with many items are about each of them, unless they are lists: those are what all came to.
fn are_lists(answers: &[Answer]) -> bool {
    let mut given = answers.iter().filter_map(|answer| answer.ok.as_ref()).peekable();
    given.peek().is_some() && given.all(|ok| ok.get().trim_start().starts_with('['))
}

/// A workflow the scenario does not bring along is work like any other.
fn is_elsewhere(node: &Node, scenario: &Scenario) -> bool {
    let named = workflow(node).is_some_and(|name| scenario.workflows.contains_key(name));
    !named && scenario.tasks.contains_key(ANY)
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
