//! Every operator of `jsonpath`, with values that fit, are missing, null or of the wrong type.

use super::*;

fn path(query: &str, operator: &str, value: Value) -> Value {
    json!({"type": "jsonpath", "query": query, "operator": operator, "value": value})
}

fn check(query: &str, operator: &str, value: Value, output: Value) -> Verdict {
    verdict(path(query, operator, value), output)
}

#[test]
fn relations_hold_between_what_is_found_and_the_value() {
    for (operator, met) in [
        ("==", [false, true, false]),
        ("!=", [true, false, true]),
        (">", [false, false, true]),
        (">=", [false, true, true]),
        ("<", [true, false, false]),
        ("<=", [true, true, false]),
    ] {
        for (found, met) in [1.5, 2.0, 3.0].into_iter().zip(met) {
            assert_eq!(
                check("$.a", operator, json!(2), json!({"a": found})),
                Verdict::of(met),
                "{found} {operator}"
            );
        }
        assert_eq!(check("$.a", operator, json!(2), json!({})), Verdict::NotMet, "missing {operator}");
    }
    assert_eq!(check("$.a", "!=", json!(2), json!({"a": "2"})), Verdict::Met);
    assert_eq!(check("$.a", "==", json!(null), json!({"a": null})), Verdict::Met);
    assert_eq!(check("$.a", "==", json!(null), json!({})), Verdict::NotMet);
    not_evaluable(check("$.a", ">", json!(2), json!({"a": null})), "null and a number have no order");
    not_evaluable(check("$.a", ">", json!(2), json!({"a": "3"})), "no order");
}

#[test]
fn one_of_several_values_is_enough_and_a_wrong_one_hides_none() {
    assert_eq!(check("$[*]", ">", json!(2), json!([1, "x", 3])), Verdict::Met);
    not_evaluable(check("$[*]", ">", json!(2), json!([1, "x", 2])), "no order");
    assert_eq!(check("$[*]", ">", json!(2), json!([])), Verdict::NotMet);
}

#[test]
fn in_and_contains_look_into_lists_texts_and_objects() {
    assert_eq!(check("$.a", "in", json!(["x", "y"]), json!({"a": "y"})), Verdict::Met);
    assert_eq!(check("$.a", "in", json!(["x", "y"]), json!({"a": "z"})), Verdict::NotMet);
    assert_eq!(check("$.a", "in", json!(["x"]), json!({})), Verdict::NotMet);
    assert_eq!(check("$.a", "in", json!([null]), json!({"a": null})), Verdict::Met);
    assert_eq!(check("$.a", "in", json!("xyz"), json!({"a": "y"})), Verdict::Met);
    not_evaluable(check("$.a", "in", json!("xyz"), json!({"a": 5})), "cannot contain");
    assert_eq!(check("$.a", "contains", json!(2), json!({"a": [1, 2]})), Verdict::Met);
    assert_eq!(check("$.a", "contains", json!("b"), json!({"a": "abc"})), Verdict::Met);
    assert_eq!(check("$.a", "contains", json!("k"), json!({"a": {"k": 1}})), Verdict::Met);
    assert_eq!(check("$.a", "contains", json!(2), json!({})), Verdict::NotMet);
    not_evaluable(check("$.a", "contains", json!(2), json!({"a": null})), "cannot contain");
    assert_eq!(refused(path("$.a", "in", json!(5))).place, "value");
}

#[test]
fn existing_is_being_found_even_as_null() {
    let exists = json!({"type": "jsonpath", "query": "$.a", "operator": "exists"});
    assert_eq!(verdict(exists.clone(), json!({"a": null})), Verdict::Met);
    assert_eq!(verdict(exists, json!({"b": 1})), Verdict::NotMet);
    assert_eq!(check("$.a", "exists", json!(false), json!({})), Verdict::Met);
    assert_eq!(refused(path("$.a", "exists", json!(1))).place, "value");
}

