//! Tasks out of attempts: dead letters, held runs, requeueing and discarding.

use rhythm_core::message::{MessageBody, TaskFailed};
use rhythm_core::{Actor, Blocked, BlockedCode, CommandId, Message, RunId, Timestamp};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

fn exhausted(hold: bool) -> TaskOutcome {
    TaskOutcome::Exhausted { failure: failure("BROKEN").with_attempts(1), hold }
}

fn failed_message(number: u64) -> Message {
    let body = TaskFailed { task: CommandId(number), failure: failure("BROKEN") };
    message(&format!("task:{number}"), MessageBody::TaskFailed(body))
}

/// Fails the next task of the default queue for good and delivers the answer to its run.
async fn give_up(play: &Play<'_>) -> ClaimedTask {
    let task = play.take().await;
    let number = task.run.as_ref().unwrap().1.0;
    let finished = FinishedTask {
        task: task.id.clone(),
        claim: task.claim,
        outcome: exhausted(false),
        message: Some(failed_message(number)),
    };
    assert_eq!(play.finish_all(vec![finished]).await, [Finish::Done]);
    task
}

/// Returns a run `r` that is held for its task 1.
async fn held(play: &Play<'_>) -> (RunId, ClaimedTask) {
    let run = play.waiting("r", |draft| draft.task(1)).await;
    let task = play.take().await;
    assert_eq!(play.finish(&task, exhausted(true)).await, Finish::Done);
    (run, task)
}

async fn blocked_code(play: &Play<'_>, run: &RunId) -> Option<BlockedCode> {
    play.picture(run).await.summary.blocked.map(|blocked| blocked.code)
}

pub async fn a_task_out_of_attempts_becomes_a_dead_letter(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let id = play.queue(new_task("t")).await;
    play.finish(&play.take().await, exhausted(false)).await;
    let letters = play.dead().await;
    assert_eq!(letters.len(), 1);
    let letter = &letters[0];
    assert_eq!((&letter.task, &letter.run, letter.number, letter.held), (&id, &None, None, false));
    assert_eq!((letter.name.as_str(), &letter.input), ("work", &new_task("t").input));
    assert_eq!((letter.failure.code.as_str(), letter.attempts), ("BROKEN", 1));
    assert_eq!(letter.died_at, play.now().await);
    let ended = play.task(&id).await;
    assert_eq!(ended.state, TaskState::Failed);
    assert_eq!(ended.failure, Some(failure("BROKEN").with_attempts(1)));
}

pub async fn a_run_gets_the_failure_and_the_letter_stays(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1)).await;
    let task = give_up(&play).await;
    assert_eq!(play.find_task(&task.id).await, None);
    let claimed = play.claim().await;
    assert_eq!(claimed.messages[0].body, failed_message(1).body);
    play.done(&Draft::of(&claimed)).await;
    let letters = play.dead().await;
    assert_eq!((&letters[0].run, letters[0].number), (&Some(run.clone()), Some(CommandId(1))));
    let picture = play.picture(&run).await;
    assert_eq!((picture.dead, picture.summary.blocked), (letters, None));
}

pub async fn a_held_task_blocks_its_run(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (run, task) = held(&play).await;
    play.nothing_to_claim().await;
    let picture = play.picture(&run).await;
    assert_eq!(picture.summary.blocked.as_ref().map(|why| why.code), Some(BlockedCode::DeadLetter));
    assert_eq!((picture.inbox.len(), picture.row.arrived), (0, 0));
    assert_eq!(picture.tasks[0].state, TaskState::Held);
    assert!(picture.dead[0].held);
    // A held task waits for an operator; it does not become ready by itself.
    play.pass(secs(3600)).await;
    play.nothing_to_take().await;
    assert_eq!(play.finish(&task, exhausted(true)).await, Finish::Stale);
}

