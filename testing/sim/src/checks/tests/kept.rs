//! Regression tests for checkers: kept seeds in which a checker objected to correct behaviour.

use super::*;

/// Claims a run several times, each time by a holder that a fault has struck.
fn claimed_in_misfortune(check: &mut dyn Check, claims: std::ops::Range<u64>, luck: &mut Luck) {
    for claim in claims {
        luck.befalls(Owner(1), 0);
        see(check, &Applied::ClaimRuns(&claim_runs(), &claimed_run(claim, Vec::new())), luck).unwrap();
    }
}

fn quarantined(check: &mut dyn Check, claim: u64) -> Result<(), Objection> {
    let blocked = Blocked { code: BlockedCode::Quarantined, since: NOW, detail: "too often".into() };
    released(check, claim, ReleaseOutcome::Aside(blocked))
}

/// Found by seed 11382.
#[test]
fn redeliveries_counts_on_when_a_run_is_paused() {
    let (mut check, mut luck) = (redeliveries::Redeliveries::default(), Luck::default());
    claimed_in_misfortune(&mut check, 1..6, &mut luck);
    controlled(&mut check, Control::PauseRun { run: run(), reason: String::new() }, NOW).unwrap();
    claimed_in_misfortune(&mut check, 6..7, &mut luck);
    quarantined(&mut check, 6).unwrap();
}

/// Found by seed 17981.
#[test]
fn redeliveries_counts_on_when_who_was_given_up_gives_a_run_back() {
    let (mut check, mut luck) = (redeliveries::Redeliveries::default(), Luck::default());
    claimed_in_misfortune(&mut check, 1..6, &mut luck);
    luck.befalls(Owner(1), 0);
    let given_back = vec![ReleasedRun { run: run(), claim: 5, outcome: ReleaseOutcome::Idle { arrived: 0 } }];
    let request = Commit { released: given_back, ..commit(Vec::new()) };
    let answer = Committed { at: NOW, outcomes: Vec::new() };
    see(&mut check, &Applied::Commit(&request, &answer), &luck).unwrap();
    claimed_in_misfortune(&mut check, 6..7, &mut luck);
    quarantined(&mut check, 6).unwrap();
}

/// Found by seed 32751.
#[test]
fn early_knows_that_what_is_past_its_deadline_is_handed_out_to_be_ended() {
    let claimed_after = |millis: u64| {
        let (delay, deadline) = (Millis(1_000), Some(Millis(500)));
        let mut check = early::Early::default();
        committed(&mut check, with_task(TaskOptions { delay, deadline, ..TaskOptions::default() })).unwrap();
        let claimed = ClaimedTasks { at: NOW.plus(Millis(millis)), ..claimed_task(1, 1) };
        see(&mut check, &Applied::ClaimTasks(&claim_tasks(), &claimed), &Luck::default())
    };
    claimed_after(600).unwrap();
    claimed_after(400).unwrap_err();
}