#[test]
fn lengths_are_of_the_one_value_or_of_the_values_found() {
    for (operator, value, met) in [
        ("length_eq", 2, true),
        ("length_ne", 2, false),
        ("length_gt", 1, true),
        ("length_gte", 2, true),
        ("length_lt", 2, false),
        ("length_lte", 2, true),
    ] {
        assert_eq!(
            check("$.a", operator, json!(value), json!({"a": [1, 2]})),
            Verdict::of(met),
            "{operator}"
        );
        assert_eq!(
            check("$.a[*]", operator, json!(value), json!({"a": [1, 2]})),
            Verdict::of(met),
            "{operator}"
        );
        assert_eq!(check("$.a", operator, json!(value), json!({})), Verdict::NotMet, "{operator}");
    }
    assert_eq!(check("$.a", "length_eq", json!(2), json!({"a": "hé"})), Verdict::Met);
    assert_eq!(check("$.a", "length_eq", json!(1), json!({"a": {"k": 1}})), Verdict::Met);
    assert_eq!(check("$.a[*]", "length_eq", json!(0), json!({})), Verdict::NotMet);
    assert_eq!(check("$.a[*]", "length_eq", json!(0), json!({"a": []})), Verdict::Met);
    assert_eq!(check("$.a.length()", "==", json!(2), json!({"a": [1, 2]})), Verdict::Met);
    assert_eq!(check("$.a.length()", "in", json!([2, 3]), json!({"a": [1, 2]})), Verdict::Met);
    not_evaluable(check("$.a.length()", "<", json!(2), json!({"a": 5})), "a number has no length");
    not_evaluable(check("$.a.length()", "<", json!(2), json!({"a": null})), "null has no length");
    assert_eq!(refused(path("$.a.length()", "sum_gt", json!(1))).place, "operator");
}

#[test]
fn sums_and_extremes_are_of_the_values_found_or_of_the_one_list() {
    for (what, value) in [("sum", 6.5), ("min", 1.0), ("max", 3.5), ("avg", 6.5 / 3.0)] {
        for (word, above, equal, below) in [
            ("gt", true, false, false),
            ("gte", true, true, false),
            ("lt", false, false, true),
            ("lte", false, true, true),
            ("eq", false, true, false),
            ("ne", true, false, true),
        ] {
            let operator = format!("{what}_{word}");
            for (wanted, met) in [(value - 0.5, above), (value, equal), (value + 0.5, below)] {
                for (query, output) in
                    [("$[*].n", json!([{"n": 1}, {"n": 2}, {"n": 3.5}])), ("$.n", json!({"n": [1, 2, 3.5]}))]
                {
                    assert_eq!(
                        check(query, &operator, json!(wanted), output),
                        Verdict::of(met),
                        "{operator} {wanted}"
                    );
                }
            }
        }
        let operator = format!("{what}_gte");
        not_evaluable(check("$[*]", &operator, json!(0), json!([1, null])), "null cannot be added up");
        not_evaluable(check("$.a", &operator, json!(0), json!({"a": ["1"]})), "a string cannot be added up");
        assert_eq!(check("$.a", &operator, json!(0), json!({})), Verdict::NotMet);
        assert_eq!(check("$[*]", &operator, json!(0), json!([])), Verdict::of(what == "sum"));
        assert_eq!(refused(path("$.a", &operator, json!("0"))).place, "value");
    }
    assert_eq!(check("$[*]", "sum_eq", json!(u64::MAX), json!([u64::MAX, 1, -1])), Verdict::Met);
}

#[test]
fn queries_that_are_none_and_operators_that_are_none_are_refused() {
    assert_eq!(refused(path("$.a[", "==", json!(1))).kind, ErrorKind::Syntax);
    assert_eq!(refused(path("a.b", "==", json!(1))).kind, ErrorKind::Unsupported);
    assert_eq!(refused(path("$.a", "~=", json!(1))).place, "operator");
    assert_eq!(refused(path("$.a", "sum_like", json!(1))).place, "operator");
    assert_eq!(
        refused(json!({"type": "jsonpath", "query": "$.a", "operator": "=="})).to_string(),
        "value: it is missing"
    );
}

#[test]
fn an_input_beyond_a_mebibyte_is_not_evaluated() {
    not_evaluable(check("$.a", "exists", json!(true), json!({"a": "x".repeat(1 << 20)})), "1 MiB");
}
