//! Simulations in every test run: the kept seeds, the first 240 seeds, and a check that the seed decides
//! everything. `make sim` runs other seeds.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::process::Command;

use rhythm_core::EventData;
use rhythm_sim::case::{Case, Kept};
use rhythm_sim::faults::Fault;
use rhythm_sim::minimums;
use rhythm_sim::shrink::{shrink, story};
use rhythm_sim::sim::{Outcome, simulate};

/// Seeds per test. Four tests of them run in parallel.
const SEEDS: u64 = 60;

/// Requests of operators and upkeep that write no history row.
const CONTROLS: [&str; 10] = [
    "take back",
    "pause workflow",
    "resume workflow",
    "pause queue",
    "resume queue",
    "requeue dead letter",
    "discard dead letter",
    "cancel standalone task",
    "put schedule",
    "fire schedule",
];

fn check(case: &Case) -> Outcome {
    let outcome = simulate(case, false);
    if !outcome.violations.is_empty() {
        // Printed before shrinking, which may take long or hang.
        eprintln!("seed {}: {:#?}", case.seed, outcome.violations);
        let (_, smallest) = shrink(case);
        panic!("seed {}: {:#?}\n{}", case.seed, smallest.violations, story(&smallest).join("\n"));
    }
    outcome
}

/// Checks a range of seeds and returns the counts of what happened.
fn stretch(from: u64) -> (BTreeMap<Fault, u64>, BTreeMap<&'static str, u64>) {
    let (mut faults, mut tally, mut statuses, mut transitions) =
        (BTreeMap::new(), BTreeMap::new(), BTreeMap::new(), 0);
    for seed in from..from + SEEDS {
        let outcome = check(&Case::of(seed));
        transitions += outcome.transitions;
        outcome.faults.iter().for_each(|(fault, count)| *faults.entry(*fault).or_default() += count);
        outcome.tally.iter().for_each(|(what, count)| *tally.entry(*what).or_default() += count);
        outcome.statuses.iter().for_each(|(status, count)| *statuses.entry(*status).or_default() += count);
    }
    let all: u64 = faults.values().sum();
    eprintln!("{SEEDS} seeds: {transitions} transitions, {all} faults, runs {statuses:?}, seen {tally:?}");
    let completed = statuses.get("completed").copied().unwrap_or_default();
    let collected = tally.get("blob collected").copied().unwrap_or_default();
    let seen = minimums::Seen { seeds: SEEDS, transitions, faults, completed, collected };
    minimums::hold(&seen).unwrap();
    (seen.faults, tally)
}

#[test]
fn the_first_seeds_hold_1() {
    stretch(0);
}

#[test]
fn the_first_seeds_hold_2() {
    stretch(SEEDS);
}

#[test]
fn the_first_seeds_hold_3() {
    stretch(2 * SEEDS);
}

/// Fails when a command is never used or a fault never happens: such simulations would test nothing.
#[test]
fn every_fault_strikes_and_every_command_and_message_is_used() {
    let (faults, tally) = stretch(3 * SEEDS);
    let missing: Vec<&str> =
        Fault::ALL.iter().filter(|fault| !faults.contains_key(fault)).map(|fault| fault.name()).collect();
    assert_eq!(missing, Vec::<&str>::new(), "faults that never struck");
    // No workload forks a run or changes its version, because no program can ask for it. Attempts are listed
    // beside the history.
    let later = ["forked", "step_retrying", "version_changed"];
    let commands = ["cancel_task", "cancel_timer", "cancel_child", "compensator"];
    let commits = ["fused commit", "begun run", "stale commit", "blob collected"];
    let others = [&commands[..], &commits[..], &CONTROLS[..]].concat();
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
        if path.extension().is_some_and(|extension| extension == "json") {
            let kept = Kept::read(&path).unwrap();
            assert!(kept.says_what_it_found(), "{}: {}", path.display(), kept.found);
            let outcome = check(&kept.case);
            let faults: u64 = outcome.faults.values().sum();
            assert!(outcome.transitions > 0, "{}: nothing happens in it", path.display());
            let struck = faults > 0 || kept.case.rates.is_empty();
            assert!(struck, "{}: none of its faults strikes", path.display());
            seen += 1;
        }
    }
    assert!(seen > 0, "no seeds are kept");
}

#[test]
fn a_seed_decides_everything() {
    for seed in [7, 8, 9] {
        let case = Case::of(seed);
        let (one, other) = (simulate(&case, true), simulate(&case, true));
        assert_eq!(one.digest, other.digest, "seed {seed}");
        assert_eq!(one.histories, other.histories);
        let lines =
            |outcome: &Outcome| -> Vec<String> { outcome.lines.iter().map(|line| line.show()).collect() };
        assert_eq!(lines(&one), lines(&other));
    }
    let digest = |seed| simulate(&Case::of(seed), false).digest;
    assert_ne!(digest(7), digest(8));
}

/// Addresses, environments and hash seeds differ between processes; simulations must not.
#[test]
fn two_processes_have_the_same_digest() {
    let replay = || {
        let output = Command::new(env!("CARGO_BIN_EXE_sim")).args(["--replay", "7"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let (one, other) = (replay(), replay());
    assert_eq!(one, other);
    let here = format!("digest {:016x}", simulate(&Case::of(7), false).digest);
    assert!(one.contains(&here), "{here} here, elsewhere {one}");
}

/// A case that was written to a file and read again gives the same simulation.
#[test]
fn a_case_survives_being_written_down() {
    let case = Case::of(11);
    let outcome = simulate(&case, false);
    let folder = tempfile::tempdir().unwrap();
    let path = Kept::new(case, &outcome).write(folder.path()).unwrap();
    let read = Kept::read(&path).unwrap();
    assert!(!read.says_what_it_found());
    assert_eq!(simulate(&read.case, false).digest, outcome.digest);
    let replayed = Command::new(env!("CARGO_BIN_EXE_sim")).arg("--replay").arg(&path).output().unwrap();
    let replayed = String::from_utf8(replayed.stdout).unwrap();
    assert!(replayed.contains(&format!("digest {:016x}", outcome.digest)), "{replayed}");
}
