//! Promise 6 in a timer burst: sleeping runs with a due timer are found without a claim, and the timer fires
//! once, with the commit of the process that steps the run.

use rhythm_core::RunId;
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

fn of(due: &[DueRun]) -> Vec<&str> {
    due.iter().map(|due| due.run.id.as_str()).collect()
}

/// Runs that sleep for the given number of seconds.
async fn sleepers(play: &Play<'_>, lengths: &[(&str, u64)]) -> Vec<RunId> {
    let now = play.now().await;
    let mut runs = Vec::new();
    for (id, length) in lengths {
        runs.push(play.waiting(id, |draft| draft.timer(1, now.plus(secs(*length)))).await);
    }
    runs
}

/// Returns a run `r` whose timer is due.
async fn due_run(play: &Play<'_>) -> DueRun {
    sleepers(play, &[("r", 1)]).await;
    play.stage.clock().advance(secs(1));
    play.due(1).await.pop().expect("it is due")
}

pub async fn due_timers_fire_with_the_commits_of_their_runs(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let runs = sleepers(&play, &[("a", 30), ("b", 10), ("c", 20), ("d", 40)]).await;
    play.deliver(&runs[2], signal("s1", "nobody asked")).await;
    stage.clock().advance(secs(9));
    assert_eq!(play.due(9).await, [], "nothing is due yet");
    stage.clock().advance(secs(21));
    let due = play.due(2).await;
    assert_eq!(of(&due), ["b", "c"], "the longest due come first");
    assert_eq!(due[0].run, play.picture(&runs[1]).await.row);
    assert_eq!((due[0].run.arrived, due[1].run.arrived), (0, 1), "nothing has arrived with that");
    assert_eq!(of(&play.due(9).await), ["b", "c", "a"], "nobody holds them");
    let behind = FindDue { skip: 1, ..play.due_request(1) };
    assert_eq!(of(&play.world.find_due(behind).await.unwrap().runs), ["c"], "others are busy with the first");
    play.done(&Draft::waking(&due[0])).await;
    play.done(&Draft::waking(&due[1])).await;
    for (run, left) in [(&runs[1], vec![]), (&runs[2], vec!["s1"])] {
        let picture = play.picture(run).await;
        assert_eq!((ids(&picture.inbox), picture.timers, picture.ready_since), (left, vec![], None));
    }
    assert_eq!(of(&play.due(9).await), ["a"]);
    play.pass(secs(10)).await;
    let swept = play.claims(9).await;
    let swept: Vec<&str> = swept.iter().map(|claimed| claimed.run.id.as_str()).collect();
    assert_eq!(swept, ["a", "d"], "what nobody woke up is found by a sweep");
    assert_eq!(play.due(9).await, []);
}

pub async fn the_time_it_was_found_at_is_told(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    due_run(&play).await;
    let found = play.world.find_due(play.due_request(1)).await.unwrap();
    assert_eq!((found.at, found.runs.len()), (play.now().await, 1));
    stage.clock().advance(secs(1));
    let none = play.world.find_due(play.due_request(0)).await.unwrap();
    assert_eq!((none.at, none.runs), (play.now().await, vec![]));
}

/// One message is enough for a step; the other timers fire after it.
pub async fn of_several_due_timers_of_a_run_the_first_wakes_it(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let now = play.now().await;
    play.waiting("r", |draft| draft.timer(1, now.plus(secs(2))).timer(2, now.plus(secs(1)))).await;
    stage.clock().advance(secs(5));
    let due = play.due(9).await;
    assert_eq!((of(&due), due[0].timer.0), (vec!["r"], 2));
    let behind = FindDue { skip: 1, ..play.due_request(9) };
    assert_eq!(play.world.find_due(behind).await.unwrap().runs, [], "the other one is not to overtake it");
    play.done(&Draft::waking(&due[0])).await;
    let due = play.due(9).await;
    assert_eq!((of(&due), due[0].timer.0), (vec!["r"], 1));
}

/// The run fails at its deadline, whatever a late timer would do.
pub async fn a_timer_does_not_overtake_the_deadline_of_its_run(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start_as(NewRun { deadline: Some(secs(1)), ..new_run("r") }).await;
    let now = play.now().await;
    play.done(&Draft::of(&play.claim().await).timer(1, now.plus(secs(2)))).await;
    stage.clock().advance(secs(3));
    assert_eq!(play.due(9).await, []);
    play.sweep().await;
    let claimed = play.claim().await;
    assert_eq!((claimed.run.id, ids(&claimed.messages)), (run, vec!["deadline", "timer:1"]));
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
    assert_eq!(play.due(9).await, []);
    let request = FindDue { kinds: vec![], ..other.due_request(9) };
    assert_eq!(other.world.find_due(request).await.unwrap().runs, [], "it has no program for it");
    for run in &runs {
        assert_eq!(play.picture(run).await.timers.len(), 1);
    }
    assert_eq!(of(&other.due(9).await), ["theirs"]);
    play.done(&Draft::of(&claimed)).await;
    assert_eq!(of(&play.due(9).await), ["claimed"], "it waits again");
}

