//! Tasks, from enqueueing to their end, with a worker in another process.

mod rig;
mod service;

use rig::Rig;
use serde_json::json;

fn a_task_goes_through_a_worker(rig: &Rig) {
    let task = rig.ok(&["tasks", "enqueue", "echo", "--input", r#"{"a": 1.50}"#]);
    assert_eq!(rig.json(&["tasks", "show", &task])["state"], "ready");
    let worker = rig.worker(&[]);
    let shown = rig.until(&["tasks", "show", &task], |shown| shown["state"] == "completed");
    assert_eq!(shown["output"], json!({ "a": 1.5 }));
    assert_eq!(
        rig.ok(&["tasks", "enqueue", "echo", "--input", r#"{"b": 2.50}"#, "--wait"]),
        r#"{"b": 2.50}"#
    );
    assert_eq!(worker.stop().0, Some(0));
}

fn waiting_for_a_failure_is_an_error(rig: &Rig) {
    let _worker = rig.worker(&[]);
    let failing = r#"{"message": "boom", "code": "CARD", "retryable": false}"#;
    let stderr = rig.fails(&["tasks", "enqueue", "fail", "--input", failing, "--wait"], 1, "CLI010");
    assert!(stderr.contains("failed: CARD: boom") && stderr.contains("rhythm dead requeue"), "{stderr}");
    let stderr =
        rig.fails(&["tasks", "enqueue", "fail", "--input", r#"{"mesage": 1}"#, "--wait"], 1, "CLI010");
    assert!(
        stderr.contains("BAD_PAYLOAD: the input of fail does not fit: mesage: unknown field"),
        "{stderr}"
    );
    let counted =
        rig.run(&["tasks", "enqueue", "fail", "--input", failing, "--count", "3", "--wait", "-o", "json"]);
    assert_eq!(counted.code, 1);
    assert!(counted.stdout.contains("\"failed\": 3"), "{counted:?}");
}

fn a_dead_letter_is_shown_requeued_and_discarded(rig: &Rig) {
    let worker = rig.worker(&[]);
    let failing = r#"{"message": "boom"}"#;
    let retries = r#"{"max_attempts": 2, "initial_delay": "10ms"}"#;
    let enqueue = ["tasks", "enqueue", "fail", "--input", failing, "--retries", retries];
    let first = rig.ok(&enqueue);
    let second = rig.ok(&enqueue);
    rig.until(&["dead", "list"], |letters| letters["rows"].as_array().unwrap().len() == 2);
    let letter = rig.json(&["dead", "show", &first]);
    assert_eq!(letter["failure"]["message"], "boom");
    assert_eq!(letter["attempts"], 2);
    assert_eq!(letter["input"], json!({ "message": "boom" }));
    assert!(rig.ok(&["dead", "list"]).contains("FAILED: boom"));
    worker.stop();

    assert_eq!(rig.ok(&["dead", "requeue", &first]), format!("requeued {first}"));
    let shown = rig.json(&["tasks", "show", &first]);
    assert_eq!((&shown["state"], &shown["attempt"]), (&json!("ready"), &json!(1)));
    let shown = rig.json(&["dead", "show", &first]);
    assert_eq!((&shown["status"], &shown["fate"]), (&json!("reprocessed"), &json!("standalone")));
    assert!(shown["reprocessed_at"].is_i64(), "{shown}");
    assert_eq!(shown["history"][1]["status"], "reprocessed");
    assert!(shown["history"][1]["by"].is_string(), "{shown}");
    rig.fails(&["dead", "requeue", &first], 3, "ENGINE003");

    let stderr = rig.fails(&["dead", "discard", "--all"], 2, "CLI006");
    assert!(stderr.contains("this would discard 1 dead letter"), "{stderr}");
    assert_eq!(rig.ok(&["dead", "discard", "--all", "--yes"]), "discarded 1 of 1 dead letter");
    assert_eq!(rig.ok(&["dead", "requeue", "--all"]), "no dead letters");
    assert_eq!(rig.json(&["dead", "show", &second])["status"], "discarded");
    assert_eq!(rig.json(&["dead", "list", "--status", "discarded"])["rows"][0]["task"], json!(second));
}

fn a_paused_queue_hands_nothing_out(rig: &Rig) {
    assert!(rig.ok(&["queues", "pause", "mail"]).starts_with("queue mail is paused"));
    assert_eq!(rig.ok(&["queues", "pause", "mail"]), "queue mail was paused already");
    let held = rig.ok(&["tasks", "enqueue", "echo", "--queue", "mail"]);
    let _worker = rig.worker(&["--queue", "mail:2", "--queue", "default"]);
    // The worker performs the task of the other queue and leaves the paused one.
    rig.ok(&["tasks", "enqueue", "echo", "--wait"]);
    assert_eq!(rig.json(&["tasks", "show", &held])["state"], "ready");
    assert!(rig.ok(&["queues", "list"]).contains("paused"));
    assert_eq!(rig.ok(&["queues", "resume", "mail"]), "queue mail goes on");
    rig.until(&["tasks", "show", &held], |shown| shown["state"] == "completed");
}

fn a_key_names_the_same_task(rig: &Rig) {
    let first = rig.ok(&["tasks", "enqueue", "echo", "--key", "k", "--input", "1"]);
    assert_eq!(rig.ok(&["tasks", "enqueue", "echo", "--key", "k", "--input", "1"]), first);
    rig.fails(&["tasks", "enqueue", "echo", "--key", "k", "--input", "2"], 4, "ENGINE008");
}

fn a_queued_task_and_a_running_one_can_be_cancelled(rig: &Rig) {
    let queued = rig.ok(&["tasks", "enqueue", "sleep", "--input", r#"{"seconds": 600}"#]);
    assert_eq!(rig.ok(&["tasks", "cancel", &queued]), format!("task {queued} is cancelled"));
    assert_eq!(rig.json(&["tasks", "show", &queued])["state"], "cancelled");
    let running = rig.ok(&["tasks", "enqueue", "sleep", "--input", r#"{"seconds": 600}"#]);
    let _worker = rig.worker(&[]);
    rig.until(&["tasks", "show", &running], |shown| shown["state"] == "running");
    rig.ok(&["tasks", "cancel", &running]);
    let shown = rig.until(&["tasks", "show", &running], |shown| shown["state"] == "cancelled");
    assert_eq!(shown["failure"]["code"], "CANCELLED");
}

fn many_tasks_are_enqueued_at_once(rig: &Rig) {
    assert_eq!(rig.ok(&["tasks", "enqueue", "echo", "--count", "2500"]), "enqueued 2500 tasks echo");
    let queues = rig.json(&["queues", "list"]);
    assert_eq!(queues["rows"][0]["ready"], 2500);
    let _worker = rig.worker(&[]);
    rig.until(&["queues", "list"], |queues| {
        queues["rows"][0]["ready"] == 0 && queues["rows"][0]["running"] == 0
    });
}

fn a_task_nobody_knows_is_kept_and_named(rig: &Rig) {
    let _worker = rig.worker(&[]);
    let told = rig.run(&["tasks", "enqueue", "ecko"]);
    assert_eq!(told.code, 0);
    assert!(told.stderr.contains("note[unknown_task]: ") && told.stderr.contains("ecko"), "{told:?}");
    let shown = rig.ok(&["tasks", "show", told.stdout.trim()]);
    assert!(shown.contains("[unknown_task]"), "{shown}");
}

fn programs_run_only_where_that_is_allowed(rig: &Rig) {
    let worker = rig.worker(&[]);
    assert!(!rig.ok(&["workers"]).contains("shell.exec"));
    worker.stop();
    let _worker = rig.worker(&["--allow-shell"]);
    let run = |input: &str| {
        rig.run(&["tasks", "enqueue", "shell.exec", "--retries", "1", "--input", input, "--wait"])
    };
    let answer = run(r#"{"command": "printf", "args": ["%s", "a;b $(c)"]}"#);
    assert_eq!(
        answer.stdout,
        "{\"exit_code\":0,\"stdout\":\"a;b $(c)\",\"stderr\":\"\",\"truncated\":false}\n"
    );
    let answer = run(r#"{"command": "sh", "args": ["-c", "exit 3"]}"#);
    assert!(answer.stderr.contains("FAILED: sh ended with exit code 3"), "{answer:?}");
    let answer = run(r#"{"command": "/no/such/program"}"#);
    assert!(answer.stderr.contains("cannot be run"), "{answer:?}");
    a_program_ends_with_all_it_started(rig);
    let answer = run(r#"{"command": "head", "args": ["-c", "1000000", "/dev/zero"]}"#);
    assert!(answer.stdout.contains("\"truncated\":true"), "{}", answer.stdout.len());
}

/// The shell cleans up; its background process ignores SIGTERM.
fn a_program_ends_with_all_it_started(rig: &Rig) {
    let script = rig.path().join("stubborn.sh");
    let (pids, told) = (rig.path().join("pids"), rig.path().join("told"));
    let (pids, told) = (pids.display(), told.display());
    rig.write(
        "stubborn.sh",
        &format!(
            "trap 'echo asked > {told}; exit 0' TERM\n\
             sh -c 'trap \"\" TERM; echo $$ > {pids}; while true; do sleep 0.1; done' > /dev/null 2>&1 &\n\
             while true; do sleep 0.1; done\n"
        ),
    );
    let input = format!(r#"{{"command": "sh", "args": ["{}"]}}"#, script.display());
    let task = rig.ok(&["tasks", "enqueue", "shell.exec", "--retries", "1", "--input", &input]);
    let background = || std::fs::read_to_string(rig.path().join("pids")).ok().filter(|pid| !pid.is_empty());
    rig::eventually("the program has begun", || background().is_some());
    let pid = background().unwrap().trim().to_owned();
    rig.ok(&["tasks", "cancel", task.trim()]);
    rig::eventually("all of it has ended", || !std::path::Path::new(&format!("/proc/{pid}")).exists());
    assert!(rig.path().join("told").exists(), "it was asked first");
}

fn requests_go_where_that_is_allowed(rig: &Rig) {
    let service = service::start();
    let ask = |path: &str, more: &str| {
        let input = format!(r#"{{"url": "{service}{path}"{more}}}"#);
        let retries = r#"{"max_attempts": 2, "initial_delay": "1ms"}"#;
        rig.run(&["tasks", "enqueue", "http.request", "--retries", retries, "--input", &input, "--wait"])
    };
    let worker = rig.worker(&[]);
    let answer = ask("/price", "");
    assert!(answer.stderr.contains("HTTP_BLOCKED"), "{answer:?}");
    worker.stop();
    let host = service.strip_prefix("http://").unwrap();
    let _worker = rig.worker(&["--allow-host", host]);
    let answer: serde_json::Value =
        serde_json::from_str(&ask("/orders", r#", "json": {"n": 1}"#).stdout).unwrap();
    assert_eq!((&answer["status"], &answer["body"]["sent"]["n"]), (&201.into(), &1.into()));
    let listed = rig.json(&["tasks", "list", "--state", "completed"]);
    assert_eq!(answer["body"]["key"], listed["rows"][0]["id"], "the key is the task's id: {listed}");
    assert!(ask("/nothing", "").stderr.contains("HTTP_STATUS: GET"));
    assert!(ask("/busy", "").stderr.contains("answered 503"));
    let dead = rig.json(&["dead", "list"]);
    let attempts = |code: &str| {
        let rows = dead["rows"].as_array().unwrap();
        rows.iter().find(|row| row["failure"]["type"] == code).unwrap()["failure"]["attempts"].clone()
    };
    assert_eq!((attempts("HTTP_404"), attempts("HTTP_503")), (1.into(), 2.into()), "{dead}");
    rig.fails(&["worker", "--allow-host", "http://localhost"], 2, "CLI008");
}

on_both_worlds!(
    a_task_goes_through_a_worker,
    waiting_for_a_failure_is_an_error,
    a_dead_letter_is_shown_requeued_and_discarded,
    a_paused_queue_hands_nothing_out,
    a_key_names_the_same_task,
    a_queued_task_and_a_running_one_can_be_cancelled,
    many_tasks_are_enqueued_at_once,
    a_task_nobody_knows_is_kept_and_named,
    programs_run_only_where_that_is_allowed,
    requests_go_where_that_is_allowed,
);
