//! Ids as tables show them, and commands that take them so.

mod rig;

use rhythm::{Rhythm, StartRun};
use rhythm_core::RunId;
use rig::Rig;
use serde_json::json;

fn end(id: &str) -> &str {
    &id[id.len() - 8..]
}

fn register(rig: &Rig, name: &str, source: &str) {
    let file = format!("{name}.flow");
    rig.write(&file, source);
    rig.ok(&["workflows", "register", &file]);
}

/// The first column of a table, without its heading.
fn first_column(table: &str) -> Vec<&str> {
    table.lines().skip(1).filter_map(|line| line.split(' ').next()).collect()
}

fn a_shortened_id_is_taken_wherever_a_run_is(rig: &Rig) {
    register(rig, "order", "return await Signal.next(\"go\")");
    let run = rig.ok(&["start", "order"]);
    let other = rig.ok(&["start", "order"]);
    assert_eq!(run.len(), 36, "for scripts it is whole");
    assert_eq!(first_column(&rig.ok(&["runs", "list"])), [end(&other), end(&run)]);
    let rows = rig.json(&["runs", "list"])["rows"].clone();
    assert_eq!(rows[1]["id"], json!(run), "for programs, too");

    let short = end(&run);
    let told = |args: &[&str]| rig.json(args)["run"].as_str().map(str::to_owned);
    let whole = Some(run.clone());
    assert_eq!(told(&["runs", "pause", short]), whole);
    assert_eq!(told(&["runs", "resume", &run[run.len() - 6..]]), whole);
    assert_eq!(told(&["runs", "signal", short, "go", "--payload", "7"]), whole);
    assert_eq!(told(&["explain", short]), whole);
    let _worker = rig.worker(&[]);
    let shown = rig.until(&["runs", "show", short], |shown| shown["status"] == "completed");
    assert_eq!((&shown["id"], &shown["output"]), (&json!(run), &json!(7)));
    assert!(rig.ok(&["verify", short]).contains(&run));
    assert!(rig.ok(&["runs", "events", short]).contains("signal_received"));
    assert_eq!(told(&["runs", "at", short, "1"]), whole);
    assert_eq!(rig.json(&["runs", "cancel", end(&other)])["run"], json!(other));

    let forked = rig.ok(&["runs", "fork", short, "--at", "1"]);
    assert!(forked.ends_with("~f"), "{forked}");
    let fork = &forked[forked.len() - 10..];
    assert_eq!(rig.json(&["runs", "show", fork])["forked"]["from"], json!(run));
    assert!(first_column(&rig.ok(&["runs", "list"])).contains(&fork));
    assert_eq!(rig.json(&["runs", "delete", short, "--yes"])["deleted"], json!([run]));
    rig.fails(&["runs", "show", short], 3, "ENGINE002");
    rig.fails(&["runs", "show", &fork[3..]], 3, "ENGINE002");
}

fn a_child_and_a_task_keep_their_numbers(rig: &Rig) {
    register(rig, "child", "return await Signal.next(\"go\")");
    register(rig, "parent", "return await Workflow.run(\"child\", null)");
    let failing = "await Task.run(\"fail\", { message: \"no\", retryable: false })";
    register(rig, "failing", failing);
    let parent = rig.ok(&["start", "parent"]);
    let _worker = rig.worker(&[]);
    let child = format!("{}.1", end(&parent));
    let shown = rig.until(&["runs", "list", "--parent", end(&parent)], |page| page["rows"] != json!([]));
    assert_eq!(shown["rows"][0]["id"], json!(format!("{parent}.1")));
    assert!(rig.ok(&["runs", "show", &parent]).contains(&format!("\n{child}  child")));
    assert_eq!(rig.json(&["runs", "signal", &child, "go"])["run"], json!(format!("{parent}.1")));

    let run = rig.ok(&["start", "failing"]);
    let task = format!("{}:1", end(&run));
    rig.until(&["dead", "list", "--run", end(&run)], |page| page["rows"][0]["fate"] == "failed_run");
    assert_eq!(first_column(&rig.ok(&["dead", "list"])), [task.as_str()]);
    assert_eq!(rig.json(&["dead", "show", &task])["run"], json!(run));
    assert_eq!(rig.json(&["dead", "discard", &task])["tasks"], json!([format!("{run}:1")]));

    let alone = rig.ok(&["tasks", "enqueue", "echo", "--queue", "nobody"]);
    assert!(first_column(&rig.ok(&["tasks", "list"])).contains(&end(&alone)));
    assert_eq!(rig.json(&["tasks", "show", end(&alone)])["id"], json!(alone));
    assert_eq!(rig.json(&["tasks", "cancel", end(&alone)])["task"], json!(alone));
}

fn what_several_ids_end_with_is_refused_with_them(rig: &Rig) {
    register(rig, "order", "return await Signal.next(\"go\")");
    let named = ["paris-order-17", "berlin-order-17", "order-17"];
    let world = match rig.is_sqlite() {
        true => format!("sqlite:{}", rig.path().join("rhythm.db").display()),
        false => rig.world().to_owned(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let rhythm = Rhythm::builder().world(world).open().await.unwrap();
        for id in named {
            let start =
                StartRun { workflow: "order".into(), id: Some(RunId::new(id)), ..StartRun::default() };
            rhythm.client().start_run(start).await.unwrap();
        }
    });
    assert_eq!(first_column(&rig.ok(&["runs", "list"])), ["order-17", "berlin-order-17", "paris-order-17"]);
    assert_eq!(rig.json(&["runs", "pause", "order-17"])["run"], json!("order-17"), "a whole id wins");
    let stderr = rig.fails(&["runs", "show", "n-order-1"], 3, "ENGINE002");
    assert!(stderr.contains("n-order-1"), "{stderr}");
    let stderr = rig.fails(&["explain", "rder-17"], 2, "ENGINE027");
    let all = "end with rder-17: order-17, berlin-order-17, paris-order-17";
    assert!(stderr.contains(all), "{stderr}");
    assert_eq!(rig.json(&["runs", "pause", "is-order-17"])["run"], json!("paris-order-17"));
}

on_both_worlds!(
    a_shortened_id_is_taken_wherever_a_run_is,
    a_child_and_a_task_keep_their_numbers,
    what_several_ids_end_with_is_refused_with_them,
);
