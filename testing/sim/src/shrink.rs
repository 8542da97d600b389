//! Shrinks a failing simulation while the same checker objects: fewer actions, fewer kinds of faults.

use crate::case::Case;
use crate::sim::{Outcome, simulate};
use crate::trace::Line;

/// Returns the smallest failing variant found and its outcome with a readable trace.
pub fn shrink(case: &Case) -> (Case, Outcome) {
    let first = simulate(case, true);
    let Some(check) = first.violations.first().map(|violation| violation.check) else {
        return (case.clone(), first);
    };
    shrink_while(case, &|outcome| outcome.violations.iter().any(|violation| violation.check == check))
}

/// Returns the smallest variant found whose outcome is still `wanted`.
pub fn shrink_while(case: &Case, wanted: &dyn Fn(&Outcome) -> bool) -> (Case, Outcome) {
    let holds = |variant: &Case| wanted(&simulate(variant, false));
    let mut smallest = case.clone();
    // Removing one thing may make it possible to remove another.
    loop {
        let before = size(&smallest);
        without_faults(&mut smallest, &holds);
        without_actions(&mut smallest, &holds);
        if size(&smallest) == before {
            break;
        }
    }
    let outcome = simulate(&smallest, true);
    (smallest, outcome)
}

fn size(case: &Case) -> (usize, usize) {
    (case.rates.len(), case.workload.actions.len())
}

fn without_faults(smallest: &mut Case, holds: &dyn Fn(&Case) -> bool) {
    for fault in smallest.rates.keys().cloned().collect::<Vec<_>>() {
        let mut variant = smallest.clone();
        variant.rates.remove(&fault);
        if holds(&variant) {
            *smallest = variant;
        }
    }
}

/// Removes halves first, single actions at last.
fn without_actions(smallest: &mut Case, holds: &dyn Fn(&Case) -> bool) {
    let mut size = smallest.workload.actions.len().div_ceil(2);
    while size > 0 {
        let mut start = 0;
        while start < smallest.workload.actions.len() {
            let mut variant = smallest.clone();
            let end = (start + size).min(variant.workload.actions.len());
            variant.workload.actions.drain(start..end);
            match holds(&variant) {
                true => *smallest = variant,
                false => start += size,
            }
        }
        size /= 2;
    }
}

/// Returns the trace lines about the checker's objections, and every fault.
pub fn story(outcome: &Outcome) -> Vec<String> {
    let about: Vec<&String> = outcome.violations.iter().flat_map(|violation| &violation.about).collect();
    let concerns =
        |line: &&Line| line.struck || about.is_empty() || about.iter().any(|id| mentions(&line.text, id));
    outcome.lines.iter().filter(concerns).map(|line| line.show()).collect()
}

/// Returns whether a line names the id itself and not a longer id that contains it.
fn mentions(text: &str, id: &str) -> bool {
    text.match_indices(id).any(|(at, _)| {
        let ends = text[at + id.len()..].chars().next();
        let begins = text[..at].chars().next_back();
        !ends.is_some_and(|next| next.is_ascii_alphanumeric())
            && !begins.is_some_and(|last| last.is_ascii_alphanumeric() || last == '.')
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::checks::Violation;
    use crate::faults::Fault;

    #[test]
    fn what_is_not_needed_is_left_out_and_the_outcome_stays() {
        let case = Case::of(3);
        let wanted = |outcome: &Outcome| outcome.statuses.get("cancelled").is_some_and(|count| *count > 0);
        assert!(wanted(&simulate(&case, false)), "seed 3 cancels nothing any more: take another");
        let (smallest, outcome) = shrink_while(&case, &wanted);
        assert!(wanted(&outcome));
        assert!(smallest.workload.actions.len() < case.workload.actions.len() / 2);
        assert!(smallest.rates.is_empty(), "no fault is needed to cancel a run: {:?}", smallest.rates);
        assert_eq!(simulate(&smallest, false).digest, outcome.digest);
    }

    #[test]
    fn a_story_has_every_fault_and_what_concerns_the_run() {
        let mut outcome = simulate(&Case::of(3), true);
        let count: u64 = outcome.faults.values().sum();
        let run = outcome.histories.keys().next().map(ToString::to_string).unwrap_or_default();
        outcome.violations =
            vec![Violation { check: "test", what: "a test".into(), about: vec![run.clone()] }];
        let story = story(&outcome);
        assert!(story.len() < outcome.lines.len());
        assert!(story.iter().any(|line| line.contains("create_runs") && line.contains(&run)));
        let mut told: BTreeMap<Fault, u64> = BTreeMap::new();
        for line in story.iter().filter_map(|line| line.split_once("FAULT ")).map(|(_, rest)| rest) {
            let name = line.split(": ").next().unwrap_or(line);
            *told.entry(Fault::named(name).expect("a fault by its name")).or_default() += 1;
        }
        assert!(count > 0);
        assert_eq!(told, outcome.faults);
    }
}