/// A run held for one task still consumes other messages.
pub async fn a_held_run_goes_on_with_other_messages(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (run, _) = held(&play).await;
    play.deliver(&run, cancel("c1")).await;
    let claimed = play.claim().await;
    assert_eq!(ids(&claimed.messages), ["c1"]);
    play.done(&Draft::of(&claimed)).await;
    assert_eq!(
        blocked_code(&play, &run).await,
        Some(BlockedCode::DeadLetter),
        "a commit does not unblock it"
    );
}

/// A held node that is no task has no letter: its mark is among the names the run awaits.
pub async fn a_run_that_awaits_a_held_node_is_blocked(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let mark = Blocked::mark("pay", Timestamp(1_700_000_000_000));
    let run = play.waiting("r", |draft| draft.awaiting(&["go", &mark])).await;
    play.waiting("other", |draft| draft.awaiting(&["go"])).await;
    stage.clock().advance(secs(301));
    let report = play.upkeep(Upkeep::FindStuck { idle: secs(300), limit: 100 }).await;
    assert_eq!(report.stuck, [], "somebody knows what it waits for");
    let blocked = play.picture(&run).await.summary.blocked.unwrap();
    assert_eq!((blocked.code, blocked.since), (BlockedCode::DeadLetter, Timestamp(1_700_000_000_000)));
    assert_eq!(blocked.detail, "node pay has failed and is held");
    let listed = async || {
        let query = RunQuery { tenant: play.tenant.clone(), blocked: true, limit: 10, ..RunQuery::default() };
        let page = play.world.list_runs(query).await.unwrap();
        page.rows.into_iter().map(|row| (row.id, row.blocked)).collect::<Vec<_>>()
    };
    assert_eq!(listed().await, [(run.clone(), Some(blocked))]);
    play.deliver(&run, cancel("c1")).await;
    play.done(&Draft::of(&play.claim().await).awaiting(&["go"])).await;
    assert_eq!((blocked_code(&play, &run).await, listed().await), (None, vec![]));
}

pub async fn a_requeued_held_task_runs_again(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (run, old) = held(&play).await;
    play.order(Control::RequeueDead { task: old.id.clone() }).await;
    assert_eq!((blocked_code(&play, &run).await, play.dead().await), (None, vec![]));
    let new = play.take().await;
    assert_eq!((&new.id, &new.run, &new.input), (&old.id, &old.run, &old.input));
    assert_eq!((new.attempt, new.delivery), (1, 1), "fresh attempts");
    assert!(new.claim > old.claim, "the number still grows");
    assert_eq!(play.complete(&old).await, Finish::Stale);
    assert_eq!(play.complete(&new).await, Finish::Done);
    assert_eq!(ids(&play.claim().await.messages), ["task:1"]);
}

pub async fn a_run_is_held_until_its_last_letter_is_gone(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1).task(2)).await;
    for task in play.takes(2).await {
        play.finish(&task, exhausted(true)).await;
    }
    play.order(Control::RequeueDead { task: "r:2".into() }).await;
    assert_eq!(blocked_code(&play, &run).await, Some(BlockedCode::DeadLetter));
    play.order(Control::RequeueDead { task: "r:1".into() }).await;
    assert_eq!(blocked_code(&play, &run).await, None);
}

pub async fn a_requeued_standalone_task_runs_again(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let id = play.queue(new_task("t")).await;
    let old = play.take().await;
    play.finish(&old, exhausted(false)).await;
    play.order(Control::RequeueDead { task: id.clone() }).await;
    assert_eq!(play.dead().await, []);
    let new = play.take().await;
    assert_eq!((&new.id, new.attempt, new.delivery), (&id, 1, 1));
    assert!(new.claim > old.claim);
    assert_eq!(play.finish(&old, exhausted(false)).await, Finish::Stale);
    play.finish(&new, TaskOutcome::Completed { output: json("1") }).await;
    assert_eq!(play.task(&id).await.state, TaskState::Completed);
}

