//! The fates of failed tasks of runs, as the commands show them.

mod rig;

use rig::Rig;
use serde_json::{Value, json};

const FAIL: &str = r#"Task.run("fail", { message: "declined", code: "CARD", retryable: false })"#;

/// Registers a flow and runs it to its end. Returns the output of `runs show`.
fn played(rig: &Rig, name: &str, source: &str) -> Value {
    rig.write(&format!("{name}.flow"), source);
    rig.ok(&["workflows", "register", &rig.path().join(format!("{name}.flow")).display().to_string()]);
    let run = rig.ok(&["start", name]);
    let ended = |shown: &Value| ["completed", "failed"].iter().any(|status| shown["status"] == *status);
    rig.until(&["runs", "show", &run], ended)
}

fn rows(answer: &Value) -> Vec<(String, String)> {
    let word = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    let rows = answer["rows"].as_array().unwrap();
    rows.iter().map(|row| (word(row, "task"), word(row, "fate"))).collect()
}

fn a_failure_a_flow_handled_is_no_dead_letter(rig: &Rig) {
    let _worker = rig.worker(&[]);
    let caught = format!("try {{ await {FAIL} }} catch (e) {{ return e.code }}");
    let run = played(rig, "caught", &caught);
    let id = run["id"].as_str().unwrap();
    let task = format!("{id}:1");
    assert_eq!((&run["status"], &run["output"]), (&json!("completed"), &json!("CARD")));
    assert_eq!(rows(&rig.json(&["dead", "list"])), []);
    assert_eq!(rows(&rig.json(&["tasks", "failed"])), [(task.clone(), "handled".to_owned())]);
    // A test server may have other findings.
    let found = rig.run(&["db", "doctor"]).stdout;
    assert!(!found.contains("dead letter"), "{found}");
    let stderr = rig.fails(&["dead", "requeue", &task], 4, "WORLD007");
    assert!(stderr.contains("handled its failure"), "{stderr}");
}

fn dead_letters_are_chosen_by_run_and_node(rig: &Rig) {
    let _worker = rig.worker(&[]);
    let run = played(rig, "unread", &format!("let a = {FAIL}\nawait Timer.delay(\"1s\")\nreturn 1"));
    let id = run["id"].as_str().unwrap();
    let task = format!("{id}:1");
    assert_eq!(rows(&rig.json(&["dlq", "list", "--run-id", id])), [(task.clone(), "unread".to_owned())]);
    assert_eq!(rows(&rig.json(&["dead", "list", "--run", id, "--node-id", "other"])), []);
    let graph = r#"{"nodes": [{"id": "pay", "type": "task", "config": {"task": "fail", "message": "no", "retryable": false}}]}"#;
    rig.write("shop.graph.json", graph);
    rig.ok(&["workflows", "register", &rig.path().join("shop.graph.json").display().to_string()]);
    let shop = rig.ok(&["start", "shop"]);
    rig.until(&["runs", "show", &shop], |shown| shown["status"] == "failed");
    let of_node = rows(&rig.json(&["dead", "list", "--node", "pay"]));
    assert_eq!(of_node.len(), 1, "{of_node:?}");
    assert_eq!(of_node[0].1, "failed_run");
    let stderr = rig.fails(&["dlq", "reprocess", "--run", id], 2, "CLI006");
    assert!(stderr.contains(&format!("this would requeue 1 dead letter of run {id}")), "{stderr}");
    assert_eq!(rig.ok(&["dlq", "reprocess", "--run", id, "--yes"]), "requeued 1 of 1 dead letter");
    // The run has ended, so the task runs detached, and fails again.
    rig.until(&["dead", "list", "--run", id], |letters| letters["rows"].as_array().unwrap().len() == 1);
    let shown = rig.json(&["dead", "show", &task]);
    let statuses: Vec<&Value> =
        shown["history"].as_array().unwrap().iter().map(|change| &change["status"]).collect();
    assert_eq!(statuses, ["pending", "reprocessed", "pending"]);
    assert_eq!(rig.json(&["runs", "show", id])["status"], "completed");
}

fn a_failed_run_is_dismissed(rig: &Rig) {
    let _worker = rig.worker(&[]);
    let run = played(rig, "broken", "throw \"no\"");
    let id = run["id"].as_str().unwrap();
    assert_eq!(rig.ok(&["runs", "dismiss", id]), format!("run {id} is dismissed"));
    assert_eq!(rig.ok(&["runs", "dismiss", id]), format!("run {id} was dismissed already"));
    assert!(rig.json(&["runs", "show", id])["dismissed_at"].is_i64());
    rig.fails(&["runs", "dismiss", "nobody"], 3, "WORLD006");
}

on_both_worlds!(
    a_failure_a_flow_handled_is_no_dead_letter,
    dead_letters_are_chosen_by_run_and_node,
    a_failed_run_is_dismissed,
);
