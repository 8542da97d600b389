//! Plays the scenario files in this folder, as `rhythm test` does.
#![allow(clippy::unwrap_used)]

use rhythm_scenario::{Options, Sandbox, read_files, run_all};

#[test]
fn every_scenario_passes_in_all_three_ways() {
    let files = read_files(&["tests/files".into()]).unwrap();
    let scenarios: Vec<_> = files.into_iter().flat_map(|(_, scenarios)| scenarios).collect();
    let mut failed = Vec::new();
    run_all(
        &scenarios,
        &Options { three_ways: true, jobs: None, seed: 0, sandbox: Sandbox::Here },
        |report| {
            if !report.passed {
                failed.push(format!("{}: {:#?}", report.name, report.problems));
            }
        },
    );
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(scenarios.len() > 600);
}
