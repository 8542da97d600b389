//! Tasks and their attempts: counters, stored fields, and which claims may finish.

use rhythm_core::{CommandId, TaskOptions};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

fn retry(code: &str, delay: u64) -> TaskOutcome {
    TaskOutcome::Retry { failure: failure(code), delay: secs(delay) }
}

pub async fn the_same_task_again_exists(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.queue(new_task("t")).await;
    let named = NewTask { name: "other".to_owned(), ..new_task("t") };
    let fed = NewTask { input: json("0"), ..new_task("t") };
    use Creation::{Conflict, Created, Exists};
    let wishes = vec![new_task("t"), named.clone(), new_task("new"), fed.clone()];
    assert_eq!(play.enqueue(wishes.clone()).await, [Exists, Conflict, Created, Conflict]);
    let task = play.take().await;
    play.finish(&task, TaskOutcome::Completed { output: json("1") }).await;
    assert_eq!(play.enqueue(wishes).await, [Exists, Conflict, Exists, Conflict], "also when it has ended");
}

pub async fn a_standalone_task_ends_with_its_output(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let created_at = play.now().await;
    let id = play.queue(NewTask { trace: Some("00-t-01".to_owned()), ..new_task("t") }).await;
    stage.clock().advance(secs(3));
    let task = play.take().await;
    assert_eq!(
        (&task.id, &task.run, task.name.as_str(), &task.input),
        (&id, &None, "work", &new_task("t").input)
    );
    assert_eq!((task.claim, task.attempt, task.delivery, &task.progress), (1, 1, 1, &None));
    assert_eq!(
        (task.created_at, task.deadline_at, task.trace.as_deref()),
        (created_at, None, Some("00-t-01"))
    );
    let running = play.task(&id).await;
    assert_eq!((running.state, running.worker.as_deref()), (TaskState::Running, Some("w1")));

    play.finish(&task, TaskOutcome::Completed { output: json("[42]") }).await;
    let ended = play.task(&id).await;
    assert_eq!((ended.state, ended.output, ended.failure), (TaskState::Completed, Some(json("[42]")), None));
    assert_eq!(ended.since, play.now().await);
    play.nothing_to_take().await;
}

/// Every listing of a task shows its label and item, at each attempt and in its dead letter.
pub async fn a_task_is_known_by_its_label_and_item(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let sign = |options: &TaskOptions| (options.label.clone(), options.item);
    let signed = |task: NewTask, label: &str, item| {
        let label = Some(label.to_owned());
        NewTask { options: TaskOptions { label, item, ..TaskOptions::default() }, ..task }
    };
    let run = play
        .waiting("r", |draft| draft.task_as(1, |task| signed(task, "Pay \u{201e}the\u{201c} bill", Some(3))))
        .await;
    let expected = (Some("Pay \u{201e}the\u{201c} bill".to_owned()), Some(3));
    assert_eq!(sign(&play.picture(&run).await.tasks[0].options), expected);
    let listed = TaskQuery { tenant: play.tenant.clone(), limit: 9, ..TaskQuery::default() };
    assert_eq!(sign(&play.world.list_tasks(listed).await.unwrap().rows[0].options), expected);
    let first = play.take().await;
    assert_eq!(sign(&first.options), expected);
    play.finish(&first, retry("FLAKY", 10)).await;
    play.pass(secs(11)).await;
    let second = play.take().await;
    assert_eq!(sign(&second.options), expected);
    play.finish(&second, TaskOutcome::Exhausted { failure: failure("BROKEN"), hold: false }).await;
    assert_eq!(sign(&play.dead().await[0].options), expected);
    assert_eq!(sign(&play.picture(&run).await.dead[0].options), expected);

    let alone = play.queue(signed(new_task("alone"), "Alone", None)).await;
    let task = play.take().await;
    play.finish(&task, TaskOutcome::Completed { output: json("1") }).await;
    assert_eq!(
        sign(&play.task(&alone).await.options),
        (Some("Alone".to_owned()), None),
        "also when it has ended"
    );
}

