//! Runs the shell examples of the tutorials and the guide unchanged.
//!
//! A block that begins with ```` ```sh run ```` is executed. All blocks of a page share one shell and one
//! folder. With ```` ```sh run fails ```` its last command must fail. A ```` ```text ```` block right after it
//! is its output, where `[..]` stands for any text within a line. `$SERVICE` is the URL of a small server on
//! this machine.

mod rig;
mod service;

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rig::eventually;

struct Example {
    line: usize,
    script: String,
    fails: bool,
    prints: Option<String>,
}

/// Returns the runnable blocks of a page.
fn examples(page: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    let mut lines = page.lines().enumerate();
    // Whether the block just read was an example. A text block further down is not its output.
    let mut fresh = false;
    while let Some((number, line)) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else {
            fresh &= line.is_empty();
            continue;
        };
        let body: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        let body = body.join("\n") + "\n";
        let fails = kind == "sh run fails";
        match kind {
            "sh run" | "sh run fails" => {
                found.push(Example { line: number + 1, script: body, fails, prints: None });
                fresh = true;
            }
            "text" if fresh => {
                found.last_mut().unwrap().prints = Some(body);
                fresh = false;
            }
            _ => fresh = false,
        }
    }
    found
}

/// Joins all blocks into one script, which prints the exit code of each.
fn script_of(examples: &[Example]) -> String {
    let mut script = "exec 2>&1\n".to_owned();
    for (number, example) in examples.iter().enumerate() {
        script.push_str(&format!("{}printf '@@%s %s\\n' {number} $?\n", example.script));
    }
    script
}

/// A shell and its child processes. Dropping it ends them.
struct Shell(Child);

impl Drop for Shell {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.0.wait();
    }
}

fn check(page: &Path) {
    let text = std::fs::read_to_string(page).unwrap();
    let examples = examples(&text);
    assert!(!examples.is_empty(), "{} has no examples", page.display());
    let folder = tempfile::tempdir().unwrap();
    // Output goes to a file, because a background worker would keep a pipe open.
    let printed = folder.path().join(".printed");
    let programs = Path::new(rig::BINARY).parent().unwrap().display().to_string();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.arg("-c").arg(script_of(&examples)).current_dir(folder.path()).env("PATH", path);
    command.env("SERVICE", service::start());
    for (variable, _) in std::env::vars().filter(|(name, _)| name.starts_with("RHYTHM_")) {
        command.env_remove(variable);
    }
    command.stdin(Stdio::null()).stdout(std::fs::File::create(&printed).unwrap()).stderr(Stdio::null());
    let mut shell = Shell(command.process_group(0).spawn().unwrap());
    eventually("the page has been run", || shell.0.try_wait().unwrap().is_some());
    let output = std::fs::read_to_string(&printed).unwrap();
    compare(page, &examples, &output);
}

fn compare(page: &Path, examples: &[Example], output: &str) {
    let mut rest = output;
    for (number, example) in examples.iter().enumerate() {
        let place = format!("{}:{}", page.display(), example.line);
        let mark = format!("@@{number} ");
        let (printed, after) =
            rest.split_once(&mark).unwrap_or_else(|| panic!("{place} was not reached: {output}"));
        let (code, after) = after.split_once('\n').unwrap();
        rest = after;
        assert_eq!(code != "0", example.fails, "{place}: exit code {code}: {printed}");
        if let Some(expected) = &example.prints {
            let fits = expected.lines().count() == printed.lines().count()
                && expected.lines().zip(printed.lines()).all(|(pattern, line)| fits(pattern, line));
            assert!(fits, "{place}\nexpected:\n{expected}\nprinted:\n{printed}");
        }
    }
}

/// Whether a line matches the pattern.
fn fits(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split("[..]");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        last = Some(part);
        match rest.find(part) {
            Some(place) => rest = &rest[place + part.len()..],
            None => return false,
        }
    }
    match last {
        None => rest.is_empty(),
        Some(end) => end.is_empty() || line.ends_with(end),
    }
}

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

