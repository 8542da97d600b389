//! Simulations in every test run: kept seeds, some hundred new ones, and that a seed decides everything.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::BTreeMap;

use rhythm_core::EventData;
use rhythm_sim::faults::Fault;
use rhythm_sim::shrink::{shrink, story};
use rhythm_sim::sim::{Options, Outcome, simulate};

/// Seeds per test; four tests of them run side by side.
const SEEDS: u64 = 60;

fn check(seed: u64) -> Outcome {
    let options = Options { seed, ..Options::default() };
    let outcome = simulate(&options);
    if !outcome.violations.is_empty() {
        let (_, smallest) = shrink(&options);
        panic!("seed {seed}: {:#?}\n{}", smallest.violations, story(&smallest).join("\n"));
    }
    outcome
}

/// Runs a stretch of seeds and tells what it saw.
fn stretch(from: u64) -> (BTreeMap<Fault, u64>, BTreeMap<&'static str, u64>) {
    let (mut faults, mut tally, mut transitions) = (BTreeMap::new(), BTreeMap::new(), 0);
    for seed in from..from + SEEDS {
        let outcome = check(seed);
        transitions += outcome.transitions;
        outcome.faults.iter().for_each(|(fault, count)| *faults.entry(*fault).or_default() += count);
        outcome.tally.iter().for_each(|(what, count)| *tally.entry(*what).or_default() += count);
    }
    let all: u64 = faults.values().sum();
    eprintln!("{SEEDS} seeds: {transitions} transitions, {all} faults");
    // A floor: a simulation in which nothing happens proves nothing.
    assert!(transitions > SEEDS * 50, "only {transitions} transitions");
    assert!(all > SEEDS * 20, "only {all} faults");
    (faults, tally)
}

#[test]
fn new_seeds_hold_1() {
    stretch(0);
}

#[test]
fn new_seeds_hold_2() {
    stretch(SEEDS);
}

#[test]
fn new_seeds_hold_3() {
    stretch(2 * SEEDS);
}

/// Workloads that never use a command, and faults that never strike, would test nothing.
#[test]
fn every_fault_strikes_and_every_command_and_message_is_used() {
    let (faults, tally) = stretch(3 * SEEDS);
    let missing: Vec<&str> =
        Fault::ALL.iter().filter(|fault| !faults.contains_key(fault)).map(|fault| fault.name()).collect();
    assert_eq!(missing, Vec::<&str>::new(), "faults that never struck");
    // These come with graphs, forks and conditions, or are listed beside the history.
    let later = [
        "forked",
        "node_consumed",
        "node_emitted",
        "condition_evaluated",
        "step_retrying",
        "paused",
        "resumed",
        "reopened",
        "warning",
    ];
    let others = ["cancel_task", "cancel_timer", "cancel_child", "fused commit", "stale commit"];
    let wanted = EventData::TYPES.iter().filter(|kind| !later.contains(kind)).chain(&others);
    let unused: Vec<&&str> = wanted.filter(|what| !tally.contains_key(**what)).collect();
    assert_eq!(unused, Vec::<&&str>::new(), "never seen in any history");
}

#[test]
fn kept_seeds_hold() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/seeds");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if let Some(seed) = path.file_stem().and_then(|name| name.to_str()?.parse().ok()) {
            check(seed);
            seen += 1;
        }
    }
    assert!(seen > 0, "no seeds are kept");
}

#[test]
fn a_seed_decides_everything() {
    for seed in [7, 8, 9] {
        let options = Options { seed, readable: true, ..Options::default() };
        let (one, other) = (simulate(&options), simulate(&options));
        assert_eq!(one.digest, other.digest, "seed {seed}");
        assert_eq!(one.histories, other.histories);
        let lines =
            |outcome: &Outcome| -> Vec<String> { outcome.lines.iter().map(|line| line.show()).collect() };
        assert_eq!(lines(&one), lines(&other));
    }
    let digest = |seed| simulate(&Options { seed, ..Options::default() }).digest;
    assert_ne!(digest(7), digest(8));
}
