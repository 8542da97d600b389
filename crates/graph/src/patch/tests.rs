//! Patches on documents. The tests beside the machine cover patches of runs.

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
    let compiled = compile(
        &document.to_string(),
        &Context { registry: &registry, content: &content, ..Context::default() },
    );
    let base = compiled.graph.unwrap();
    let operations = json!([{"op": "add", "path": "/nodes/-", "value": {"id": "b", "type": "task"}}]);
    let changed = propose((&document, &base), &operations, &compiler(Registry::default())).unwrap();
    assert_eq!(changed.graph.nodes[0].config, base.nodes[0].config);
    assert_eq!(changed.graph.nodes[0].queue, "models");
}

#[test]
fn keys_keep_their_order_whatever_happens_to_their_neighbours() {
    let document = json!({"a": 1, "b": 2, "c": 3, "d": 4});
    let removed = apply(&document, &json!([{"op": "remove", "path": "/b"}])).unwrap();
    assert_eq!(removed.to_string(), r#"{"a":1,"c":3,"d":4}"#);
    let replaced = apply(&document, &json!([{"op": "replace", "path": "/b", "value": 9}])).unwrap();
    assert_eq!(replaced.to_string(), r#"{"a":1,"b":9,"c":3,"d":4}"#);
    assert_eq!(apply(&removed, &diff(&removed, &document)).unwrap().to_string(), document.to_string());
}

#[test]
fn places_are_found_as_rfc_6901_says_or_said_to_be_missing() {
    let document = json!({"a/b": {"~": [1, 2]}, "": 0, "list": []});
    let moved = |operation: Value| apply(&document, &json!([operation])).map(|changed| changed.to_string());
    assert_eq!(
        moved(json!({"op": "remove", "path": "/a~1b/~0/0"})).unwrap(),
        r#"{"a/b":{"~":[2]},"":0,"list":[]}"#
    );
    assert_eq!(moved(json!({"op": "test", "path": "/", "value": 0})).unwrap(), document.to_string());
    assert_eq!(
        moved(json!({"op": "move", "from": "/", "path": "/list/-"})).unwrap(),
        r#"{"a/b":{"~":[1,2]},"list":[0]}"#
    );
    for (operation, code) in [
        (json!({"op": "remove", "path": "/list/-"}), codes::INAPPLICABLE),
        (json!({"op": "remove", "path": "/list/0"}), codes::INAPPLICABLE),
        (json!({"op": "add", "path": "/list/1", "value": 1}), codes::INAPPLICABLE),
        (json!({"op": "add", "path": "/a~1b/~0/00", "value": 1}), codes::INAPPLICABLE),
        (json!({"op": "add", "path": "/x/y", "value": 1}), codes::INAPPLICABLE),
        (json!({"op": "replace", "path": "/x", "value": 1}), codes::INAPPLICABLE),
        (json!({"op": "move", "from": "/a~1b", "path": "/a~1b/x"}), codes::INAPPLICABLE),
        (json!({"op": "remove", "path": ""}), codes::INAPPLICABLE),
        (json!({"op": "remove", "path": "list"}), codes::MALFORMED),
        (json!({"op": "add", "path": "/x"}), codes::MALFORMED),
    ] {
        assert_eq!(moved(operation.clone()).unwrap_err().code, code, "{operation}");
    }
}

#[test]
fn what_is_no_patch_is_told_in_plain_words() {
    for (operations, told) in [
        (json!({"op": "remove"}), "a patch is a list of operations"),
        (json!([7]), "operation 1: it has no `op`: there are add, remove, replace, move, copy and test"),
        (
            json!([{"op": "test", "path": "", "value": {}}, {"op": "fly", "path": "/x"}]),
            "operation 2: `fly` is no operation: there are add, remove, replace, move, copy and test",
        ),
        (
            json!([{"op": 7, "path": "/x"}]),
            "operation 1: `op` is a text: there are add, remove, replace, move, copy and test",
        ),
        (json!([{"op": "remove"}]), "operation 1: it has no `path`"),
        (json!([{"op": "add", "path": "/x"}]), "operation 1: it has no `value`"),
        (json!([{"op": "move", "path": "/x"}]), "operation 1: it has no `from`"),
        (json!([{"op": "remove", "path": {}}]), "operation 1: `path` is a text such as \"/nodes/0\""),
        (json!([{"op": "remove", "path": "x"}]), "operation 1: \"x\" is no place: one begins with /"),
    ] {
        let refused = apply(&json!({}), &operations).unwrap_err();
        assert_eq!((refused.code, refused.message.as_str()), (codes::MALFORMED, told));
    }
}

#[test]
fn undoing_touches_nothing_but_what_the_patch_did() {
    let base = json!({"nodes": [{"id": "a"}, {"id": "b"}], "x": 1});
    let first =
        json!([{"op": "add", "path": "/nodes/1", "value": {"id": "n"}}, {"op": "remove", "path": "/x"}]);
    let after = apply(&base, &first).unwrap();
    let inverse = diff(&after, &base);
    let undone = |now: &Value| undo(&inverse, &after, now).and_then(|operations| apply(now, &operations));
    assert_eq!(undone(&after).unwrap().to_string(), base.to_string());
    // A change elsewhere in the document stays.
    let elsewhere = apply(&after, &json!([{"op": "add", "path": "/y", "value": 2}])).unwrap();
    assert_eq!(undone(&elsewhere).unwrap(), json!({"nodes": [{"id": "a"}, {"id": "b"}], "x": 1, "y": 2}));
    // A moved item is found by its id.
    let moved = apply(&after, &json!([{"op": "add", "path": "/nodes/0", "value": {"id": "m"}}])).unwrap();
    assert_eq!(undone(&moved).unwrap(), json!({"nodes": [{"id": "m"}, {"id": "a"}, {"id": "b"}], "x": 1}));
    // The patch's value is gone or changed, or its position is taken.
    for later in [
        json!([{"op": "remove", "path": "/nodes/1"}]),
        json!([{"op": "add", "path": "/nodes/0", "value": {"id": "n"}}]),
        json!([{"op": "add", "path": "/nodes/1/type", "value": "task"}]),
        json!([{"op": "add", "path": "/x", "value": 7}]),
    ] {
        let refused = undone(&apply(&after, &later).unwrap()).unwrap_err();
        assert_eq!(refused.code, codes::INAPPLICABLE, "{later}");
        assert!(refused.message.contains("a later patch"), "{}", refused.message);
    }
}

#[test]
fn what_has_moved_is_undone_where_it_is() {
    let base = json!({"nodes": [{"id": "a", "to": ["b", "c"]}, {"id": "b"}, {"node_id": "c", "n": 1}]});
    let shuffle = json!([{"op": "move", "from": "/nodes/1", "path": "/nodes/0"},
        {"op": "add", "path": "/nodes/0", "value": {"id": "z"}}]);
    let (a, b) = (json!({"id": "a", "to": ["b", "c"]}), json!({"id": "b"}));
    let (c, z) = (json!({"node_id": "c", "n": 1}), json!({"id": "z"}));
    for (patch, nodes) in [
        // The nodes are in their places, except for those inserted in between.
        (json!([{"op": "replace", "path": "/nodes/2/n", "value": 2}]), json!([z, b, a, c])),
        (json!([{"op": "remove", "path": "/nodes/0/to/1"}]), json!([z, b, a, c])),
        (json!([{"op": "add", "path": "/nodes/0/to/0", "value": "c2"}]), json!([z, b, a, c])),
        // A restored item returns to its position relative to the item it preceded, or to the end.
        (json!([{"op": "remove", "path": "/nodes/1"}]), json!([z, b, c, a])),
        (json!([{"op": "remove", "path": "/nodes/2"}]), json!([z, b, a, c])),
    ] {
        let after = apply(&base, &patch).unwrap();
        let now = apply(&after, &shuffle).unwrap();
        let operations = undo(&diff(&after, &base), &after, &now).unwrap();
        assert_eq!(apply(&now, &operations).unwrap(), json!({"nodes": nodes}), "{patch}");
    }
}

#[test]
fn what_would_take_too_many_operations_is_undone_as_a_whole() {
    let base = json!({"list": (0..400).map(|n| json!({"n": n})).collect::<Vec<_>>()});
    let other = json!({"list": (0..400).map(|n| json!({"n": n + 1})).collect::<Vec<_>>()});
    let replace = json!([{"op": "replace", "path": "", "value": other}]);
    let after = apply(&base, &replace).unwrap();
    let operations = undo(&diff(&after, &base), &after, &after).unwrap();
    assert_eq!(operations.as_array().unwrap().len(), 2);
    assert_eq!(apply(&after, &operations).unwrap().to_string(), base.to_string());
    assert!(undo(&diff(&after, &base), &after, &json!({"list": after["list"], "x": 1})).is_err());
}

fn any_document() -> impl proptest::strategy::Strategy<Value = Value> {
    use proptest::prelude::*;
    let leaf = prop_oneof![Just(json!(null)), (0..4).prop_map(|n| json!(n)), "[a-c]".prop_map(|s| json!(s))];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| json!(items)),
            prop::collection::vec(("[a-d/~]", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest::proptest! {
    #[test]
    fn a_difference_leads_to_the_other_document_byte_for_byte(from in any_document(), to in any_document()) {
        proptest::prop_assert_eq!(apply(&from, &diff(&from, &to)).unwrap().to_string(), to.to_string());
    }
}

#[test]
fn an_edge_can_be_added_whatever_spelling_the_graph_came_in() {
    let add = json!([{"op": "add", "path": "/edges/-", "value": {"from": "a", "to": "c"}}]);
    let node = |id: &str| json!({"id": id, "type": "task"});
    let declared = json!({"id": "b", "type": "task", "dependencies": ["a"]});
    for document in [
        json!({"nodes": [node("a"), declared, node("c")]}),
        json!({"nodes": [node("a"), declared, node("c")], "edges": null}),
        json!({"nodes": [node("a"), declared, node("c")], "edges": []}),
    ] {
        let graph = compile(&document.to_string(), &Context::default()).graph.unwrap();
        let changed = propose((&document, &graph), &add, &compiler(Registry::default())).unwrap();
        assert_eq!(changed.graph.nodes[0].dependents, [1, 2]);
        assert_eq!(apply(&changed.document, &changed.inverse).unwrap(), document);
    }
    let listed = json!({"nodes": [{"id": "a", "type": "task", "dependents": ["b"]}, node("b"), node("c")]});
    let changed = apply(&listed, &add).unwrap();
    assert_eq!(changed["edges"], json!([{"from": "a", "to": "c"}]));
    let titled = apply(&listed, &json!([{"op": "add", "path": "/metadata/name", "value": "x"}])).unwrap();
    assert_eq!(titled["metadata"], json!({"name": "x"}));
    assert_eq!(apply(&listed, &json!([])).unwrap(), listed);
}
