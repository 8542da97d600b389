//! `cross_node_comparison`: its sides, its operators and missing values.

use super::*;

fn compare(left: Value, operator: &str, right: Value) -> Value {
    json!({"type": "cross_node_comparison", "left": left, "operator": operator, "right": right})
}

#[test]
fn a_side_is_of_this_node_of_another_or_a_value() {
    let past = [("first", json!({"items": [{"price": 3}, {"price": 4}]}))];
    let verdict = |left: Value, operator: &str, right: Value| {
        verdict_with(&compare(left, operator, right), &json!({"price": 4, "a b": [1]}), &past)
    };
    let other = json!({"source": "context", "node": "first", "path": "output.items[1].price"});
    assert_eq!(
        verdict(json!({"source": "current", "path": "output.price"}), "==", other.clone()),
        Verdict::Met
    );
    assert_eq!(verdict(json!({"source": "current", "path": "price"}), "<=", other.clone()), Verdict::Met);
    assert_eq!(
        verdict(json!({"source": "current", "path": "$.price"}), "!=", other.clone()),
        Verdict::NotMet
    );
    assert_eq!(verdict(json!({"value": 5}), ">", other.clone()), Verdict::Met);
    assert_eq!(verdict(json!({"value": null}), "==", other.clone()), Verdict::NotMet);
    assert_eq!(verdict(other.clone(), "in", json!({"value": [3, 4]})), Verdict::Met);
    assert_eq!(
        verdict(json!({"source": "current", "path": "output[\"a b\"]"}), "contains", json!({"value": 1})),
        Verdict::Met
    );
    assert_eq!(verdict(json!({"source": "current"}), "contains", json!({"value": "price"})), Verdict::Met);
    let took = json!({"source": "context", "node": "first", "path": "metadata.duration_ms"});
    assert_eq!(verdict(took, ">=", json!({"value": 1500})), Verdict::Met);
    let ended = json!({"source": "context", "node": "first", "path": "metadata.completed_at"});
    assert_eq!(verdict(ended, "<", json!({"value": "2026-11-16"})), Verdict::Met);
}

#[test]
fn a_missing_value_satisfies_no_comparison() {
    let missing = json!({"source": "context", "node": "never_ran", "path": "output.x"});
    for operator in ["==", "!=", ">", ">=", "<", "<=", "in", "contains"] {
        for other in [json!({"value": 1}), json!({"value": null}), missing.clone()] {
            let condition = compare(missing.clone(), operator, other);
            assert_eq!(verdict(condition, json!({})), Verdict::NotMet, "{operator}");
        }
    }
}

#[test]
fn the_wrong_type_is_a_reason() {
    let side = json!({"source": "current", "path": "output.a"});
    for wrong in [json!(null), json!("1"), json!([1]), json!(true)] {
        let condition = compare(side.clone(), ">", json!({"value": 1}));
        not_evaluable(verdict(condition, json!({"a": wrong})), "no order");
    }
}

#[test]
fn sides_that_say_nothing_are_refused() {
    let value = json!({"value": 1});
    for (left, place) in [
        (json!({}), "left.source"),
        (json!({"source": "future", "path": "output"}), "left.source"),
        (json!({"source": "context", "path": "output"}), "left.node"),
        (json!({"source": "current", "path": "output..a"}), "left.path"),
        (json!({"source": "current", "path": "output[x]"}), "left.path"),
        (json!({"source": "current", "path": "output[0"}), "left.path"),
        (json!({"source": "current", "path": "output."}), "left.path"),
        (json!({"source": "current", "path": "a.".repeat(70) + "a"}), "left.path"),
        (json!([5]), "left.condition"),
    ] {
        assert_eq!(refused(compare(left, "==", value.clone())).place, place);
    }
    assert_eq!(refused(json!({"type": "cross_node_comparison", "operator": "=="})).place, "left");
    assert_eq!(refused(compare(value.clone(), "sum_gt", value)).place, "operator");
}

#[test]
fn only_expressions_of_comparisons_know_current() {
    let condition = json!({"type": "cross_node_comparison", "expression": "current.output.a == output.a"});
    assert_eq!(verdict(condition, json!({"a": 1})), Verdict::Met);
    assert!(
        refused(json!({"type": "cel", "expression": "current.output.a == 1"}))
            .message
            .contains("output, ctx")
    );
}
