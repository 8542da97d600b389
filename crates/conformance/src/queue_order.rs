//! Promise 8: tasks are claimed by priority, then age, not before they are due, and by one worker each.

use std::collections::BTreeSet;

use rhythm_core::TaskOptions;
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

fn names(tasks: &[ClaimedTask]) -> Vec<&str> {
    tasks.iter().map(|task| task.id.as_str()).collect()
}

pub async fn tasks_come_by_priority_then_age(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    for (id, priority) in [("a", 0), ("b", 5), ("c", -5), ("d", 5), ("e", 0)] {
        let options = TaskOptions { priority, ..TaskOptions::default() };
        play.queue(NewTask { options, ..new_task(id) }).await;
        stage.clock().advance(secs(1));
    }
    assert_eq!(names(&play.takes(3).await), ["b", "d", "a"]);
    assert_eq!(names(&play.takes(9).await), ["e", "c"]);
}

/// Tasks of the same millisecond come in the order of creation.
pub async fn tasks_of_one_moment_come_as_created(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let order = ["k", "b", "z", "a", "m"];
    play.enqueue(order.map(new_task).to_vec()).await;
    let mut taken = vec![];
    for _ in order {
        taken.push(play.take().await.id.0);
    }
    assert_eq!(taken, order);
}

pub async fn a_delayed_task_is_not_claimed_early(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let task = play.queue(NewTask { options: delayed(secs(10)), ..new_task("t") }).await;
    assert_eq!(play.task(&task).await.state, TaskState::Delayed);
    play.pass(rhythm_core::Millis(9_999)).await;
    play.nothing_to_take().await;
    play.pass(rhythm_core::Millis(1)).await;
    assert_eq!(play.task(&task).await.state, TaskState::Ready);
    assert_eq!(play.take().await.id, task);
}

pub async fn a_delayed_task_is_as_old_as_its_due_time(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.queue(NewTask { options: delayed(secs(10)), ..new_task("delayed") }).await;
    stage.clock().advance(secs(5));
    play.queue(new_task("before")).await;
    stage.clock().advance(secs(10));
    play.queue(new_task("after")).await;
    play.pass(secs(5)).await;
    // One at a time: the response to a larger claim could have been sorted afterwards.
    for id in ["before", "delayed", "after"] {
        assert_eq!(play.take().await.id.as_str(), id);
    }
}

pub async fn two_claimers_never_share_a_task(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    for round in 0..15 {
        play.enqueue((0..8).map(|n| new_task(&format!("t{round}-{n}"))).collect()).await;
        let mut seen = BTreeSet::new();
        while seen.len() < 8 {
            let (one, two) = tokio::join!(play.takes(3), other.takes(3));
            assert!(!one.is_empty() || !two.is_empty(), "a ready task was not found");
            for task in one.into_iter().chain(two) {
                assert_eq!((task.claim, task.delivery), (1, 1));
                assert!(seen.insert(task.id.clone()), "{} was claimed twice", task.id);
            }
        }
    }
}

pub async fn only_tasks_with_a_handler_are_claimed(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    for (id, name) in [("print-0", "print"), ("fold-1", "fold"), ("print-2", "print")] {
        play.queue(NewTask { name: name.to_owned(), ..new_task(id) }).await;
    }
    let names_of = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let request = ClaimTasks { names: names_of(&["print", "bind"]), ..play.take_request(9) };
    assert_eq!(names(&play.world.claim_tasks(request).await.unwrap().tasks), ["print-0", "print-2"]);
    let request = ClaimTasks { names: names_of(&["bind"]), ..play.take_request(9) };
    assert_eq!(play.world.claim_tasks(request).await.unwrap().tasks, []);
    assert_eq!(names(&play.takes(9).await), ["fold-1"], "no name means any");
}

pub async fn each_queue_has_a_limit_of_its_own(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    for queue in ["a", "b", "c"] {
        for n in 0..4 {
            play.queue(NewTask { options: in_queue(queue), ..new_task(&format!("{queue}{n}")) }).await;
        }
    }
    let queues = vec![("a".to_owned(), 1), ("b".to_owned(), 3), ("nowhere".to_owned(), 5)];
    let request = ClaimTasks { queues, ..play.take_request(0) };
    let claimed = play.world.claim_tasks(request).await.unwrap().tasks;
    let mut found = names(&claimed);
    found.sort();
    assert_eq!(found, ["a0", "b0", "b1", "b2"]);
    assert!(claimed.iter().all(|task| task.id.as_str().starts_with(&task.options.queue)));
}

/// A worker without the handler can fail overdue tasks.
pub async fn overdue_tasks_are_claimed_from_any_queue(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let created_at = play.now().await;
    let within =
        |queue: &str, deadline: u64| TaskOptions { deadline: Some(secs(deadline)), ..in_queue(queue) };
    play.queue(NewTask { options: within("a", 10), ..new_task("late") }).await;
    play.queue(NewTask { options: within("b", 99), ..new_task("in time") }).await;
    play.queue(NewTask { options: within("default", 10), ..new_task("running") }).await;
    let sleeping = TaskOptions { delay: secs(50), ..within("c", 10) };
    play.queue(NewTask { options: sleeping, ..new_task("sleeping") }).await;
    play.queue(new_task("without")).await;
    assert_eq!(play.takes(2).await.len(), 2);

    stage.clock().advance(secs(9));
    let overdue = async || {
        let request = ClaimTasks { overdue: true, ..play.take_request(9) };
        play.world.claim_tasks(request).await.unwrap().tasks
    };
    assert_eq!(overdue().await, []);
    stage.clock().advance(secs(1));
    let claimed = overdue().await;
    assert_eq!(names(&claimed).into_iter().collect::<BTreeSet<_>>(), BTreeSet::from(["late", "sleeping"]));
    assert!(
        claimed.iter().all(|task| task.deadline_at == Some(created_at.plus(secs(10))) && task.claim == 1)
    );
    let end = TaskOutcome::Exhausted { failure: failure("DEADLINE_EXCEEDED"), hold: false };
    assert_eq!(play.finish(&claimed[0], end).await, Finish::Done);
}

pub async fn a_paused_queue_gives_no_tasks(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.queue(new_task("t")).await;
    let pause = Control::PauseQueue { queue: "default".to_owned() };
    play.order(pause.clone()).await;
    assert_eq!(play.control(pause).await, Ok(Controlled::Unchanged));
    play.nothing_to_take().await;
    play.queue(NewTask { options: in_queue("other"), ..new_task("o") }).await;
    let request = ClaimTasks { queues: vec![("other".to_owned(), 9)], ..play.take_request(0) };
    assert_eq!(play.world.claim_tasks(request).await.unwrap().tasks.len(), 1, "other queues go on");
    play.order(Control::ResumeQueue { queue: "default".to_owned() }).await;
    assert_eq!(play.take().await.id.as_str(), "t");
}
