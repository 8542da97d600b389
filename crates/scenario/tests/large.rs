//! Values too large for a snapshot are stored as blobs, in scenarios as with real workers.

use std::num::NonZeroUsize;

use rhythm_scenario::{Options, Sandbox, read_files, run};
use serde_json::json;

/// Plays a program in three ways; the task `large` answers with a list of three megabytes, the signal `large` holds one.
#[track_caller]
fn gives(source: &str, output: serde_json::Value) {
    let list = vec!["0123456789abcdef01234567"; 120_000];
    let scenario = json!({
        "name": source,
        "source": source,
        "tasks": {"large": [{"ok": list}], "echo": [{"ok": 1}]},
        "signals": [{"name": "large", "payload": list, "at": 5}],
        "expect": {"output": output},
    });
    let folder = std::env::temp_dir().join(format!("rhythm-large-{}", std::process::id()));
    let file = folder.join(format!("{}.json", source.len()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(&file, scenario.to_string()).expect("a file");
    let read = read_files(std::slice::from_ref(&file)).expect("a scenario");
    let report = run(
        &read[0].1[0],
        &Options { three_ways: true, jobs: NonZeroUsize::new(1), seed: 0, sandbox: Sandbox::Here },
    );
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    assert!(report.passed, "{source}: {}", report.problems.join("\n"));
}

#[test]
fn large_values_are_kept_while_a_program_waits() {
    gives("let l = await Task.run(\"large\", {})\nsleep(1)\nreturn l.length", json!(120_000));
    gives("let l = await Signal.next(\"large\")\nsleep(1)\nreturn l.length + 0", json!(120_000));
    gives(
        "let l = await Task.run(\"large\", {})\nlet n = 0\nfor (let x of l) { n = n + 1  if (n == 3) { sleep(1) } }\nreturn n",
        json!(120_000),
    );
    gives(
        "let all = []\nfor (let i of [1, 2, 3]) { let l = await Task.run(\"large\", {})  all = all.concat(l.slice(0, 20000)) }\nreturn [all.length, all[59999]]",
        json!([60_000, "0123456789abcdef01234567"]),
    );
    gives("let l = await Task.run(\"large\", {})\nreturn await Task.run(\"echo\", { l })", json!(1));
}
