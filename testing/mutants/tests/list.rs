//! Checks the list of mutants without building any of them.

use std::collections::BTreeSet;
use std::fs;

use rhythm_mutants::{list, table};

#[test]
fn every_mutant_changes_one_place_of_its_file() {
    let root = list::root();
    for mutant in list::read(&root).unwrap() {
        let text = fs::read_to_string(root.join(&mutant.file))
            .unwrap_or_else(|_| panic!("{} is missing", mutant.file));
        let changed = mutant.apply(&text).unwrap_or_else(|problem| panic!("{problem}"));
        assert_ne!(changed, text, "{} changes nothing", mutant.name);
    }
}

#[test]
fn every_mutant_names_a_test_that_is_there() {
    let root = list::root();
    for mutant in list::read(&root).unwrap() {
        assert!(mutant.test_exists(&root), "{}: no test {} in {}", mutant.name, mutant.test, mutant.binary);
    }
}

#[test]
fn mutants_are_many_and_all_different() {
    let mutants = list::read(&list::root()).unwrap();
    let names: BTreeSet<&str> = mutants.iter().map(|mutant| mutant.name.as_str()).collect();
    let promises: BTreeSet<&str> = mutants.iter().map(|mutant| mutant.promise.as_str()).collect();
    assert!(mutants.len() >= 25, "only {} mutants", mutants.len());
    for different in [names.len(), promises.len()] {
        assert_eq!(different, mutants.len());
    }
}

#[test]
fn no_two_mutants_are_in_one_place() {
    let root = list::root();
    let mut seen: Vec<(String, std::ops::Range<usize>, String)> = Vec::new();
    for mutant in list::read(&root).unwrap() {
        let text = fs::read_to_string(root.join(&mutant.file)).expect("its file is there");
        let place = mutant.place(&text).unwrap_or_else(|| panic!("{} has no place", mutant.name));
        for (file, other, name) in &seen {
            let apart = *file != mutant.file || place.end <= other.start || other.end <= place.start;
            assert!(apart, "{} and {name} change the same place", mutant.name);
        }
        seen.push((mutant.file, place, mutant.name));
    }
}

#[test]
fn the_table_lists_the_same_mutants() {
    let root = list::root();
    let page = fs::read_to_string(table::path(&root)).expect("docs/internals/mutants.md is there");
    let mutants = list::read(&root).unwrap();
    let listed: Vec<String> =
        mutants.iter().map(|mutant| table::row(mutant).trim_end_matches(" |").to_owned()).collect();
    assert_eq!(table::rows(&page), listed, "run make mutants to write the table anew");
}

#[test]
fn the_table_says_of_each_that_it_was_caught() {
    let root = list::root();
    let page = fs::read_to_string(table::path(&root)).expect("docs/internals/mutants.md is there");
    let not_caught: Vec<&str> =
        page.lines().filter(|line| line.starts_with("| `") && !line.ends_with("| caught |")).collect();
    assert!(not_caught.is_empty(), "{not_caught:#?}");
    let count = list::read(&root).unwrap().len();
    let told = format!("{count} of {count} were caught");
    assert!(page.contains(&told), "the page does not say that {told}");
}
