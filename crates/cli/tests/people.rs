//! Actions of people on a run, with their reasons.

mod rig;

use rig::Rig;
use serde_json::{Value, json};

fn rows(rig: &Rig, run: &str, kind: &str) -> Vec<Value> {
    let events = rig.json(&["runs", "events", run]);
    let rows = events["rows"].as_array().unwrap().iter().filter(|row| row["type"] == kind);
    rows.cloned().collect()
}

fn history_has_the_user_and_the_reason(rig: &Rig) {
    rig.write("order.flow", "await Signal.next(\"go\")\nawait Signal.next(\"on\")");
    rig.ok(&["workflows", "register", "order.flow"]);
    let _worker = rig.worker(&[]);
    let run = rig.ok(&["start", "order"]);
    rig.until(&["explain", &run], |found| found["reasons"][0]["code"] == "signal");
    rig.ok(&["runs", "signal", &run, "go", "--as", "ann@desk"]);
    rig.until(&["runs", "show", &run], |shown| shown["awaiting"] == json!(["on"]));
    rig.ok(&["runs", "pause", &run, "--reason", "the till is shut"]);
    rig.ok(&["--as", "user:bob", "runs", "resume", &run, "--reason", "it is open"]);
    rig.ok(&["runs", "cancel", &run, "--reason", "nobody wants it"]);
    rig.until(&["runs", "show", &run], |shown| shown["status"] == "cancelled");
    for (kind, actor, reason) in [
        ("workflow_started", "user:tester@here", Value::Null),
        ("signal_received", "user:ann@desk", Value::Null),
        ("paused", "user:tester@here", json!("the till is shut")),
        ("resumed", "user:bob", json!("it is open")),
        ("cancel_requested", "user:tester@here", json!("nobody wants it")),
    ] {
        let found = rows(rig, &run, kind);
        assert_eq!(found.len(), 1, "{kind}");
        assert_eq!((&found[0]["actor"], &found[0]["data"]["reason"]), (&json!(actor), &reason), "{kind}");
    }
    let shown = rig.json(&["runs", "show", &run]);
    let people: Vec<_> =
        shown["people"].as_array().unwrap().iter().map(|deed| (&deed["by"], &deed["what"])).collect();
    assert_eq!(people.len(), 5, "{people:?}");
    assert_eq!(people[1], (&json!("user:ann@desk"), &json!("sent signal go")));
    assert_eq!(shown["people"][4]["reason"], "nobody wants it");
    let text = rig.ok(&["runs", "show", &run]);
    for part in ["what people did", "user:tester@here", "paused it", "the till is shut", "nobody wants it"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    rig.fails(&["runs", "pause", &run, "--as", ""], 2, "CLI008");
}

fn a_failed_run_says_who_opened_it_again(rig: &Rig) {
    rig.write("order.flow", "await Task.run(\"fail\", { message: \"no\" }, { retries: 1 })");
    rig.ok(&["workflows", "register", "order.flow"]);
    let _worker = rig.worker(&[]);
    let run = rig.ok(&["start", "order"]);
    rig.until(&["runs", "show", &run], |shown| shown["status"] == "failed");
    rig.ok(&["runs", "retry", &run, "--reason", "the desk is back", "--as", "eve"]);
    let reopened = rows(rig, &run, "reopened");
    assert_eq!(
        (&reopened[0]["actor"], &reopened[0]["data"]["reason"]),
        (&json!("user:eve"), &json!("the desk is back"))
    );
    let shown = rig.until(&["runs", "show", &run], |shown| shown["status"] == "failed");
    assert_eq!(
        (&shown["people"][1]["what"], &shown["people"][1]["reason"]),
        (&json!("opened it again"), &json!("the desk is back"))
    );
}

on_both_worlds!(history_has_the_user_and_the_reason, a_failed_run_says_who_opened_it_again);