pub async fn a_retry_is_a_new_attempt_later(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1)).await;
    let first = play.take().await;
    assert_eq!(play.finish(&first, retry("FLAKY", 10)).await, Finish::Done);
    let failed_at = play.now().await;
    assert_eq!(play.task(&first.id).await.state, TaskState::Delayed);
    play.pass(secs(9)).await;
    play.nothing_to_take().await;
    play.nothing_to_claim().await;

    play.pass(secs(1)).await;
    let second = play.take().await;
    assert_eq!((second.claim, second.attempt, second.delivery), (2, 2, 1));
    let attempts = play.world.attempts(&play.tenant, &run).await.unwrap();
    assert_eq!(attempts.len(), 1, "{attempts:?}");
    let row = &attempts[0];
    assert_eq!((&row.task, row.attempt, row.delivery, row.worker.as_str()), (&first.id, 1, 1, "w1"));
    assert_eq!((row.ended_at, row.next_at), (failed_at, Some(failed_at.plus(secs(10)))));
    assert_eq!(row.failure, failure("FLAKY"));
}

pub async fn attempts_are_listed_oldest_first(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1)).await;
    for code in ["A", "B", "C"] {
        assert_eq!(play.finish(&play.take().await, retry(code, 1)).await, Finish::Done);
        play.pass(secs(1)).await;
    }
    let last = play.take().await;
    assert_eq!((last.attempt, last.claim), (4, 4));
    play.complete(&last).await;
    let attempts = play.world.attempts(&play.tenant, &run).await.unwrap();
    let codes: Vec<_> = attempts.iter().map(|row| (row.attempt, row.failure.code.as_str())).collect();
    assert_eq!(codes, [(1, "A"), (2, "B"), (3, "C")], "the last word is in the history instead");
}

pub async fn a_redelivery_is_the_same_attempt(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.queue(new_task("t")).await;
    for delivery in 1..=3 {
        let task = play.take().await;
        assert_eq!((task.claim, task.attempt, task.delivery), (u64::from(delivery), 1, delivery));
        play.pass(secs(31)).await;
    }
}

pub async fn a_released_task_is_ready_and_not_counted(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let id = play.queue(new_task("t")).await;
    let task = play.take().await;
    assert_eq!(play.finish(&task, TaskOutcome::Released).await, Finish::Done);
    assert_eq!(play.task(&id).await.state, TaskState::Ready);
    let again = play.take().await;
    assert_eq!((again.claim, again.attempt, again.delivery), (2, 1, 1));
    assert_eq!(play.finish(&task, TaskOutcome::Released).await, Finish::Stale);
}

pub async fn a_task_of_a_run_answers_to_its_run(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1)).await;
    let task = play.take().await;
    assert_eq!(task.run, Some((run.clone(), CommandId(1))));
    assert_eq!(play.complete(&task).await, Finish::Done);
    assert_eq!(play.find_task(&task.id).await, None);
    let claimed = play.claim().await;
    assert_eq!(claimed.messages[0].body, result_of(&task).body);
    assert_eq!((claimed.messages[0].at, claimed.run.arrived), (play.now().await, 1));
    assert_eq!(play.complete(&task).await, Finish::Stale, "one answer, once");
}

pub async fn a_stale_task_claim_cannot_finish(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    let run = play.waiting("r", |draft| draft.task(1)).await;
    let task = play.take().await;
    let before = play.stored(&run).await;
    for claim in [0, 2] {
        assert_eq!(play.complete(&ClaimedTask { claim, ..task.clone() }).await, Finish::Stale);
    }
    assert_eq!(other.complete(&task).await, Finish::Stale, "the number alone is not enough");
    let unknown = ClaimedTask { id: "r:9".into(), ..task.clone() };
    assert_eq!(play.complete(&unknown).await, Finish::Stale);
    assert_eq!(play.stored(&run).await, before);
    assert_eq!(play.complete(&task).await, Finish::Done);
}

