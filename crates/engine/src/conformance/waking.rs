//! Promise 6, in a storm: due timers fire as their runs are claimed, once, and only those of runs that only wait.

use rhythm_core::RunId;

use super::Stage;
use super::play::*;
use crate::world::*;

fn of(claimed: &[ClaimedRun]) -> Vec<&str> {
    claimed.iter().map(|claimed| claimed.run.id.as_str()).collect()
}

/// Runs that sleep for so many seconds each.
async fn sleepers(play: &Play<'_>, lengths: &[(&str, u64)]) -> Vec<RunId> {
    let now = play.now().await;
    let mut runs = Vec::new();
    for (id, length) in lengths {
        runs.push(play.waiting(id, |draft| draft.timer(1, now.plus(secs(*length)))).await);
    }
    runs
}

pub async fn due_timers_fire_as_their_runs_are_claimed(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let runs = sleepers(&play, &[("a", 30), ("b", 10), ("c", 20), ("d", 40)]).await;
    play.deliver(&runs[2], signal("s1", "nobody asked")).await;
    stage.clock().advance(secs(9));
    assert_eq!(play.wakes(9).await, [], "nothing is due yet");
    stage.clock().advance(secs(21));
    let now = play.now().await;
    let woken = play.wakes(2).await;
    assert_eq!(of(&woken), ["b", "c"], "the longest due come first");
    assert_eq!(ids(&woken[0].messages), ["timer:1"]);
    assert_eq!(ids(&woken[1].messages), ["s1", "timer:1"], "with all else that waits for them");
    assert_eq!((woken[0].messages[0].at, woken[0].run.arrived, woken[1].run.arrived), (now, 1, 2));
    assert_eq!((woken[0].claim, woken[0].deliveries), (2, 1));
    play.nothing_to_claim().await;
    assert_eq!(of(&play.wakes(9).await), ["a"]);
    assert_eq!(play.wakes(9).await, []);
    play.done(&Draft::of(&woken[0])).await;
    let picture = play.picture(&runs[1]).await;
    assert_eq!((picture.inbox, picture.timers), (vec![], vec![]));
    play.pass(secs(10)).await;
    assert_eq!(of(&play.claims(9).await), ["d"], "what is not claimed at once is found by a sweep");
}

/// One message is enough for a step to begin with; the others fire when the run has moved.
pub async fn of_several_due_timers_of_a_run_the_first_wakes_it(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let now = play.now().await;
    play.waiting("r", |draft| draft.timer(1, now.plus(secs(2))).timer(2, now.plus(secs(1)))).await;
    stage.clock().advance(secs(5));
    let woken = play.wakes(9).await;
    assert_eq!((of(&woken), ids(&woken[0].messages)), (vec!["r"], vec!["timer:2"]));
    assert_eq!(play.wakes(9).await, [], "it is claimed");
    play.done(&Draft::of(&woken[0])).await;
    assert_eq!(ids(&play.wakes(9).await[0].messages), ["timer:1"]);
}

pub async fn runs_that_cannot_be_claimed_keep_their_due_timers(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let runs = sleepers(&play, &[("paused", 1), ("ready", 1), ("claimed", 1)]).await;
    play.order(Control::PauseRun { run: runs[0].clone(), reason: String::new() }).await;
    play.deliver(&runs[2], cancel("c1")).await;
    let claimed = play.claim().await;
    play.deliver(&runs[1], cancel("c1")).await;
    play.start_as(NewRun { delay: secs(1), ..new_run("late") }).await;
    let due = play.start_as(NewRun { deadline: Some(secs(1)), ..new_run("out of time") }).await;
    let first = play.claims(2).await;
    let begun = first.iter().find(|claimed| claimed.run.id == due).expect("it was ready");
    play.done(&Draft::of(begun)).await;
    let other = play.tenant("other").await;
    sleepers(&other, &[("theirs", 1)]).await;
    stage.clock().advance(secs(2));
    assert_eq!(play.wakes(9).await, []);
    let request = ClaimRuns { kinds: vec![], ..other.claim_request(9) };
    assert_eq!(other.world.claim_due(request).await.unwrap().runs, [], "it has no program for it");
    for run in &runs {
        assert_eq!(play.picture(run).await.timers.len(), 1);
    }
    assert_eq!(of(&other.wakes(9).await), ["theirs"]);
    play.done(&Draft::of(&claimed)).await;
    assert_eq!(of(&play.wakes(9).await), ["claimed"], "it waits again");
}

pub async fn a_paused_workflow_is_not_woken_up(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    sleepers(&play, &[("r", 1)]).await;
    let name = new_run("r").workflow;
    play.order(Control::PauseWorkflow { workflow: name.clone() }).await;
    stage.clock().advance(secs(2));
    assert_eq!(play.wakes(9).await, []);
    play.order(Control::ResumeWorkflow { workflow: name }).await;
    assert_eq!(of(&play.wakes(9).await), ["r"]);
}

pub async fn of_two_who_claim_what_is_due_one_gets_it(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    let names: Vec<String> = (0..20).map(|n| format!("r{n:02}")).collect();
    let lengths: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1)).collect();
    sleepers(&play, &lengths).await;
    stage.clock().advance(secs(1));
    let (mine, theirs, _) = tokio::join!(play.wakes(20), other.wakes(20), play.sweep());
    let mut taken = [of(&mine), of(&theirs)].concat();
    let swept = play.claims(20).await;
    taken.extend(of(&swept));
    let rest = play.wakes(20).await;
    taken.extend(of(&rest));
    taken.sort_unstable();
    assert_eq!(taken, names, "each was claimed once");
}

/// As any other claim: the call is made again because its answer was lost.
pub async fn a_repeated_call_gets_the_runs_it_woke(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    sleepers(&play, &[("a", 1), ("b", 1), ("c", 1)]).await;
    stage.clock().advance(secs(1));
    let ask = |again| ClaimRuns { ask: Ask { number: 7, again }, ..play.claim_request(2) };
    let first = play.world.claim_due(ask(false)).await.unwrap().runs;
    assert_eq!(of(&first), ["a", "b"]);
    assert_eq!(play.world.claim_due(ask(true)).await.unwrap().runs, first);
    assert_eq!(play.world.claim_runs(ask(true)).await.unwrap().runs, first, "whichever way it is repeated");
}

/// Whoever woke it up is gone: its message waits in the inbox, and somebody else goes on.
pub async fn what_a_lost_worker_woke_up_is_claimed_again(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    sleepers(&play, &[("r", 1)]).await;
    stage.clock().advance(secs(1));
    let lost = play.wakes(1).await;
    play.pass(secs(31)).await;
    let claimed = play.claim().await;
    assert_eq!((claimed.messages, claimed.claim), (lost[0].messages.clone(), lost[0].claim + 1));
    play.refused(&Draft::of(&lost[0])).await;
}
