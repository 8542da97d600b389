//! Background duties besides timers and liveness: retention, stuck runs, unserved runs, reports.

use rhythm_core::{BlockedCode, CommandId, Millis, RunId};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

pub async fn retention_removes_all_of_a_run(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1).task(2)).await;
    let tasks = play.takes(2).await;
    play.finish(&tasks[0], TaskOutcome::Retry { failure: failure("X"), delay: secs(1) }).await;
    play.finish(&tasks[1], TaskOutcome::Exhausted { failure: failure("X"), hold: false }).await;
    play.deliver(&run, cancel("c1")).await;
    play.done(&Draft::of(&play.claim().await).settles(2, true).completed()).await;
    play.pass(secs(1)).await;
    play.complete(&play.take().await).await;
    assert_eq!(play.failures().await.len(), 1);

    // Whole months, so that worlds with partitions have dropped theirs.
    stage.clock().advance(days(100));
    play.upkeep(Upkeep::Prepare).await;
    play.upkeep(Upkeep::Retain { keep: days(30), keep_failed: days(30), limit: 1_000 }).await;
    assert_eq!(play.stored(&run).await, (None, vec![]));
    assert_eq!(play.world.attempts(&play.tenant, &run).await.unwrap(), []);
    assert_eq!(play.failures().await, []);
    assert_eq!(play.deliver(&run, cancel("c1")).await, Delivered::NotFound);
    // Keys live as long as the run: now the id is free again, and no data of the old run belongs to the new
    // one.
    play.start("r").await;
    assert_eq!(play.deliver(&run, cancel("c1")).await, Delivered::Accepted);
    assert_eq!(ids(&play.claim().await.messages), ["start", "c1"]);
}

pub async fn retention_removes_ended_standalone_tasks(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (done, dead) = (play.queue(new_task("done")).await, play.queue(new_task("dead")).await);
    let tasks = play.takes(2).await;
    play.finish(&tasks[0], TaskOutcome::Completed { output: json("1") }).await;
    play.finish(&tasks[1], TaskOutcome::Exhausted { failure: failure("X"), hold: false }).await;
    play.upkeep(Upkeep::Retain { keep: days(30), keep_failed: days(30), limit: 1_000 }).await;
    assert_eq!(play.task(&done).await.state, TaskState::Completed);
    assert_eq!(play.dead().await.len(), 1);
    play.order(Control::DiscardDead { task: dead.clone(), message: None }).await;
    stage.clock().advance(days(100));
    play.upkeep(Upkeep::Prepare).await;
    play.upkeep(Upkeep::Retain { keep: days(30), keep_failed: days(30), limit: 1_000 }).await;
    assert_eq!((play.find_task(&done).await, play.find_task(&dead).await), (None, None));
    assert_eq!(play.failures().await, []);
}

/// Retention of 30 days, and 90 days for failed runs.
fn keep() -> Upkeep {
    Upkeep::Retain { keep: days(30), keep_failed: days(90), limit: 1_000 }
}

pub async fn a_pending_letter_of_a_standalone_task_is_kept(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let task = play.queue(new_task("t")).await;
    play.finish(&play.take().await, TaskOutcome::Retry { failure: failure("X"), delay: secs(0) }).await;
    play.finish(&play.take().await, TaskOutcome::Exhausted { failure: failure("X"), hold: false }).await;
    stage.clock().advance(days(400));
    play.upkeep(Upkeep::Prepare).await;
    play.upkeep(keep()).await;
    assert_eq!((play.task(&task).await.state, play.dead().await.len()), (TaskState::Failed, 1));
    play.order(Control::RequeueDead { task: task.clone() }).await;
    assert_eq!(play.take().await.id, task);
}

