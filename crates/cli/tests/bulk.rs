//! Many runs at once, followed runs, and deleted runs.

mod rig;

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rig::Rig;
use serde_json::{Value, json};

on_both_worlds!(
    a_run_is_started_for_each_line,
    a_line_that_cannot_be_started_is_named_and_nothing_is_started,
    lines_may_have_keys,
    events_are_shown_as_they_happen,
    who_waits_for_a_run_sees_its_steps,
    a_deleted_run_is_gone_with_its_history,
    what_is_in_use_is_not_deleted
);

fn register(rig: &Rig, name: &str, text: &str) {
    rig.write(&format!("{name}.flow"), text);
    rig.ok(&["workflows", "register", &format!("{name}.flow"), "-q"]);
}

fn runs(rig: &Rig) -> usize {
    rig.json(&["runs", "list", "--limit", "1000"])["rows"].as_array().unwrap().len()
}

fn a_run_is_started_for_each_line(rig: &Rig) {
    register(rig, "order", "return inputs\n");
    let lines: String = (0..700).map(|number| format!("{{\"id\": {number}}}\n")).collect();
    rig.write("in.ndjson", &format!("\u{feff}{lines}\n"));
    let ids = rig.ok(&["start", "order", "--each", "@in.ndjson", "--label", "from=file"]);
    assert_eq!((ids.lines().count(), runs(rig)), (700, 700));
    let last = rig.json(&["runs", "show", ids.lines().last().unwrap()]);
    assert_eq!((&last["input"], &last["labels"]), (&json!({"id": 699}), &json!({"from": "file"})));
    let told = rig.json(&["start", "order", "--each", "@in.ndjson"]);
    let rows = told["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["line"], rows[0]["run"].is_string()), (700, &json!(1), true));
}

fn a_line_that_cannot_be_started_is_named_and_nothing_is_started(rig: &Rig) {
    register(rig, "order", "```\ninput: {type: object, required: [id]}\n```\nreturn inputs.id\n");
    rig.write("bad.ndjson", "{\"id\": 1}\n\n{\"id\": 2\n");
    let answer = rig.run(&["start", "order", "--each", "@bad.ndjson"]);
    assert!(answer.code == 1 && answer.stderr.starts_with("line 3: not valid JSON: "), "{answer:?}");
    assert!(
        answer.stderr.contains("error[CLI015]: 1 line cannot be started; nothing was started"),
        "{answer:?}"
    );
    rig.write("misfit.ndjson", "{\"id\": 1}\n{\"ID\": 2}\n7\n");
    let answer = rig.run(&["start", "order", "--each", "@misfit.ndjson"]);
    assert!(answer.stderr.starts_with("line 2: the input does not fit workflow order"), "{answer:?}");
    assert!(
        answer.stderr.contains("\nline 3: ") && answer.stderr.contains("2 lines cannot be started"),
        "{answer:?}"
    );
    rig.fails(&["start", "order", "--each", "@none.ndjson"], 2, "CLI003");
    rig.fails(&["start", "nothing", "--each", "@misfit.ndjson"], 3, "ENGINE001");
    assert_eq!((answer.code, runs(rig)), (1, 0));
}

fn lines_may_have_keys(rig: &Rig) {
    register(rig, "order", "return inputs\n");
    rig.write("in.ndjson", "{\"id\": \"a\"}\n{\"id\": 7}\n");
    let by_line = ["start", "order", "--each", "@in.ndjson", "--key", "k"];
    assert_eq!(rig.ok(&by_line), rig.ok(&by_line));
    let by_field = ["start", "order", "--each", "@in.ndjson", "--key-field", "id"];
    assert_eq!(rig.ok(&by_field), rig.ok(&by_field));
    assert_eq!(runs(rig), 4);
    rig.write("in.ndjson", "{\"id\": \"a\", \"more\": 1}\n{\"id\": \"b\"}\n");
    let answer = rig.run(&by_field);
    assert!(answer.code == 1 && answer.stderr.contains("line 1: "), "{answer:?}");
    assert!(answer.stderr.contains("1 line cannot be started; the other lines were started"), "{answer:?}");
    assert_eq!((answer.stdout.lines().count(), runs(rig)), (1, 5));
    rig.write("in.ndjson", "{\"name\": \"a\"}\n");
    let answer = rig.run(&by_field);
    assert!(answer.stderr.starts_with("line 1: there is no field id"), "{answer:?}");
}

fn events_are_shown_as_they_happen(rig: &Rig) {
    register(rig, "wait", "let s = await Signal.next(\"go\")\nreturn s\n");
    let _worker = rig.worker(&[]);
    let run = rig.ok(&["start", "wait"]);
    let mut command = rig.command(&["runs", "events", &run, "--follow", "-ojson"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let mut types = Vec::new();
    while types.last().is_none_or(|last| last != "signal_requested") {
        types.push(next().unwrap()["type"].as_str().unwrap().to_owned());
    }
    rig.ok(&["runs", "signal", &run, "go", "--payload", "1"]);
    while let Some(row) = next() {
        types.push(row["type"].as_str().unwrap().to_owned());
    }
    assert!(child.wait().unwrap().success());
    let listed = rig.json(&["runs", "events", &run]);
    let listed: Vec<&str> =
        listed["rows"].as_array().unwrap().iter().map(|row| row["type"].as_str().unwrap()).collect();
    assert_eq!(types, listed);
    assert_eq!(rig.ok(&["runs", "events", &run, "--follow"]).lines().count(), listed.len());
    rig.fails(&["runs", "events", "nobody", "--follow"], 3, "ENGINE002");
}

fn who_waits_for_a_run_sees_its_steps(rig: &Rig) {
    register(rig, "greet", "return await Task.run(\"echo\", 1)\n");
    let _worker = rig.worker(&[]);
    let answer = rig.run(&["start", "greet", "--wait"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (0, "1\n"));
    assert!(
        answer.stderr.contains("started    echo") && answer.stderr.contains("completed  in "),
        "{answer:?}"
    );
    assert_eq!(rig.run(&["start", "greet", "--wait", "-q"]).stderr, "");
}

fn a_deleted_run_is_gone_with_its_history(rig: &Rig) {
    register(rig, "child", "return 1\n");
    register(rig, "greet", "return await Workflow.run(\"child\", null)\n");
    assert_eq!(rig.ok(&["run", "greet", "-q", "--key", "k"]), "1");
    let listed = rig.json(&["runs", "list", "--workflow", "greet"]);
    let run = listed["rows"][0]["id"].as_str().unwrap();
    let asked = rig.fails(&["runs", "delete", run], 2, "CLI006");
    assert!(asked.contains("--yes"), "{asked}");
    assert_eq!(runs(rig), 2);
    assert_eq!(rig.ok(&["runs", "delete", run, "--yes"]), format!("run {run} is deleted"));
    assert_eq!(runs(rig), 0);
    rig.fails(&["runs", "events", run], 3, "ENGINE002");
    rig.fails(&["runs", "delete", run, "--yes"], 3, "WORLD006");
    assert_eq!(rig.ok(&["run", "greet", "-q", "--key", "k"]), "1", "the key is free");
}

fn what_is_in_use_is_not_deleted(rig: &Rig) {
    register(rig, "bad", "return await Task.run(\"fail\", {message: \"no\"}, {retries: 1})\n");
    let live = rig.ok(&["start", "bad"]);
    let refused = rig.fails(&["runs", "delete", &live, "--yes"], 4, "WORLD007");
    assert!(refused.contains("has not ended; cancel it first"), "{refused}");
    rig.fails(&["run", "--resume", &live, "-q"], 1, "CLI010");
    let refused = rig.fails(&["runs", "delete", &live, "--yes"], 4, "WORLD007");
    assert!(refused.contains("nobody has decided about dead letter"), "{refused}");
    rig.ok(&["runs", "delete", &live, "--yes", "--with-letters"]);
    assert_eq!(rig.json(&["dead", "list"])["rows"], json!([]));
}
