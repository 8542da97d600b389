//! Every code of the `.flow` language has a page whose examples are true: the wrong ones get exactly its
//! code, the right ones no diagnostic.
#![expect(clippy::disallowed_methods, reason = "the pages are files")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rhythm_flow::{codes, examine};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors")
}

fn page(code: &str) -> String {
    fs::read_to_string(folder().join(format!("{code}.md"))).unwrap_or_else(|error| panic!("{code}: {error}"))
}

struct Example {
    wrong: bool,
    source: String,
}

/// Returns the fenced blocks tagged `flow wrong` and `flow right`; `flow wrong 30000 times` is repeated that
/// often.
fn examples(page: &str) -> Vec<Example> {
    let mut examples = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let fence = &line[..line.len() - line.trim_start_matches('`').len()];
        let Some(tag) = line.strip_prefix(fence).filter(|_| fence.len() >= 3) else { continue };
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != fence).collect();
        let mut words = tag.split(' ');
        let wrong = match (words.next(), words.next()) {
            (Some("flow"), Some("wrong")) => true,
            (Some("flow"), Some("right")) => false,
            _ => panic!("a block is neither wrong nor right: {line}"),
        };
        let times = words.next().map_or(1, |times| times.parse().unwrap());
        examples.push(Example { wrong, source: (body.join("\n") + "\n").repeat(times) });
    }
    examples
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let names =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let pages: BTreeSet<String> = names
        .filter_map(|name| name.strip_suffix(".md").map(str::to_owned))
        .filter(|name| name.starts_with("FLOW"))
        .collect();
    let codes: BTreeSet<String> = codes::ALL.iter().map(|code| code.id.to_owned()).collect();
    assert_eq!(pages, codes, "left: pages, right: codes");
}

#[test]
fn every_page_is_called_like_its_code_and_stands_in_the_index() {
    let index = fs::read_to_string(folder().join("README.md")).unwrap();
    for code in codes::ALL {
        assert_eq!(page(code.id).lines().next().unwrap(), format!("# {}: {}", code.id, code.title));
        let (first, rest) = code.title.split_at(1);
        let row = format!("| [{0}]({0}.md) | {1}{rest} |", code.id, first.to_uppercase());
        assert!(index.contains(&row), "not in the index: {row}");
    }
}

#[test]
fn every_wrong_example_gets_its_code_and_every_right_one_nothing() {
    for code in codes::ALL {
        let examples = examples(&page(code.id));
        for wanted in [true, false] {
            assert!(examples.iter().any(|example| example.wrong == wanted), "{}: wrong {wanted}", code.id);
        }
        for Example { wrong, source } in examples {
            let said: BTreeSet<&str> = examine(&source, false)
                .checked
                .diagnostics
                .iter()
                .map(|diagnostic| diagnostic.code)
                .collect();
            let expected = if wrong { BTreeSet::from([code.id]) } else { BTreeSet::new() };
            let shown = source.get(..200).unwrap_or(&source);
            assert_eq!(said, expected, "{}, wrong: {wrong}\n{shown}", code.id);
        }
    }
}