pub async fn a_pending_letter_keeps_its_run_and_the_runs_above_it(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.waiting("r1", Draft::completed).await;
    let top = play.waiting("r", |draft| draft.child(1)).await;
    let middle = top.child(CommandId(1));
    play.done(&Draft::of(&play.claim().await).child(1).child(2)).await;
    let (below, other) = (middle.child(CommandId(1)), middle.child(CommandId(2)));
    for claimed in play.claims(2).await {
        let draft = Draft::of(&claimed);
        play.done(&if claimed.run.id == below { draft.task(7) } else { draft.completed() }).await;
    }
    let task = play.take().await;
    play.finish(&task, TaskOutcome::Retry { failure: failure("X"), delay: secs(0) }).await;
    let task = play.take().await;
    play.finish(&task, TaskOutcome::Exhausted { failure: failure("X"), hold: false }).await;
    for run in [&below, &middle, &top] {
        play.deliver(run, cancel("stop")).await;
        play.done(&Draft::of(&play.claim().await).completed()).await;
    }
    let history = play.history(&below).await;
    stage.clock().advance(days(400));
    play.upkeep(Upkeep::Prepare).await;
    play.upkeep(keep()).await;
    assert_eq!((play.find(&other).await, play.find(&"r1".into()).await), (None, None));
    for run in [&below, &middle, &top] {
        assert!(play.find(run).await.is_some(), "{run} is kept");
    }
    assert_eq!(play.history(&below).await, history);
    assert_eq!(play.world.attempts(&play.tenant, &below).await.unwrap().len(), 1);
    assert_eq!(play.world.health().await.unwrap().kept_runs, 1);
    // Its idempotency key is kept too: the same start finds the same run.
    assert_eq!(play.create(vec![new_run("r")]).await, [Creation::Exists]);
    play.order(Control::DiscardDead { task: task.id, message: None }).await;
    play.upkeep(keep()).await;
    for run in [&below, &middle, &top] {
        assert_eq!(play.find(run).await, None, "nothing keeps {run}");
    }
    assert_eq!((play.history(&below).await, play.failures().await), (vec![], vec![]));
}

pub async fn a_deleted_run_leaves_nothing(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"]).failed()).await;
    let below = play.start_as(run_below("r", 1)).await;
    play.done(&Draft::of(&play.claim().await).completed()).await;
    let other = play.waiting("r2", Draft::completed).await;
    play.order(Control::DeleteRun { run: run.clone(), letters: false }).await;
    for gone in [&run, &below] {
        assert_eq!((play.find(gone).await, play.history(gone).await), (None, vec![]));
    }
    assert!(play.find(&other).await.is_some());
    let again = play.control(Control::DeleteRun { run, letters: true }).await;
    assert!(matches!(again, Err(WorldError::NotFound(_))), "{again:?}");
    // Its id is free.
    assert_eq!(play.create(vec![new_run("r")]).await, [Creation::Created]);
}

pub async fn what_is_in_use_is_not_deleted(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft).await;
    let delete = |letters| Control::DeleteRun { run: run.clone(), letters };
    let conflict = async |letters, names: &str| {
        let refused = play.control(delete(letters)).await;
        assert!(
            matches!(&refused, Err(WorldError::Conflict(why)) if why.contains(names)),
            "{names}: {refused:?}"
        );
    };
    conflict(true, "run r has not ended").await;
    play.deliver(&run, cancel("stop")).await;
    let claimed = play.claim().await;
    play.done(&Draft::of(&claimed).task(1).completed()).await;
    conflict(true, "task r:1 is still under way").await;
    let task = play.take().await;
    assert_eq!(
        play.finish(&task, TaskOutcome::Exhausted { failure: failure("X"), hold: false }).await,
        Finish::Done
    );
    conflict(false, "dead letter r:1").await;
    let below = play.start_as(run_below("r", 1)).await;
    conflict(true, "run r.1 below run r has not ended").await;
    let claimed = play.claim().await;
    play.done(&Draft::of(&claimed).completed()).await;
    conflict(false, "dead letter r:1").await;
    play.order(delete(true)).await;
    assert_eq!((play.find(&run).await, play.find(&below).await), (None, None));
    assert_eq!(play.failures().await, vec![]);
}

