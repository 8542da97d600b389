//! Tags and patches of workflows from the command line.

mod rig;

use rig::Rig;
use serde_json::{Value, json};

fn graph(task: &str) -> String {
    format!("metadata: {{name: order}}\nnodes:\n  - {{id: a, type: task, config: {{task: {task}}}}}\n")
}

/// Registers versions of `order`, one after the other. Returns their hashes.
fn registered(rig: &Rig, tasks: &[&str]) -> Vec<String> {
    let versions = tasks.iter().map(|task| {
        rig.write("order.graph.yaml", &graph(task));
        rig.ok(&["workflows", "register", "order.graph.yaml"]);
        rig.json(&["workflows", "show", "order"])["version"].as_str().unwrap().to_owned()
    });
    versions.collect()
}

fn version_of(rig: &Rig, run: &str) -> String {
    rig.json(&["runs", "show", run])["version"].as_str().unwrap().to_owned()
}

fn a_tag_is_moved_shown_rolled_back_and_removed(rig: &Rig) {
    rig.ok(&["db", "migrate"]);
    let none = "no tags; `rhythm workflows tag TAG NAME` makes one";
    assert_eq!(rig.ok(&["workflows", "tags"]), none);
    let versions = registered(rig, &["echo", "sleep"]);
    rig.fails(&["workflows", "tag", "live"], 3, "ENGINE020");
    let first = format!("order@{}", versions[0]);
    let said = rig.ok(&["workflows", "tag", "live", &first, "--reason", "begin"]);
    assert!(said.starts_with("tag live points at order@1 sha256:"), "{said}");
    assert!(rig.ok(&["workflows", "tag", "live", &first]).contains("points already at"));
    rig.ok(&["workflows", "tag", "live", "order", "--expect", &versions[0], "--reason", "try"]);
    let late = rig.fails(&["workflows", "tag", "live", &first, "--expect", &versions[0]], 4, "ENGINE021");
    assert!(late.contains(&versions[1]), "{late}");

    let run = rig.ok(&["start", "--tag", "live"]);
    assert_eq!(version_of(rig, &run), versions[1]);
    let back = rig.json(&["workflows", "tag", "live", "--rollback", "--reason", "too slow"]);
    assert_eq!(back["to"]["version"], json!(versions[0]));
    let run = rig.ok(&["start", "order", "--tag", "live", "--label", "shop=berlin"]);
    assert_eq!(version_of(rig, &run), versions[0]);
    let moves = rig.json(&["workflows", "tag", "live", "--history"])["rows"].clone();
    let told: Vec<(&Value, &Value, &Value)> = moves
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (&row["number"], &row["reason"], &row["to"]["version"]))
        .collect();
    let expected = [
        (json!(3), json!("too slow"), json!(versions[0])),
        (json!(2), json!("try"), json!(versions[1])),
        (json!(1), json!("begin"), json!(versions[0])),
    ];
    let expected: Vec<_> = expected.iter().map(|(number, reason, to)| (number, reason, to)).collect();
    assert_eq!(told, expected);
    assert_eq!((&moves[0]["actor"], &moves[2]["from"]), (&json!("user:tester@here"), &Value::Null));
    assert!(rig.ok(&["workflows", "tag", "live", "--history"]).contains("too slow"));
    assert_eq!(rig.json(&["workflows", "tags"])["rows"][0]["tag"], "live");

    let diff = rig.json(&["workflows", "diff", "order", "live", &versions[1]]);
    assert_eq!((&diff["added"], &diff["removed"]), (&json!(1), &json!(1)));
    rig.ok(&["workflows", "tag", "live", "--remove"]);
    assert_eq!(rig.ok(&["workflows", "tags"]), none);
    let said = rig.fails(&["start", "--tag", "live"], 3, "ENGINE020");
    assert!(said.contains("tag live points at nothing") && said.contains("--rollback"), "{said}");
    assert_eq!(rig.ok(&["workflows", "tag", "live"]), "tag live points at nothing");
    let said = rig.fails(&["workflows", "tag", "lve"], 3, "ENGINE020");
    assert!(said.contains("there is no tag lve"), "{said}");
    rig.ok(&["workflows", "tag", "live", "--rollback"]);
    rig.ok(&["start", "--tag", "live"]);
}

