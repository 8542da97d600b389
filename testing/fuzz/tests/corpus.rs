//! Checks the kept corpus and a few thousand mutations of it, which are the same in every run.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stdout, reason = "shown when a test fails")]

use std::path::PathBuf;

use rhythm_fuzz::check;
use rhythm_fuzz::mutate::{Dice, mutated};

fn corpus() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
}

#[test]
fn the_corpus_holds() {
    let corpus = corpus();
    assert!(corpus.len() >= 20, "only {}", corpus.len());
    for (path, input) in &corpus {
        println!("{}", path.display());
        check(input);
    }
}

/// Checks mutations of the corpus. A seed that fails always fails; add its input to the corpus.
fn children(seeds: std::ops::Range<u64>) {
    let corpus = corpus();
    for seed in seeds {
        let mut dice = Dice::new(seed);
        let one = &corpus[dice.roll(corpus.len())].1;
        let other = &corpus[dice.roll(corpus.len())].1;
        let input = mutated(&mut dice, one, other);
        println!("seed {seed}:\n{}", String::from_utf8_lossy(&input));
        check(&input);
    }
}

#[test]
fn children_of_the_corpus_hold() {
    children(0..1_500);
}

#[test]
fn more_children_of_the_corpus_hold() {
    children(1_500..3_000);
}