pub async fn a_failed_run_is_kept_longer_unless_it_is_dismissed(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let failed = play.waiting("failed", |draft| draft.awaiting(&["go"]).failed()).await;
    let dismissed = play.waiting("dismissed", Draft::failed).await;
    let done = play.waiting("done", Draft::completed).await;
    let history = play.history(&failed).await;
    play.order(Control::DismissRun { run: dismissed.clone() }).await;
    let again = play.control(Control::DismissRun { run: dismissed.clone() }).await;
    assert_eq!(again, Ok(Controlled::Unchanged));
    assert_eq!(play.picture(&dismissed).await.dismissed_at, Some(play.now().await));
    let refused = play.control(Control::DismissRun { run: done.clone() }).await;
    assert!(matches!(refused, Err(WorldError::Conflict(_))), "{refused:?}");
    let unknown = play.control(Control::DismissRun { run: "nobody".into() }).await;
    assert!(matches!(unknown, Err(WorldError::NotFound(_))), "{unknown:?}");
    stage.clock().advance(days(80));
    play.upkeep(Upkeep::Prepare).await;
    play.upkeep(keep()).await;
    assert_eq!((play.find(&dismissed).await, play.find(&done).await), (None, None));
    assert_eq!(play.history(&failed).await, history);
    // It can still be reopened, and its history continues where it ended.
    let revision = play.picture(&failed).await.summary.revision;
    let (reason, redeliver) = ("late".to_owned(), vec![signal("s1", "go")]);
    play.order(Control::Reopen {
        run: failed.clone(),
        revision,
        reason,
        requeue: vec![],
        redeliver,
        fresh: None,
    })
    .await;
    play.done(&Draft::of(&play.claim().await).failed()).await;
    let seqs: Vec<u64> = play.history(&failed).await.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    stage.clock().advance(days(91));
    play.upkeep(Upkeep::Prepare).await;
    play.upkeep(keep()).await;
    assert_eq!(play.stored(&failed).await, (None, vec![]));
}

pub async fn retention_never_touches_what_is_alive(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"])).await;
    let task = play.queue(new_task("t")).await;
    let before = play.stored(&run).await;
    stage.clock().advance(days(400));
    play.upkeep(Upkeep::Prepare).await;
    play.upkeep(Upkeep::Retain { keep: days(1), keep_failed: days(1), limit: 1_000 }).await;
    assert_eq!(play.stored(&run).await, before);
    assert_eq!(play.take().await.id, task);
    play.deliver(&run, signal("s1", "go")).await;
    play.done(&Draft::of(&play.claim().await).completed()).await;
    assert_eq!(play.history(&run).await.len(), 3);
}

/// The id of a removed run is free again: no task of the old run may answer to the new one.
pub async fn a_run_is_kept_while_its_tasks_are_under_way(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"]).task(1).task(2)).await;
    let tasks = play.takes(2).await;
    play.finish(&tasks[1], TaskOutcome::Exhausted { failure: failure("X"), hold: true }).await;
    play.deliver(&run, signal("s1", "go")).await;
    play.done(&Draft::of(&play.claim().await).failed()).await;
    stage.clock().advance(days(100));
    play.upkeep(Upkeep::Prepare).await;
    let retain = Upkeep::Retain { keep: days(30), keep_failed: days(30), limit: 1_000 };
    play.upkeep(retain.clone()).await;
    assert!(play.find(&run).await.is_some(), "a task of it runs");
    assert_eq!(play.finish(&tasks[0], TaskOutcome::Cancelled { failure: failure("X") }).await, Finish::Done);
    play.upkeep(retain.clone()).await;
    assert!(play.find(&run).await.is_some(), "somebody has to decide about a task of it");
    play.order(Control::DiscardDead { task: "r:2".into(), message: None }).await;
    play.upkeep(retain).await;
    assert_eq!(play.find(&run).await, None);
    assert_eq!((play.find_task(&"r:2".into()).await, play.dead().await), (None, vec![]));
}

async fn stuck(play: &Play<'_>) -> Vec<RunId> {
    let report = play.upkeep(Upkeep::FindStuck { idle: secs(300), limit: 100 }).await;
    report.stuck.into_iter().map(|(_, run)| run).collect()
}

