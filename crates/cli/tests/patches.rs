//! Patches from the command line: dry runs, sent, listed and undone patches, and refusals with a code and the
//! reason.

mod rig;

use rig::Rig;
use serde_json::{Value, json};

const CHAIN: &str = r#"metadata: {name: chain}
nodes:
  - {id: wait, type: signal, config: {name: go}, dependents: [tell]}
  - {id: tell, type: task, config: {task: echo}, dependents: []}
"#;

const GROW: &str = r#"[{"op": "add", "path": "/nodes/-", "value": {"id": "more", "type": "task", "config": {"task": "echo"}}},
  {"op": "add", "path": "/nodes/1/dependents/-", "value": "more"}]"#;
const CUT: &str = r#"[{"op": "remove", "path": "/nodes/1"}, {"op": "replace", "path": "/nodes/0/dependents", "value": []}]"#;

/// Returns a run that waits for its signal.
fn waiting(rig: &Rig) -> String {
    rig.write("chain.graph.yaml", CHAIN);
    rig.write("grow.json", GROW);
    rig.ok(&["workflows", "register", "chain.graph.yaml"]);
    let run = rig.ok(&["start", "chain"]);
    rig.until(&["runs", "show", &run], |shown| shown["status"] == "waiting");
    run
}

fn a_patch_is_tried_sent_listed_and_undone(rig: &Rig) {
    let _worker = rig.worker(&[]);
    let run = waiting(rig);
    let would = rig.json(&["runs", "patch", &run, "@grow.json", "--dry-run"]);
    let changes = json!({"nodes_added": ["more"], "nodes_removed": [], "nodes_changed": ["tell"],
        "edges_added": [["tell", "more"]], "edges_removed": [], "parts_changed": []});
    assert_eq!((&would["outcome"], &would["changes"]), (&json!("would_be_adopted"), &changes));
    let said = rig.ok(&["runs", "patch", &run, "@grow.json", "--dry-run"]);
    assert!(said.ends_with("+ node more\n~ node tell\n+ edge tell -> more"), "{said}");
    assert_eq!(
        rig.ok(&["runs", "patches", &run]),
        "the run has considered no patches; `rhythm runs patch` sends one"
    );

    let sent = ["runs", "patch", &run, "@grow.json", "--reason", "one more", "--id", "p1"];
    assert_eq!(rig.ok(&sent), format!("run {run} has adopted patch 1"));
    assert_eq!(rig.ok(&sent), format!("run {run} has adopted patch 1"), "a repeated call is harmless");
    rig.fails(&["runs", "patch", &run, "[]", "--reason", "other", "--id", "p1"], 4, "ENGINE008");

    let undone = rig.json(&["runs", "patch", &run, "--undo", "1"]);
    assert_eq!(
        (&undone["outcome"], &undone["patch"]["reason"]),
        (&json!("adopted"), &json!("undoes patch 1"))
    );
    let listed = rig.json(&["runs", "patches", &run])["rows"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!(
        (&listed[0]["author"], &listed[0]["reason"]),
        (&json!("user:tester@here"), &json!("one more"))
    );
    assert_eq!(listed[0]["operations"], serde_json::from_str::<Value>(GROW).unwrap());
    assert!(listed[0]["inverse"].is_array() && listed[0]["at"] != Value::Null);
    let shown = rig.ok(&["runs", "patches", &run, "--diff", "1"]);
    assert!(shown.contains("+      \"id\": \"more\""), "{shown}");
    assert!(
        rig.json(&["runs", "patches", &run, "--diff", "2"])["diff"]
            .as_str()
            .unwrap()
            .contains("-      \"id\": \"more\"")
    );
    rig.fails(&["runs", "patches", &run, "--diff", "3"], 3, "ENGINE019");
    rig.fails(&["runs", "patch", &run, "--undo", "3"], 3, "ENGINE019");

    rig.ok(&["runs", "signal", &run, "go"]);
    rig.until(&["runs", "show", &run], |shown| shown["status"] == "completed");
    let path = rig.json(&["runs", "path", &run])["rows"].as_array().unwrap().len();
    assert_eq!(path, 2, "what was undone did not run");
    rig.fails(&["runs", "patch", &run, "@grow.json", "--reason", "late"], 4, "ENGINE006");
    let said = rig.fails(&["runs", "patch", &run, "@grow.json", "--reason", " "], 2, "CLI008");
    assert!(said.contains("--reason"), "{said}");
    rig.fails(&["runs", "patch", &run, "@grow.json", "--dry-run"], 4, "ENGINE006");
    assert_eq!(rig.json(&["verify", &run])["verified"], json!(true));
}

fn the_drawing_of_an_ended_run_shows_what_it_adopted(rig: &Rig) {
    let _worker = rig.worker(&[]);
    let run = waiting(rig);
    rig.ok(&["runs", "patch", &run, "@grow.json", "--reason", "one more"]);
    let open = rig.ok(&["graph", "--run", &run]);
    assert!(open.contains("more"), "{open}");
    rig.ok(&["runs", "signal", &run, "go"]);
    rig.until(&["runs", "show", &run], |shown| shown["status"] == "completed");
    let ended = rig.ok(&["graph", "--run", &run]);
    assert!(ended.contains("more"), "{ended}");
}

fn what_is_refused_is_told_with_its_code(rig: &Rig) {
    let _worker = rig.worker(&[]);
    let run = waiting(rig);
    for (operations, code) in [
        (r#"[{"op": "remove", "path": "/nodes/0"}]"#, "live_node_removed"),
        (r#"[{"op": "remove", "path": "/nodes/9"}]"#, "inapplicable_patch"),
        (r#"{"op": "remove"}"#, "malformed_patch"),
        (r#"[{"op": "add", "path": "/nodes/1/dependents/-", "value": "ghost"}]"#, "invalid_graph"),
    ] {
        for how in [&["--dry-run"][..], &["--reason", "try"]] {
            let said = rig.fails(&[&["runs", "patch", &run, operations], how].concat(), 4, "ENGINE017");
            assert!(said.contains(code), "{code}: {said}");
        }
    }
    let listed = rig.ok(&["runs", "patches", &run]);
    assert_eq!(listed.matches("refused: ").count(), 4, "dry runs leave nothing: {listed}");
    assert!(listed.contains("refused: live_node_removed: something is under way at wait"), "{listed}");
    let rows = rig.ok(&["-o", "json", "runs", "patches", &run]);
    assert_eq!(rows.matches("\"message\":").count(), 4, "one in each row, of who brought it: {rows}");
    let row = rig.json(&["runs", "patches", &run])["rows"][0].clone();
    assert_eq!(row["because"], "something is under way at wait");
    assert!(row["message"].as_str().is_some_and(|id| id.starts_with("patch:")), "{row}");
    assert!(rig.ok(&["runs", "patches", &run, "--diff", "2"]).contains("cannot be applied"));
    rig.fails(&["runs", "patch", &run, "--undo", "1"], 2, "ENGINE010");

    // A token has reached the node, so it can no longer be removed.
    rig.ok(&["runs", "patch", &run, CUT, "--reason", "cut"]);
    let said = rig.fails(&["runs", "patch", &run, CUT, "--reason", "cut again"], 4, "ENGINE017");
    assert!(said.contains("inapplicable_patch"), "{said}");

    rig.fails(&["runs", "patch", "nobody", "[]", "--reason", "x"], 3, "ENGINE002");
    rig.fails(&["runs", "patch", &run, "[]"], 2, "CLI005");
    rig.fails(&["runs", "patch", &run, "@nowhere.json", "--reason", "x"], 2, "CLI003");
    rig.write("plain.flow", "let inputs = Inputs\nawait Signal.next(\"go\")\n");
    rig.ok(&["workflows", "register", "plain.flow"]);
    let plain = rig.ok(&["start", "plain"]);
    rig.fails(&["runs", "patch", &plain, "[]", "--reason", "x"], 2, "ENGINE016");
    rig.fails(&["runs", "patch", &plain, "[]", "--dry-run"], 2, "ENGINE016");
}

fn a_patch_nobody_considers_is_said_to_wait(rig: &Rig) {
    rig.write("chain.graph.yaml", CHAIN);
    rig.write("grow.json", GROW);
    rig.ok(&["workflows", "register", "chain.graph.yaml"]);
    let run = rig.ok(&["start", "chain"]);
    let sent = ["runs", "patch", &run, "@grow.json", "--reason", "r", "--id", "p", "--timeout", "200ms"];
    rig.fails(&sent, 5, "ENGINE018");
    // The run has not started, and a dry run still gives the outcome.
    assert_eq!(rig.json(&["runs", "patch", &run, "@grow.json", "--dry-run"])["outcome"], "would_be_adopted");
    let _worker = rig.worker(&[]);
    let again = ["runs", "patch", &run, "@grow.json", "--reason", "r", "--id", "p"];
    assert_eq!(rig.ok(&again), format!("run {run} has adopted patch 1"));
}

fn a_failed_run_considers_its_patch_when_it_is_opened_again(rig: &Rig) {
    let _worker = rig.worker(&[]);
    let nodes = r#"{"nodes": [{"id": "a", "type": "task", "config": {"task": "fail"}, "retry": 1}]}"#;
    rig.write("bad.graph.json", nodes);
    rig.ok(&["workflows", "register", "bad.graph.json"]);
    let run = rig.ok(&["start", "bad"]);
    rig.until(&["runs", "show", &run], |shown| shown["status"] == "failed");
    let more = r#"[{"op": "add", "path": "/nodes/0/error_path", "value": ["b"]},
        {"op": "add", "path": "/nodes/-", "value": {"id": "b", "type": "task", "config": {"task": "echo"}}}]"#;
    let kept = rig.json(&["runs", "patch", &run, more, "--reason", "a way out"]);
    assert_eq!(kept["outcome"], "kept");
    rig.ok(&["runs", "retry", &run]);
    let shown = rig.until(&["runs", "show", &run], |shown| shown["status"] == "completed");
    assert_eq!(shown["status"], "completed");
    assert_eq!(rig.json(&["runs", "patches", &run])["rows"][0]["outcome"], "adopted");
}

on_both_worlds!(
    a_patch_is_tried_sent_listed_and_undone,
    the_drawing_of_an_ended_run_shows_what_it_adopted,
    what_is_refused_is_told_with_its_code,
    a_patch_nobody_considers_is_said_to_wait,
    a_failed_run_considers_its_patch_when_it_is_opened_again,
);
