//! Small graphs with the order of their executions, the final counter and the output.

use serde_json::{Value, json};

use super::stage::{Script, code, play, script};

struct Case {
    name: &'static str,
    graph: Value,
    script: Script,
    order: &'static [&'static str],
    output: Value,
}

fn nodes(nodes: Value) -> Value {
    json!({"nodes": nodes})
}

fn task(id: &str, dependents: &[&str]) -> Value {
    json!({"id": id, "type": "task", "dependents": dependents})
}

fn cases() -> Vec<Case> {
    let cel = |expression: &str| json!({"type": "cel", "expression": expression});
    let choose = |id: &str, rules: &[(&str, &[&str])], default: &[&str]| {
        let rules: Vec<Value> = rules
            .iter()
            .map(|(condition, next)| json!({"condition": cel(condition), "next_nodes": next}))
            .collect();
        json!({"id": id, "type": "task", "branch": {"type": "conditional", "rules": rules, "default": default}})
    };
    vec![
        Case {
            name: "a chain hands each output on",
            graph: nodes(json!([task("a", &["b"]), task("b", &["c"]), task("c", &[])])),
            script: script().with("c", [json!("end")]),
            order: &["a", "b", "c"],
            output: json!("end"),
        },
        Case {
            name: "edges are another spelling of dependents",
            graph: json!({"nodes": [{"id": "a", "type": "task"}, {"id": "b", "type": "task"}],
                "edges": [{"from": "a", "to": "b"}]}),
            script: script().with("b", [json!(2)]),
            order: &["a", "b"],
            output: json!(2),
        },
        Case {
            name: "several terminal nodes give their outputs by name",
            graph: nodes(json!([task("a", &["b", "c"]), task("b", &[]), task("c", &[])])),
            script: script().with("b", [json!(1)]).with("c", [json!(2)]),
            order: &["a", "b", "c"],
            output: json!({"b": 1, "c": 2}),
        },
        Case {
            name: "a join runs once with what its dependencies gave",
            graph: nodes(json!([task("a", &["b", "c"]), task("b", &["d"]), task("c", &["d"]),
                {"id": "d", "type": "delay", "config": {"for": 0}, "dependencies": ["b", "c"]}])),
            script: script().with("b", [json!(1)]).with("c", [json!(2)]),
            order: &["a", "b", "c"],
            output: json!({"b": 1, "c": 2}),
        },
        Case {
            name: "without wait_for_all a node runs once for each token",
            graph: nodes(json!([task("a", &["b", "c"]), task("b", &["d"]), task("c", &["d"]),
                {"id": "d", "type": "task", "wait_for_all": false}])),
            script: script().with("d", [json!(1), json!(2)]),
            order: &["a", "b", "c", "d", "d"],
            output: json!(2),
        },
        Case {
            name: "the first true rule wins",
            graph: nodes(json!([
                choose("a", &[("output.n > 5", &["b"]), ("output.n > 1", &["c"]), ("true", &["d"])], &["e"]),
                task("b", &[]),
                task("c", &[]),
                task("d", &[]),
                task("e", &[])
            ])),
            script: script().with("a", [json!({"n": 3})]),
            order: &["a", "c"],
            output: json!({}),
        },
        Case {
            name: "no true rule leads to the default",
            graph: nodes(json!([
                choose("a", &[("output.n > 5", &["b"])], &["e"]),
                task("b", &[]),
                task("e", &[])
            ])),
            script: script().with("a", [json!({"n": 3})]),
            order: &["a", "e"],
            output: json!({}),
        },
        Case {
            name: "a rule that is no boolean, or cannot be evaluated, counts as false",
            graph: nodes(json!([
                choose("a", &[("output.n", &["b"]), ("output.missing.x == 1", &["b"])], &["e"]),
                task("b", &[]),
                task("e", &[])
            ])),
            script: script().with("a", [json!({"n": 3})]),
            order: &["a", "e"],
            output: json!({}),
        },
        Case {
            name: "an empty target list ends the path, and where no terminal node ran there is no output",
            graph: nodes(json!([choose("a", &[("true", &[])], &["e"]), task("e", &[])])),
            script: script().with("a", [json!({"n": 3})]),
            order: &["a"],
            output: json!({}),
        },
        Case {
            name: "a join whose other dependency was not chosen goes on with what arrived",
            graph: nodes(
                json!([choose("a", &[("output.n > 1", &["b"])], &["c"]), task("b", &["d"]), task("c", &["d"]),
                {"id": "d", "type": "delay", "config": {"for": 0}, "dependencies": ["b", "c"]}]),
            ),
            script: script().with("a", [json!({"n": 3})]).with("b", [json!("B")]),
            order: &["a", "b"],
            output: json!({"b": "B"}),
        },
        Case {
            name: "an eliminated join eliminates the next one",
            graph: nodes(json!([
                choose("a", &[("output.n > 1", &["b"])], &["c", "d"]),
                task("b", &["f"]), task("c", &["e"]), task("d", &["e"]),
                {"id": "e", "type": "task", "dependencies": ["c", "d"], "dependents": ["f"]},
                {"id": "f", "type": "delay", "config": {"for": 0}, "dependencies": ["b", "e"]}])),
            script: script().with("a", [json!({"n": 3})]).with("b", [json!("B")]),
            order: &["a", "b"],
            output: json!({"b": "B"}),
        },
        Case {
            name: "a loop repeats its node until the condition is false",
            graph: nodes(json!([
                {"id": "a", "type": "task", "loop": {"condition": cel("output.n < 3"), "max_iterations": 10,
                    "break_path": ["b"]}, "dependents": []},
                task("b", &[])])),
            script: script().with("a", [json!({"n": 1}), json!({"n": 2}), json!({"n": 3})]),
            order: &["a", "a", "a", "b"],
            output: json!({}),
        },
        Case {
            name: "a loop that has had its passes takes the timeout path",
            graph: nodes(json!([
                {"id": "a", "type": "task", "loop": {"condition": cel("true"), "max_iterations": 3,
                    "break_path": ["b"], "timeout_path": ["c"]}},
                task("b", &[]), task("c", &[])])),
            script: script(),
            order: &["a", "a", "a", "c"],
            output: json!({}),
        },
        Case {
            name: "the count is tested before the condition",
            graph: nodes(json!([
                {"id": "a", "type": "task", "loop": {"condition": cel("false"), "max_iterations": 1,
                    "break_path": ["b"], "timeout_path": ["c"]}},
                task("b", &[]), task("c", &[])])),
            script: script(),
            order: &["a", "c"],
            output: json!({}),
        },
        Case {
            name: "unless the condition is to be checked first",
            graph: nodes(json!([
                {"id": "a", "type": "task", "loop": {"condition": cel("false"), "max_iterations": 1,
                    "check_condition_first": true, "break_path": ["b"], "timeout_path": ["c"]}},
                task("b", &[]), task("c", &[])])),
            script: script(),
            order: &["a", "b"],
            output: json!({}),
        },
        Case {
            name: "a loop without a condition goes on until it has had its passes",
            graph: nodes(json!([
                {"id": "a", "type": "task", "loop": {"max_iterations": 2, "timeout_path": ["c"]}}, task("c", &[])])),
            script: script(),
            order: &["a", "a", "c"],
            output: json!({}),
        },
        Case {
            name: "a loop may lead back to an earlier node, and leaving it clears its count",
            graph: nodes(json!([
                task("a", &["b"]),
                {"id": "b", "type": "task", "dependents": ["c"],
                    "loop": {"condition": cel("output.again"), "max_iterations": 4, "loop_back_to": "a"}},
                {"id": "c", "type": "task", "loop": {"condition": cel("output.over"), "max_iterations": 2,
                    "loop_back_to": "a", "break_path": [], "timeout_path": []}}])),
            script: script()
                .with(
                    "b",
                    [
                        json!({"again": true}),
                        json!({"again": true}),
                        json!({"again": false}),
                        json!({"again": true}),
                        json!({"again": false}),
                    ],
                )
                .with("c", [json!({"over": true}), json!({"over": false})]),
            order: &["a", "b", "a", "b", "a", "b", "c", "a", "b", "a", "b", "c"],
            output: json!({"over": false}),
        },
        Case {
            name: "a broken loop without a break path leaves it to the branch",
            graph: nodes(json!([
                {"id": "a", "type": "task", "loop": {"condition": cel("output.n < 2"), "max_iterations": 5},
                    "branch": {"type": "conditional", "rules": [{"condition": cel("output.n == 2"), "next_nodes": ["b"]}],
                        "default": ["c"]}},
                task("b", &[]), task("c", &[])])),
            script: script().with("a", [json!({"n": 1}), json!({"n": 2})]),
            order: &["a", "a", "b"],
            output: json!({}),
        },
        Case {
            name: "inline nodes pass their input on",
            graph: nodes(json!([
                {"id": "a", "type": "conditional", "branch": {"type": "conditional",
                    "rules": [{"condition": cel("output.vip"), "next_nodes": ["b"]}], "default": ["c"]}},
                task("b", &[]), {"id": "c", "type": "delay", "config": {"for": 0}}])),
            script: script().inputs(json!({"vip": false})),
            order: &[],
            output: json!({"vip": false}),
        },
        Case {
            name: "a failed node with an error path hands its error on",
            graph: nodes(json!([
                {"id": "a", "type": "task", "dependents": ["b"], "error_path": ["c"]},
                task("b", &[]), {"id": "c", "type": "delay", "config": {"for": 0}}])),
            script: script().failing("a", "OutOfStock"),
            order: &["a"],
            output: json!({"error": {"node": "a", "code": "OutOfStock", "message": "it broke", "type": "OutOfStock",
                "attempts": 3}}),
        },
        Case {
            name: "an agent chooses among its next nodes",
            graph: nodes(json!([
                {"id": "a", "type": "agent", "branch": {"type": "agent_driven",
                    "available_next_nodes": ["b", "c", "d"], "default": ["e"]}},
                task("b", &[]), task("c", &[]), task("d", &[]), task("e", &[])])),
            script: script().with("a", [json!({"next_nodes": ["d", "b"]})]),
            order: &["a", "d", "b"],
            output: json!({"b": {}, "d": {}}),
        },
        Case {
            name: "an agent that chooses nobody leaves it to the default",
            graph: nodes(json!([
                {"id": "a", "type": "agent", "branch": {"type": "agent_driven",
                    "available_next_nodes": ["b"], "default": ["e"]}},
                task("b", &[]), task("e", &[])])),
            script: script().with("a", [json!({"next_nodes": []})]),
            order: &["a", "e"],
            output: json!({}),
        },
    ]
}

#[test]
fn small_graphs_do_what_they_say() {
    for case in cases() {
        let outcome = play(&case.graph, case.script);
        assert_eq!(outcome.status, "completed", "{}: {:?}", case.name, outcome);
        assert_eq!(outcome.order, case.order, "{}", case.name);
        assert_eq!(outcome.output, case.output, "{}", case.name);
        assert_eq!((outcome.counter, code(&outcome)), (0, ""), "{}", case.name);
    }
}
