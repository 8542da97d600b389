//! I4 and I5: compares the ledger with the results that were kept.

use std::collections::BTreeMap;

use rhythm_core::task::MAX_DELIVERIES;

use crate::ledger::{Line, Manners, Verdict, What};
use crate::receipt::Receipt;

/// Ledger lines of one task, counted.
#[derive(Default)]
struct Deeds {
    /// Number of times each hand-out began and had its effect.
    began: BTreeMap<u64, u32>,
    did: BTreeMap<u64, u32>,
    /// Hand-outs begun, and effects accepted, by attempt.
    handed_out: BTreeMap<u32, u32>,
    effects: BTreeMap<u32, u32>,
}

pub fn check(lines: &[Line], kept: &BTreeMap<String, Receipt>, manners: Manners) -> Vec<String> {
    let mut tasks: BTreeMap<&str, Deeds> = BTreeMap::new();
    for Line { entry, verdict, .. } in lines {
        let deeds = tasks.entry(&entry.task).or_default();
        match entry.what {
            What::Began => {
                *deeds.began.entry(entry.claim).or_default() += 1;
                *deeds.handed_out.entry(entry.attempt).or_default() += 1;
            }
            What::Did => {
                *deeds.did.entry(entry.claim).or_default() += 1;
                if *verdict == Verdict::Accepted {
                    *deeds.effects.entry(entry.attempt).or_default() += 1;
                }
            }
        }
    }
    let mut wrong = Vec::new();
    for (task, deeds) in &tasks {
        wrong.extend(check_deeds(deeds, manners).into_iter().map(|what| told(task, what, lines)));
    }
    for (task, receipt) in kept {
        let found = match tasks.get(task.as_str()) {
            Some(deeds) => check_kept(deeds, receipt),
            None => vec!["its result was kept, but it never began".to_owned()],
        };
        wrong.extend(found.into_iter().map(|what| told(task, what, lines)));
    }
    wrong
}

/// Formats a violation with all ledger lines of the task.
fn told(task: &str, what: String, lines: &[Line]) -> String {
    let own = lines.iter().filter(|line| line.entry.task == task);
    let line = |Line { at, entry, .. }: &Line| {
        format!("{at} {:?} attempt {} hand-out {} in {}", entry.what, entry.attempt, entry.claim, entry.pid)
    };
    format!("task {task}: {what} ({})", own.map(line).collect::<Vec<_>>().join("; "))
}

fn check_deeds(deeds: &Deeds, manners: Manners) -> Vec<String> {
    let mut wrong = Vec::new();
    for (claim, times) in deeds.began.iter().filter(|(_, times)| **times > 1) {
        wrong.push(format!("hand-out {claim} began {times} times"));
    }
    for (claim, times) in deeds.did.iter().filter(|(_, times)| **times > 1) {
        wrong.push(format!("hand-out {claim} had its effect {times} times"));
    }
    for (attempt, times) in &deeds.handed_out {
        if *times > MAX_DELIVERIES {
            wrong.push(format!("attempt {attempt} was handed out {times} times"));
        }
    }
    for (attempt, effects) in &deeds.effects {
        let most = if manners.dedupe { 1 } else { deeds.handed_out.get(attempt).copied().unwrap_or(0) };
        if *effects > most {
            wrong.push(format!("attempt {attempt} had {effects} effects, at most {most} are allowed"));
        }
    }
    wrong
}

/// Checks that a kept result is from the last hand-out and that its effect happened.
fn check_kept(deeds: &Deeds, receipt: &Receipt) -> Vec<String> {
    let mut wrong = Vec::new();
    if !deeds.did.contains_key(&receipt.claim) {
        wrong.push(format!("the result of hand-out {} was kept without its effect", receipt.claim));
    }
    if deeds.effects.get(&receipt.attempt).is_none_or(|effects| *effects == 0) {
        wrong.push(format!("attempt {} was kept, but has no effect", receipt.attempt));
    }
    if let Some((last, _)) = deeds.began.last_key_value()
        && *last > receipt.claim
    {
        wrong.push(format!("the result of hand-out {} was kept, but hand-out {last} began", receipt.claim));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Entry;

    fn line(what: What, attempt: u32, claim: u64) -> Line {
        Line::of(Entry { attempt, claim, idempotency_key: format!("t:{attempt}"), ..Entry::sample(what) })
    }

    fn found(lines: &[Line], claim: u64, manners: Manners) -> String {
        let receipt = Receipt { pid: 1, claim, attempt: 1, delivery: 1 };
        check(lines, &BTreeMap::from([("t".to_owned(), receipt)]), manners).join("\n")
    }

    #[test]
    fn a_second_hand_out_and_its_second_effect_are_fine_without_deduplication() {
        let lines =
            [line(What::Began, 1, 1), line(What::Did, 1, 1), line(What::Began, 1, 2), line(What::Did, 1, 2)];
        assert_eq!(found(&lines, 2, Manners::default()), "");
        let deduped = found(&lines, 2, Manners::DEDUPES);
        assert!(deduped.contains("had 2 effects, at most 1"), "{deduped}");
    }

    #[test]
    fn a_result_of_a_hand_out_that_was_followed_is_a_violation() {
        let lines = [line(What::Began, 1, 1), line(What::Did, 1, 1), line(What::Began, 1, 2)];
        let found = found(&lines, 1, Manners::default());
        assert!(found.contains("hand-out 1 was kept, but hand-out 2 began"), "{found}");
    }

    #[test]
    fn one_hand_out_that_begins_twice_is_a_violation() {
        let lines = [line(What::Began, 1, 1), line(What::Began, 1, 1), line(What::Did, 1, 1)];
        assert!(found(&lines, 1, Manners::default()).contains("hand-out 1 began 2 times"));
    }

    #[test]
    fn a_kept_result_needs_its_effect() {
        assert!(found(&[line(What::Began, 1, 1)], 1, Manners::default()).contains("without its effect"));
        assert!(found(&[], 1, Manners::default()).contains("never began"));
    }
}