/// The run went on without the task, so it no longer needs the result.
pub async fn a_letter_of_a_live_run_that_went_on_is_not_requeued(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.waiting("r", |draft| draft.task(1)).await;
    let task = give_up(&play).await;
    let answer = play.control(Control::RequeueDead { task: task.id.clone() }).await;
    assert!(matches!(answer, Err(WorldError::Conflict(_))), "{answer:?}");
    assert_eq!(play.dead().await.len(), 1);
    // After the run has ended, the task may run detached.
    play.done(&Draft::of(&play.claim().await).completed()).await;
    play.order(Control::RequeueDead { task: task.id }).await;
    let detached = play.take().await;
    play.finish(&detached, TaskOutcome::Completed { output: json("1") }).await;
    play.nothing_to_claim().await;
}

/// The run handled the failure and failed for another reason; a result would be a second answer.
pub async fn a_letter_its_run_handled_before_it_failed_is_not_requeued(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1).awaiting(&["go"])).await;
    let task = give_up(&play).await;
    play.done(&Draft::of(&play.claim().await).settles(1, true).awaiting(&["go"])).await;
    play.deliver(&run, signal("s1", "go")).await;
    play.done(&Draft::of(&play.claim().await).failed()).await;
    let answer = play.control(Control::RequeueDead { task: task.id.clone() }).await;
    assert!(matches!(answer, Err(WorldError::Conflict(_))), "{answer:?}");
    assert_eq!(fates(&play).await, [("r:1".to_owned(), Fate::Handled, LetterStatus::Handled)]);
}

/// Fate and status of every failure, newest first.
async fn fates(play: &Play<'_>) -> Vec<(String, Fate, LetterStatus)> {
    let rows = play.failures().await;
    rows.into_iter().map(|letter| (letter.task.0, letter.fate, letter.status)).collect()
}

pub async fn a_failure_the_run_handled_is_no_dead_letter(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1)).await;
    give_up(&play).await;
    assert_eq!(fates(&play).await, [("r:1".to_owned(), Fate::Undecided, LetterStatus::Pending)]);
    play.done(&Draft::of(&play.claim().await).settles(1, true)).await;
    assert_eq!((play.dead().await, play.picture(&run).await.dead), (vec![], vec![]));
    assert_eq!(play.world.health().await.unwrap().dead_letters, 0);
    let failed = play.failures().await;
    assert_eq!((failed[0].fate, failed[0].failure.code.as_str()), (Fate::Handled, "BROKEN"));
}

pub async fn a_failure_the_run_handled_is_not_requeued(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.waiting("r", |draft| draft.task(1)).await;
    let task = give_up(&play).await;
    play.done(&Draft::of(&play.claim().await).settles(1, true).completed()).await;
    let requeue = play.control(Control::RequeueDead { task: task.id.clone() }).await;
    assert!(matches!(requeue, Err(WorldError::Conflict(_))), "{requeue:?}");
    let discard = play.control(Control::DiscardDead { task: task.id, message: None }).await;
    assert!(matches!(discard, Err(WorldError::NotFound(_))), "{discard:?}");
    play.nothing_to_take().await;
}

/// A fused commit ends the attempt and gives the run's verdict on it.
pub async fn a_fused_commit_settles_the_failure_it_writes(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.waiting("r", |draft| draft.task(1).task(2)).await;
    let request = ClaimTasks { with_runs: true, ..play.take_request(2) };
    let ClaimedTasks { tasks, mut runs, .. } = play.world.claim_tasks(request).await.unwrap();
    let mut row = runs.remove(0);
    for (task, handled) in tasks.iter().zip([true, false]) {
        let number = task.run.as_ref().unwrap().1.0;
        let finished = FinishedTask {
            task: task.id.clone(),
            claim: task.claim,
            outcome: exhausted(false),
            message: None,
        };
        let draft = Draft::to_begin(&row, &[failed_message(number)]).settles(number, handled);
        let draft = draft.with(|item| item.finished.push(finished));
        play.done(&draft).await;
        row.revision += 1;
        row.state = draft.item.state;
    }
    let found = fates(&play).await;
    let status = |task: &str| found.iter().find(|(id, ..)| id == task).map(|(.., status)| *status);
    assert_eq!(status(tasks[0].id.as_str()), Some(LetterStatus::Handled), "{found:?}");
    assert_eq!(status(tasks[1].id.as_str()), Some(LetterStatus::Pending), "{found:?}");
}

