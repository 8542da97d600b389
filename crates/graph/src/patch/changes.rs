//! Changes of a patch in words: nodes and edges that are added, removed or changed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use crate::ir::Graph;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    pub nodes_added: Vec<String>,
    pub nodes_removed: Vec<String>,
    /// Nodes with a different definition.
    pub nodes_changed: Vec<String>,
    /// Edges by source and target.
    pub edges_added: Vec<(String, String)>,
    pub edges_removed: Vec<(String, String)>,
    /// Other parts of the document that differ, such as `limits`.
    pub parts_changed: Vec<String>,
}

impl Changes {
    pub fn between(before: (&Value, &Graph), after: (&Value, &Graph)) -> Self {
        let (old, new) = (nodes(before.0), nodes(after.0));
        let (old_edges, new_edges) = (edges(before.1), edges(after.1));
        let lacks = |some: &BTreeMap<&str, &Value>, other: &BTreeMap<&str, &Value>| -> Vec<String> {
            let ids = some.keys().filter(|id| !other.contains_key(**id));
            ids.map(|id| (*id).to_owned()).collect()
        };
        let differs = |(id, node): &(&&str, &&Value)| old.get(**id).is_some_and(|before| before != *node);
        Self {
            nodes_added: lacks(&new, &old),
            nodes_removed: lacks(&old, &new),
            nodes_changed: new.iter().filter(differs).map(|(id, _)| (*id).to_owned()).collect(),
            edges_added: new_edges.difference(&old_edges).cloned().collect(),
            edges_removed: old_edges.difference(&new_edges).cloned().collect(),
            parts_changed: parts(before.0, after.0),
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns one line for each change.
    pub fn lines(&self) -> Vec<String> {
        let nodes = |sign: &'static str, ids: &[String]| -> Vec<String> {
            ids.iter().map(|id| format!("{sign} node {id}")).collect()
        };
        let edges = |sign: &'static str, all: &[(String, String)]| -> Vec<String> {
            all.iter().map(|(from, to)| format!("{sign} edge {from} -> {to}")).collect()
        };
        let parts = self.parts_changed.iter().map(|part| format!("~ {part}")).collect();
        let all = [
            nodes("+", &self.nodes_added),
            nodes("-", &self.nodes_removed),
            nodes("~", &self.nodes_changed),
            edges("+", &self.edges_added),
            edges("-", &self.edges_removed),
            parts,
        ];
        all.concat()
    }
}

/// Returns the nodes of a document by id.
fn nodes(document: &Value) -> BTreeMap<&str, &Value> {
    let all = document.get("nodes").and_then(Value::as_array).into_iter().flatten();
    let id = |node: &Value| ["id", "node_id"].into_iter().find(|key| node.get(key).is_some());
    all.filter_map(|node| Some((node.get(id(node)?)?.as_str()?, node))).collect()
}

fn edges(graph: &Graph) -> BTreeSet<(String, String)> {
    let of = |place: usize| {
        let node = &graph.nodes[place];
        let to = node.exits().into_iter().flat_map(|exit| exit.to.iter().copied());
        to.map(|to| (node.id.clone(), graph.nodes[to].id.clone())).collect::<Vec<_>>()
    };
    (0..graph.nodes.len()).flat_map(of).collect()
}

fn parts(before: &Value, after: &Value) -> Vec<String> {
    let keys = |document: &Value| -> BTreeSet<String> {
        document.as_object().into_iter().flat_map(|fields| fields.keys().cloned()).collect()
    };
    let all: BTreeSet<String> = keys(before).union(&keys(after)).cloned().collect();
    let differ = |key: &String| before.get(key) != after.get(key) && key != "nodes" && key != "edges";
    all.into_iter().filter(differ).collect()
}
