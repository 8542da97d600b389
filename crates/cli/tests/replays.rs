//! Retrying a failed node from the command line: unchanged, with another config, and refusals.

mod rig;

use rig::Rig;
use serde_json::{Value, json};

/// No signal arrives in time, so `wait` fails.
const SHOP: &str = "metadata: {name: shop}
nodes:
  - {id: pack, type: task, config: {task: echo}, dependents: [wait]}
  - {id: wait, type: signal, config: {name: go, timeout: 1ms}, dependents: [ship]}
  - {id: ship, type: task, config: {task: echo}}
";

fn failed(rig: &Rig) -> String {
    rig.write("shop.graph.yaml", SHOP);
    rig.ok(&["workflows", "register", "shop.graph.yaml"]);
    let run = rig.ok(&["start", "shop"]);
    let shown = rig.until(&["runs", "show", &run], |shown| shown["status"] == "failed");
    assert_eq!(shown["failure"]["code"], "node_failed:wait");
    run
}

fn a_failed_node_is_tried_again_with_another_config(rig: &Rig) {
    let _worker = rig.worker(&[]);
    let run = failed(rig);
    rig.write("config.json", r#"{"name": "go", "timeout": "1h"}"#);
    let retry = ["runs", "retry", &run, "--node", "wait", "--config", "@config.json", "--reason", "longer"];
    let said = rig.json(&retry);
    let config = json!({"name": "go", "timeout": "1h"});
    assert_eq!(said, json!({"run": run, "retried": true, "node": "wait", "config": config}));
    rig.ok(&["runs", "signal", &run, "go"]);
    rig.until(&["runs", "show", &run], |shown| shown["status"] == "completed");
    let patch = rig.json(&["runs", "patches", &run])["rows"][0].clone();
    assert_eq!(
        (&patch["outcome"], &patch["author"], &patch["reason"]),
        (&json!("adopted"), &json!("user:tester@here"), &json!("longer"))
    );
    assert_eq!(rig.json(&["verify", &run])["verified"], json!(true));
    rig.fails(&retry, 4, "ENGINE006");
}

fn what_cannot_be_tried_again_is_refused(rig: &Rig) {
    let _worker = rig.worker(&[]);
    let run = failed(rig);
    for (node, config, exit, code) in [
        ("ghost", None, 3, "ENGINE023"),
        ("pack", None, 4, "ENGINE024"),
        ("wait", Some("{}"), 4, "ENGINE017"),
        ("wait", Some("{"), 2, "CLI001"),
    ] {
        let mut args = vec!["runs", "retry", &run, "--node", node, "--reason", "x"];
        args.extend(config.into_iter().flat_map(|config| ["--config", config]));
        rig.fails(&args, exit, code);
    }
    rig.fails(&["runs", "retry", &run, "--node", "wait"], 2, "CLI005");
    rig.fails(&["runs", "retry", &run, "--config", "{}", "--reason", "x"], 2, "CLI005");
    assert_eq!(rig.json(&["runs", "show", &run])["status"], "failed");

    rig.write("plain.graph.yaml", "nodes:\n  - {id: a, type: signal, config: {name: go}}\n");
    rig.ok(&["workflows", "register", "plain.graph.yaml"]);
    let waiting = rig.ok(&["start", "plain"]);
    rig.until(&["runs", "show", &waiting], |shown| shown["status"] == "waiting");
    rig.fails(&["runs", "retry", &waiting, "--node", "a", "--reason", "x"], 4, "ENGINE025");
}

fn a_node_that_is_held_is_found_and_freed(rig: &Rig) {
    let _worker = rig.worker(&[]);
    let held = SHOP.replace("type: signal,", "type: signal, on_exhausted: hold,");
    rig.write("held.graph.yaml", &held);
    rig.ok(&["workflows", "register", "held.graph.yaml"]);
    let run = rig.ok(&["start", "shop"]);
    // A process may still hold the run for a moment after the commit that blocked it.
    let is_held = |shown: &Value| shown["blocked"] != json!(null) && shown["status"] == "waiting";
    let shown = rig.until(&["runs", "show", &run], is_held);
    assert_eq!(shown["blocked"]["code"], "dead_letter");
    assert_eq!(shown["blocked"]["detail"], "node wait has failed and is held");
    assert!(rig.ok(&["runs", "list", "--blocked"]).contains("waiting (blocked: dead_letter)"));
    let explained = rig.ok(&["explain", &run]);
    assert!(explained.contains(&format!("rhythm runs retry {run} --node wait --reason WHY")), "{explained}");
    assert_eq!(explained.matches("moves when").count(), 1, "told once: {explained}");
    assert!(rig.ok(&["graph", "--run", &run]).contains("signal, held"));
    let noted = rig.run(&["dead", "list"]).stderr;
    assert!(noted.contains(&format!("run {run} is held: node wait has failed and is held")), "{noted}");
    let config = r#"{"name": "go", "timeout": "1h"}"#;
    rig.ok(&["runs", "retry", &run, "--node", "wait", "--config", config, "--reason", "later"]);
    rig.until(&["runs", "show", &run], |shown| shown["blocked"] == json!(null));
    rig.ok(&["runs", "signal", &run, "go"]);
    rig.until(&["runs", "show", &run], |shown| shown["status"] == "completed");
    assert_eq!(rig.json(&["verify", &run])["verified"], json!(true));
}

fn a_node_whose_task_is_held_is_told_once_and_drawn_as_held(rig: &Rig) {
    let _worker = rig.worker(&[]);
    let held = "nodes:\n  - {id: a, type: task, config: {task: fail}, on_exhausted: hold, retry: 1}\n";
    rig.write("held.graph.yaml", held);
    rig.ok(&["workflows", "register", "held.graph.yaml"]);
    let run = rig.ok(&["start", "held"]);
    rig.until(&["runs", "show", &run], |shown| shown["blocked"]["code"] == "dead_letter");
    let explained = rig.ok(&["explain", &run]);
    assert_eq!(explained.matches("moves when").count(), 1, "{explained}");
    assert!(
        explained.contains("node a waits for task fail") && explained.contains("held, after "),
        "{explained}"
    );
    assert!(explained.contains(&format!("rhythm dead requeue {run}:1")), "{explained}");
    assert!(rig.ok(&["graph", "--run", &run]).contains("task fail, held"));
    assert!(rig.ok(&["runs", "show", &run]).contains("TOKEN IDS"));
}

on_both_worlds!(
    a_node_whose_task_is_held_is_told_once_and_drawn_as_held,
    a_failed_node_is_tried_again_with_another_config,
    what_cannot_be_tried_again_is_refused,
    a_node_that_is_held_is_found_and_freed
);