pub async fn a_task_that_lost_a_race_leaves_no_dead_letter(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1).awaiting(&["go"])).await;
    let task = play.take().await;
    play.deliver(&run, signal("s1", "go")).await;
    play.done(&Draft::of(&play.claim().await).settles(1, true)).await;
    play.finish(&task, exhausted(false)).await;
    assert_eq!(play.dead().await, []);
    assert_eq!(fates(&play).await, [("r:1".to_owned(), Fate::Handled, LetterStatus::Handled)]);
}

/// The run first handled the failure and then failed because of it.
pub async fn a_run_may_fail_of_what_it_had_handled(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1).awaiting(&["go"])).await;
    give_up(&play).await;
    play.done(&Draft::of(&play.claim().await).settles(1, true).awaiting(&["go"])).await;
    play.deliver(&run, signal("s1", "go")).await;
    play.done(&Draft::of(&play.claim().await).settles(1, false).failed()).await;
    assert_eq!(fates(&play).await, [("r:1".to_owned(), Fate::FailedRun, LetterStatus::Pending)]);
    // The failure is already answered, so the task is not requeued.
    let answer = play.control(Control::RequeueDead { task: "r:1".into() }).await;
    assert!(matches!(answer, Err(WorldError::Conflict(_))), "{answer:?}");
}

pub async fn the_fate_of_a_failure_follows_its_run(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let fate_after = async |name: &str, end: fn(Draft) -> Draft| {
        play.waiting(name, |draft| draft.task(1)).await;
        give_up(&play).await;
        play.done(&end(Draft::of(&play.claim().await))).await;
        play.failures().await[0].fate
    };
    assert_eq!(fate_after("on", |draft| draft.awaiting(&["go"])).await, Fate::Undecided);
    assert_eq!(fate_after("done", Draft::completed).await, Fate::Unread);
    assert_eq!(fate_after("called-off", Draft::cancelled).await, Fate::Unread);
    assert_eq!(fate_after("failed", |draft| draft.settles(1, false).failed()).await, Fate::FailedRun);
    play.queue(new_task("alone")).await;
    play.finish(&play.take().await, exhausted(false)).await;
    assert_eq!(play.failures().await[0].fate, Fate::Standalone);
    held(&play).await;
    assert_eq!(play.failures().await[0].fate, Fate::Held);
    // A failed run consumes late messages when it is reopened.
    play.waiting("late", |draft| draft.task(1).awaiting(&["go"])).await;
    play.deliver(&"late".into(), signal("s1", "go")).await;
    play.done(&Draft::of(&play.claim().await).failed()).await;
    give_up(&play).await;
    assert_eq!(play.failures().await[0].fate, Fate::Undecided);
}

pub async fn a_requeued_task_of_a_run_that_is_over_stands_alone(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    for (name, end) in [("done", Draft::completed as fn(Draft) -> Draft), ("failed", Draft::failed)] {
        let run = play.waiting(name, |draft| draft.task(1).awaiting(&["go"])).await;
        let old = give_up(&play).await;
        play.done(&Draft::of(&play.claim().await).awaiting(&["go"])).await;
        play.deliver(&run, signal("s1", "go")).await;
        play.done(&end(Draft::of(&play.claim().await))).await;
        assert_eq!(play.failures().await[0].fate, Fate::Unread);
        play.order(Control::RequeueDead { task: old.id.clone() }).await;
        let new = play.take().await;
        assert_eq!((&new.id, &new.run), (&old.id, &None));
        assert!(new.claim > old.claim);
        play.finish(&new, TaskOutcome::Completed { output: json("1") }).await;
        assert_eq!(play.task(&old.id).await.state, TaskState::Completed);
        assert_eq!(play.picture(&run).await.inbox, [], "its run is not told");
    }
}