pub async fn a_run_nothing_will_wake_is_reported_once(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft).await;
    stage.clock().advance(secs(299));
    assert_eq!(stuck(&play).await, []);
    stage.clock().advance(secs(2));
    assert_eq!(stuck(&play).await, std::slice::from_ref(&run));
    assert_eq!(stuck(&play).await, []);
    stage.clock().advance(secs(600));
    assert_eq!(stuck(&play).await, []);
    // The run moves, and is stuck again later.
    play.deliver(&run, cancel("c1")).await;
    play.done(&Draft::of(&play.claim().await)).await;
    assert_eq!(stuck(&play).await, []);
    stage.clock().advance(secs(301));
    assert_eq!(stuck(&play).await, [run]);
}

pub async fn a_run_with_a_reason_to_wait_is_not_stuck(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let later = play.now().await.plus(days(9));
    play.waiting("signal", |draft| draft.awaiting(&["go"])).await;
    play.waiting("approval", |draft| draft.awaiting(&["@approval:1"])).await;
    play.waiting("timer", |draft| draft.timer(1, later)).await;
    play.waiting("task", |draft| draft.task(1)).await;
    let paused = play.waiting("paused", |draft| draft).await;
    play.order(Control::PauseRun { run: paused, reason: String::new() }).await;
    play.waiting("parent", |draft| draft.child(1)).await;
    let child = play.claim().await;
    play.done(&Draft::of(&child).awaiting(&["go"])).await;
    play.start("aside").await;
    let aside = ReleaseOutcome::Aside(blocked(BlockedCode::Quarantined));
    play.release(&play.claim().await, aside).await;
    play.waiting("ended", Draft::completed).await;
    play.start_as(NewRun { delay: days(3), ..new_run("delayed") }).await;
    play.start("ready").await;
    stage.clock().advance(secs(3600));
    assert_eq!(stuck(&play).await, []);
}

pub async fn ready_runs_nobody_can_step_are_marked(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let code = |id: &str, workflow: &str| NewRun {
        kind: rhythm_core::WorkflowKind::Code,
        workflow: workflow.to_owned(),
        ..new_run(id)
    };
    play.create(vec![code("served", "orders"), code("unserved", "bills"), new_run("drill")]).await;
    let worker = WorkerRegistration { workflows: vec!["orders".to_owned()], ..card("w1") };
    play.world.extend(Extend { card: worker.clone(), ..play.beat_request(vec![]) }).await.unwrap();
    let marked = async |id: &str| play.picture(&id.into()).await.summary.blocked.map(|blocked| blocked.code);
    let mark = async || play.upkeep(Upkeep::MarkUnserved { idle: secs(10), limit: 100 }).await;
    mark().await;
    assert_eq!(marked("unserved").await, None, "not before it waited for a while");
    stage.clock().advance(secs(11));
    mark().await;
    assert_eq!(marked("unserved").await, Some(BlockedCode::NoWorker));
    assert_eq!((marked("served").await, marked("drill").await), (None, None));
    let query = RunQuery { tenant: play.tenant.clone(), blocked: true, limit: 9, ..RunQuery::default() };
    assert_eq!(play.world.list_runs(query).await.unwrap().rows.len(), 1);

    let workflows = vec!["orders".to_owned(), "bills".to_owned()];
    let card = WorkerRegistration { workflows: workflows.clone(), ..worker };
    play.world.extend(Extend { card, ..play.beat_request(vec![]) }).await.unwrap();
    mark().await;
    assert_eq!(marked("unserved").await, None);
    let request = ClaimRuns { kinds: vec![], workflows, ..play.claim_request(9) };
    assert_eq!(play.world.claim_runs(request).await.unwrap().runs.len(), 2);
}

