//! Messages about scenarios that are invalid or do not meet their expectations.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};

use rhythm_scenario::{Options, Report, Sandbox, read_files, run};

fn played(text: &str) -> Report {
    static FILES: AtomicUsize = AtomicUsize::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("rhythm-suite-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{number}.yaml"));
    std::fs::write(&path, text).unwrap();
    let mut files = read_files(std::slice::from_ref(&path)).unwrap();
    std::fs::remove_file(&path).unwrap();
    let scenario = files.remove(0).1.remove(0);
    let options = Options { three_ways: false, jobs: None, seed: 0, sandbox: Sandbox::Here };
    run(&scenario, &options)
}

#[test]
fn a_task_without_an_answer_is_named_with_the_name_that_was_meant() {
    let report = played(
        "source: 'return await Task.run(\"echo\", { })'\ntasks: {ehco: [{ok: 1}]}\nexpect: {output: 1}\n",
    );
    let said = "SCENARIO004: the run waits for task `echo`: `tasks` has no answer for it; did you mean it by `ehco`?";
    assert_eq!(report.problems, ["output: expected 1, got nothing", said]);
    let waits = "source: 'return await Task.run(\"echo\", { })'\nexpect: {status: waiting}\n";
    assert_eq!((played(waits).passed, played(waits).notes), (true, Vec::new()));
    let never = played(
        "source: 'await Task.run(\"echo\", { })'\ntasks: {echo: [{never: true}]}\nexpect: {status: completed}\n",
    );
    assert_eq!(never.problems, ["status: expected completed, got waiting (for task)"]);
}

#[test]
fn a_refused_patch_says_why() {
    let text = "\
graph: {nodes: [{id: a, type: task}]}
tasks: {a: [{ok: 1}]}
patches: [{after: a, operations: [{op: remove, path: /nodes/7}]}]
expect: {output: 2}
";
    let report = played(text);
    assert_eq!(report.problems.len(), 2, "{:?}", report.problems);
    assert!(report.problems[1].starts_with("SCENARIO005: a patch by scenario was refused: "), "{report:?}");
    assert!(report.problems[1].contains("/nodes/7"), "{report:?}");
    let told = played(&text.replace("output: 2", "output: 1"));
    assert!(told.passed && told.notes[0].starts_with("SCENARIO005: "), "{told:?}");
    let expected = played(&text.replace("output: 2", "patch_rejected: true"));
    assert_eq!((expected.passed, expected.notes), (true, Vec::new()));
}

#[test]
fn mistakes_have_codes() {
    let report = played("source: return 1\nexpekt: {output: 1}\nexpect: {output: 1}\n");
    assert_eq!(report.problems, ["SCENARIO001: expekt: there is no key `expekt`: did you mean `expect`?"]);
    let report = played("workflow: nowhere.flow\nexpect: {output: 1}\n");
    assert!(report.problems[0].starts_with("SCENARIO002: `workflow` names "), "{report:?}");
    assert!(report.problems[0].ends_with("nowhere.flow, and there is no such file"), "{report:?}");
}

#[test]
fn a_mark_at_the_beginning_of_a_file_is_no_part_of_it() {
    assert!(played("\u{feff}source: return 1\nexpect: {output: 1}\n").passed);
}