pub async fn a_taken_over_task_refuses_its_old_holder(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    let run = play.waiting("r", |draft| draft.task(1)).await;
    let old = play.take().await;
    play.pass(secs(31)).await;
    let new = other.take().await;
    assert_eq!((new.id.clone(), new.claim), (old.id.clone(), old.claim + 1));
    let before = play.stored(&run).await;
    for outcome in [retry("LATE", 1), TaskOutcome::Released, TaskOutcome::Completed { output: json("1") }] {
        assert_eq!(play.finish(&old, outcome).await, Finish::Stale);
    }
    let exhausted = TaskOutcome::Exhausted { failure: failure("LATE"), hold: true };
    assert_eq!(play.finish(&old, exhausted).await, Finish::Stale);
    assert_eq!(play.stored(&run).await, before);
    assert_eq!(other.complete(&new).await, Finish::Done);
}

pub async fn a_late_finish_is_accepted_while_nobody_took_over(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.waiting("r", |draft| draft.task(1)).await;
    let task = play.take().await;
    stage.clock().advance(secs(3600));
    assert_eq!(play.complete(&task).await, Finish::Done);
    assert_eq!(ids(&play.claim().await.messages), ["task:1"]);
}

pub async fn finished_tasks_of_one_request_are_judged_alone(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.enqueue(["a", "b", "c"].map(new_task).to_vec()).await;
    let tasks = play.takes(3).await;
    let finished = tasks.iter().map(|task| FinishedTask {
        task: task.id.clone(),
        claim: if task.id.as_str() == "b" { 7 } else { task.claim },
        outcome: TaskOutcome::Completed { output: json("1") },
        message: None,
    });
    assert_eq!(play.finish_all(finished.collect()).await, [Finish::Done, Finish::Stale, Finish::Done]);
    assert_eq!(play.task(&"b".into()).await.state, TaskState::Running);
}

pub async fn finishing_and_taking_over_at_once_has_one_winner(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    for round in 0..25 {
        play.queue(new_task(&format!("t{round}"))).await;
        let task = play.take().await;
        stage.clock().advance(secs(31));
        let output = json("1");
        let (finish, mut taken) =
            tokio::join!(play.finish(&task, TaskOutcome::Completed { output }), async {
                other.sweep().await;
                other.takes(1).await
            });
        if taken.is_empty() {
            // The refused worker may still have held a lock on the task.
            taken = other.takes(1).await;
        }
        assert_ne!(finish == Finish::Done, taken.len() == 1, "round {round}: {finish:?} {taken:?}");
        if let Some(taken) = taken.first() {
            assert_eq!((&taken.id, taken.claim), (&task.id, 2));
            assert_eq!(other.finish(taken, TaskOutcome::Completed { output: json("2") }).await, Finish::Done);
        }
    }
}

/// The call is repeated because its answer was lost: nothing more is claimed, and it is not counted twice.
pub async fn a_repeated_claim_gets_the_tasks_it_took(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    for id in ["a", "b", "c"] {
        play.queue(new_task(id)).await;
    }
    let ask = |number, again| ClaimTasks { ask: Ask { number, again }, ..play.take_request(2) };
    let first = play.world.claim_tasks(ask(7, false)).await.unwrap().tasks;
    assert_eq!(first.len(), 2);
    stage.clock().advance(secs(20));
    assert_eq!(play.world.claim_tasks(ask(7, true)).await.unwrap().tasks, first);
    stage.clock().advance(secs(20));
    play.sweep().await;
    let done = TaskOutcome::Completed { output: json("1") };
    assert_eq!(play.finish(&first[0], done).await, Finish::Done, "the claim was renewed");
    assert_eq!(play.world.claim_tasks(ask(7, true)).await.unwrap().tasks, first[1..]);
    let elsewhere = ClaimTasks { worker: other.worker.clone(), ..ask(7, true) };
    let found = other.world.claim_tasks(elsewhere).await.unwrap().tasks;
    assert_eq!((found.len(), found[0].claim), (1, 1), "another worker's calls are its own");
    assert!(play.world.claim_tasks(ask(8, true)).await.unwrap().tasks.is_empty(), "nothing is ready");
}

