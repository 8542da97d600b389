//! Normalises a document before a patch: writes down the edges that other nodes imply by their dependencies.
//! Without that, adding one edge to a node would remove its implied edges.

use serde_json::{Map, Value, json};

use super::operations::Operation;

/// Returns the document with a list of edges and metadata when the operations refer to them. A node that only
/// sends because others depend on it would stop sending there once it had an edge of its own, so its implied
/// edges are written down first.
pub fn prepared(mut document: Value, operations: &[Operation]) -> Value {
    let goes_to = |part: &str| operations.iter().any(|operation| operation.places().any(|to| to.is_in(part)));
    let (edges, metadata) = (goes_to("edges"), goes_to("metadata"));
    let senders: Vec<String> = operations.iter().filter_map(sender).collect();
    let implied: Vec<Value> = senders.iter().flat_map(|from| implied(&document, from)).collect();
    let Some(fields) = document.as_object_mut() else { return document };
    if metadata && fields.get("metadata").is_none_or(Value::is_null) {
        fields.insert("metadata".to_owned(), Value::Object(Map::new()));
    }
    if edges && fields.get("edges").is_none_or(Value::is_null) {
        fields.insert("edges".to_owned(), json!([]));
    }
    if let Some(Value::Array(edges)) = fields.get_mut("edges") {
        for edge in implied {
            if !edges.contains(&edge) {
                edges.push(edge);
            }
        }
    }
    document
}

/// Returns the node that an added edge leaves.
fn sender(operation: &Operation) -> Option<String> {
    match operation {
        Operation::Add { path, value } if path.is_in("edges") => {
            value.get("from").and_then(Value::as_str).map(str::to_owned)
        }
        _ => None,
    }
}

/// Returns the implied edges of a node that lists no targets: to the nodes that depend on it.
fn implied(document: &Value, from: &str) -> Vec<Value> {
    let list = |key: &str| document.get(key).and_then(Value::as_array).into_iter().flatten();
    let is_from = |edge: &Value| edge.get("from").and_then(Value::as_str) == Some(from);
    let Some(sender) = list("nodes").find(|node| id(node) == Some(from)) else { return Vec::new() };
    let lists = sender.get("dependents").is_some_and(|dependents| !dependents.is_null());
    if lists || list("edges").any(is_from) {
        return Vec::new();
    }
    let others = ["branch", "loop", "rejection_path", "error_path", "config"];
    let leads = |to: &str| others.iter().any(|key| sender.get(key).is_some_and(|part| mentions(part, to)));
    let receivers = list("nodes").filter(|node| {
        let declared = node.get("dependencies").is_some_and(|declared| mentions(declared, from));
        declared && id(node).is_some_and(|to| to != from && !leads(to))
    });
    receivers.filter_map(id).map(|to| json!({"from": from, "to": to})).collect()
}

fn id(node: &Value) -> Option<&str> {
    node.get("id").or_else(|| node.get("node_id")).and_then(Value::as_str)
}

fn mentions(value: &Value, name: &str) -> bool {
    match value {
        Value::String(text) => text == name,
        Value::Array(items) => items.iter().any(|item| mentions(item, name)),
        Value::Object(fields) => fields.values().any(|field| mentions(field, name)),
        _ => false,
    }
}