fn what_a_tag_cannot_do_is_said(rig: &Rig) {
    registered(rig, &["echo"]);
    rig.write("other.graph.json", r#"{"nodes": [{"id": "a", "type": "task", "config": {"task": "echo"}}]}"#);
    rig.ok(&["workflows", "register", "other.graph.json"]);
    rig.ok(&["workflows", "tag", "live", "other"]);
    rig.fails(&["start", "order", "--tag", "live"], 2, "ENGINE022");
    rig.fails(&["workflows", "diff", "order", "live"], 2, "ENGINE022");
    rig.fails(&["workflows", "patch", "order", "[]", "--tag", "live", "--reason", "x"], 2, "ENGINE022");
    rig.fails(&["workflows", "tag", "a/b", "order"], 2, "ENGINE010");
    rig.fails(&["workflows", "tag", "live", "nothing"], 3, "ENGINE001");
    rig.fails(&["workflows", "tag", "live", "order@beef"], 3, "ENGINE013");
    rig.fails(&["start", "order", "--tag", "live", "--tag", "early"], 2, "CLI005");
    rig.fails(&["start", "--label", "shop=berlin"], 2, "CLI005");
    rig.fails(&["start"], 2, "CLI005");
    rig.ok(&["--tenant", "ann", "workflows", "tags"]);
    rig.fails(&["--tenant", "ann", "start", "--tag", "live"], 3, "ENGINE020");
    let said = rig.run(&["run", "--tag", "live", "--input", "7"]);
    assert_eq!((said.code, said.stdout.trim()), (0, r#"{"config":{"task":"echo"},"input":7}"#), "{said:?}");
}

fn labels_of_runs_are_no_tags(rig: &Rig) {
    registered(rig, &["echo"]);
    rig.ok(&["workflows", "tag", "live", "order"]);
    for command in [&["start", "order"][..], &["runs", "list"], &["runs", "retry", "--workflow", "order"]] {
        let said = rig.fails(&[command, &["--tag", "shop=berlin"]].concat(), 2, "CLI008");
        assert!(said.contains("a label of the run is --label shop=berlin"), "{said}");
    }
    let plain = rig.ok(&["start", "order"]);
    let berlin = rig.ok(&["start", "order", "--label", "shop=berlin", "--label", "tier=gold"]);
    let tagged = rig.ok(&["start", "--tag", "live", "--label", "shop=rome"]);
    let shown = rig.json(&["runs", "show", &tagged]);
    assert_eq!(shown["labels"], json!({"shop": "rome", "tag": "live", "tag_move": "v1"}));
    assert_eq!(shown["tags"], Value::Null);
    let view = format!("SELECT labels, tags, tag_name FROM runs WHERE run_id = '{tagged}'");
    let [labels, tags, tag_name] = &rig.query(&view)[0][..] else { panic!("three columns") };
    for column in [labels, tags] {
        assert_eq!(serde_json::from_str::<Value>(column.as_ref().unwrap()).unwrap(), shown["labels"]);
    }
    assert_eq!(tag_name.as_deref(), Some("live"));
    let found = |filter: &[&str]| {
        let listed = rig.json(&[&["runs", "list"], filter].concat());
        let rows = listed["rows"].as_array().unwrap().iter();
        rows.map(|row| row["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found(&[]), [&tagged[..], &berlin, &plain]);
    assert_eq!(found(&["--label", "shop"]), [&tagged[..], &berlin]);
    assert_eq!(found(&["--label", "shop=berlin"]), [&berlin[..]]);
    assert_eq!(found(&["--label", "shop", "--label", "tier=gold"]), [&berlin[..]]);
    assert_eq!(found(&["--tag", "live"]), [&tagged[..]]);
    assert_eq!(found(&["--tag", "live@v1", "--label", "shop=rome"]), [&tagged[..]]);
    assert_eq!(found(&["--tag", "live@v2"]), [""; 0]);
    assert_eq!(found(&["--tag", "live", "--label", "shop=berlin"]), [""; 0]);
    let listed = rig.ok(&["runs", "list"]);
    assert!(listed.contains("LABELS") && listed.contains("shop=berlin tier=gold"), "{listed}");
    rig.fails(&["runs", "list", "--label", "=berlin"], 2, "CLI008");
}

fn many_runs_are_tried_again_by_tag_and_label(rig: &Rig) {
    rig.write("order.flow", "return await Task.run(\"fail\", {}, { retries: { max_attempts: 1 } })\n");
    rig.ok(&["workflows", "register", "order.flow"]);
    rig.ok(&["workflows", "tag", "live", "order"]);
    let _worker = rig.worker(&[]);
    let starts =
        [&["order"][..], &["order", "--label", "shop=rome"], &["--tag", "live", "--label", "shop=rome"]];
    let runs = starts.map(|start| rig.ok(&[&["start"], start].concat()));
    for run in &runs {
        rig.until(&["runs", "show", run], |shown| shown["status"] == "failed");
    }
    let tried = |filter: &[&str]| {
        let all = ["runs", "retry", "--workflow", "order", "--dry-run"];
        rig.json(&[&all, filter].concat())["count"].as_u64().unwrap()
    };
    assert_eq!((tried(&[]), tried(&["--label", "shop"]), tried(&["--tag", "live"])), (3, 2, 1));
    assert_eq!((tried(&["--label", "shop=rome"]), tried(&["--label", "shop=oslo"])), (2, 0));
}

#[test]
fn the_guide_lists_the_labels_that_the_engine_sets() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/operations.md");
    let page = std::fs::read_to_string(path).unwrap();
    let listed: Vec<&str> = page
        .split("| label | what it holds |\n|---|---|\n")
        .nth(1)
        .expect("the table of labels")
        .lines()
        .map_while(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    assert_eq!(listed, rhythm_engine::labels::RESERVED);
}

const GROW: &str = r#"[{"op": "add", "path": "/nodes/-", "value": {"id": "b", "type": "task", "config": {"task": "echo"}}},
    {"op": "add", "path": "/nodes/0/dependents", "value": ["b"]}]"#;

fn a_workflow_is_patched_and_unpatched(rig: &Rig) {
    let versions = registered(rig, &["echo"]);
    let would = rig.json(&["workflows", "patch", "order", GROW, "--dry-run"]);
    assert_eq!(would["changes"]["edges_added"], json!([["a", "b"]]));
    assert_eq!(
        rig.json(&["workflows", "show", "order"])["version"],
        json!(versions[0]),
        "nothing is registered"
    );
    let said = rig.ok(&["workflows", "patch", "order", GROW, "--reason", "two", "--expect", &versions[0]]);
    assert!(said.starts_with("patched, order: sha256:") && said.ends_with("+ edge a -> b"), "{said}");
    let shown = rig.json(&["workflows", "show", "order"]);
    assert_eq!(
        (&shown["version"], shown["source"].as_str().unwrap().starts_with('{')),
        (&would["version"], true)
    );
    let late = ["workflows", "patch", "order", "[]", "--reason", "late", "--expect", &versions[0]];
    assert!(rig.fails(&late, 4, "ENGINE021").contains(would["version"].as_str().unwrap()));

    let listed = rig.json(&["workflows", "patches", "order"])["rows"].clone();
    assert_eq!((&listed[0]["reason"], &listed[0]["base"]), (&json!("two"), &json!(versions[0])));
    assert_eq!(
        (&listed[0]["actor"], &listed[0]["operations"][0]["op"]),
        (&json!("user:tester@here"), &json!("add"))
    );
    assert!(rig.ok(&["workflows", "patches", "order", "--diff", "1"]).contains("+      \"id\": \"b\""));
    rig.ok(&["workflows", "patch", "order", "--undo", "1"]);
    let shown = rig.json(&["workflows", "show", "order"]);
    assert_eq!(
        (&shown["version"], &shown["source"]),
        (&json!(versions[0]), &json!(graph("echo"))),
        "as it was written"
    );
    assert_eq!(rig.json(&["workflows", "patches", "order"])["rows"][1]["reason"], "undoes patch 1");
    rig.fails(&["workflows", "patches", "order", "--diff", "9"], 3, "ENGINE019");
    rig.fails(&["workflows", "patch", "order", "--undo", "9"], 3, "ENGINE019");
    rig.fails(&["workflows", "patches", "nothing"], 3, "ENGINE001");
}

fn a_patched_yaml_graph_differs_by_what_was_patched_alone(rig: &Rig) {
    let yaml = "metadata: {name: bill}\nnodes:\n  - {id: a, type: task, config: {task: echo, n: 1}}\n";
    rig.write("bill.graph.yaml", yaml);
    rig.ok(&["workflows", "register", "bill.graph.yaml"]);
    let first = rig.json(&["workflows", "show", "bill"])["version"].as_str().unwrap().to_owned();
    let replace = r#"[{"op": "replace", "path": "/nodes/0/config/n", "value": 2}]"#;
    rig.ok(&["workflows", "patch", "bill", replace, "--reason", "more"]);
    let diff = rig.json(&["workflows", "diff", "bill", &first]);
    assert_eq!((&diff["added"], &diff["removed"]), (&json!(1), &json!(1)), "{}", diff["diff"]);
}

fn a_patch_of_a_tag_moves_the_tag_alone(rig: &Rig) {
    let versions = registered(rig, &["echo", "sleep"]);
    rig.ok(&["workflows", "tag", "live", &format!("order@{}", versions[0])]);
    let patched = rig.json(&["workflows", "patch", GROW, "--tag", "live", "--reason", "two"]);
    assert_eq!((&patched["workflow"], &patched["base"]), (&json!("order"), &json!(versions[0])));
    assert_eq!(rig.json(&["workflows", "tag", "live"])["to"]["version"], patched["version"]);
    assert_eq!(rig.json(&["workflows", "show", "order"])["version"], json!(versions[1]));
    assert_eq!(rig.json(&["workflows", "patches", "order"])["rows"][0]["tag"], "live");
    rig.ok(&["workflows", "patch", "--tag", "live", "--undo", "1"]);
    assert_eq!(rig.json(&["workflows", "tag", "live"])["to"]["version"], json!(versions[0]));
}

fn a_patch_that_does_not_compile_registers_nothing(rig: &Rig) {
    let versions = registered(rig, &["echo"]);
    let wrong = r#"[{"op": "add", "path": "/nodes/0/dependents", "value": ["ghost"]},
        {"op": "replace", "path": "/nodes/0/type", "value": "tsk"}]"#;
    for how in [&["--dry-run"][..], &["--reason", "x"]] {
        let said = rig.fails(&[&["workflows", "patch", "order", wrong], how].concat(), 2, "ENGINE015");
        assert!(said.contains("error[GRAPH012] at /nodes/0/dependents/0: "), "by its path: {said}");
        assert!(said.contains("error[GRAPH018] at /nodes/0/type: "), "all at once: {said}");
    }
    for (operations, code) in [
        (r#"[{"op": "remove", "path": "/nodes/7"}]"#, "inapplicable_patch"),
        (r#"{"op": "remove"}"#, "malformed_patch"),
        ("[]", "nothing_changed"),
    ] {
        let said = rig.fails(&["workflows", "patch", "order", operations, "--reason", "x"], 4, "ENGINE017");
        assert!(said.contains(code), "{said}");
    }
    let renamed = r#"[{"op": "replace", "path": "/metadata/name", "value": "other"}]"#;
    rig.fails(&["workflows", "patch", "order", renamed, "--reason", "x"], 2, "ENGINE010");
    rig.fails(&["workflows", "patch", "order", "[]"], 2, "CLI005");
    rig.fails(&["workflows", "patch", "order", "--reason", "x"], 2, "CLI005");
    rig.fails(&["workflows", "patch", "nothing", "[]", "--reason", "x"], 3, "ENGINE001");
    assert_eq!(rig.json(&["workflows", "show", "order"])["version"], json!(versions[0]));
    assert_eq!(rig.json(&["workflows", "versions", "order"])["rows"].as_array().unwrap().len(), 1);
}

on_both_worlds!(
    a_tag_is_moved_shown_rolled_back_and_removed,
    what_a_tag_cannot_do_is_said,
    labels_of_runs_are_no_tags,
    many_runs_are_tried_again_by_tag_and_label,
    a_workflow_is_patched_and_unpatched,
    a_patched_yaml_graph_differs_by_what_was_patched_alone,
    a_patch_of_a_tag_moves_the_tag_alone,
    a_patch_that_does_not_compile_registers_nothing,
);
