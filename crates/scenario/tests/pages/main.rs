//! Plays every example of the pages about the language and compares the result with the page.
//!
//! A ```` ```flow ```` or ```` ```graph ```` block is a program. The blocks after it state results:
//! ```` ```json ```` its output, ```` ```yaml ```` a scenario for it (several may follow), ```` ```text ````
//! the messages of `rhythm check`. In a ```` ```flow values ```` block each line that ends in `// VALUE` or
//! `// throws CODE` is an expression; the other lines are put before each of them. The tests of the command
//! run ```` ```sh run ```` blocks. Any other block fails the test.
#![allow(clippy::unwrap_used)]

mod block;

use rhythm_flow::examine;
use rhythm_graph::node_type::Registry;
use rhythm_graph::{Context, compile};
use rhythm_scenario::{Options, Sandbox, Scenario, run};
use rhythm_syntax::render::{Style, render};
use serde_json::{Value, json};

use block::{Block, blocks};

#[test]
fn guide() {
    check("docs/guide/language.md");
}

#[test]
fn reference() {
    check("docs/reference/flow.md");
}

#[test]
fn graphs() {
    check("docs/guide/graphs.md");
}

#[test]
fn conditions() {
    check("docs/guide/conditions.md");
}

/// Checks that every built-in node type has a page with examples.
#[test]
fn node_types() {
    for kind in Registry::built_in().all() {
        let page = format!("docs/guide/nodes/{}.md", kind.name);
        let (examples, mut problems) = examples(&page, &read(&page));
        assert!(!examples.is_empty(), "{page} has no example");
        problems.extend(examples.iter().flat_map(Example::problems));
        assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
    }
}

fn read(page: &str) -> String {
    let path = format!("{}/../../{page}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn check(page: &str) {
    let (examples, mut problems) = examples(page, &read(page));
    assert!(examples.len() > 10, "{page} has only {} examples", examples.len());
    problems.extend(examples.iter().flat_map(Example::problems));
    assert!(problems.is_empty(), "\n{}\n{} problems\n", problems.join("\n"), problems.len());
}

/// A program and one stated result.
struct Example {
    place: String,
    /// `flow` or `graph`.
    kind: String,
    source: String,
    says: Says,
}

enum Says {
    Scenario(Value),
    /// Messages of `rhythm check`.
    Diagnostics(String),
}

/// Returns the examples of a page, and problems for blocks that no test would run.
fn examples(page: &str, text: &str) -> (Vec<Example>, Vec<String>) {
    let (mut examples, mut problems) = (Vec::new(), Vec::new());
    // The current program, and whether a result was stated for it.
    let mut program: Option<(Block, bool)> = None;
    let mut shell = false;
    for block in blocks(text) {
        let place = format!("{page}:{}", block.line);
        let printed = std::mem::take(&mut shell) && block.kind == "text";
        let says = match block.kind.as_str() {
            "flow" | "graph" => {
                problems.extend(silent(page, program.replace((block, false))));
                continue;
            }
            "flow values" => {
                examples.extend(expressions(&place, &block.text));
                continue;
            }
            "sh run" | "sh run fails" => {
                shell = true;
                continue;
            }
            "text" if printed => continue,
            "json" => serde_json::from_str::<Value>(&block.text)
                .map(|output| Says::Scenario(json!({"expect": {"status": "completed", "output": output}})))
                .map_err(|error| error.to_string()),
            "yaml" => yaml(&block.text).map(Says::Scenario),
            "text" => Ok(Says::Diagnostics(block.text.clone())),
            other => Err(format!("nobody runs a block of {other:?}")),
        };
        match (says, &mut program) {
            (Ok(says), Some((program, said))) => {
                *said = true;
                let (kind, source) = (program.kind.clone(), program.text.clone());
                examples.push(Example { place, kind, source, says });
            }
            (Ok(_), None) => problems.push(format!("{place}: there is no program before this")),
            (Err(problem), _) => problems.push(format!("{place}: {problem}")),
        }
    }
    problems.extend(silent(page, program));
    (examples, problems)
}

/// Returns a problem if no result was stated for the program.
fn silent(page: &str, program: Option<(Block, bool)>) -> Option<String> {
    let (block, said) = program?;
    (!said).then(|| format!("{page}:{}: nothing says what comes of this program", block.line))
}

fn yaml(text: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())
}

