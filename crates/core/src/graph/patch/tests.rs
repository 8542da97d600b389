//! Patches as such; what becomes of runs is told beside the machine.

use serde_json::json;

use super::*;

#[test]
fn a_difference_leads_from_one_document_to_the_other_and_back() {
    let (old, new) = (
        json!({"nodes": [{"id": "a"}, {"id": "b"}]}),
        json!({"nodes": [{"id": "b", "type": "task"}], "x": 1}),
    );
    assert_eq!(apply(&old, &diff(&old, &new)), Ok(new.clone()));
    assert_eq!(apply(&new, &diff(&new, &old)), Ok(old));
}

#[test]
fn nothing_of_a_patch_is_applied_when_a_part_of_it_cannot_be() {
    let document = json!({"nodes": []});
    let operations = json!([{"op": "add", "path": "/x", "value": 1}, {"op": "remove", "path": "/y"}]);
    assert_eq!(apply(&document, &operations).unwrap_err().code, codes::INAPPLICABLE);
}

#[test]
fn a_document_cannot_be_made_large_or_deep_by_copies_of_itself() {
    let document = json!({"a": "x".repeat(1000)});
    let wide: Vec<Value> =
        (0..60).map(|n| json!({"op": "copy", "from": "", "path": format!("/c{n}")})).collect();
    assert_eq!(apply(&document, &json!(wide)).unwrap_err().code, codes::INAPPLICABLE);
    let deep: Vec<Value> = (0..120).map(|_| json!({"op": "copy", "from": "", "path": "/a"})).collect();
    assert_eq!(apply(&json!({"a": 1}), &json!(deep)).unwrap_err().code, codes::INAPPLICABLE);
    let many: Vec<Value> = (0..300).map(|_| json!({"op": "test", "path": "/a", "value": 1})).collect();
    assert_eq!(apply(&json!({"a": 1}), &json!(many)).unwrap_err().code, codes::MALFORMED);
}

#[test]
fn content_and_types_of_the_graph_are_there_for_what_is_made_of_it() {
    let document = json!({"nodes": [{"id": "a", "type": "scorer", "config_ref": "sha256:c1"}]});
    let mut registry = Registry::default();
    registry.add(serde_json::from_value(json!({"name": "scorer", "queue": "models"})).unwrap()).unwrap();
    let content = |reference: &str| (reference == "cas://sha256:c1").then(|| json!({"x": 1}));
    let compiled = compile(&document.to_string(), &Context { registry: &registry, content: &content });
    let base = compiled.graph.unwrap();
    let operations = json!([{"op": "add", "path": "/nodes/-", "value": {"id": "b", "type": "task"}}]);
    let changed = propose((&document, &base), &operations, &compiler(Registry::default())).unwrap();
    assert_eq!(changed.graph.nodes[0].config, base.nodes[0].config);
    assert_eq!(changed.graph.nodes[0].queue, "models");
}
