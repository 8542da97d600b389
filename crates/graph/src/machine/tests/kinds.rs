//! The built-in node types, and references in their configs.

use rhythm_core::command::Command;
use rhythm_core::event::EventData;
use rhythm_core::payload::{BlobRef, Payload};
use serde_json::{Value, json};

use super::stage::{code, play, script, stage};

fn one(node: Value) -> Value {
    json!({"nodes": [node]})
}

#[test]
fn a_task_gets_its_config_and_its_input() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "config": {"task": "orders.charge", "currency": "EUR"}, "dependents": ["b"]},
        {"id": "b", "type": "function"}]});
    let stage = stage(&graph, script().inputs(json!({"id": 7})).with("a", [json!(["paid"])]));
    assert_eq!(
        stage.calls,
        [
            (
                "orders.charge".to_owned(),
                json!({"config": {"task": "orders.charge", "currency": "EUR"}, "input": {"id": 7}})
            ),
            ("b".to_owned(), json!({"config": {}, "input": ["paid"]})),
        ]
    );
}

#[test]
fn what_governs_attempts_is_that_of_the_node() {
    let graph = one(
        json!({"id": "a", "type": "task", "timeout_ms": 5000, "retry": {"max_attempts": 7, "backoff_ms": 20},
        "limits": {"deadline_s": 60}, "on_exhausted": "hold"}),
    );
    let mut stage = super::stage::Stage::new(&graph, script().silent("a"), super::stage::Way::Straight);
    stage.play();
    let Some(Command::RunTask(task)) = stage.last.unwrap().commands.into_iter().next() else { panic!() };
    assert_eq!((task.options.timeout.unwrap().0, task.options.deadline.unwrap().0), (5000, 60_000));
    assert_eq!((task.options.policy().max_attempts, task.options.policy().initial_delay.0), (7, 20));
    assert_eq!(task.options.on_exhausted, rhythm_core::task::OnExhausted::Hold);
}

#[test]
fn a_label_of_a_node_names_what_the_node_starts() {
    let graph = json!({"nodes": [
        {"id": "pay", "type": "task", "label": "Charge the card", "config": {"task": "charge"}, "dependents": ["rest"]},
        {"id": "rest", "type": "delay", "label": "Cool down", "config": {"for": "1s"}, "dependents": ["ask"]},
        {"id": "ask", "type": "signal", "label": "The manager's word", "config": {"name": "ok"}, "dependents": ["kids"]},
        {"id": "kids", "type": "parallel", "label": "Ship", "config": {"items": [7, 8], "workflow": "ship"}, "dependents": ["each"]},
        {"id": "each", "type": "parallel", "config": {"items": [1, 2], "task": "mail"}}]});
    let mut script = script().with("kids", [json!(1), json!(2)]).with("each", [json!(1), json!(2)]);
    script.signals.push((5_000, "ok".to_owned(), json!(null)));
    let stage = stage(&graph, script);
    stage.check();
    let label = |label: &Option<String>| label.clone().unwrap_or_default();
    let started: Vec<(String, Option<u64>)> = stage
        .history
        .iter()
        .filter_map(|event| match &event.data {
            EventData::StepScheduled(step) => Some((label(&step.label), step.item)),
            EventData::TimerScheduled(timer) => Some((label(&timer.label), None)),
            EventData::SignalRequested(signal) => Some((label(&signal.label), None)),
            EventData::ChildStarted(child) => Some((label(&child.label), child.item)),
            _ => None,
        })
        .collect();
    let expected = [
        ("Charge the card", None),
        ("Cool down", None),
        ("The manager's word", None),
        ("Ship", Some(0)),
        ("Ship", Some(1)),
        ("", Some(0)),
        ("", Some(1)),
    ];
    assert_eq!(started, expected.map(|(label, item)| (label.to_owned(), item)));
}

#[test]
fn references_become_what_they_lead_to() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["b"]},
        {"id": "b", "type": "http", "config": {"url": "https://x.test/${$inputs.id}", "method": "POST",
            "body": {"items": "$nodes.a.items", "n": "$nodes.a.output.items[0].n"}}}]});
    let stage = stage(&graph, script().inputs(json!({"id": 7})).with("a", [json!({"items": [{"n": 1}]})]));
    assert_eq!(
        stage.calls[1],
        (
            "http.request".to_owned(),
            json!({"url": "https://x.test/7", "method": "POST",
        "json": {"items": [{"n": 1}], "n": 1}})
        )
    );
}

