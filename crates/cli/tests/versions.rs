//! Repairs a bug of a flow in its runs from the command line.

mod rig;

use rig::Rig;
use serde_json::{Value, json};

const WRONG: &str = "let paid = await Task.run(\"echo\", { amount: inputs.n })\nreturn paid.amout\n";

fn register(rig: &Rig, source: &str) -> String {
    rig.write("order.flow", source);
    rig.ok(&["workflows", "register", "order.flow"]);
    let shown = rig.json(&["workflows", "show", "order"]);
    shown["version"].as_str().unwrap().trim_start_matches("sha256:")[..12].to_owned()
}

fn failed(rig: &Rig, input: &str) -> String {
    let run = rig.ok(&["start", "order", "--input", input]);
    rig.until(&["runs", "show", &run], |shown| shown["status"] == "failed");
    run
}

fn a_failed_run_is_retried_with_a_repaired_version(rig: &Rig) {
    register(rig, WRONG);
    let _worker = rig.worker(&[]);
    let run = failed(rig, r#"{"n": 5}"#);
    let version = register(rig, &format!("// repaired\n{}", WRONG.replace("amout", "amount")));
    let command = format!("rhythm runs retry {run} --version {version}");
    assert!(rig.ok(&["explain", &run]).contains(&command), "explain names the way");
    let retry = ["runs", "retry", &run, "--version", &version, "--reason", "a bug"];
    let tried = rig.ok(&[&retry[..], &["--dry-run"]].concat());
    assert!(tried.contains("would go on") && tried.contains("at line 2 (it stood at line 1)"), "{tried}");
    assert_eq!(rig.json(&["runs", "show", &run])["status"], "failed");
    assert!(rig.ok(&retry).contains("goes on with version"));
    let shown = rig.until(&["runs", "show", &run], |shown| shown["status"] == "completed");
    assert_eq!(shown["output"], json!(5));
    assert!(shown["version"].as_str().unwrap().contains(&version));
    rig.ok(&["verify", &run]);
    let rows = rig.json(&["runs", "events", &run])["rows"].clone();
    let changed = rows.as_array().unwrap().iter().find(|row| row["type"] == "version_changed").unwrap();
    assert_eq!(changed["data"]["reason"], "a bug");
    assert!(rig.ok(&["runs", "events", &run]).contains("version_changed"));
    rig.fails(&retry, 4, "WORLD007");
}

fn a_run_that_does_not_fit_is_shown_beside_the_version(rig: &Rig) {
    register(rig, "await Signal.next(\"go\")\nreturn 1\n");
    let _worker = rig.worker(&[]);
    let run = rig.ok(&["start", "order"]);
    rig.until(&["explain", &run], |found| found["reasons"][0]["code"] == "signal");
    let version = register(rig, "let x = 1\nawait Signal.next(\"stop\")\nreturn x\n");
    let told = rig.fails(&["runs", "retry", &run, "--version", &version], 4, "VERSION001");
    for part in
        [">   1 await Signal.next(\"go\")", "2 await Signal.next(\"stop\")", "the new version", "--at-line"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    let version = register(rig, "await Signal.next(\"stop\")\nreturn 2\n");
    rig.ok(&["runs", "retry", &run, "--version", &version, "--at-line", "1"]);
    // The run still waits for its signal.
    rig.ok(&["runs", "signal", &run, "go"]);
    let shown = rig.until(&["runs", "show", &run], |shown| shown["status"] == "completed");
    assert_eq!(shown["output"], json!(2));
    rig.fails(&["runs", "retry", &run, "--version", "ffff"], 3, "ENGINE013");
}

fn all_runs_a_filter_names_are_retried_with_a_version(rig: &Rig) {
    register(rig, WRONG);
    let _worker = rig.worker(&[]);
    let runs: Vec<String> = (0..3).map(|n| failed(rig, &format!("{{\"n\": {n}}}"))).collect();
    let version = register(rig, &WRONG.replace("amout", "amount"));
    let all = ["runs", "retry", "--workflow", "order", "--version", &version];
    let tried = rig.json(&[&all[..], &["--dry-run"]].concat());
    assert_eq!((&tried["count"], &tried["refused"], &tried["dry_run"]), (&json!(3), &json!(0), &json!(true)));
    assert_eq!(rig.json(&["runs", "list", "--status", "failed"])["rows"].as_array().unwrap().len(), 3);
    let none = rig.json(&[&all[..], &["--label", "a=b"]].concat());
    assert_eq!(none["count"], json!(0));
    assert!(rig.ok(&[&all[..], &["--status", "failed"]].concat()).contains("3 runs tried again"));
    for (n, run) in runs.iter().enumerate() {
        let shown = rig.until(&["runs", "show", run], |shown| shown["status"] == "completed");
        assert_eq!(shown["output"], json!(n));
    }
    assert_eq!(rig.json(&all)["count"], json!(0));
}

fn a_fork_goes_on_with_a_repaired_version_and_the_same_keys(rig: &Rig) {
    register(rig, &format!("await Signal.next(\"go\")\n{WRONG}"));
    let _worker = rig.worker(&[]);
    let run = rig.ok(&["start", "order", "--input", r#"{"n": 5}"#]);
    rig.ok(&["runs", "signal", &run, "go"]);
    rig.until(&["runs", "show", &run], |shown| shown["status"] == "failed");
    let version = register(rig, &format!("await Signal.next(\"go\")\n{}", WRONG.replace("amout", "amount")));
    let wish = ["runs", "fork", &run, "--at", "2", "--version", &version];
    let told = rig.fails(&wish, 2, "CLI006");
    assert!(told.contains(&format!("{run}:2 echo (completed)")), "{told}");
    let fork = rig.ok(&[&wish[..], &["--yes"]].concat());
    rig.ok(&["runs", "signal", &fork, "go"]);
    let shown = rig.until(&["runs", "show", &fork], |shown| shown["status"] == "completed");
    assert_eq!(shown["output"], json!(5));
    rig.ok(&["verify", &fork]);
    // Without an event number, forks at the last event before the run ended, where its task was still open.
    let last = rig.run(&["runs", "fork", &run, "--version", &version, "--yes", "--output", "json"]);
    let made: Value = serde_json::from_str(&last.stdout).unwrap();
    let shown =
        rig.until(&["runs", "show", made["run"].as_str().unwrap()], |shown| shown["status"] == "completed");
    assert_eq!(shown["output"], json!(5));
}

on_both_worlds!(
    a_failed_run_is_retried_with_a_repaired_version,
    a_run_that_does_not_fit_is_shown_beside_the_version,
    all_runs_a_filter_names_are_retried_with_a_version,
    a_fork_goes_on_with_a_repaired_version_and_the_same_keys,
);