/// A task claimed by a commit belongs to no claim request.
pub async fn a_repeated_claim_does_not_find_what_a_commit_took(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.start("r").await;
    let claimed = play.claim().await;
    play.done(&Draft::of(&claimed).own_task(1)).await;
    let ask = Ask { number: 0, again: true };
    let request = ClaimTasks { ask, ..play.take_request(2) };
    assert!(play.world.claim_tasks(request).await.unwrap().tasks.is_empty());
}

pub async fn results_finished_at_once_all_arrive(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    play.waiting("r", |draft| (1..=16).fold(draft, Draft::task)).await;
    let (mine, theirs) = tokio::join!(play.takes(8), other.takes(8));
    let finishing =
        mine.iter().map(|task| play.complete(task)).chain(theirs.iter().map(|task| other.complete(task)));
    let finishes = futures_util::future::join_all(finishing).await;
    assert_eq!(finishes, [Finish::Done; 16]);
    let claimed = play.claim().await;
    let found: std::collections::BTreeSet<_> = ids(&claimed.messages).into_iter().collect();
    assert_eq!((claimed.messages.len(), found.len(), claimed.run.arrived), (16, 16, 16));
}

pub async fn claimed_tasks_bring_the_rows_of_their_runs(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1).task(2)).await;
    play.waiting("ended", |draft| draft.task(1).completed()).await;
    play.queue(new_task("alone")).await;
    let request = ClaimTasks { with_runs: true, ..play.take_request(9) };
    let claimed = play.world.claim_tasks(request).await.unwrap();
    assert_eq!(claimed.tasks.len(), 4);
    assert_eq!(claimed.runs, [play.picture(&run).await.row], "each live run once");
}

pub async fn options_travel_with_their_task(stage: &dyn Stage) {
    use rhythm_core::{Backoff, OnExhausted, RetryPolicy};
    let play = Play::on(stage).await;
    let options = TaskOptions {
        queue: "default".to_owned(),
        priority: -3,
        retries: Some(RetryPolicy {
            max_attempts: 9,
            backoff: Backoff::Linear,
            multiplier: 1.25,
            no_retry_on: vec!["FATAL".to_owned()],
            ..RetryPolicy::default()
        }),
        timeout: Some(secs(7)),
        deadline: Some(secs(70)),
        heartbeat_timeout: Some(secs(3)),
        on_exhausted: OnExhausted::Hold,
        ..TaskOptions::default()
    };
    let id = play.queue(NewTask { options: options.clone(), ..new_task("t") }).await;
    let deadline_at = Some(play.now().await.plus(secs(70)));
    let task = play.take().await;
    assert_eq!((&task.options, task.deadline_at), (&options, deadline_at));
    let stored = play.task(&id).await;
    assert_eq!((stored.options, stored.deadline_at), (options, deadline_at));
}

/// A worker that lost a task and claimed it again may send both results at once.
pub async fn an_old_claim_beside_the_current_one_changes_nothing(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1)).await;
    let old = play.take().await;
    play.pass(secs(31)).await;
    let new = play.take().await;
    let result = |task: &ClaimedTask, output: &str| {
        let mut finished = completed(task);
        finished.outcome = TaskOutcome::Completed { output: json(output) };
        let mut message = result_of(task);
        if let rhythm_core::MessageBody::TaskCompleted(body) = &mut message.body {
            body.output = json(output);
        }
        FinishedTask { message: Some(message), ..finished }
    };
    let sent = vec![result(&old, "\"old\""), result(&new, "\"new\""), result(&new, "\"again\"")];
    let expected = sent[1].message.clone().map(|message| message.body);
    assert_eq!(play.finish_all(sent).await, [Finish::Stale, Finish::Done, Finish::Stale]);
    let inbox = play.picture(&run).await.inbox;
    assert_eq!(inbox.into_iter().map(|message| message.body).collect::<Vec<_>>(), Vec::from_iter(expected));
}
