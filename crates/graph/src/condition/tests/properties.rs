//! Generated conditions over generated outputs: none panics, and the same input gives the same verdict.

use proptest::prelude::*;

use super::*;

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6_f64).prop_map(Value::from),
        "[a-c]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

/// Generates expressions that parse, with every operator and often with wrong types.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("output".to_owned()),
        Just("$.a".to_owned()),
        Just("output.b.c".to_owned()),
        Just("ctx.n.output".to_owned()),
        Just("ctx.n.metadata.attempt".to_owned()),
        Just("inputs.limit".to_owned()),
        Just("'ab'".to_owned()),
        Just("[1, 2.5, 'a']".to_owned()),
        Just("{'a': 1}".to_owned()),
        any::<i8>().prop_map(|n| n.to_string()),
        Just("true".to_owned()),
        Just("null".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let binary = prop::sample::select(vec![
            "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in",
        ]);
        prop_oneof![
            (inner.clone(), binary, inner.clone()).prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            inner.clone().prop_map(|a| format!("!({a})")),
            inner.clone().prop_map(|a| format!("-({a})")),
            inner.clone().prop_map(|a| format!("size({a})")),
            inner.clone().prop_map(|a| format!("string({a})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[{b}]")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("({a}).all(x, x == {b})")),
        ]
    })
}

fn query() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        ".a",
        ".b",
        "[0]",
        "[-1]",
        "[*]",
        ".*",
        "..a",
        "[1:3]",
        "['a','b']",
        "[?@.a > 1]",
        "[?(@.b == 'a')]",
        "[?@.*]",
    ]);
    prop::collection::vec(part, 0..5).prop_map(|parts| format!("${}", parts.concat()))
}

fn operator() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "==",
        "!=",
        ">",
        ">=",
        "<",
        "<=",
        "in",
        "contains",
        "exists",
        "length_eq",
        "sum_gt",
        "min_lt",
        "max_gte",
        "avg_ne",
    ])
}

fn condition() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        expression().prop_map(|text| json!({"type": "cel", "expression": text})),
        (query(), operator(), json_value())
            .prop_map(|(query, operator, value)| json!({"type": "jsonpath", "query": query, "operator": operator, "value": value})),
        (operator(), json_value()).prop_map(|(operator, value)| json!({
            "type": "cross_node_comparison", "left": {"source": "current", "path": "output.a"},
            "operator": operator, "right": {"value": value}
        })),
        (json_value(), any::<bool>())
            .prop_map(|(schema, invert)| json!({"type": "schema_validation", "schema": {"const": schema}, "invert": invert})),
        Just(json!({"type": "python_sandbox", "code": "x"})),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        (prop::sample::select(vec!["AND", "OR", "NOT"]), prop::collection::vec(inner, 1..3)).prop_map(
            |(operator, members)| json!({"type": "composite", "operator": operator, "conditions": members}),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_condition_is_refused_or_comes_to_the_same_verdict_twice(
        source in condition(), output in json_value(), past in json_value()
    ) {
        let Ok(first) = Condition::compile(&source) else { return Ok(()) };
        let second = Condition::compile(&source).unwrap();
        let inputs = json!({"limit": 10});
        let context = std::collections::BTreeMap::from([("n", Past { output: &past, metadata: COMPLETED })]);
        let scope = Scope { output: &output, context, inputs: &inputs };
        let mut answers = Answers::new();
        loop {
            let verdict = first.evaluate(&scope, &answers);
            prop_assert_eq!(&verdict, &second.evaluate(&scope, &answers));
            let Verdict::Ask(call) = verdict else { break };
            prop_assert!(answers.insert(call.index, Answer::Met).is_none());
        }
    }

    #[test]
    fn any_text_at_all_is_refused_or_evaluated(text in "\\PC{0,80}", output in json_value()) {
        for source in [
            json!({"type": "cel", "expression": text}),
            json!({"type": "jsonpath", "query": format!("${text}"), "operator": "exists"}),
            json!({"type": "schema_validation", "schema": {"pattern": text}}),
        ] {
            if let Ok(condition) = Condition::compile(&source) {
                let scope = Scope { output: &output, context: Default::default(), inputs: &output };
                condition.evaluate(&scope, &Answers::new());
            }
        }
    }

    #[test]
    fn any_cel_soup_is_refused_or_evaluated(
        words in prop::collection::vec(prop::sample::select(vec![
            "output", ".a", "[", "]", "(", ")", "!", "-", "+", "&&", "||", "?", ":", "'x'", "1", "x", ",", ".map(",
            ".all(x,", "has(", "{", "}", "$", "in", "r'\\'", "\"\"\"", "`", "b'a'", "//", "\n",
        ]), 0..40)
    ) {
        let source = json!({"type": "cel", "expression": words.concat()});
        if let Ok(condition) = Condition::compile(&source) {
            let output = json!({"a": [1, 2]});
            condition.evaluate(&Scope { output: &output, context: Default::default(), inputs: &output }, &Answers::new());
        }
    }
}