#[test]
fn a_reference_that_leads_to_nothing_fails_the_node_and_is_named() {
    let graph = |more: Value| {
        let mut node = json!({"id": "b", "type": "task", "config": {"x": "$nodes.a.items[3]"}});
        node.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"nodes": [{"id": "a", "type": "task", "dependents": ["b"]}, node, {"id": "c", "type": "task", "dependencies": ["b"]}]})
    };
    let outcome = play(&graph(json!({"dependents": ["c"]})), script().with("a", [json!({"items": []})]));
    assert_eq!((code(&outcome), outcome.order.as_slice()), ("node_failed:b", ["a".to_owned()].as_slice()));
    let failure = outcome.failure.unwrap();
    assert!(failure.message.contains("$nodes.a.items[3]"), "{failure}");
    assert_eq!(failure.kind, "unresolvable_reference");
    let outcome = play(
        &graph(json!({"dependents": [], "error_path": ["c"]})),
        script().with("a", [json!({"items": []})]),
    );
    assert_eq!(outcome.order, ["a", "c"]);
}

#[test]
fn a_config_that_was_never_found_fails_the_node_that_needs_it() {
    let graph = one(json!({"id": "a", "type": "task", "config_ref": "sha256:gone"}));
    let outcome = play(&graph, script());
    assert_eq!(code(&outcome), "node_failed:a");
    assert!(outcome.failure.unwrap().message.contains("sha256:gone"));
}

#[test]
fn a_transform_is_a_task_for_jq() {
    let graph = one(json!({"id": "a", "type": "transform", "config": {"jq": ".x + 1"}}));
    let stage = stage(&graph, script().inputs(json!({"x": 1})).with("a", [json!(2)]));
    assert_eq!(stage.calls, [("rhythm.jq".to_owned(), json!({"filter": ".x + 1", "input": {"x": 1}}))]);
    assert_eq!(stage.outcome().output, json!(2));
}

#[test]
fn a_delay_passes_its_input_on_later() {
    let outcome = play(
        &one(json!({"id": "a", "type": "delay", "config": {"for": "90s"}})),
        script().inputs(json!({"x": 1})),
    );
    assert_eq!((outcome.output, outcome.elapsed), (json!({"x": 1}), 90));
    let until = one(json!({"id": "a", "type": "delay", "config": {"until": "1970-01-01T01:00:00Z"}}));
    assert_eq!(play(&until, script()).elapsed, 3600);
    let past = one(json!({"id": "a", "type": "delay", "config": {"until": "1960-01-01T01:00:00Z"}}));
    assert_eq!(play(&past, script()).elapsed, 0);
    let wrong = one(json!({"id": "a", "type": "delay", "config": {"for": "$inputs.x"}}));
    assert_eq!(code(&play(&wrong, script().inputs(json!({"x": "soon"})))), "node_failed:a");
}

#[test]
fn a_signal_is_awaited_by_name_and_only_so_long() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "signal", "config": {"name": "go", "timeout": "1m"}, "dependents": [], "error_path": ["b"]},
        {"id": "b", "type": "delay", "config": {"for": 0}}]});
    let mut early = script();
    early.signals = vec![(0, "stop".into(), json!(0)), (30, "go".into(), json!({"by": "ann"}))];
    let outcome = play(&graph, early);
    assert_eq!((outcome.output, outcome.elapsed), (json!({"by": "ann"}), 30));
    let outcome = play(&graph, script());
    assert_eq!((outcome.output["error"]["code"].clone(), outcome.elapsed), (json!("TIMEOUT"), 60));
}

#[test]
fn two_who_wait_for_one_name_are_served_in_turn() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "signal", "config": {"name": "go"}}, {"id": "b", "type": "signal", "config": {"name": "go"}}]});
    let mut script = script();
    script.signals = vec![(1, "go".into(), json!(1)), (2, "go".into(), json!(2))];
    assert_eq!(play(&graph, script).output, json!({"a": 1, "b": 2}));
}

#[test]
fn a_child_is_started_with_its_inputs_and_its_output_goes_on() {
    let graph =
        one(json!({"id": "a", "type": "child", "config": {"workflow": "kid", "inputs": {"n": "$inputs.n"}}}));
    let stage = stage(&graph, script().inputs(json!({"n": 4, "m": 5})).with("a", [json!("done")]));
    assert_eq!(
        (stage.calls[0].clone(), stage.outcome().output),
        (("kid".to_owned(), json!({"n": 4})), json!("done"))
    );
    let plain = one(json!({"id": "a", "type": "child", "config": {"workflow": "kid"}, "timeout_ms": 5000}));
    let outcome = play(&plain, script().silent("a"));
    assert_eq!((code(&outcome), outcome.elapsed), ("node_failed:a", 5));
    assert_eq!(code(&play(&plain, script().failing("a", "X"))), "node_failed:a");
}

