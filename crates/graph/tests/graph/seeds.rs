//! Every complete example of "Choreographed Workflow Execution Engine", the design that graphs come from,
//! compiles. The examples are single nodes and conditions; the tests add the nodes they refer to.

use std::collections::BTreeSet;

use rhythm_syntax::render::{Style, render};
use serde_json::{Value, json};

use crate::compiled;

fn examples() -> Value {
    serde_json::from_str(include_str!("seeds.json")).unwrap()
}

/// Returns a graph around an example node: its dependencies lead to it, and its targets exist.
fn around(node: &Value) -> Value {
    let id = node.get("node_id").or_else(|| node.get("id")).and_then(Value::as_str).unwrap();
    let before = names(&node["dependencies"]);
    let mut after = BTreeSet::new();
    let lists = [
        "/dependents",
        "/branch/default",
        "/branch/available_next_nodes",
        "/loop/break_path",
        "/loop/timeout_path",
    ];
    lists.iter().filter_map(|path| node.pointer(path)).for_each(|list| after.extend(names(list)));
    for rule in node.pointer("/branch/rules").and_then(Value::as_array).into_iter().flatten() {
        after.extend(names(&rule["next_nodes"]));
    }
    let first = before.iter().map(|name| json!({"id": name, "type": "task", "dependents": [id]}));
    let last = after.iter().filter(|name| *name != id).map(|name| json!({"id": name, "type": "task"}));
    json!({"nodes": first.chain([node.clone()]).chain(last).collect::<Vec<_>>()})
}

fn names(list: &Value) -> BTreeSet<String> {
    let names = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    names.map(str::to_owned).collect()
}

/// Checks that a graph compiles. Missing content is no reason to refuse it.
fn assert_compiles(graph: &Value) {
    let source = serde_json::to_string_pretty(graph).unwrap();
    let compiled = compiled(&source);
    let said = render("seed.json", &source, &compiled.diagnostics, Style::Plain);
    assert!(compiled.graph.is_some(), "{said}");
    // One example has a branch on a loop with a break path, so the nodes only the branch names are
    // unreachable. Most examples compare fields that may be missing.
    let known = |code: &str| matches!(code, "GRAPH100" | "GRAPH104" | "GRAPH109");
    assert!(compiled.diagnostics.iter().all(|diagnostic| known(diagnostic.code)), "{said}");
}

#[test]
fn every_node_of_the_design_compiles() {
    let examples = examples();
    let nodes = examples["nodes"].as_array().unwrap();
    assert!(nodes.len() >= 10);
    nodes.iter().for_each(|node| assert_compiles(&around(node)));
}

#[test]
fn every_condition_of_the_design_compiles() {
    let examples = examples();
    let conditions = examples["conditions"].as_array().unwrap();
    assert!(conditions.len() >= 9);
    for condition in conditions {
        let rule = json!({"condition": condition, "next_nodes": ["b"]});
        assert_compiles(
            &json!({"nodes": [{"id": "a", "type": "task", "branch": {"rules": [rule], "default": []}}, {"id": "b", "type": "task"}]}),
        );
    }
    for looping in examples["loops"].as_array().unwrap() {
        assert_compiles(&json!({"nodes": [{"id": "a", "type": "task", "loop": looping}]}));
    }
}

#[test]
fn the_patch_of_the_design_makes_a_graph() {
    let graph = json!({
        "nodes": [{"id": "process_data", "type": "task"}, examples()["nodes"].as_array().unwrap().iter()
            .find(|node| node["id"] == "send_email").unwrap()],
        "edges": [{"from": "process_data", "to": "send_email"}],
    });
    assert_compiles(&graph);
}
