//! Conditions of graphs, with the wanted time in each benchmark. Sandboxed ones run in a warm child process
//! of the pool.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::ExitCode;

use criterion::Criterion;
use rhythm_core::Timestamp;
use rhythm_graph::condition::{Answers, Condition, Metadata, Past, Scope, Verdict};
use rhythm_sandbox::{JqCall, Launch, Pool, ProgramCall, Request};
use serde_json::{Value, json};

/// An order as a node's output, about 3 KiB.
fn order() -> Value {
    let items: Vec<Value> = (0..30)
        .map(|number| json!({"sku": format!("item-{number}"), "price": number * 3, "quantity": 2, "tier": if number % 3 == 0 { "enterprise" } else { "free" }}))
        .collect();
    json!({"status": "paid", "score": 87, "total": 1305.5, "customer": {"tier": "gold", "country": "DE"}, "items": items})
}

fn pure(criterion: &mut Criterion) {
    let (output, past, inputs) = (order(), json!({"revenue": 200_000, "score": 70}), json!({"limit": 10}));
    let metadata = Metadata { completed_at: Timestamp(0), duration_ms: 5, attempt: 1 };
    let context = BTreeMap::from([("enrich_data", Past { output: &past, metadata })]);
    let scope = Scope { output: &output, context, inputs: &inputs };
    let cases = [
        (
            "cel (wanted: 20 us)",
            json!({"type": "cel", "expression": "output.score >= 80 && ctx.enrich_data.output.revenue > 100000"}),
        ),
        (
            "cel over a list (wanted: 20 us)",
            json!({"type": "cel", "expression": "output.items.all(i, i.quantity > 0)"}),
        ),
        (
            "cross-node (wanted: 20 us)",
            json!({
                "type": "cross_node_comparison", "left": {"source": "current", "path": "output.score"}, "operator": ">",
                "right": {"source": "context", "node": "enrich_data", "path": "output.score"}
            }),
        ),
        (
            "cross-node expression (wanted: 20 us)",
            json!({
                "type": "cross_node_comparison",
                "expression": "(current.output.score - ctx.enrich_data.output.score) / ctx.enrich_data.output.score > 0.1"
            }),
        ),
        (
            "jsonpath (wanted: 100 us)",
            json!({
                "type": "jsonpath", "query": "$.items[?(@.tier == 'enterprise')].length()", "operator": ">", "value": 0
            }),
        ),
        (
            "jsonpath sum (wanted: 100 us)",
            json!({"type": "jsonpath", "query": "$.items[*].price", "operator": "sum_gt", "value": 100}),
        ),
        (
            "schema (wanted: 100 us)",
            json!({"type": "schema_validation", "schema": {
                "type": "object", "required": ["status", "items"], "properties": {
                    "status": {"enum": ["paid", "open"]},
                    "items": {"type": "array", "minItems": 1, "items": {
                        "type": "object", "required": ["sku"], "properties": {"price": {"type": "number", "minimum": 0}, "sku": {"type": "string", "pattern": "^item-"}}
                    }}
                }
            }}),
        ),
    ];
    for (name, source) in cases {
        let condition = Condition::compile(&source).unwrap();
        let answers = Answers::new();
        assert_eq!(condition.evaluate(&scope, &answers), Verdict::Met, "{name}");
        criterion
            .bench_function(name, |bench| bench.iter(|| condition.evaluate(black_box(&scope), &answers)));
    }
}

fn sandboxed(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let pool = Pool::new(Launch::own_command().unwrap(), 1);
    let code = "def evaluate(output, context):\n    return max([i['price'] for i in output['items']]) > 80\n"
        .to_owned();
    let (timeout_ms, max_memory_mb) = (1_000, 50);
    let program = ProgramCall { code, output: order(), context: json!({}), timeout_ms, max_memory_mb };
    let filter = "[.items[] | select(.tier == \"enterprise\") | .price] | add".to_owned();
    for (name, request) in [
        ("sandbox, warm (wanted: 5 ms)", Request::Program(program)),
        (
            "jq, warm (wanted: 5 ms)",
            Request::Jq(JqCall { filter, input: order(), timeout_ms, max_memory_mb }),
        ),
    ] {
        runtime.block_on(pool.evaluate(&request)).unwrap();
        criterion.bench_function(name, |bench| {
            bench.iter(|| runtime.block_on(pool.evaluate(black_box(&request))).unwrap());
        });
    }
}

/// The child process of the pool runs this program, too.
fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("sandbox") {
        return rhythm_sandbox::child::serve();
    }
    let mut criterion = Criterion::default().configure_from_args();
    pure(&mut criterion);
    sandboxed(&mut criterion);
    criterion.final_summary();
    ExitCode::SUCCESS
}