#[test]
fn a_child_with_a_policy_of_its_own_is_tried_again() {
    let graph = one(json!({"id": "a", "type": "child", "config": {"workflow": "kid"},
        "retry": {"max_attempts": 3, "backoff_ms": 10_000, "jitter": 0}}));
    let mut failing = script();
    let failure = rhythm_core::failure::Failure::new("X", "not yet");
    failing.answers.insert("a".into(), vec![Err(failure.clone()), Err(failure.clone()), Ok(json!("there"))]);
    let outcome = play(&graph, failing);
    assert_eq!((outcome.output, outcome.elapsed, outcome.order.len()), (json!("there"), 30, 3));
    let mut hopeless = script();
    hopeless.answers.insert("a".into(), vec![Err(failure)]);
    let outcome = play(&graph, hopeless);
    assert_eq!((code(&outcome), outcome.order.len()), ("node_failed:a", 3));
    assert_eq!(outcome.failure.unwrap().attempts, 3);
    assert_eq!(play(&graph, script().failing("a", "FINAL")).order.len(), 1);
}

fn parallel(more: Value) -> Value {
    let mut config = json!({"items": "$inputs", "task": "square", "concurrency": 2});
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    one(json!({"id": "a", "type": "parallel", "config": config}))
}

#[test]
fn one_task_for_each_item_so_many_at_once_results_in_order() {
    let graph = parallel(json!({}));
    let stage = stage(&graph, script().inputs(json!([1, 2, 3])).with("a", [json!(1), json!(4), json!(9)]));
    assert_eq!(stage.outcome().output, json!([1, 4, 9]));
    let inputs: Vec<&Value> = stage.calls.iter().map(|(_, call)| &call["input"]).collect();
    assert_eq!(inputs, [&json!(1), &json!(2), &json!(3)]);
    let mut silent = super::stage::Stage::new(
        &graph,
        script().inputs(json!([1, 2, 3])).silent("a"),
        super::stage::Way::Straight,
    );
    silent.play();
    assert_eq!(silent.calls.len(), 2);
    assert_eq!(play(&graph, script().inputs(json!([]))).output, json!([]));
    assert_eq!(code(&play(&graph, script().inputs(json!(5)))), "node_failed:a");
}

#[test]
fn one_failed_item_fails_the_node_unless_it_settles() {
    let outcome = play(&parallel(json!({})), script().inputs(json!([1, 2, 3])).failing("a", "X"));
    assert_eq!((code(&outcome), outcome.order.len()), ("node_failed:a", 2));
    let outcome = play(&parallel(json!({"settle": true})), script().inputs(json!([1, 2])).failing("a", "X"));
    assert_eq!(outcome.output[1]["error"]["code"], json!("X"));
    assert_eq!(outcome.output[0]["status"], json!("failed"));
}

#[test]
fn one_child_for_each_item() {
    let graph = one(json!({"id": "a", "type": "parallel", "config": {"items": [1, 2], "workflow": "kid"}}));
    let stage = stage(&graph, script().with("a", [json!("x"), json!("y")]));
    assert_eq!(
        (stage.calls[1].clone(), stage.outcome().output),
        (("kid".to_owned(), json!(2)), json!(["x", "y"]))
    );
}

#[test]
fn a_filter_keeps_what_meets_its_condition() {
    let graph = one(json!({"id": "a", "type": "filter", "config": {"items": "$inputs.all",
        "condition": {"type": "cel", "expression": "output.n > 1 && output.n < inputs.most"}}}));
    let inputs = json!({"all": [{"n": 1}, {"n": 2}, {}, {"n": 9}], "most": 5});
    assert_eq!(play(&graph, script().inputs(inputs)).output, json!([{"n": 2}]));
}

