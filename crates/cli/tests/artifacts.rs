//! Content for graphs: artifacts, files beside a graph, and versions by their numbers.

mod rig;

use rig::Rig;
use serde_json::{Value, json};

const SCHEMA: &str = "{\"type\": \"object\", \"required\": [\"id\"]}";

/// Returns a graph whose only task reads its config from this reference.
fn graph(reference: &str) -> String {
    format!("nodes:\n  - {{id: a, type: task, config_ref: {reference}}}\n")
}

fn put(rig: &Rig, name: &str, content: &str) -> String {
    rig.write(name, content);
    let hash = rig.ok(&["artifacts", "put", name]);
    assert!(hash.starts_with("sha256:") && hash.len() == 71, "{hash}");
    hash
}

fn an_artifact_is_put_listed_shown_and_removed(rig: &Rig) {
    assert_eq!(rig.ok(&["artifacts", "list"]), "no artifacts; `rhythm artifacts put FILE` stores one");
    let hash = put(rig, "order.schema.json", SCHEMA);
    rig.write("copy.json", SCHEMA);
    let again = rig.json(&["artifacts", "put", "copy.json"])["rows"][0].clone();
    assert_eq!((&again["hash"], &again["changed"]), (&json!(hash), &json!(false)), "the same content is one");
    let rows = rig.json(&["artifacts", "list"])["rows"].clone();
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!((&rows[0]["name"], &rows[0]["bytes"]), (&json!("order.schema.json"), &json!(SCHEMA.len())));
    let short = &hash[7..15];
    let shown = rig.json(&["artifacts", "show", short]);
    assert_eq!((&shown["content"], &shown["actor"]), (&json!(SCHEMA), &json!("user:tester@here")));
    assert!(rig.ok(&["artifacts", "show", &format!("cas://{hash}")]).ends_with(SCHEMA));
    rig.ok(&["artifacts", "remove", &hash]);
    for verb in ["remove", "show"] {
        rig.fails(&["artifacts", verb, &hash], 3, "ENGINE026");
    }
    rig.fails(&["artifacts", "show", "ab"], 2, "ENGINE010");
    rig.write("empty", "");
    rig.fails(&["artifacts", "put", "empty"], 2, "ENGINE010");
    rig.fails(&["artifacts", "put", "nowhere"], 2, "CLI003");
}

fn graphs_read_what_they_refer_to(rig: &Rig) {
    let config = put(rig, "config.json", "{\"task\": \"echo\", \"n\": 7}");
    let schema = put(rig, "schema.json", SCHEMA);
    let code =
        put(rig, "judge.py", "def evaluate(output, context):\n    return output['config']['n'] == 7\n");
    rig.write(
        "order.graph.yaml",
        &format!(
            "nodes:\n  - id: a\n    type: task\n    config_ref: {{type_url: echo/v1, cas_ref: \"cas://{config}\"}}\n    branch:\n      \
             rules:\n        - {{condition: {{type: schema_validation, schema_ref: \"{schema}\"}}, next_nodes: [never]}}\n        \
             - {{condition: {{type: python_sandbox, code_ref: \"{code}\"}}, next_nodes: [yes_it_is]}}\n      default: []\n  \
             - {{id: never, type: task, config: {{task: echo}}}}\n  - {{id: yes_it_is, type: task, config: {{task: echo}}}}\n"
        ),
    );
    let registered = rig.json(&["workflows", "register", "order.graph.yaml"])["rows"][0].clone();
    assert_eq!((&registered["number"], &registered["diagnostics"]), (&json!(1), &json!([])));
    // The artifacts are removed, but the workflow still refers to them.
    for hash in [&config, &schema, &code] {
        rig.ok(&["artifacts", "remove", hash]);
    }
    let output: Value = serde_json::from_str(&rig.ok(&["run", "order"])).unwrap();
    let at_last = &output["input"]["config"];
    assert_eq!(at_last["n"], 7, "{output}");
}

fn a_graph_carries_the_files_beside_it(rig: &Rig) {
    std::fs::create_dir_all(rig.path().join("flows/parts")).unwrap();
    rig.write("flows/parts/config.json", "{\"task\": \"echo\", \"n\": 1}");
    // References after characters of several bytes, with and without quotes.
    for (number, reference) in
        ["./parts/config.json", "\"./parts/config.json\"", "{cas_ref: './parts/config.json'}"]
            .iter()
            .enumerate()
    {
        rig.write("flows/order.graph.yaml", &format!("# für Ölße\n{}", graph(reference)));
        rig.ok(&["check", "flows", "--strict"]);
        rig.ok(&["workflows", "register", "flows"]);
        let shown = rig.json(&["workflows", "show", "order"]);
        let source = shown["source"].as_str().unwrap();
        assert_eq!(shown["number"], number + 1, "{source}");
        assert!(source.contains("sha256:") && !source.contains("./parts"), "{source}");
        assert_eq!(rig.ok(&["workflows", "diff", "order", "flows/order.graph.yaml"]).lines().count(), 1);
    }
    let output: Value = serde_json::from_str(&rig.ok(&["run", "flows/order.graph.yaml"])).unwrap();
    assert_eq!(output["config"]["n"], 1);
    // Changed content makes another version; the old version keeps the old content.
    rig.write("flows/parts/config.json", "{\"task\": \"echo\", \"n\": 2}");
    let output: Value = serde_json::from_str(&rig.ok(&["run", "flows/order.graph.yaml"])).unwrap();
    assert_eq!(output["config"]["n"], 2);
    let output: Value = serde_json::from_str(&rig.ok(&["run", "order@3"])).unwrap();
    assert_eq!(output["config"]["n"], 1);
    assert!(rig.ok(&["graph", "flows/order.graph.yaml"]).contains('a'));
    rig.write(
        "flows/order.scenario.yaml",
        "workflow: order.graph.yaml\ntasks: {a: [{ok: 1}]}\nexpect: {status: completed, counts: {a: 1}}\n",
    );
    rig.ok(&["test", "flows"]);
}

