//! The contract names its tests and the suite lists them: neither may name a test that does not exist.

use std::collections::BTreeSet;
use std::path::Path;

use rhythm_conformance::TESTS;

const CONTRACT: &str = include_str!("../../engine/src/world.rs");

/// Returns the promises in the doc comment of `pub trait World`.
fn promises() -> Vec<String> {
    let before = CONTRACT.split("#[async_trait]\npub trait World").next().unwrap();
    let mut lines: Vec<&str> = before.lines().rev().take_while(|line| line.starts_with("///")).collect();
    lines.reverse();
    let mut promises = vec![];
    for line in lines {
        let text = line.trim_start_matches("///").trim();
        let begins = text.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        match promises.last_mut() {
            _ if begins => promises.push(text.to_owned()),
            Some(promise) => promise.push_str(text),
            None => {}
        }
    }
    promises
}

/// Returns the backticked words that look like test names: those with an underscore. Methods such as `commit`
/// have none.
fn test_names(promise: &str) -> Vec<&str> {
    promise.split('`').skip(1).step_by(2).filter(|word| word.contains('_')).collect()
}

#[test]
fn every_promise_names_tests_that_exist() {
    let listed: BTreeSet<&str> = TESTS.iter().flat_map(|(_, tests)| tests.iter().copied()).collect();
    let promises = promises();
    assert_eq!(promises.len(), 10, "{promises:#?}");
    for promise in &promises {
        let names = test_names(promise);
        assert!(!names.is_empty(), "no test named: {promise}");
        for name in names {
            assert!(listed.contains(name), "there is no conformance test {name}");
        }
    }
}

#[test]
fn every_test_of_the_suite_is_listed_once() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut written = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let source = std::fs::read_to_string(&path).unwrap();
            let names = source
                .lines()
                .filter_map(|line| line.strip_prefix("pub async fn ")?.strip_suffix("(stage: &dyn Stage) {"));
            written.extend(names.map(|name| (module.clone(), name.to_owned())));
        }
    }
    let rows = || TESTS.iter().flat_map(|(module, tests)| tests.iter().map(move |test| (*module, *test)));
    let listed: BTreeSet<_> = rows().map(|(module, test)| (module.to_owned(), test.to_owned())).collect();
    assert_eq!(listed, written);
    let names: BTreeSet<_> = rows().map(|(_, test)| test).collect();
    assert_eq!(names.len(), rows().count(), "a name is used twice");
}
