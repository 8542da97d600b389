//! Tasks and timers that each workflow of the workload may ask for: the plan of a drill or flow, or the nodes
//! of a graph.

use std::collections::BTreeSet;

use rhythm_core::Millis;
use rhythm_core::drill::Plan;
use rhythm_engine::world::NewTask;
use serde_json::{Value, json};

#[derive(Clone, Debug)]
pub enum Sketch {
    Plan(Plan),
    Graph(Nodes),
}

/// Nodes of a graph in their source form.
#[derive(Clone, Debug, Default)]
pub struct Nodes(Vec<Value>);

impl Sketch {
    /// Reads a workflow's source. A flow has its plan in its first line, a drill is a plan, and a graph has
    /// nodes.
    pub fn of(source: &str) -> Option<Self> {
        if let Some(plan) = Plan::of_flow(source) {
            return Some(Self::Plan(plan));
        }
        let document: Value = serde_json::from_str(source).ok()?;
        match document.get("nodes").and_then(Value::as_array) {
            Some(nodes) => Some(Self::Graph(Nodes(nodes.clone()))),
            None => serde_json::from_value(document).ok().map(Self::Plan),
        }
    }
}

impl Nodes {
    /// Returns the nodes a patch adds. A patch that changes a node's config is shown as a node without a
    /// type.
    pub fn added_by(operations: &Value) -> Vec<Value> {
        let operations = operations.as_array().map(Vec::as_slice).unwrap_or_default();
        let node = |operation: &Value| {
            let value = operation.get("value")?;
            let configures = operation["path"].as_str().is_some_and(|path| path.ends_with("/config"));
            match configures {
                true => Some(json!({"config": value})),
                false => value.get("type").is_some().then(|| value.clone()),
            }
        };
        operations.iter().filter_map(node).collect()
    }

    pub fn and(&self, more: &[Value]) -> Self {
        Self(self.0.iter().chain(more).cloned().collect())
    }

    /// Returns whether a task belongs to a node: its action, its compensator or its routing program.
    pub fn ask_for(&self, task: &NewTask) -> bool {
        let text = task.input.text();
        let input: Option<Value> = text.and_then(|text| serde_json::from_str(text).ok());
        self.0.iter().any(|node| {
            let same_name = |name: &Value| name.as_str() == Some(task.name.as_str());
            let undoes = same_name(&node["compensator"]["action"]);
            let decides = task.name == "rhythm.sandbox" && node.to_string().contains("python_sandbox");
            let named = match node["type"].as_str() {
                Some("agent") => task.name == "agent",
                None => task.name == "agent" || same_name(&node["config"]["task"]),
                _ => same_name(&node["config"]["task"]),
            };
            let does = named && {
                let mut config = node["config"].clone();
                if let (Some(fields), true) = (config.as_object_mut(), node["type"] == "parallel") {
                    fields.remove("items");
                }
                // A large input is stored in a blob and is not compared.
                input.as_ref().is_none_or(|input| input["config"] == config)
            };
            does || undoes || decides
        })
    }

    /// Returns every length a wait of these nodes may have.
    pub fn lengths(&self) -> BTreeSet<Millis> {
        let length = |value: &Value| match value {
            Value::String(text) => text.strip_suffix("ms").and_then(|ms| ms.parse().ok()).map(Millis),
            Value::Number(ms) => ms.as_u64().map(Millis),
            _ => None,
        };
        let mut lengths = BTreeSet::new();
        for node in &self.0 {
            let human = &node["human_config"];
            let steps = human["escalation"].as_array().map(Vec::as_slice).unwrap_or_default();
            let named = [&node["config"]["for"], &node["config"]["timeout"], &human["timeout"]];
            let named = named.into_iter().chain(steps.iter().map(|step| &step["after"]));
            lengths.extend(named.chain([&node["timeout_ms"]]).filter_map(length));
        }
        lengths
    }
}
