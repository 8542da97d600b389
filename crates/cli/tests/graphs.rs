//! Graphs from the command line: checks, inputs, versions, drawings, paths of tokens, explanations by node.

mod rig;
mod service;

use rig::Rig;
use serde_json::{Value, json};

const ORDER: &str = r#"metadata: {name: order, description: Ships what is paid for.}
inputs: {type: object, required: [id], properties: {id: {type: string}}}
nodes:
  - {id: pay, type: task, config: {task: echo, order: $inputs.id}, dependents: [ship, tell]}
  - {id: tell, type: task, config: {task: echo}}
  - {id: ship, type: signal, config: {name: packed}}
  - {id: done, type: transform, config: {jq: ".ship.by"}, dependencies: [ship, tell]}
edges:
  - {from: ship, to: done}
  - {from: tell, to: done}
"#;

fn everything_wrong_with_a_graph_is_said_with_its_place(rig: &Rig) {
    rig.write("bad.graph.yaml", "nodes:\n  - {id: a, type: tsk}\n  - {id: b, dependents: [c]}\n");
    let said = rig.run(&["check", "bad.graph.yaml"]);
    assert_eq!(said.code, 1, "{said:?}");
    for part in ["GRAPH018", "bad.graph.yaml:2:19", "did you mean `task`?", "GRAPH012", "bad.graph.yaml:3:26"]
    {
        assert!(said.stdout.contains(part), "{part}: {}", said.stdout);
    }
    let rows = rig.run(&["check", "bad.graph.yaml", "--output", "json"]).stdout;
    let rows: Value = serde_json::from_str(&rows).unwrap();
    assert_eq!(
        (&rows["errors"], &rows["rows"][0]["diagnostics"][0]["start"]["line"]),
        (&json!(2), &json!(2))
    );
    for command in [&["workflows", "register", "bad.graph.yaml"][..], &["run", "bad.graph.yaml"]] {
        let said = rig.run(command);
        assert!(said.code == 1 && said.stderr.contains("GRAPH018"), "{said:?}");
    }
    assert_eq!(rig.json(&["workflows", "list"])["rows"], json!([]));

    rig.write("order.graph.yaml", ORDER);
    rig.write("order.graph.json", r#"{"nodes": [{"id": "a", "type": "task", "colour": "red"}]}"#);
    assert!(rig.ok(&["check", "order.graph.yaml"]).contains("1 file checked, 0 warnings"));
    assert!(rig.ok(&["check", "order.graph.json"]).contains("GRAPH101"));
    assert_eq!(rig.run(&["check", "--strict", "order.graph.json"]).code, 1);
    assert_eq!(rig.run(&["fmt", "order.graph.yaml"]).code, 2);
}

fn a_graph_is_registered_shown_and_compared(rig: &Rig) {
    rig.write("order.graph.yaml", ORDER);
    assert!(rig.ok(&["workflows", "register", "order.graph.yaml"]).starts_with("registered order, version "));
    let shown = rig.json(&["workflows", "show", "order"]);
    assert_eq!((&shown["kind"], &shown["signals"]), (&json!("graph"), &json!(["packed"])));
    assert_eq!(shown["tasks"], json!(["echo", "rhythm.jq"]));
    assert_eq!(shown["settings"]["description"], "Ships what is paid for.");
    let first = shown["version"].as_str().unwrap().to_owned();
    rig.write("order.graph.yaml", &ORDER.replace(".ship.by", ".ship"));
    rig.ok(&["workflows", "register", "order.graph.yaml"]);
    let diff = rig.json(&["workflows", "diff", "order", &first]);
    assert_eq!((&diff["added"], &diff["removed"]), (&json!(1), &json!(1)));

    rig.write("plain.graph.json", r#"{"nodes": [{"id": "a", "type": "delay", "config": {"for": 0}}]}"#);
    rig.ok(&["workflows", "register", "plain.graph.json"]);
    rig.fails(&["start", "order"], 2, "ENGINE012");
    rig.fails(&["run", "order.graph.yaml", "--input", r#"{"id": 7}"#], 2, "ENGINE012");
    let names: Vec<Value> = rig.json(&["workflows", "list"])["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["workflow"].clone())
        .collect();
    assert_eq!(names, [json!("order"), json!("plain")]);
}

fn a_run_says_where_its_tokens_are(rig: &Rig) {
    rig.write("order.graph.yaml", ORDER);
    rig.write("still.flow", "return 1\n");
    rig.ok(&["workflows", "register", "order.graph.yaml", "still.flow"]);
    let run = rig.ok(&["start", "order", "--input", r#"{"id": "o-1"}"#]);
    assert!(rig.ok(&["runs", "path", &run]).contains("`rhythm explain` says why"));
    assert!(rig.fails(&["graph", "--run", &run], 2, "CLI008").contains("has no tokens: `rhythm explain "));
    let flow = rig.ok(&["start", "still"]);
    assert!(rig.ok(&["runs", "path", &flow]).contains("only those of graphs"));
    assert!(rig.fails(&["graph", "--run", &flow], 2, "CLI008").contains("is a flow"));
    let _worker = rig.worker(&[]);
    let explained = rig.until(&["explain", &run], |found| {
        found["reasons"]
            .as_array()
            .is_some_and(|reasons| reasons.iter().any(|reason| reason["code"] == "join"))
    });
    let said: Vec<&str> = explained["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| reason["what"].as_str().unwrap())
        .collect();
    assert!(said.contains(&"node ship waits for signal packed"), "{said:?}");
    assert!(said.contains(&"node done has tokens of tell and waits for ship"), "{said:?}");

    let places = rig.json(&["runs", "show", &run])["places"].clone();
    assert_eq!((&places[0]["node"], &places[0]["waits_for"]), (&json!("ship"), &json!({"signal": "packed"})));
    let join = json!({"join": {"here": ["tell"], "missing": ["ship"]}});
    assert_eq!((&places[1]["node"], &places[1]["waits_for"]), (&json!("done"), &join));
    assert!(rig.ok(&["runs", "show", &run]).contains("tokens of ship"));

    let picture = rig.ok(&["graph", "--run", &run]);
    assert!(picture.contains("pay") && picture.contains("done") && picture.contains("waiting"), "{picture}");
    rig.ok(&["runs", "signal", &run, "packed", "--payload", r#"{"by": "ann"}"#]);
    let shown = rig.until(&["runs", "show", &run], |shown| shown["status"] == "completed");
    assert_eq!(shown["output"], json!("ann"));

    let path = rig.json(&["runs", "path", &run])["rows"].clone();
    let hops: Vec<(Value, Value, Value)> = path
        .as_array()
        .unwrap()
        .iter()
        .map(|hop| (hop["from"].clone(), hop["to"].clone(), hop["hop"].clone()))
        .collect();
    let expected = [
        (json!(null), json!("pay"), json!(0)),
        (json!("pay"), json!("ship"), json!(1)),
        (json!("pay"), json!("tell"), json!(1)),
        (json!("tell"), json!("done"), json!(2)),
        (json!("ship"), json!("done"), json!(2)),
    ];
    assert_eq!(hops, expected);
    assert!(path[0]["consumed_at"].is_string() || path[0]["consumed_at"].is_number(), "{path}");
    assert!(rig.ok(&["runs", "path", &run]).contains("(start)"));
    let verified = rig.json(&["verify", &run]);
    assert_eq!((&verified["verified"], &verified["counter"]), (&json!(true), &json!(0)));
    rig.fails(&["runs", "path", "nobody"], 3, "ENGINE002");
}

fn a_graph_is_drawn_in_three_formats(rig: &Rig) {
    rig.write("order.graph.yaml", ORDER);
    let mermaid = rig.ok(&["graph", "order.graph.yaml"]);
    assert!(mermaid.contains("pay") && mermaid.contains("ship"), "{mermaid}");
    assert!(rig.ok(&["graph", "order.graph.yaml", "--format", "dot"]).starts_with("digraph"));
    assert!(rig.ok(&["graph", "order.graph.yaml", "--format", "svg"]).starts_with("<svg"));
    rig.ok(&["workflows", "register", "order.graph.yaml"]);
    assert_eq!(rig.ok(&["graph", "order"]), mermaid);
}

fn a_graph_runs_here_and_now(rig: &Rig) {
    rig.write(
        "sum.graph.json",
        r#"{"nodes": [
            {"id": "keep", "type": "filter", "config": {"items": "$inputs.list", "condition": {"type": "cel", "expression": "output > 1"}}, "dependents": ["add"]},
            {"id": "add", "type": "transform", "config": {"jq": "add"}, "branch": {"type": "conditional", "rules": [
                {"condition": {"type": "python_sandbox", "code": "def evaluate(output, context):\n    return output == 5\n"}, "next_nodes": ["right"]}], "default": ["wrong"]}},
            {"id": "right", "type": "task", "config": {"task": "echo"}},
            {"id": "wrong", "type": "task", "config": {"task": "echo"}}]}"#,
    );
    let said = rig.run(&["run", "sum.graph.json", "--input", r#"{"list": [1, 2, 3]}"#]);
    assert_eq!((said.code, said.stdout.trim()), (0, r#"{"config":{"task":"echo"},"input":5}"#), "{said:?}");
    assert!(said.stderr.contains("token      to right from add"), "{}", said.stderr);
}

fn a_path_that_is_not_there_is_said_the_same_way_everywhere(rig: &Rig) {
    for command in [
        &["test", "none.yaml"][..],
        &["check", "none.graph.yaml"],
        &["run", "none.yaml"],
        &["graph", "none.json"],
        &["workflows", "register", "none"],
        &["node-types", "register", "none.json"],
    ] {
        let said = rig.fails(command, 2, "CLI003");
        assert!(said.contains("there is no such file") && said.contains("check the path"), "{said}");
    }
    std::fs::create_dir(rig.path().join("empty")).unwrap();
    assert!(rig.fails(&["test", "empty"], 2, "CLI003").contains("there is no scenario"));
    let said = rig.fails(&["node-types", "show", "htp"], 2, "ENGINE010");
    assert!(said.contains("did you mean http?") && said.contains("change what the message names"), "{said}");
}

fn a_test_shows_what_the_compiler_warns_of(rig: &Rig) {
    rig.write("t.yaml", "{name: n, graph: {nodes: [{id: a}]}, tasks: {a: [{ok: 1}]}, expect: {output: 1}}");
    let said = rig.ok(&["test", "t.yaml"]);
    assert!(said.contains("note: main: /nodes/0/id: GRAPH106: a node names no type"), "{said}");
}

fn every_type_says_what_it_takes_and_gives(rig: &Rig) {
    rig.ok(&["db", "migrate"]);
    for kind in rig.json(&["node-types", "list"])["rows"].as_array().unwrap() {
        let shown = rig.json(&["node-types", "show", kind["name"].as_str().unwrap()]);
        for schema in ["config_schema", "input_schema", "output_schema"] {
            assert!(shown[schema].is_object(), "{schema}: {shown}");
        }
        assert!(shown["config_schema"]["properties"].is_object(), "{shown}");
    }
}

/// Runs the page's own text with another server name, a shorter wait, and another task for the last node.
fn the_polling_loop_of_the_guide_goes_on_until_the_job_is_done(rig: &Rig) {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/graphs.md");
    let page = std::fs::read_to_string(page).unwrap();
    let is_loop = |block: &&str| block.starts_with("graph\n") && block.contains("output.body.state");
    let graph = page.split("```").find(is_loop).unwrap().trim_start_matches("graph\n");
    let mut poll = graph.to_owned();
    let used = "{id: use, type: transform, config: {jq: .}}";
    for (here, there) in [
        ("https://api.example.com", &*service::start()),
        ("for: 30s", "for: 10ms"),
        ("{id: use, type: task}", used),
    ] {
        assert!(poll.contains(here), "{here}: {poll}");
        poll = poll.replace(here, there);
    }
    rig.write("poll.graph.yaml", &poll);
    let job = format!("{}?x=../1", if rig.world.starts_with("postgres") { "b" } else { "a" });
    let input = json!({ "job": job }).to_string();
    let run = ["run", "poll.graph.yaml", "--allow-host", "localhost", "--input", &input];
    let said = rig.run(&run);
    assert_eq!(said.code, 0, "{said:?}");
    let id = rig.json(&["runs", "list"])["rows"][0]["id"].as_str().unwrap().to_owned();
    let path = rig.ok(&["runs", "path", &id]);
    assert_eq!(path.matches("use").count().min(1), 1, "{path}");
    let events = rig.json(&["runs", "events", &id, "--limit", "1000"]).to_string();
    assert_eq!(
        events.matches("step_completed").count(),
        4,
        "three answers and what is made of the last: {events}"
    );
    assert!(events.contains(r#""body":{"state":"done"}"#), "{events}");
}

/// The records do not fit into a snapshot together, so they are stored as blobs while their tasks run.
fn a_parallel_over_many_records_ends(rig: &Rig) {
    rig.write(
        "each.graph.yaml",
        "nodes: [{id: p, type: parallel, config: {items: $inputs, task: echo, concurrency: 20}}]",
    );
    let records: Vec<Value> = (0..110).map(|id| json!({"id": id, "text": "r".repeat(670)})).collect();
    rig.write("records.json", &json!(records).to_string());
    let answer = rig.ok(&["run", "each.graph.yaml", "--input", "@records.json", "--quiet"]);
    let outputs: Vec<Value> = serde_json::from_str(&answer).unwrap();
    let inputs: Vec<&Value> = outputs.iter().map(|output| &output["input"]).collect();
    assert_eq!(inputs, records.iter().collect::<Vec<_>>());
    let run = rig.json(&["runs", "list"])["rows"][0]["id"].as_str().unwrap().to_owned();
    rig.ok(&["verify", &run]);
}

on_both_worlds!(
    a_parallel_over_many_records_ends,
    the_polling_loop_of_the_guide_goes_on_until_the_job_is_done,
    a_path_that_is_not_there_is_said_the_same_way_everywhere,
    a_test_shows_what_the_compiler_warns_of,
    every_type_says_what_it_takes_and_gives,
    everything_wrong_with_a_graph_is_said_with_its_place,
    a_graph_is_registered_shown_and_compared,
    a_run_says_where_its_tokens_are,
    a_graph_is_drawn_in_three_formats,
    a_graph_runs_here_and_now,
);
