//! Checks that every code of a graph has a page and that its examples hold: wrong examples give exactly its
//! code, right ones no diagnostic.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rhythm_graph::codes;

use crate::compiled;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors")
}

fn page(code: &str) -> String {
    fs::read_to_string(folder().join(format!("{code}.md"))).unwrap_or_else(|error| panic!("{code}: {error}"))
}

/// Returns the fenced blocks tagged `wrong` or `right` after their language.
fn examples(page: &str) -> Vec<(bool, String)> {
    let mut examples = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(tag) = line.strip_prefix("```") else { continue };
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let (_, wanted) =
            tag.split_once(' ').unwrap_or_else(|| panic!("a block is neither wrong nor right: {line}"));
        let mut words = wanted.split(' ');
        let wrong = words.next() == Some("wrong");
        let times = words.next().map_or(1, |times| times.parse().unwrap());
        examples.push((wrong, (body.join("\n") + "\n").repeat(times)));
    }
    examples
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let names =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let pages: BTreeSet<String> = names
        .filter_map(|name| name.strip_suffix(".md").map(str::to_owned))
        .filter(|name| name.starts_with("GRAPH"))
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
            assert!(examples.iter().any(|(wrong, _)| *wrong == wanted), "{}: wrong {wanted}", code.id);
        }
        for (wrong, source) in examples {
            let said: BTreeSet<&str> =
                compiled(&source).diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
            let expected = if wrong { BTreeSet::from([code.id]) } else { BTreeSet::new() };
            assert_eq!(
                said,
                expected,
                "{}, wrong: {wrong}\n{}",
                code.id,
                source.get(..200).unwrap_or(&source)
            );
        }
    }
}