#[test]
fn an_aggregate_counts_and_sums_in_groups() {
    let items =
        json!([{"k": "x", "n": 1, "d": {"p": 2.5}}, {"k": "y", "n": 5}, {"k": "x", "n": 3, "d": {"p": 0.5}}]);
    for (config, output) in [
        (json!({}), json!({"count": 3})),
        (
            json!({"compute": {"total": "sum:n", "least": {"min": "n"}, "most": "max(n)", "avg": "n"}}),
            json!({"total": 9, "least": 1, "most": 5, "avg": 3.0}),
        ),
        (
            json!({"by": "k", "compute": ["count", "sum:d.p"]}),
            json!([{"k": "x", "count": 2, "sum_d_p": 3.0}, {"k": "y", "count": 1, "sum_d_p": 0}]),
        ),
        (
            json!({"by": ["k"], "compute": {"all": "group", "avg": "avg:missing"}}),
            json!([{"k": "x", "all": [items[0], items[2]], "avg": null}, {"k": "y", "all": [items[1]], "avg": null}]),
        ),
    ] {
        let mut config = config;
        config["items"] = json!("$inputs");
        let graph = one(json!({"id": "a", "type": "aggregate", "config": config}));
        assert_eq!(play(&graph, script().inputs(items.clone())).output, output, "{config}");
    }
    let wrong =
        one(json!({"id": "a", "type": "aggregate", "config": {"items": [], "compute": "$inputs.what"}}));
    assert_eq!(code(&play(&wrong, script().inputs(json!({"what": "median:n"})))), "node_failed:a");
}

#[test]
fn an_agent_is_told_what_it_may_choose() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "agent", "agent_config": {"model": "m"}, "branch": {"type": "agent_driven",
            "available_next_nodes": ["b"]}}, {"id": "b", "type": "task"}]});
    let stage = stage(&graph, script().with("a", [json!({"next_nodes": ["b"]})]));
    assert_eq!(
        stage.calls[0].1,
        json!({"config": {}, "input": null, "agent_config": {"model": "m"},
        "available_next_nodes": ["b"]})
    );
}

#[test]
fn large_outputs_leave_the_snapshot_and_are_fetched_when_somebody_looks_inside() {
    let workers: Vec<String> = (0..6).map(|n| format!("w{n}")).collect();
    let mut nodes = vec![json!({"id": "a", "type": "task", "dependents": workers})];
    nodes.extend(workers.iter().map(|id| json!({"id": id, "type": "task", "dependents": ["z"]})));
    nodes.push(json!({"id": "z", "type": "delay", "config": {"for": 0}, "dependencies": workers}));
    let mut script = script();
    for worker in &workers {
        script = script.with(worker, [json!(worker[1..].repeat(40_000))]);
    }
    let stage = stage(&json!({"nodes": nodes}), script);
    assert_eq!(stage.outcome().output["w5"].as_str().unwrap().len(), 40_000);
    assert!(stage.blobs.len() > 2 && stage.kinds().iter().all(|kind| *kind != "warning"));
}

#[test]
fn the_row_of_a_token_has_the_value_the_run_made_itself() {
    let graph = json!({"nodes": [
        {"id": "f", "type": "filter", "config": {"items": "$inputs.all", "condition": "output > 1"}, "dependents": ["r", "t"]},
        {"id": "r", "type": "conditional", "dependents": ["w"]},
        {"id": "t", "type": "task", "dependents": ["w"]},
        {"id": "w", "type": "task"}]});
    let carried = |inputs: Value| {
        let stage = stage(&graph, script().inputs(inputs).with("t", [json!({"n": 1})]));
        let rows = stage.history.iter().filter_map(|event| match &event.data {
            EventData::NodeEmitted(moved) => {
                Some((moved.from.clone()?, moved.to.clone(), moved.payload.clone()))
            }
            _ => None,
        });
        rows.collect::<Vec<_>>()
    };
    let rows = carried(json!({"all": [1, 2, 3]}));
    let row = |from: &str, to: &str, payload: Option<Value>| {
        (from.to_owned(), to.to_owned(), payload.map(|payload| Payload::of(&payload).unwrap()))
    };
    // The row of an answer holds the answer, and the row of a token holds the value it carried, so neither is
    // repeated.
    assert_eq!(
        rows,
        [row("f", "r", Some(json!([2, 3]))), row("f", "t", None), row("r", "w", None), row("t", "w", None)]
    );
    // A value that is not small becomes a blob.
    let many: Vec<u32> = (0..2000).collect();
    let rows = carried(json!({"all": many}));
    let kept = Payload::of(&json!(&many[2..])).unwrap();
    let reference = BlobRef::of(kept.text().unwrap().as_bytes());
    assert_eq!(rows[0].2, Some(Payload::Blob(reference)));
}