pub async fn runs_with_a_task_nobody_can_do_are_marked(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let able =
        WorkerRegistration { tasks: vec!["known".into()], queues: vec!["default".into()], ..card("w1") };
    play.world.extend(Extend { card: able.clone(), ..play.beat_request(vec![]) }).await.unwrap();
    for (run, name, queue) in
        [("served", "known", "default"), ("misspelt", "knwon", "default"), ("elsewhere", "known", "far")]
    {
        let change = |task| NewTask { name: name.to_owned(), options: in_queue(queue), ..task };
        play.waiting(run, |draft| draft.task_as(1, change)).await;
    }
    let mark = async || play.upkeep(Upkeep::MarkUnserved { idle: secs(10), limit: 100 }).await;
    let blocked = async |run: &str| play.picture(&run.into()).await.summary.blocked;
    assert_eq!(
        (mark().await.changed, blocked("misspelt").await),
        (0, None),
        "not before it waited for a while"
    );
    stage.clock().advance(secs(11));
    let report = mark().await;
    let mut marked = report.unserved;
    marked.sort();
    let why = [unserved_task("known", "far"), unserved_task("knwon", "default")];
    let expected = [("elsewhere", &why[0]), ("misspelt", &why[1])];
    let expected = expected.map(|(run, why)| (play.tenant.clone(), run.into(), why.clone()));
    assert_eq!((report.changed, marked.as_slice()), (2, expected.as_slice()));
    let told = blocked("misspelt").await.unwrap();
    assert_eq!((told.code, told.detail), (BlockedCode::NoWorker, why[1].clone()));
    assert_eq!(blocked("served").await, None);
    let query = RunQuery { tenant: play.tenant.clone(), blocked: true, limit: 9, ..RunQuery::default() };
    assert_eq!(play.world.list_runs(query).await.unwrap().rows.len(), 2);
    let again = mark().await;
    assert_eq!((again.changed, again.unserved), (0, vec![]), "told once");

    // A pause is a reason of its own, and a new handler helps.
    play.order(Control::PauseQueue { queue: "far".to_owned() }).await;
    let tasks = vec!["known".to_owned(), "knwon".to_owned()];
    let card = WorkerRegistration { tasks, ..able };
    play.world.extend(Extend { card, ..play.beat_request(vec![]) }).await.unwrap();
    let healed = mark().await;
    assert_eq!((healed.changed, healed.unserved), (2, vec![]));
    assert_eq!((blocked("misspelt").await, blocked("elsewhere").await), (None, None));
}

pub async fn ready_work_is_told_by_what_it_needs(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let began = play.now().await;
    let of = |id: &str, queue: &str| NewTask { options: in_queue(queue), ..new_task(id) };
    play.enqueue(vec![of("a", "default"), of("b", "mail"), of("c", "paused")]).await;
    play.order(Control::PauseQueue { queue: "paused".to_owned() }).await;
    stage.clock().advance(secs(5));
    play.enqueue(vec![of("d", "default"), NewTask { options: delayed(secs(9)), ..new_task("e") }]).await;
    play.start("r").await;
    play.start_as(NewRun { delay: days(3), ..new_run("later") }).await;
    let now = play.now().await;
    let kind = new_run("r").kind;
    let run = Need::Run { kind, workflow: new_run("r").workflow };
    let task = |queue: &str| Need::Task { queue: queue.to_owned(), name: "work".to_owned() };
    let told = async || play.world.ready_work(&play.tenant).await.unwrap();
    assert_eq!(
        told().await,
        [
            ReadyWork { need: run, count: 1, oldest: now },
            ReadyWork { need: task("default"), count: 2, oldest: began },
            ReadyWork { need: task("mail"), count: 1, oldest: began },
        ]
    );
    play.claim().await;
    play.takes(9).await;
    assert!(told().await.iter().all(|work| work.need == task("mail")), "{:?}", told().await);
}

/// The mark is no lock: a worker that can step the run claims it, and the mark is cleared.
pub async fn a_marked_run_can_be_claimed(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.leave().await;
    let run = play.start("r").await;
    stage.clock().advance(secs(60));
    play.upkeep(Upkeep::MarkUnserved { idle: secs(10), limit: 100 }).await;
    let code = async || play.picture(&run).await.summary.blocked.map(|blocked| blocked.code);
    assert_eq!(code().await, Some(BlockedCode::NoWorker));
    play.done(&Draft::of(&play.claim().await)).await;
    assert_eq!(code().await, None);
}

