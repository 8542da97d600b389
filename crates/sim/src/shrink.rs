//! Makes a failing simulation smaller while the same checker still objects: fewer actions, fewer kinds of faults.

use crate::faults::Fault;
use crate::sim::{Options, Outcome, simulate};
use crate::workload::Workload;

/// The smallest failing variant found, and what came of it with lines to read.
pub fn shrink(options: &Options) -> (Options, Outcome) {
    let first = simulate(options);
    let Some(check) = first.violations.first().map(|violation| violation.check) else {
        return (options.clone(), first);
    };
    let fails = |variant: &Options| simulate(variant).violations.iter().any(|v| v.check == check);
    let mut smallest = options.clone();
    // Leaving one thing out may let another go that could not before.
    loop {
        let before = smallest.clone();
        without_faults(&mut smallest, &fails);
        without_actions(&mut smallest, &fails);
        if (&smallest.without, &smallest.skipped) == (&before.without, &before.skipped) {
            break;
        }
    }
    smallest.readable = true;
    let outcome = simulate(&smallest);
    (smallest, outcome)
}

fn without_faults(smallest: &mut Options, fails: &dyn Fn(&Options) -> bool) {
    for fault in Fault::ALL {
        let mut variant = smallest.clone();
        if variant.without.insert(*fault) && fails(&variant) {
            *smallest = variant;
        }
    }
}

/// Halves first, single ones at last.
fn without_actions(smallest: &mut Options, fails: &dyn Fn(&Options) -> bool) {
    let count = Workload::new(smallest.seed, false).actions.len();
    let mut size = count.div_ceil(2);
    while size > 0 {
        for start in (0..count).step_by(size) {
            let mut variant = smallest.clone();
            variant.skipped.extend(start..(start + size).min(count));
            if variant.skipped.len() > smallest.skipped.len() && fails(&variant) {
                *smallest = variant;
            }
        }
        size /= 2;
    }
}

/// The lines about what the checker objects to, and every fault.
pub fn story(outcome: &Outcome) -> Vec<String> {
    let about: Vec<&String> = outcome.violations.iter().flat_map(|violation| &violation.about).collect();
    let concerns =
        |text: &str| about.is_empty() || about.iter().any(|id| mentions(text, id)) || is_misfortune(text);
    outcome.lines.iter().filter(|line| concerns(&line.text)).map(|line| line.show()).collect()
}

/// Whether a line names the id itself, not just a longer one.
fn mentions(text: &str, id: &str) -> bool {
    text.match_indices(id).any(|(at, _)| {
        let ends = text[at + id.len()..].chars().next();
        let begins = text[..at].chars().next_back();
        !ends.is_some_and(|next| next.is_ascii_alphanumeric())
            && !begins.is_some_and(|last| last.is_ascii_alphanumeric() || last == '.')
    })
}

fn is_misfortune(text: &str) -> bool {
    let starts = [
        "crashes",
        "dies",
        "stands still",
        "wakes up",
        "clock",
        "world is away",
        "is told",
        "process",
        "calm",
    ];
    starts.iter().any(|start| text.starts_with(start))
}