pub async fn a_paused_workflow_is_not_woken_up(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let due = due_run(&play).await;
    let name = new_run("r").workflow;
    play.order(Control::PauseWorkflow { workflow: name.clone() }).await;
    assert_eq!(play.due(9).await, []);
    play.refused(&Draft::waking(&due)).await;
    play.order(Control::ResumeWorkflow { workflow: name }).await;
    play.done(&Draft::waking(&play.due(9).await[0])).await;
}

/// Several processes found the run: one of them steps it, later ones are refused.
pub async fn whoever_is_late_is_refused(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let due = due_run(&play).await;
    let other = play.another("w2").await;
    other.done(&Draft::waking(&due)).await;
    play.refused(&Draft::waking(&due).completed()).await;
}

pub async fn a_timer_that_a_sweep_fired_is_not_fired_again(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let due = due_run(&play).await;
    play.sweep().await;
    play.refused(&Draft::waking(&due)).await;
    let claimed = play.claim().await;
    assert_eq!(ids(&claimed.messages), ["timer:1"]);
    play.refused(&Draft::waking(&due)).await;
    play.done(&Draft::of(&claimed)).await;
    play.refused(&Draft::waking(&due)).await;
}

pub async fn what_arrived_meanwhile_comes_first(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let due = due_run(&play).await;
    play.deliver(&due.run.id, signal("s1", "nobody asked")).await;
    play.refused(&Draft::waking(&due)).await;
    play.deliver(&due.run.id, cancel("c1")).await;
    assert_eq!(play.due(9).await, [], "it is ready");
    play.sweep().await;
    assert_eq!(ids(&play.claim().await.messages), ["s1", "c1", "timer:1"]);
}

pub async fn of_two_who_wake_up_what_is_due_one_does(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    let names: Vec<String> = (0..20).map(|n| format!("r{n:02}")).collect();
    let lengths: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1)).collect();
    let runs = sleepers(&play, &lengths).await;
    stage.clock().advance(secs(1));
    let wake = async |play: &Play<'_>| {
        let due = play.due(20).await;
        let drafts: Vec<Draft> = due.iter().map(|due| Draft::waking(due).completed()).collect();
        let outcomes = play.commit(&drafts.iter().collect::<Vec<_>>()).await;
        outcomes.iter().filter(|outcome| matches!(outcome, CommitOutcome::Done(_))).count()
    };
    let (mine, theirs, _) = tokio::join!(wake(&play), wake(&other), play.sweep());
    let swept = play.claims(20).await;
    for claimed in &swept {
        play.done(&Draft::of(claimed).completed()).await;
    }
    let rest = wake(&play).await;
    assert_eq!(mine + theirs + swept.len() + rest, runs.len(), "each was woken up once");
    for run in &runs {
        let history = play.history(run).await;
        assert_eq!(history.iter().filter(|event| event.data.kind() == "timer_fired").count(), 1);
    }
}

/// The response was lost, so the same commit is sent again.
pub async fn a_repeated_commit_gets_its_first_answer(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let draft = Draft::waking(&due_run(&play).await).own_task(2);
    let first = play.done(&draft).await;
    assert_eq!(play.done(&draft).await, first);
    assert_eq!(first.claimed, [TaskClaim { task: "r:2".into(), claim: 1 }]);
    let events = play.history(&"r".into()).await;
    assert_eq!(events.iter().filter(|event| event.data.kind() == "timer_fired").count(), 1);
    assert_eq!(play.picture(&"r".into()).await.row.revision, 2);
}

/// A failed run keeps its other timers; the one that fired does not return when it is reopened.
pub async fn a_timer_that_fired_stays_away_when_its_run_is_opened_again(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let now = play.now().await;
    let run = play.waiting("r", |draft| draft.timer(1, now.plus(secs(1))).timer(2, now.plus(secs(60)))).await;
    stage.clock().advance(secs(1));
    play.done(&Draft::waking(&play.due(1).await[0]).failed()).await;
    assert_eq!(play.due(9).await, []);
    let reason = "fixed".to_owned();
    play.order(Control::Reopen {
        run: run.clone(),
        revision: 2,
        reason,
        requeue: vec![],
        redeliver: vec![],
        fresh: None,
    })
    .await;
    let left: Vec<String> = play.picture(&run).await.timers.into_iter().map(|timer| timer.what).collect();
    assert_eq!(left.len(), 1, "{left:?}");
}