fn no_file_outside_of_the_folder_is_read(rig: &Rig) {
    std::fs::create_dir_all(rig.path().join("flows/folder")).unwrap();
    rig.write("secret.json", "{\"n\": \"secret\"}");
    rig.write("flows/bad.json", "{n: 1}");
    rig.write("flows/some.yaml", "n: 1");
    rig.write("flows/empty.json", "");
    let secret = rig.path().join("secret.json");
    std::os::unix::fs::symlink(&secret, rig.path().join("flows/link.json")).unwrap();
    std::os::unix::fs::symlink(rig.path(), rig.path().join("flows/up")).unwrap();
    let absolute = secret.display().to_string();
    let file = format!("file://{absolute}");
    for (reference, told) in [
        ("../secret.json", "`..` leads out"),
        ("./folder/../../secret.json", "`..` leads out"),
        (absolute.as_str(), "no path within the folder"),
        (file.as_str(), "no path within the folder"),
        ("~/secret.json", "no path within the folder"),
        ("./link.json", "a link that leads out"),
        ("./up/secret.json", "a link that leads out"),
        ("./nowhere.json", "there is no such file"),
        ("./folder", "this is no file"),
        ("./empty.json", "the file is empty"),
        ("./bad.json", "no valid JSON"),
        ("./some.yaml", "this is YAML"),
    ] {
        rig.write("flows/order.graph.yaml", &graph(&format!("\"{reference}\"")));
        for command in
            [&["workflows", "register", "flows/order.graph.yaml"][..], &["check", "flows/order.graph.yaml"]]
        {
            let answer = rig.run(command);
            let said = format!("{}{}", answer.stdout, answer.stderr);
            assert!(said.contains("GRAPH027") && said.contains(told), "{reference}: {said}");
            assert!(!said.contains("secret\"}"), "{said}");
        }
    }
    rig.fails(&["workflows", "show", "order"], 3, "ENGINE001");
    // A source without a folder (a patch, a stored graph) cannot refer to files.
    rig.write("flows/order.graph.yaml", &graph("\"sha256:00\""));
    rig.ok(&["workflows", "register", "flows/order.graph.yaml"]);
    let patch = r#"[{"op": "replace", "path": "/nodes/0/config_ref", "value": "./bad.json"}]"#;
    let said = rig.fails(&["workflows", "patch", "order", patch, "--reason", "x"], 2, "ENGINE015");
    assert!(said.contains("GRAPH027"), "{said}");
}

/// Registers versions of the flow `order`, each of which returns its number.
fn registered(rig: &Rig, count: usize) -> Vec<String> {
    let versions = (1..=count).map(|number| {
        rig.write("order.flow", &format!("return {number}\n"));
        let rows = rig.json(&["workflows", "register", "order.flow"])["rows"].clone();
        assert_eq!(rows[0]["number"], number);
        rows[0]["version"].as_str().unwrap().to_owned()
    });
    versions.collect()
}