/// Returns one example for each line that states a value.
fn expressions(place: &str, text: &str) -> Vec<Example> {
    let mut before = String::new();
    let mut examples = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Some((expression, value)) = line.rsplit_once("// ") else {
            before.push_str(line);
            before.push('\n');
            continue;
        };
        let expect = match value.strip_prefix("throws ") {
            Some(code) => json!({"status": "failed", "error": {"code": [code]}}),
            None => {
                let value: Value =
                    serde_json::from_str(value).unwrap_or_else(|error| panic!("{place}: {line}: {error}"));
                json!({"status": "completed", "output": value})
            }
        };
        let source = format!("{before}return {}\n", expression.trim_end());
        let place = format!("{place}: {}", expression.trim_end());
        let (kind, says) = ("flow".to_owned(), Says::Scenario(json!({"expect": expect})));
        examples.push(Example { place, kind, source, says });
    }
    examples
}

impl Example {
    fn problems(&self) -> Vec<String> {
        let problems = match &self.says {
            Says::Diagnostics(expected) => self.examined(expected),
            Says::Scenario(scenario) => self.played(scenario.clone()),
        };
        problems.into_iter().map(|problem| format!("{}\n    {problem}", self.place)).collect()
    }

    fn examined(&self, expected: &str) -> Vec<String> {
        let (file, diagnostics) = match self.kind.as_str() {
            "graph" => ("example.graph.yaml", compile(&self.source, &Context::default()).diagnostics),
            _ => ("example.flow", examine(&self.source, false).checked.diagnostics),
        };
        let said = render(file, &self.source, &diagnostics, Style::Plain);
        if said.trim_end() == expected.trim_end() { Vec::new() } else { vec![format!("it says:\n{said}")] }
    }

    fn played(&self, mut scenario: Value) -> Vec<String> {
        scenario["source"] = json!(self.source);
        scenario["kind"] = json!(self.kind);
        let scenario: Scenario = match serde_json::from_str(&scenario.to_string()) {
            Ok(scenario) => scenario,
            Err(error) => return vec![error.to_string()],
        };
        if scenario.expect.is_none() && scenario.any_of.is_none() {
            return vec!["the scenario expects nothing".into()];
        }
        run(&scenario, &Options { three_ways: true, jobs: None, seed: 0, sandbox: Sandbox::Here }).problems
    }
}

#[test]
fn an_example_that_is_wrong_or_that_nobody_runs_is_found() {
    let wrong = |page: &str| {
        let (examples, mut problems) = examples("page", page);
        problems.extend(examples.iter().flat_map(Example::problems));
        problems.len()
    };
    assert_eq!(wrong("```flow\nreturn 1\n```\n\n```json\n1\n```\n"), 0);
    assert_eq!(wrong("```flow\nreturn 1\n```\n\n```json\n2\n```\n"), 1);
    assert_eq!(wrong("```flow\nreturn 1\n```\n\n```yaml\nexpect: {status: failed}\n```\n"), 1);
    assert_eq!(wrong("```flow\nreturn 1\n```\n\n```yaml\ninputs: {}\n```\n"), 1);
    assert_eq!(wrong("```flow\nreturn 1\n```\n"), 1);
    assert_eq!(wrong("```json\n1\n```\n"), 1);
    assert_eq!(wrong("```js\n1\n```\n"), 1);
    assert_eq!(wrong("```flow\nreturn (\n```\n\n```text\nfine\n```\n"), 1);
    assert_eq!(wrong("```flow values\nlet a = 1\na + 1  // 2\na.b  // throws TYPE_ERROR\n```\n"), 0);
    assert_eq!(wrong("```flow values\n1 + 1  // 3\n```\n"), 1);
}
