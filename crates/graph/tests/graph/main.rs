//! Graphs as documents: every case of `cases/*.md` is a graph with the output a user sees. `UPDATE_CASES=1`
//! writes the current output, and people review the difference.
#![expect(clippy::disallowed_methods, reason = "cases and pages are files")]

mod listing;
mod pages;
mod robust;
mod seeds;

use std::fs;
use std::path::{Path, PathBuf};

use rhythm_graph::{Compiled, Context, Language, Registry, compile};
use rhythm_syntax::render::{Style, render};
use serde_json::{Value, json};

/// Compiles with registered types and with some content.
pub fn compiled(source: &str) -> Compiled {
    let mut registry = Registry::default();
    for kind in [
        json!({"name": "scorer", "queue": "models", "config_schema": {"type": "object", "required": ["model"]}}),
        json!({"name": "migration", "capabilities": {"supports_retry": false}}),
    ] {
        registry.add(serde_json::from_value(kind).unwrap()).unwrap();
    }
    compile(source, &Context { registry: &registry, content: &content, programs: &readable })
}

/// Stands in for readers of the embedded languages.
fn readable(language: Language, text: &str) -> Result<(), String> {
    match text.contains("(((") {
        true => Err(format!("this is no {language:?}")),
        false => Ok(()),
    }
}

fn content(reference: &str) -> Option<Value> {
    match reference {
        "cas://sha256:config" => Some(json!({"task": "of_content", "url": "https://example.com"})),
        "cas://sha256:schema" => Some(json!({"type": "object"})),
        _ => None,
    }
}

/// Returns the diagnostics as a terminal shows them, then the graph if there is one.
fn seen(source: &str, language: &str) -> String {
    let compiled = compiled(source);
    let mut text = render(&format!("case.{language}"), source, &compiled.diagnostics, Style::Plain);
    if let Some(graph) = &compiled.graph {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&listing::of(graph));
    }
    text
}

struct Case {
    name: String,
    language: String,
    source: String,
    expected: String,
}

/// Parses a file of cases: headings, prose, a graph in a fence, and the expected output in a second fence.
fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("## ") {
            let [language, source, expected] = [String::new(), String::new(), String::new()];
            cases.push(Case { name: name.to_owned(), language, source, expected });
        } else if let Some(tag) = line.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let case = cases.last_mut().unwrap();
            let body: String = body.iter().map(|line| format!("{line}\n")).collect();
            match tag {
                "text" => case.expected = body,
                _ => (case.language, case.source) = (tag.to_owned(), body),
            }
        }
    }
    cases
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/graph/cases");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn every_case_is_seen_as_it_says() {
    let update = std::env::var("UPDATE_CASES").is_ok();
    let (mut count, mut wrong) = (0, String::new());
    for file in files() {
        let mut text = fs::read_to_string(&file).unwrap();
        for case in cases(&text) {
            count += 1;
            let seen = seen(&case.source, &case.language);
            if seen == case.expected {
                continue;
            }
            wrong += &format!("{}: expected\n{}\nseen\n{seen}\n", case.name, case.expected);
            if update {
                let block =
                    |text: &str| format!("```{}\n{}```\n\n```text\n{text}```\n", case.language, case.source);
                let without = format!("```{}\n{}```\n", case.language, case.source);
                text = match case.expected.is_empty() {
                    true => text.replacen(&without, &block(&seen), 1),
                    false => text.replacen(&block(&case.expected), &block(&seen), 1),
                };
            }
        }
        if update {
            fs::write(&file, text).unwrap();
        }
    }
    assert!(count >= 60, "only {count} cases were read");
    assert!(wrong.is_empty() || update, "{wrong}");
}

/// Checks that the stored form gives the same graph and contains no nulls.
#[test]
fn every_graph_of_the_cases_comes_back_from_its_stored_form() {
    for case in files().iter().flat_map(|file| cases(&fs::read_to_string(file).unwrap())) {
        let Some(graph) = compiled(&case.source).graph else { continue };
        let stored = serde_json::to_string(&graph).unwrap();
        assert_eq!(serde_json::from_str::<rhythm_graph::Graph>(&stored).unwrap(), graph, "{}", case.name);
        assert!(!stored.contains("null"), "{}: {stored}", case.name);
    }
}
