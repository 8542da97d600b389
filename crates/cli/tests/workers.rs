//! Start and stop of workers.

mod rig;

use rig::Rig;

fn a_worker_says_who_and_where_it_is(rig: &Rig) {
    let worker = rig.worker(&["--queue", "mail:5", "--queue", "default", "--concurrency", "7", "--fast"]);
    let row = rig.json(&["workers"])["rows"][0].clone();
    assert_eq!(row["card"]["queues"], serde_json::json!(["mail", "default"]));
    assert_eq!(row["card"]["concurrency"], 7);
    let (code, log) = worker.stop();
    assert_eq!(code, Some(0), "{log}");
    let started = log.lines().find(|line| line.contains("worker started")).unwrap();
    assert!(started.contains(row["card"]["id"].as_str().unwrap()), "{started}");
    assert!(started.contains("mail,default"), "{started}");
    if let Some((_, login)) = rig.world.split_once("://") {
        let (login, _) = login.rsplit_once('@').unwrap();
        let (_, password) = login.split_once(':').unwrap();
        assert!(!log.contains(password) && started.contains(":***@"), "{log}");
    }
    assert_eq!(rig.live_workers(), 0);
}

fn a_worker_that_is_told_to_stop_finishes_what_it_does(rig: &Rig) {
    let mut worker = rig.worker(&[]);
    let task = rig.ok(&["tasks", "enqueue", "sleep", "--input", r#"{"seconds": 2}"#]);
    rig.until(&["tasks", "show", &task], |shown| shown["state"] == "running");
    worker.signal("TERM");
    worker.logs("worker stops");
    let later = rig.ok(&["tasks", "enqueue", "echo"]);
    let (code, log) = worker.wait();
    assert_eq!(code, Some(0), "{log}");
    assert_eq!(rig.json(&["tasks", "show", &task])["state"], "completed");
    assert_eq!(rig.json(&["tasks", "show", &later])["state"], "ready");
}

fn a_worker_without_patience_hands_its_task_back(rig: &Rig) {
    let worker = rig.worker(&["--patience", "0s", "--allow-shell"]);
    let sleep = rig.ok(&["tasks", "enqueue", "sleep", "--input", r#"{"seconds": 600}"#]);
    let program = r#"{"command": "sleep", "args": ["600"]}"#;
    let shell = rig.ok(&["tasks", "enqueue", "shell.exec", "--input", program]);
    for task in [&sleep, &shell] {
        rig.until(&["tasks", "show", task], |shown| shown["state"] == "running");
    }
    worker.signal("INT");
    let (code, log) = worker.wait();
    assert_eq!(code, Some(0), "{log}");
    for task in [&sleep, &shell] {
        let shown = rig.json(&["tasks", "show", task]);
        assert_eq!((shown["state"].as_str(), shown["attempt"].as_u64()), (Some("ready"), Some(1)), "{log}");
    }
}

fn a_second_signal_ends_a_worker_at_once(rig: &Rig) {
    let mut worker = rig.worker(&[]);
    let task = rig.ok(&["tasks", "enqueue", "sleep", "--input", r#"{"seconds": 600}"#]);
    rig.until(&["tasks", "show", &task], |shown| shown["state"] == "running");
    worker.signal("TERM");
    worker.logs("worker stops");
    worker.signal("TERM");
    assert_eq!(worker.wait().0, Some(143));
}

fn a_killed_workers_task_goes_to_another(rig: &Rig) {
    let worker = rig.worker(&[]);
    let task = rig.ok(&["tasks", "enqueue", "sleep", "--input", r#"{"seconds": 5}"#]);
    rig.until(&["tasks", "show", &task], |shown| shown["state"] == "running");
    let first = rig.json(&["tasks", "show", &task])["worker"].clone();
    worker.signal("KILL");
    assert_eq!(worker.wait().0, None);
    let _other = rig.worker(&[]);
    let shown =
        rig.until(&["tasks", "show", &task], |shown| shown["state"] == "running" && shown["worker"] != first);
    assert_eq!(shown["delivery"], 2);
    assert_eq!(shown["attempt"], 1);
}

/// No process is left to expire the worker, so readers must detect that it is gone.
fn a_killed_last_worker_is_seen_by_everybody_who_reads(rig: &Rig) {
    rig.write("nap.flow", "await Task.run(\"sleep\", { seconds: 600 })");
    rig.ok(&["workflows", "register", "nap.flow"]);
    let worker = rig.worker(&[]);
    let run = rig.ok(&["start", "nap"]);
    let task = format!("{run}:1");
    rig.until(&["tasks", "list"], |list| list["rows"][0]["state"] == "running");
    worker.signal("KILL");
    assert_eq!(worker.wait().0, None);
    rig.until(&["workers"], |list| list["rows"][0]["live"] == false);
    let listed = rig.ok(&["workers"]);
    assert!(listed.lines().nth(1).is_some_and(|line| line.contains("  gone ")), "{listed}");
    let why = rig.json(&["explain", &run])["reasons"][0].clone();
    assert_eq!(
        (&why["code"], &why["command"]),
        (&"worker_gone".into(), &"rhythm worker --queue default".into())
    );
    let what = why["what"].as_str().unwrap();
    assert!(what.contains(&format!("task sleep ({task}), which is held by worker ")), "{what}");
    let doctor = rig.run(&["db", "doctor"]);
    assert!(doctor.code == 1 && doctor.stdout.contains(" is gone, last heard of "), "{doctor:?}");
    let queues = rig.json(&["queues", "list"]);
    assert_eq!((&queues["rows"][0]["name"], &queues["rows"][0]["workers"]), (&"default".into(), &0.into()));

    let _other = rig.worker(&[]);
    rig.until(&["explain", &run], |why| why["reasons"][0]["code"] == "task_running");
    rig.until(&["workers"], |list| list["rows"].as_array().unwrap().len() == 1);
}

/// The task's name is misspelt: the run does not move, and every command shows the reason.
fn work_that_nobody_can_do_is_told_everywhere(rig: &Rig) {
    rig.write("odd.flow", "await Task.run(\"ecko\", {})");
    rig.ok(&["workflows", "register", "odd.flow"]);
    let _worker = rig.worker(&[]);
    let run = rig.ok(&["start", "odd"]);
    rig.until(&["tasks", "list"], |list| list["rows"][0]["state"] == "ready");
    assert_eq!(rig.json(&["workers"])["unserved"], serde_json::Value::Null, "not at once");
    rig.ages("task", 60_000);
    let told = "no live worker does task ecko of queue default: 1 waiting, the oldest since 1m ago";
    let listed = rig.ok(&["workers"]);
    assert!(listed.ends_with(told), "{listed}");
    assert_eq!(rig.json(&["workers"])["unserved"][0]["what"], "task ecko of queue default");
    let doctor = rig.run(&["db", "doctor"]);
    assert!(doctor.code == 1 && doctor.stdout.contains(&format!("{told}: rhythm workers")), "{doctor:?}");
    rig.until(&["runs", "list", "--blocked"], |list| list["rows"][0]["id"] == run.as_str());
    let warned = |events: &serde_json::Value| {
        let rows = events["rows"].as_array().unwrap();
        rows.iter().any(|row| row["type"] == "warning" && row["data"]["code"] == "NO_WORKER")
    };
    rig.until(&["runs", "events", &run], warned);
    let why = rig.json(&["explain", &run]);
    assert_eq!(why["reasons"].as_array().unwrap().len(), 1, "{why}");
    assert_eq!(why["reasons"][0]["code"], "unknown_task");
    rig.ok(&["verify", &run]);
}

/// The lock stands for a process that is frozen in the middle of a write.
#[test]
fn a_worker_that_starts_while_the_file_is_locked_waits_and_serves() {
    let rig = Rig::sqlite();
    rig.ok(&["db", "migrate"]);
    let holder = rusqlite::Connection::open(rig.path().join("rhythm.db")).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut worker = rig.worker_about_to_start(&[]);
    worker.logs("trying again");
    holder.execute_batch("ROLLBACK").unwrap();
    let task = rig.ok(&["tasks", "enqueue", "echo"]);
    rig.until(&["tasks", "show", &task], |shown| shown["state"] == "completed");
    let (code, log) = worker.stop();
    assert_eq!(code, Some(0), "{log}");
}

on_both_worlds!(
    a_worker_says_who_and_where_it_is,
    a_worker_that_is_told_to_stop_finishes_what_it_does,
    a_worker_without_patience_hands_its_task_back,
    a_second_signal_ends_a_worker_at_once,
    a_killed_workers_task_goes_to_another,
    a_killed_last_worker_is_seen_by_everybody_who_reads,
    work_that_nobody_can_do_is_told_everywhere,
);
