//! Programs of graphs give the same results in a scenario as in a run: conditions of every type, filters, and
//! programs that exceed a limit.

mod rig;

use rig::Rig;
use serde_json::{Value, json};

/// Returns a graph whose output is "yes" if `output` meets the condition, else "no".
fn asked(condition: Value, output: Value) -> Value {
    let rules = json!([{"condition": condition, "next_nodes": ["yes"]}]);
    let branch = json!({"type": "conditional", "rules": rules, "default": ["no"]});
    json!({"nodes": [
        {"id": "before", "type": "transform", "config": {"jq": "{n: 4}"}, "dependents": ["a"]},
        {"id": "a", "type": "transform", "config": {"jq": format!("{output}")}, "branch": branch},
        {"id": "yes", "type": "transform", "config": {"jq": "\"yes\""}},
        {"id": "no", "type": "transform", "config": {"jq": "\"no\""}},
    ]})
}

fn computed(jq: &str) -> Value {
    json!({"nodes": [{"id": "a", "type": "transform", "config": {"jq": jq}}]})
}

fn python(body: &str) -> Value {
    json!({"type": "python_sandbox", "code": format!("def evaluate(output, context):\n    {body}\n")})
}

fn cel(expression: &str) -> Value {
    json!({"type": "cel", "expression": expression})
}

/// Returns graphs with their outputs, or with `None` if the graph fails because a limit is exceeded.
fn cases() -> Vec<(Value, Option<Value>)> {
    let output = || json!({"n": 5, "list": [1, 2], "name": "ann"});
    let schema = |wanted: &str| json!({"type": "schema_validation", "schema": {"properties": {"n": {"type": wanted}}}});
    let path = |operator: &str, value: Value| json!({"type": "jsonpath", "query": "$.list", "operator": operator, "value": value});
    let other = |operator: &str| {
        let right = json!({"source": "context", "node": "before", "path": "output.n"});
        json!({"type": "cross_node_comparison", "left": {"source": "current", "path": "output.n"}, "operator": operator, "right": right})
    };
    let composite = |operator: &str, conditions: Value| json!({"type": "composite", "operator": operator, "conditions": conditions});
    let conditions = [
        (cel("output.n / 2 == 2 && ctx.before.output.n == 4 && inputs.limit == 3"), "yes"),
        (cel("timestamp(ctx.before.metadata.completed_at) > timestamp(0) && type(output.n) == int"), "yes"),
        (cel("output.missing > 1"), "no"),
        (path("length_eq", json!(2)), "yes"),
        (path("sum_gt", json!(3)), "no"),
        (schema("integer"), "yes"),
        (schema("string"), "no"),
        (other(">"), "yes"),
        (other("<"), "no"),
        (composite("AND", json!([cel("true"), python("return output['n'] > 4")])), "yes"),
        (composite("NOT", json!([python("return f\"{context['inputs']['limit']}\" == '3'")])), "no"),
        (python("return f\"{output['name']}-{context['before']['output']['n']}\" == 'ann-4'"), "yes"),
        (python("return 1"), "no"),
        (python("return output['missing']"), "no"),
        (python("while True: pass"), "no"),
        (python("return max(range(1000000000)) > 0"), "no"),
        (python("return len('a' * 1000000000) > 0"), "no"),
        (python("return len(list(range(1000000000))) > 0"), "no"),
        (python("return evaluate(output, context)"), "no"),
        (composite("OR", json!([python("return sum(range(1000000000)) > 0"), cel("output.n == 5")])), "yes"),
    ];
    let filters = [
        ("{n: (.limit + 1)}", Some(json!({"n": 4}))),
        ("def f: f; f", None),
        ("[range(1000000000)]", None),
        ("range(infinite)", None),
        ("reduce range(40) as $i (\"a\"; . + .)", None),
        ("def f: [f]; f", None),
    ];
    let conditions = conditions.map(|(condition, answer)| (asked(condition, output()), Some(json!(answer))));
    let filters = filters.map(|(filter, answer)| (computed(filter), answer));
    conditions.into_iter().chain(filters).collect()
}

#[test]
fn a_scenario_gives_what_a_run_gives() {
    let rig = Rig::sqlite();
    let cases = cases();
    let inputs = json!({"limit": 3});
    let scenarios: Vec<Value> = cases
        .iter()
        .enumerate()
        .map(|(number, (graph, _))| json!({"name": number.to_string(), "graph": graph, "inputs": inputs}))
        .collect();
    rig.write("cases.json", &Value::from(scenarios).to_string());
    let reports = rig.ok(&["test", "cases.json", "--output", "json"]);
    let reports: Vec<Value> = reports.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(reports.len(), cases.len());

    let _worker = rig.worker(&[]);
    let runs: Vec<String> = cases
        .iter()
        .enumerate()
        .map(|(number, (graph, _))| {
            let file = format!("case{number}.graph.json");
            rig.write(&file, &graph.to_string());
            rig.ok(&["workflows", "register", &file]);
            rig.ok(&["start", &format!("case{number}"), "--input", &inputs.to_string()])
        })
        .collect();
    for ((report, run), (graph, expected)) in reports.iter().zip(&runs).zip(&cases) {
        let shown = rig.until(&["runs", "show", run], |shown| {
            shown["status"] == "completed" || shown["status"] == "failed"
        });
        let outcome = &report["outcome"];
        let in_scenario = (&outcome["status"], &outcome["output"], &outcome["error"]["code"]);
        let in_run = (&shown["status"], &shown["output"], &shown["failure"]["code"]);
        assert_eq!(in_scenario, in_run, "{graph}\n{outcome}\n{shown}");
        match expected {
            Some(output) => assert_eq!(&outcome["output"], output, "{graph}\n{outcome}"),
            None => assert!(outcome.to_string().contains("LIMIT_EXCEEDED"), "{graph}\n{outcome}"),
        }
    }
}
