use serde_json::json;

use super::*;

fn told(schema: Value, input: Value) -> String {
    match check(&Schema::compile(&schema).unwrap(), &input) {
        Ok(()) => String::new(),
        Err(misfit) => misfit.to_string(),
    }
}

#[test]
fn a_misfit_names_the_place_what_was_expected_and_what_was_given() {
    let schema = json!({
        "type": "object",
        "required": ["id"],
        "additionalProperties": false,
        "properties": {
            "id": { "type": "string", "minLength": 2 },
            "items": { "type": "array", "items": { "properties": { "price": { "type": ["number", "null"] } } } },
            "size": { "enum": ["s", "m"] },
            "a b": { "minimum": 3 },
        },
    });
    let cases = [
        (json!({ "id": "ab", "items": [{ "price": 1.5 }, { "price": null }] }), ""),
        (json!(null), "inputs: expected an object, given null"),
        (json!({}), "inputs.id: is missing"),
        (json!({ "id": 7 }), "inputs.id: expected a string, given 7"),
        (json!({ "id": "x" }), "inputs.id: expected at least 2 characters, given \"x\""),
        (
            json!({ "id": "ab", "items": [{}, { "price": "ten" }] }),
            "inputs.items[1].price: expected a number or null, given \"ten\"",
        ),
        (json!({ "id": "ab", "size": "xl" }), "inputs.size: expected one of \"s\", \"m\", given \"xl\""),
        (json!({ "id": "ab", "a b": 2 }), "inputs[\"a b\"]: expected at least 3, given 2"),
        (json!({ "id": "ab", "color": 1 }), "inputs.color: is not known"),
    ];
    for (input, expected) in cases {
        let said = told(schema.clone(), input);
        // The library decides the order of a union's types.
        assert_eq!(said.replace("null or a number", "a number or null"), expected);
    }
}

#[test]
fn only_so_many_problems_are_told() {
    let said = told(json!({ "items": { "type": "string" } }), json!([1, 2, 3, 4, 5, 6, 7]));
    assert!(said.starts_with("inputs[0]: expected a string, given 1; inputs[1]"), "{said}");
    assert!(said.ends_with("inputs[4]: expected a string, given 5; and 2 more"), "{said}");
}

#[test]
fn a_long_value_is_cut() {
    let said = told(json!({ "type": "null" }), json!("é".repeat(1_000)));
    assert!(said.ends_with("é..") && said.len() < 250, "{said}");
}

#[test]
fn a_bad_schema_is_refused_with_its_place() {
    let bad = |schema: Value| Schema::compile(&schema).err().unwrap();
    assert_eq!(bad(json!({ "properties": { "n": { "type": "strng" } } })).path, ["properties", "n", "type"]);
    assert_eq!(bad(json!({ "required": "id" })).path, ["required"]);
    bad(json!({ "pattern": "(" }));
    // No reference is fetched.
    for elsewhere in ["https://example.com/schema.json", "file:///etc/passwd", "other.json", "#/nowhere"] {
        let refused = bad(json!({ "$ref": elsewhere }));
        assert!(!refused.reason.is_empty());
    }
}

#[test]
fn a_schema_may_refer_to_itself_and_a_check_ends() {
    let tree = json!({
        "$ref": "#/$defs/node",
        "$defs": { "node": { "type": "object", "properties": { "next": { "$ref": "#/$defs/node" } } } },
    });
    assert_eq!(told(tree.clone(), json!({ "next": { "next": {} } })), "");
    assert_eq!(told(tree, json!({ "next": { "next": 1 } })), "inputs.next.next: expected an object, given 1");
    assert_eq!(told(json!({ "$ref": "#" }), json!({ "a": 1 })), "");
    // This pattern makes backtracking engines run practically for ever.
    told(json!({ "pattern": "^(a+)+$" }), json!(format!("{}b", "a".repeat(100_000))));
}