pub async fn a_sweep_tells_whether_there_is_work(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let told = async || {
        let report = play.sweep().await;
        (report.runs_ready, report.tasks_ready)
    };
    assert_eq!(told().await, (false, false));
    play.start("r").await;
    assert_eq!(told().await, (true, false));
    let claimed = play.claim().await;
    assert_eq!(told().await, (false, false));
    play.done(&Draft::of(&claimed).task(1)).await;
    assert_eq!(told().await, (false, true));
    play.take().await;
    assert_eq!(told().await, (false, false));
}

pub async fn a_sweep_does_at_most_so_much(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let tasks = (0..30).map(|n| NewTask { options: delayed(secs(1)), ..new_task(&format!("t{n}")) });
    let due_at = play.now().await.plus(secs(1));
    play.enqueue(tasks.collect()).await;
    stage.clock().advance(secs(3));
    let mut taken = 0;
    for round in 0..6 {
        let report = play.upkeep(Upkeep::sweep(10)).await;
        if round == 0 {
            assert_eq!(report.next_due, Some(due_at), "there is more, and it has waited since then");
        }
        let due = play.takes(50).await.len();
        assert!(due <= 10, "one sweep moved {due}");
        taken += due;
    }
    assert_eq!(taken, 30);
}

/// A timer burst does not make a long queue that delays other work.
pub async fn a_sweep_adds_little_to_what_is_ready(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let tasks = (0..30).map(|n| NewTask { options: delayed(secs(2)), ..new_task(&format!("t{n}")) });
    play.enqueue(tasks.collect()).await;
    let due = play.now().await.plus(secs(1));
    for run in 0..30 {
        play.waiting(&format!("r{run}"), |draft| draft.timer(1, due)).await;
    }
    stage.clock().advance(secs(3));
    let sweep = async || play.upkeep(Upkeep::sweep(10)).await.changed;
    assert_eq!(sweep().await, 20);
    assert_eq!(sweep().await, 2, "those in the line may never get their turn");
    assert_eq!(play.takes(50).await.len(), 11);
    assert_eq!(sweep().await, 11, "ten tasks, and a run");
    assert_eq!(play.claims(50).await.len(), 12);
    assert_eq!(sweep().await, 11, "a task, and ten runs");
    let report = play.upkeep(Upkeep::sweep(10)).await;
    assert_eq!(report.next_due, Some(due), "there is more, and it has waited since then");
}

pub async fn every_duty_is_safe_in_every_process_at_once(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    let due = play.now().await.plus(secs(1));
    play.waiting("r", |draft| draft.timer(1, due)).await;
    stage.clock().advance(secs(400));
    let all = async |play: &Play<'_>| {
        play.sweep().await;
        play.upkeep(Upkeep::Prepare).await;
        play.upkeep(Upkeep::Retain { keep: days(1), keep_failed: days(1), limit: 10 }).await;
        play.upkeep(Upkeep::FindStuck { idle: secs(1), limit: 10 }).await;
        play.upkeep(Upkeep::MarkUnserved { idle: Millis(1), limit: 10 }).await;
        play.upkeep(Upkeep::DueSchedules { limit: 10 }).await;
        play.upkeep(Upkeep::CollectBlobs { grace: Millis::ZERO, limit: 10 }).await;
    };
    tokio::join!(all(&play), all(&other));
    assert_eq!(ids(&play.claim().await.messages), ["timer:1"]);
}

/// A cancelled task is freed; its answer makes the run ready.
pub async fn a_sweep_that_cancels_a_task_tells_of_its_run(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.task(1)).await;
    let task = play.take().await.id;
    play.order(Control::CancelTask { task }).await;
    let report = play.pass(secs(31)).await;
    assert_eq!((report.runs_ready, report.tasks_ready), (true, false));
    assert_eq!(play.claim().await.run.id, run);
}