#[test]
fn readme() {
    check(&page("README.md"));
}

#[test]
fn readme_shows_the_example_as_it_is() {
    let readme = std::fs::read_to_string(page("README.md")).unwrap();
    let shown = readme.split("```flow\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(shown, std::fs::read_to_string(page("examples/order.flow")).unwrap());
}

#[test]
fn the_examples_are_laid_out_and_without_warnings() {
    let rig = rig::Rig::sqlite();
    let folder = page("examples").display().to_string();
    rig.ok(&["fmt", "--check", &folder]);
    rig.ok(&["check", "--strict", &folder]);
    assert!(rig.ok(&["test", &folder]).ends_with(" passed, 0 failed"));
}

#[test]
fn first_flow() {
    check(&page("docs/learn/first-flow.md"));
}

#[test]
fn first_graph() {
    check(&page("docs/learn/first-graph.md"));
}

#[test]
fn first_worker() {
    check(&page("docs/learn/first-worker.md"));
}

#[test]
fn flow() {
    check(&page("docs/guide/flow.md"));
}

#[test]
fn language() {
    check(&page("docs/guide/language.md"));
}

#[test]
fn graphs() {
    check(&page("docs/guide/graphs.md"));
}

#[test]
fn conditions() {
    check(&page("docs/guide/conditions.md"));
}

#[test]
fn node_types() {
    check(&page("docs/guide/nodes/README.md"));
}

#[test]
fn patches() {
    check(&page("docs/guide/patches.md"));
}

#[test]
fn artifacts() {
    check(&page("docs/guide/artifacts.md"));
}

#[test]
fn approvals() {
    check(&page("docs/guide/approvals.md"));
}

#[test]
fn built_in_tasks() {
    check(&page("docs/guide/tasks-built-in.md"));
}

#[test]
fn tasks() {
    check(&page("docs/guide/tasks.md"));
}

#[test]
fn workers() {
    check(&page("docs/guide/workers.md"));
}

#[test]
fn schedules() {
    check(&page("docs/guide/schedules.md"));
}

#[test]
fn dead_letters() {
    check(&page("docs/guide/dead-letters.md"));
}

#[test]
fn retention_does_what_its_page_says() {
    check(&page("docs/guide/retention.md"));
}

#[test]
fn operations() {
    check(&page("docs/guide/operations.md"));
}

#[test]
fn benchmarks() {
    check(&page("docs/guide/benchmarks.md"));
}

/// Returns the names of the pages in a folder, sorted.
fn pages_in(folder: &str) -> Vec<String> {
    let mut pages: Vec<String> = std::fs::read_dir(page(folder))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    pages
}

#[test]
fn every_tutorial_is_run() {
    assert_eq!(pages_in("docs/learn"), ["first-flow.md", "first-graph.md", "first-worker.md"]);
}

#[test]
fn explanations_have_no_shell_examples_that_are_not_run() {
    for name in pages_in("docs/explain") {
        let text = std::fs::read_to_string(page("docs/explain").join(&name)).unwrap();
        assert!(
            examples(&text).is_empty(),
            "move the example of {name} to a page of docs/learn or docs/guide"
        );
    }
}

#[test]
fn every_page_of_the_guide_is_run() {
    assert_eq!(
        pages_in("docs/guide"),
        [
            "approvals.md",
            "artifacts.md",
            "benchmarks.md",
            "conditions.md",
            "dead-letters.md",
            "flow.md",
            "graphs.md",
            "language.md",
            "nodes",
            "operations.md",
            "patches.md",
            "retention.md",
            "schedules.md",
            "tasks-built-in.md",
            "tasks.md",
            "workers.md"
        ]
    );
}

#[test]
fn anything_may_stand_where_the_dots_are() {
    assert!(fits("a [..] c", "a b c"));
    assert!(fits("[..]", ""));
    assert!(fits("a[..]", "abc"));
    assert!(!fits("a", "ab"));
    assert!(!fits("a [..] c", "a b d"));
    assert!(!fits("b[..]", "abc"));
}