pub async fn a_letter_keeps_what_became_of_it(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1)).await;
    let task = give_up(&play).await;
    play.done(&Draft::of(&play.claim().await).completed()).await;
    stage.clock().advance(secs(1));
    let requeued_at = play.now().await;
    play.order(Control::RequeueDead { task: task.id.clone() }).await;
    assert_eq!(play.dead().await, []);
    stage.clock().advance(secs(1));
    play.finish(&play.take().await, exhausted(false)).await;
    assert_eq!((&play.dead().await[0].run, play.dead().await[0].fate), (&Some(run), Fate::Unread));
    stage.clock().advance(secs(1));
    play.order(Control::DiscardDead { task: task.id.clone(), message: None }).await;
    let letter = play.failures().await.remove(0);
    assert_eq!((letter.status, letter.history.len()), (LetterStatus::Discarded, 4));
    let statuses: Vec<LetterStatus> = letter.history.iter().map(|change| change.status).collect();
    use LetterStatus::*;
    assert_eq!(statuses, [Pending, Reprocessed, Pending, Discarded]);
    let by: Vec<Option<Actor>> = letter.history.iter().map(|change| change.by.clone()).collect();
    let ann = Some(Actor("user:ann".to_owned()));
    assert_eq!(by, [None, ann.clone(), None, ann]);
    assert_eq!(letter.history[1].at, requeued_at);
    // A letter is decided once.
    let again = play.control(Control::RequeueDead { task: task.id }).await;
    assert!(matches!(again, Err(WorldError::NotFound(_))), "{again:?}");
}

pub async fn a_discarded_letter_is_gone(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let id = play.queue(new_task("t")).await;
    play.finish(&play.take().await, exhausted(false)).await;
    play.order(Control::DiscardDead { task: id, message: None }).await;
    assert_eq!(play.dead().await, []);
    play.nothing_to_take().await;
}

pub async fn a_discarded_letter_tells_the_run_held_for_it(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (run, task) = held(&play).await;
    let message = Some(failed_message(1));
    play.order(Control::DiscardDead { task: task.id.clone(), message }).await;
    assert_eq!((blocked_code(&play, &run).await, play.dead().await), (None, vec![]));
    assert_eq!(play.find_task(&task.id).await, None);
    assert_eq!(ids(&play.claim().await.messages), ["task:1"]);
}

pub async fn an_unknown_letter_is_not_found(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let requeue = play.control(Control::RequeueDead { task: "nothing".into() }).await;
    assert!(matches!(requeue, Err(WorldError::NotFound(_))), "{requeue:?}");
    let discard = play.control(Control::DiscardDead { task: "nothing".into(), message: None }).await;
    assert!(matches!(discard, Err(WorldError::NotFound(_))), "{discard:?}");
}

pub async fn letters_are_found_by_run_and_queue(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1)).await;
    give_up(&play).await;
    stage.clock().advance(secs(1));
    play.queue(NewTask { options: in_queue("mail"), ..new_task("m") }).await;
    let request = ClaimTasks { queues: vec![("mail".to_owned(), 1)], ..play.take_request(0) };
    let mail = play.world.claim_tasks(request).await.unwrap().tasks;
    play.finish(&mail[0], exhausted(false)).await;
    let find = async |run: Option<RunId>, queue: Option<&str>| {
        let queue = queue.map(str::to_owned);
        let query = DeadQuery { tenant: play.tenant.clone(), run, queue, limit: 9, ..DeadQuery::default() };
        let letters = play.world.list_dead(query).await.unwrap().rows;
        letters.into_iter().map(|letter| letter.task.0).collect::<Vec<_>>()
    };
    assert_eq!(find(None, None).await, ["m", "r:1"], "newest first");
    assert_eq!(find(Some(run), None).await, ["r:1"]);
    assert_eq!(find(None, Some("mail")).await, ["m"]);
    assert_eq!(find(Some("nobody".into()), None).await, [""; 0]);
}
