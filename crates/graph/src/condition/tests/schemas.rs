//! `schema_validation`: which outputs fit, which schemas are refused, and that no reference is fetched or
//! followed in circles.

use super::*;

fn schema(schema: Value) -> Value {
    json!({"type": "schema_validation", "schema": schema})
}

#[test]
fn an_output_fits_or_does_not_and_invert_turns_it_round() {
    let of =
        |invert: bool| json!({"type": "schema_validation", "schema": {"type": "integer"}, "invert": invert});
    assert_eq!(verdict(of(false), json!(1)), Verdict::Met);
    assert_eq!(verdict(of(false), json!("1")), Verdict::NotMet);
    assert_eq!(verdict(of(true), json!(1)), Verdict::NotMet);
    assert_eq!(verdict(of(true), json!(null)), Verdict::Met);
}

#[test]
fn references_inside_the_schema_are_followed() {
    let condition = schema(json!({
        "$defs": {"money": {"type": "number", "minimum": 0}},
        "properties": {"a": {"$ref": "#/$defs/money"}, "id": {"type": "string", "pattern": "^[a-z]+$"}}
    }));
    assert_eq!(verdict(condition.clone(), json!({"a": 1, "id": "x"})), Verdict::Met);
    assert_eq!(verdict(condition.clone(), json!({"a": -1})), Verdict::NotMet);
    assert_eq!(verdict(condition, json!({"id": "X"})), Verdict::NotMet);
}

#[test]
fn data_in_a_schema_may_look_like_keywords() {
    let condition = schema(json!({"const": {"$ref": "file:///etc/passwd", "id": "x"}}));
    assert_eq!(verdict(condition, json!({"$ref": "file:///etc/passwd", "id": "x"})), Verdict::Met);
    let condition = schema(json!({"properties": {"const": {"type": "string"}, "$ref": {"type": "string"}}}));
    assert_eq!(verdict(condition, json!({"const": 1})), Verdict::NotMet);
}

#[test]
fn references_that_lead_out_or_round_are_refused() {
    for (source, kind) in [
        (json!({"$ref": "http://169.254.169.254/"}), ErrorKind::Unsupported),
        (json!({"$ref": "file:///etc/passwd"}), ErrorKind::Unsupported),
        (json!({"$ref": "other.json"}), ErrorKind::Unsupported),
        (json!({"$ref": "#"}), ErrorKind::Unsupported),
        (json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}), ErrorKind::Unsupported),
        (json!({"items": {"$ref": "#"}}), ErrorKind::Unsupported),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
            ErrorKind::Unsupported,
        ),
        (json!({"$dynamicRef": "#x"}), ErrorKind::Unsupported),
        (json!({"$ref": "#/$defs/none"}), ErrorKind::Syntax),
        (json!({"properties": {"a": {"$id": "http://x/", "$ref": "#"}}}), ErrorKind::Unsupported),
        (json!({"$schema": "http://evil.test/schema"}), ErrorKind::Unsupported),
        (json!({"pattern": "(a{1000}){1000}"}), ErrorKind::Unsupported),
        (json!({"patternProperties": {"(": true}}), ErrorKind::Unsupported),
        (json!({"type": "whatever"}), ErrorKind::Syntax),
        (json!(5), ErrorKind::Syntax),
    ] {
        assert_eq!(refused(schema(source.clone())).kind, kind, "{source}");
    }
}

#[test]
fn a_schema_that_doubles_with_every_reference_is_refused() {
    let mut definitions = serde_json::Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(format!("d{level}"), json!({"allOf": [next, next]}));
    }
    definitions.insert("d40".into(), json!(true));
    let error = refused(schema(json!({"$ref": "#/$defs/d0", "$defs": definitions})));
    assert_eq!(error.kind, ErrorKind::TooLarge);
}

#[test]
fn a_schema_that_nests_too_deep_is_refused_also_by_references() {
    let deep = (0..70).fold(json!(true), |inner, _| json!({"not": inner}));
    assert_eq!(refused(schema(deep)).kind, ErrorKind::TooLarge);
    let mut definitions = serde_json::Map::new();
    for level in 0..10 {
        let end = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(format!("d{level}"), (0..30).fold(end, |inner, _| json!({"not": inner})));
    }
    definitions.insert("d10".into(), json!(true));
    let error = refused(schema(json!({"$ref": "#/$defs/d0", "$defs": definitions})));
    assert_eq!(error.kind, ErrorKind::TooLarge);
}

#[test]
fn a_costly_schema_is_not_evaluated_on_a_large_output() {
    let condition = schema(json!({"items": {"anyOf": vec![json!({"const": 1}); 1000]}}));
    assert_eq!(verdict(condition.clone(), json!([1, 1])), Verdict::Met);
    not_evaluable(verdict(condition, json!(vec![2; 50_000])), "more work");
}