fn a_version_is_named_by_its_number(rig: &Rig) {
    let versions = registered(rig, 3);
    let hash = |text: &str| rig.json(&["workflows", "show", text])["version"].clone();
    for (number, version) in versions.iter().enumerate() {
        let named = format!("order@{}", number + 1);
        assert_eq!(hash(&named), json!(version));
        assert_eq!(rig.ok(&["run", &named]), (number + 1).to_string());
        assert_eq!(hash(&format!("order@{}", &version[..14])), json!(version), "a hash is named as before");
    }
    let diff = rig.ok(&["workflows", "diff", "order@2", "order@3"]);
    assert!(diff.contains("-return 2") && diff.contains("+return 3"), "{diff}");
    assert_eq!(diff, rig.ok(&["workflows", "diff", "order", "2", "3"]));
    let numbered = rig.ok(&["start", "order", "--version", "2"]);
    let run = rig.json(&["runs", "show", &numbered]);
    assert_eq!((&run["version"], &run["version_number"]), (&json!(versions[1]), &json!(2)));
    assert!(rig.ok(&["runs", "show", &numbered]).contains("order@2 (flow"));
    let listed = rig.json(&["runs", "list", "--limit", "1"])["rows"][0].clone();
    assert_eq!((&listed["id"], &listed["version_number"]), (&json!(numbered), &json!(2)));
    assert!(rig.ok(&["runs", "list"]).contains("order@2"));
    assert!(rig.ok(&["workflows", "list"]).contains("order@3"));
    // A source that is registered again keeps its version and number.
    rig.write("order.flow", "return 1\n");
    assert_eq!(rig.json(&["workflows", "register", "order.flow"])["rows"][0]["number"], 1);
    assert_eq!(rig.json(&["workflows", "list"])["rows"][0]["number"], 1);
    for end in ["throw \"no\"", "return 5"] {
        rig.write("order.flow", &format!("await Task.run(\"echo\", 1)\n{end}\n"));
        rig.ok(&["workflows", "register", "order.flow"]);
    }
    assert!(!rig.run(&["run", "order@4", "--key", "k"]).stderr.is_empty());
    let failed =
        rig.json(&["runs", "list", "--status", "failed"])["rows"][0]["id"].as_str().unwrap().to_owned();
    let changed = rig.json(&["runs", "retry", &failed, "--version", "order@5", "--reason", "x"]);
    assert_eq!(changed["change"]["to"], rig.json(&["workflows", "show", "order@5"])["version"]);
    assert!(rig.ok(&["runs", "show", &failed]).contains("gave it order@5"));
    for (name, code) in [("order@9", "ENGINE013"), ("order@0", "ENGINE013"), ("other@1", "ENGINE001")] {
        rig.fails(&["start", name], 3, code);
    }
    rig.fails(&["start", "order@"], 3, "ENGINE013");
    rig.fails(&["start", "order@1", "--version", "2"], 2, "ENGINE010");
    rig.write("a@b.flow", "return 1\n");
    rig.fails(&["workflows", "register", "a@b.flow"], 2, "ENGINE010");
    let query = "SELECT run_id, version_number FROM runs WHERE version_number = 5";
    let query =
        if rig.is_sqlite() { query.to_owned() } else { query.replace("FROM runs", "FROM rhythm.runs") };
    assert!(rig.query(&query).iter().any(|row| row[0].as_deref() == Some(failed.as_str())));
}

fn a_move_of_a_tag_is_named_by_its_number(rig: &Rig) {
    let versions = registered(rig, 3);
    for target in ["order@2", "order@1", "order@3"] {
        rig.ok(&["workflows", "tag", "main", target, "--reason", target]);
    }
    let run_of = |named: &[&str]| {
        let run = rig.ok(&[&["start"], named].concat());
        let shown = rig.json(&["runs", "show", &run]);
        (shown["version"].clone(), shown["labels"].clone())
    };
    let labels = |number: u64| json!({ "tag": "main", "tag_move": format!("v{number}") });
    let all: [(&[&str], usize, u64); 7] = [
        (&["main@v1"], 2, 1),
        (&["main@v2"], 1, 2),
        (&["order@main@v2"], 1, 2),
        (&["order@main"], 3, 3),
        (&["--tag", "main"], 3, 3),
        (&["--tag", "main@v1"], 2, 1),
        (&["order", "--tag", "main@v1"], 2, 1),
    ];
    for (named, version, number) in all {
        assert_eq!(run_of(named), (json!(versions[version - 1]), labels(number)), "{named:?}");
    }
    assert_eq!(rig.json(&["workflows", "show", "order", "--version", "main@v2"])["number"], 1);
    assert!(rig.ok(&["workflows", "diff", "order@main@v1", "main"]).contains("+return 3"));
    assert!(rig.ok(&["workflows", "tag", "other", "main@v1"]).contains("points at order@2"));
    assert!(rig.ok(&["workflows", "tags"]).contains("main@v3"));
    assert!(rig.ok(&["workflows", "tag", "main", "--history"]).contains("main@v2"));
    rig.ok(&["workflows", "tag", "main", "--remove"]);
    rig.fails(&["start", "main@v4"], 3, "ENGINE020");
    rig.fails(&["start", "main@v5"], 3, "ENGINE020");
    rig.fails(&["start", "nothing@v1"], 3, "ENGINE020");
    assert_eq!(run_of(&["main@v3"]).0, json!(versions[2]), "what a tag pointed at stays known");
    // A move of a tag is a record: it cannot be moved, and no tag can have its name.
    rig.fails(&["workflows", "tag", "main@v1", "order"], 2, "ENGINE010");
    rig.fails(&["workflows", "tag", "main@v1", "--remove"], 2, "ENGINE010");
    rig.fails(&["workflows", "tag", "7", "order"], 2, "ENGINE010");
}

on_both_worlds!(
    an_artifact_is_put_listed_shown_and_removed,
    graphs_read_what_they_refer_to,
    a_graph_carries_the_files_beside_it,
    no_file_outside_of_the_folder_is_read,
    a_version_is_named_by_its_number,
    a_move_of_a_tag_is_named_by_its_number,
);
