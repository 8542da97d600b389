//! Databases that an older version of Rhythm wrote, with unfinished runs of every kind, can be opened, and
//! their runs finish.
//!
//! `stored/make.sh` made them with the binary of commit 32670a4: snapshots of flows and graphs of format 1,
//! schema 5 (PostgreSQL) and 4 (SQLite). They are never regenerated; a later format adds its own files.

mod rig;

use rig::Rig;
use serde_json::{Value, json};

/// Returns the expected output of each run after its waits are answered.
fn outcomes() -> Vec<(&'static str, Value)> {
    vec![
        (
            "gather",
            json!({
                "got": { "early": { "n": 1 }, "late": { "n": 2 }, "third": [3] },
                "signal": { "by": "ann" }, "code": "FAILED", "count": 20000,
            }),
        ),
        ("outer", json!(42)),
        ("held", json!(0)),
        ("broken", json!(["kept", 0])),
        ("timed", json!("slow")),
        ("claim", json!("approve")),
        ("crowd", json!({ "total": 30 })),
        ("cycle", json!({ "state": "done" })),
    ]
}

/// Returns the only run of a workflow that was started by hand.
fn run_of(rig: &Rig, workflow: &str) -> String {
    let runs = rig.json(&["runs", "list", "--workflow", workflow]);
    runs["rows"].as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned()
}

/// Returns the dead letter for which a run is held.
fn letter_of(rig: &Rig, run: &str) -> String {
    let letters = rig.json(&["dead", "list"]);
    let letter = letters["rows"].as_array().unwrap().iter().find(|letter| letter["run"] == run);
    letter.unwrap_or_else(|| panic!("{run}: {letters}"))["task"].as_str().unwrap().to_owned()
}

fn signal(rig: &Rig, run: &str, name: &str, payload: &Value) {
    rig.ok(&["runs", "signal", run, name, "--payload", &payload.to_string()]);
}

fn ended(rig: &Rig, run: &str, status: &str) -> Value {
    rig.until(&["runs", "show", run], |shown| shown["status"] == status)
}

/// Checks that versions from before version numbers existed are numbered in the order of registration.
fn versions_have_numbers(rig: &Rig) {
    let workflows = rig.json(&["workflows", "list"])["rows"].clone();
    assert!(!workflows.as_array().unwrap().is_empty());
    for workflow in workflows.as_array().unwrap() {
        let name = workflow["workflow"].as_str().unwrap();
        let rows = rig.json(&["workflows", "versions", name])["rows"].clone();
        let rows = rows.as_array().unwrap();
        let numbers: Vec<u64> = rows.iter().rev().map(|row| row["number"].as_u64().unwrap()).collect();
        assert_eq!(numbers, (1..=rows.len() as u64).collect::<Vec<_>>(), "{name}");
        let at = |row: &Value| row["registered_at"].as_i64();
        assert!(rows.windows(2).all(|pair| at(&pair[0]) >= at(&pair[1])), "{name}: {rows:?}");
    }
}

fn everything_that_waited_ends(rig: &Rig) {
    rig.write("ready", "");
    // The first command migrates the schema.
    rig.ok(&["db", "migrate"]);
    versions_have_numbers(rig);
    let _worker = rig.worker(&["--allow-shell", "--queue", "default", "--queue", "later"]);
    signal(rig, &run_of(rig, "gather"), "go", &json!({ "by": "ann" }));
    for child in
        rig.json(&["runs", "list", "--workflow", "inner", "--status", "waiting"])["rows"].as_array().unwrap()
    {
        signal(rig, child["id"].as_str().unwrap(), "inner", &json!("late"));
    }
    rig.ok(&["runs", "retry", &run_of(rig, "broken"), "--reason", "it is there now"]);
    rig.ok(&["dead", "requeue", &letter_of(rig, &run_of(rig, "held"))]);
    let config = json!({ "task": "echo", "again": true }).to_string();
    rig.ok(&[
        "runs",
        "retry",
        &run_of(rig, "hold"),
        "--node",
        "fragile",
        "--config",
        &config,
        "--reason",
        "mended",
    ]);
    rig.ok(&["approvals", "approve", &format!("{}/manager", run_of(rig, "claim")), "--as", "ann"]);
    signal(rig, &run_of(rig, "cycle"), "state", &json!({ "state": "done" }));
    let rounds = run_of(rig, "rounds");
    signal(rig, &rounds, "turn", &json!(1000));
    signal(rig, &rounds, "turn", &json!(10000));
    let paused =
        rig.json(&["runs", "list", "--workflow", "rounds"])["rows"][0]["id"].as_str().unwrap().to_owned();
    rig.ok(&["runs", "resume", &paused]);
    signal(rig, &paused, "turn", &json!(6));

    for (name, output) in outcomes() {
        let run = run_of(rig, name);
        let shown = ended(rig, &run, "completed");
        assert_eq!(shown["output"], output, "{name}: {shown}");
    }
    let mended = ended(rig, &run_of(rig, "hold"), "completed");
    assert!(mended["output"].to_string().contains("again"), "{mended}");
    let undone = ended(rig, &run_of(rig, "undo"), "cancelled");
    assert_eq!(
        ended(rig, &rounds, "completed")["output"],
        json!({ "sum": 43_210, "names": [1, 2, 3, 4] }),
        "{undone}"
    );
    assert_eq!(ended(rig, &paused, "completed")["output"], json!({ "sum": 42, "names": [7] }));

    // The histories, mostly written by the old version, fold to the stored snapshots.
    for run in rig.json(&["runs", "list"])["rows"].as_array().unwrap() {
        rig.ok(&["verify", run["id"].as_str().unwrap()]);
    }
}

#[test]
fn runs_in_an_older_sqlite_file_finish() {
    let rig = Rig::sqlite();
    std::fs::copy(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stored/waiting.sqlite"),
        rig.path().join("rhythm.db"),
    )
    .unwrap();
    everything_that_waited_ends(&rig);
}

#[test]
fn runs_in_an_older_postgres_database_finish() {
    let rig = Rig::postgres();
    rig::postgres::execute(&rig.world, include_str!("stored/waiting.postgres.sql"));
    everything_that_waited_ends(&rig);
}
