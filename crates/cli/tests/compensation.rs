//! Compensation from the command line: started by an operator, shown in listings, refused when there is
//! nothing to do.

mod rig;

use rig::Rig;
use serde_json::json;

fn shop(compensator: &str) -> String {
    format!(
        "metadata: {{name: shop}}
nodes:
  - {{id: pay, type: task, config: {{task: echo}}, compensator: {{action: {compensator}, retry: 1}}, dependents: [ship]}}
  - {{id: ship, type: task, config: {{task: echo}}}}
"
    )
}

fn completed(rig: &Rig, compensator: &str) -> String {
    rig.write("shop.graph.yaml", &shop(compensator));
    rig.ok(&["workflows", "register", "shop.graph.yaml"]);
    let run = rig.ok(&["start", "shop", "--input", r#"{"order": 7}"#]);
    rig.until(&["runs", "show", &run], |shown| shown["status"] == "completed");
    run
}

fn a_completed_run_takes_back_what_it_did(rig: &Rig) {
    let _worker = rig.worker(&[]);
    let run = completed(rig, "echo");
    let output = rig.json(&["runs", "show", &run])["output"].clone();
    let said = rig.json(&["runs", "compensate", &run, "--reason", "sent twice"]);
    assert_eq!(said, json!({"run": run, "nodes": ["pay"], "cancelled": false}));
    let shown = rig.until(&["runs", "show", &run], |shown| shown["compensation"] == "done");
    assert_eq!((&shown["status"], &shown["output"]), (&json!("completed"), &output));
    assert!(rig.ok(&["runs", "list"]).contains("completed (compensated)"));
    let events = rig.json(&["runs", "events", &run]);
    let asked = events["rows"].as_array().unwrap().iter().find(|row| row["type"] == "compensation_requested");
    let asked = asked.unwrap_or_else(|| panic!("{events}"));
    assert_eq!(
        (&asked["actor"], &asked["data"]["reason"]),
        (&json!("user:tester@here"), &json!("sent twice"))
    );
    rig.fails(&["runs", "compensate", &run], 4, "COMPENSATION001");
    assert_eq!(rig.json(&["verify", &run])["verified"], json!(true));
}

fn what_is_left_is_said(rig: &Rig) {
    let _worker = rig.worker(&[]);
    let run = completed(rig, "fail");
    rig.ok(&["runs", "compensate", &run]);
    let shown = rig.until(&["runs", "show", &run], |shown| shown["status"] == "failed");
    assert_eq!(
        (&shown["compensation"], &shown["failure"]["code"]),
        (&json!("failed"), &json!("compensation_failed"))
    );
    assert!(rig.ok(&["explain", &run]).contains("still to be undone: pay"));
    assert!(rig.ok(&["runs", "list"]).contains("failed (compensation failed)"));
    rig.fails(&["runs", "retry", &run], 4, "COMPENSATION001");
    let said = rig.fails(&["run", "--resume", &run, "--quiet"], 1, "CLI010");
    assert!(
        said.contains(&format!("rhythm runs compensate {run}")) && !said.contains("runs retry"),
        "{said}"
    );
}

fn a_run_that_took_back_everything_is_not_offered_another_try(rig: &Rig) {
    let failing = shop("echo").replace(
        "{id: ship, type: task, config: {task: echo}",
        "{id: ship, type: task, retry: 1, config: {task: fail}",
    );
    rig.write("shop.graph.yaml", &failing);
    let said = rig.fails(&["run", "shop.graph.yaml", "--quiet"], 1, "CLI010");
    assert!(said.contains("start a new run") && !said.contains("runs retry"), "{said}");
}

fn a_run_with_nothing_to_take_back_is_refused(rig: &Rig) {
    let _worker = rig.worker(&[]);
    rig.write("plain.graph.yaml", "nodes:\n  - {id: a, type: signal, config: {name: go}}\n");
    rig.ok(&["workflows", "register", "plain.graph.yaml"]);
    let run = rig.ok(&["start", "plain"]);
    rig.until(&["runs", "show", &run], |shown| shown["status"] == "waiting");
    rig.fails(&["runs", "compensate", &run], 4, "COMPENSATION003");
    assert_eq!(rig.json(&["runs", "show", &run])["cancelling"], json!(false), "it goes on");
    rig.fails(&["runs", "compensate", "nobody"], 3, "ENGINE002");
}

on_both_worlds!(
    a_completed_run_takes_back_what_it_did,
    what_is_left_is_said,
    a_run_that_took_back_everything_is_not_offered_another_try,
    a_run_with_nothing_to_take_back_is_refused,
);
