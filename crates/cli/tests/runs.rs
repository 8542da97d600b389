//! Runs: starting, steering, explaining.

mod rig;

use rig::Rig;
use serde_json::{Value, json};

fn register(rig: &Rig, name: &str, steps: Value) {
    rig.write(&format!("{name}.drill.json"), &json!({ "steps": steps }).to_string());
    rig.ok(&["workflows", "register", &format!("{name}.drill.json")]);
}

fn explain(rig: &Rig, run: &str, code: &str) -> Value {
    let found = rig.until(&["explain", run], |found| found["reasons"][0]["code"] == code);
    found["reasons"][0].clone()
}

fn a_run_completes_and_its_history_verifies(rig: &Rig) {
    register(rig, "greet", json!([{ "task": { "name": "echo", "input": { "n": 1 } } }, { "keep": "done" }]));
    let _worker = rig.worker(&[]);
    let answer = rig.ok(&["start", "greet", "--input", r#"{"id": 7}"#, "--wait", "--label", "shop=berlin"]);
    assert!(answer.contains("done"), "{answer}");
    let runs = rig.json(&["runs", "list", "--label", "shop=berlin", "--status", "completed"]);
    let run = runs["rows"][0]["id"].as_str().unwrap();
    assert!(rig.ok(&["verify", run]).contains("history rows fold to what is stored"));
    let types: Vec<String> = rig.json(&["runs", "events", run])["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(types, ["workflow_started", "step_scheduled", "step_completed", "workflow_completed"]);
    assert_eq!(rig.json(&["runs", "show", run])["input"], json!({ "id": 7 }));
    assert!(rig.ok(&["explain", run]).contains("it completed"));
}

fn explain_answers_in_every_state(rig: &Rig) {
    register(
        rig,
        "order",
        json!([
            { "task": { "name": "echo", "options": { "queue": "mail" } } },
            { "signal": { "name": "approve" } },
            { "task": { "name": "fail", "input": { "message": "no" }, "options": { "retries": 1, "queue": "mail" } } },
        ]),
    );
    let run = rig.ok(&["runs", "start", "order"]);
    let reason = explain(rig, &run, "no_worker");
    assert_eq!(reason["command"], "rhythm worker");
    rig.ok(&["runs", "pause", &run]);
    let reason = explain(rig, &run, "paused");
    assert_eq!(reason["command"], format!("rhythm runs resume {run}"));
    rig.ok(&["runs", "resume", &run]);

    let _steps = rig.worker(&[]);
    let reason = explain(rig, &run, "no_worker");
    assert_eq!(reason["command"], "rhythm worker --queue mail");
    rig.ok(&["queues", "pause", "mail"]);
    let reason = explain(rig, &run, "queue_paused");
    assert_eq!(reason["command"], "rhythm queues resume mail");
    rig.ok(&["queues", "resume", "mail"]);

    let _mail = rig.worker(&["--queue", "mail"]);
    let reason = explain(rig, &run, "signal");
    let command = reason["command"].as_str().unwrap().to_owned();
    assert_eq!(command, format!("rhythm runs signal {run} approve --payload null"));
    // The command that `explain` prints works unchanged.
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    rig.ok(&words);
    let reason = explain(rig, &run, "failed");
    assert_eq!(reason["command"], format!("rhythm runs retry {run}"));
    let text = rig.ok(&["explain", &run]);
    assert!(text.starts_with(&format!("run {run} has failed\n")), "{text}");
    assert!(text.contains(&format!("try:        rhythm runs retry {run}")), "{text}");
    rig.fails(&["runs", "cancel", &run], 4, "ENGINE006");
}

fn a_misspelt_signal_is_named_with_those_that_are_awaited(rig: &Rig) {
    register(rig, "order", json!([{ "signal": { "name": "approve" } }]));
    let run = rig.ok(&["runs", "start", "order"]);
    let _worker = rig.worker(&[]);
    explain(rig, &run, "signal");
    let told = rig.run(&["runs", "signal", &run, "aprove"]);
    let why = "the run does not wait for signal \"aprove\", which is kept; it waits for approve";
    assert!(told.code == 0 && told.stderr.contains(&format!("note[signal_kept]: {why}")), "{told:?}");
    let reasons = rig.json(&["explain", &run])["reasons"].clone();
    let kept = reasons.as_array().unwrap().iter().find(|reason| reason["code"] == "signal_kept").unwrap();
    assert_eq!(kept["what"], format!("signal aprove has arrived: {why}"));
    assert_eq!(kept["command"], format!("rhythm runs signal {run} approve --payload null"));
    let right = rig.run(&["runs", "signal", &run, "approve"]);
    assert!(right.code == 0 && !right.stderr.contains("note"), "{right:?}");
    rig.until(&["runs", "show", &run], |shown| shown["status"] == "completed");
}

/// The printed command has the flags of the caller, and a payload that the flow accepts.
fn explain_prints_commands_that_can_be_typed_as_they_are(rig: &Rig) {
    let there = ["--world", &rig.world, "--tenant", "other"];
    let elsewhere = |args: &[&str]| {
        let mut command = rig.command(&[&there[..], args].concat());
        command.env_remove("RHYTHM_WORLD");
        let answer = rig::answer(command);
        assert_eq!(answer.code, 0, "rhythm {}: {answer:?}", args.join(" "));
        answer.stdout.trim_end().to_owned()
    };
    let source = "let approval = await Signal.when(\"it's fine\", { timeout: \"1h\" })\n\
        return [approval.by, approval?.grade, approval.by.upper()]";
    rig.write("ask.flow", source);
    elsewhere(&["workflows", "register", "ask.flow"]);
    let run = elsewhere(&["start", "ask"]);
    let _worker = rig.worker_about_to_start(&["--tenant", "other"]);
    let mut line = String::new();
    rig::eventually("it waits for the signal", || {
        let text = elsewhere(&["explain", &run]);
        let found = text.lines().find_map(|line| line.trim().strip_prefix("try:"));
        line = found.unwrap_or_default().trim().to_owned();
        line.starts_with("rhythm runs signal ")
    });
    assert!(line.contains(r#"--payload '{"by":"BY","grade":"GRADE"}'"#), "{line}");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &line.replacen("rhythm", rig::BINARY, 1)]).current_dir(rig.path());
    let typed = rig::answer(shell);
    assert_eq!(typed.code, 0, "{line}: {typed:?}");
    rig::eventually("the run ends", || elsewhere(&["runs", "show", &run]).contains("completed"));
}

fn a_wrong_version_is_an_error_of_its_own(rig: &Rig) {
    rig.write("greet.flow", "return 1");
    rig.ok(&["workflows", "register", "greet.flow"]);
    let said = rig.fails(&["start", "greet", "--version", "sha256:00"], 3, "ENGINE013");
    assert!(said.contains("workflow greet has no version sha256:00"), "{said}");
    rig.fails(&["start", "greed", "--version", "sha256:00"], 3, "ENGINE001");
}

fn runs_are_listed_by_other_words_for_their_status(rig: &Rig) {
    rig.write("wait.flow", "await Signal.next(\"go\")");
    rig.ok(&["workflows", "register", "wait.flow"]);
    let _worker = rig.worker(&[]);
    let run = rig.ok(&["start", "wait"]);
    rig.until(&["runs", "show", &run], |shown| shown["status"] == "waiting");
    for word in ["waiting", "suspended", "WAITING", "Suspended"] {
        assert_eq!(rig.json(&["runs", "list", "--status", word])["rows"][0]["id"], run.as_str(), "{word}");
    }
    assert_eq!(rig.json(&["runs", "list", "--status", "RUNNING"])["rows"], json!([]));
}

fn history_shows_the_attempts_that_were_retried(rig: &Rig) {
    let retries = json!({ "max_attempts": 2, "initial_delay": "10ms" });
    register(
        rig,
        "shaky",
        json!([
            { "task": { "name": "fail", "input": { "message": "no" }, "options": { "retries": retries } } },
        ]),
    );
    let _worker = rig.worker(&[]);
    let stderr = rig.fails(&["start", "shaky", "--wait", "--quiet"], 1, "CLI010");
    assert!(stderr.contains("rhythm explain"), "{stderr}");
    let runs = rig.json(&["runs", "list"]);
    let run = runs["rows"][0]["id"].as_str().unwrap();
    let events = rig.json(&["runs", "events", run]);
    let rows = events["rows"].as_array().unwrap();
    let types: Vec<&str> = rows.iter().map(|row| row["type"].as_str().unwrap()).collect();
    assert_eq!(
        types,
        ["workflow_started", "step_scheduled", "step_retrying", "step_failed", "workflow_failed"]
    );
    assert!(rows[2]["seq"].is_null());
    assert_eq!(rows[2]["data"]["attempt"], 1);

    // Reading page by page gives the same rows.
    let mut paged = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut args = vec!["runs", "events", run, "--limit", "1"];
        if let Some(cursor) = &cursor {
            args.extend(["--cursor", cursor]);
        }
        let page = rig.json(&args);
        paged.extend(page["rows"].as_array().unwrap().iter().cloned());
        match page["next"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    let count = |kind: &str| paged.iter().filter(|row| row["type"] == kind).count();
    assert_eq!((paged.len(), count("step_retrying")), (5, 1));

    let dead = rig.json(&["dead", "list", "--run", run]);
    let task = dead["rows"][0]["task"].as_str().unwrap().to_owned();
    assert_eq!(task, format!("{run}:1"));
    rig.ok(&["dead", "requeue", &task]);
    rig.until(&["runs", "events", run], |events| {
        let rows = events["rows"].as_array().unwrap();
        rows.iter().filter(|row| row["type"] == "workflow_failed").count() == 2
    });
    rig.ok(&["verify", run]);
}

fn a_run_can_be_cancelled_and_a_workflow_paused(rig: &Rig) {
    register(rig, "wait", json!([{ "signal": { "name": "go" } }]));
    assert_eq!(rig.ok(&["workflows", "pause", "wait"]), "workflow wait is paused");
    let run = rig.ok(&["start", "wait"]);
    let _worker = rig.worker(&[]);
    assert_eq!(explain(rig, &run, "workflow_paused")["command"], "rhythm workflows resume wait");
    assert!(rig.ok(&["workflows", "list"]).contains("paused"));
    assert_eq!(rig.ok(&["workflows", "resume", "wait"]), "workflow wait goes on");
    explain(rig, &run, "signal");
    rig.ok(&["runs", "cancel", &run, "--reason", "enough"]);
    rig.until(&["runs", "show", &run], |shown| shown["status"] == "cancelled");
    assert!(rig.ok(&["explain", &run]).starts_with(&format!("run {run} was cancelled")));
    rig.fails(&["runs", "signal", &run, "go"], 4, "ENGINE006");
    let key = ["start", "wait", "--key", "k", "--input", "1"];
    let first = rig.ok(&key);
    assert_eq!(rig.ok(&key), first);
    rig.fails(&["start", "wait", "--key", "k", "--input", "2"], 4, "ENGINE008");
}

fn only_workflows_this_build_knows_are_registered(rig: &Rig) {
    rig.write("order.txt", "");
    let stderr = rig.fails(&["workflows", "register", "order.txt"], 2, "CLI007");
    assert!(stderr.contains("order.txt"), "{stderr}");
    rig.write("order.flow", "");
    let stderr = rig.fails(&["workflows", "register", "order.flow"], 1, "FLOW016");
    assert!(stderr.contains("error[CLI015]: "), "{stderr}");
    rig.write("bad.drill.json", r#"{"steps": [{"teleport": 1}]}"#);
    let stderr = rig.fails(&["workflows", "register", "bad.drill.json"], 2, "CLI007");
    assert!(stderr.contains("teleport"), "{stderr}");
    rig.fails(&["workflows", "register", "missing.drill.json"], 2, "CLI003");
    assert_eq!(rig.json(&["workflows", "list"])["rows"], json!([]));
}

on_both_worlds!(
    a_run_completes_and_its_history_verifies,
    explain_answers_in_every_state,
    a_misspelt_signal_is_named_with_those_that_are_awaited,
    explain_prints_commands_that_can_be_typed_as_they_are,
    a_wrong_version_is_an_error_of_its_own,
    runs_are_listed_by_other_words_for_their_status,
    history_shows_the_attempts_that_were_retried,
    a_run_can_be_cancelled_and_a_workflow_paused,
    only_workflows_this_build_knows_are_registered,
);
