//! Claims that begin at a scan cursor (`fronts.rs`) still find all work: every scan counts as slow here.

mod postgres_stage;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rhythm_conformance::Stage;
use rhythm_conformance::play::*;
use rhythm_core::Millis;
use rhythm_engine::world::*;
use rhythm_worlds::postgres::{PostgresOptions, PostgresWorld};

use postgres_stage::Database;

/// Uses the database's own clock: with an injected clock, every scan begins at the start.
struct Slow {
    database: Database,
    clock: Arc<ManualClock>,
}

impl Slow {
    async fn open() -> Self {
        Self { database: Database::create().await, clock: ManualClock::at(Default::default()) }
    }
}

#[async_trait]
impl Stage for Slow {
    async fn handle(&self) -> Arc<dyn World> {
        let options = PostgresOptions { cheap_look: Duration::ZERO, ..PostgresOptions::default() };
        Arc::new(PostgresWorld::connect(&self.database.url, options).await.expect("the world opens"))
    }

    fn clock(&self) -> &ManualClock {
        &self.clock
    }
}

/// Number of batches of work, of different priorities, that are added during claims; some by another process.
const BATCHES: usize = 12;
const OF_EACH: usize = 15;

fn priority(batch: usize) -> i32 {
    [0, 5, -3][batch % 3]
}

/// Waits after a claim that found nothing. Fails after 2,000 of them in a row.
async fn rest_after(idle: u32) -> u32 {
    assert!(idle < 2_000, "there is work that nobody finds");
    tokio::time::sleep(Duration::from_millis(20)).await;
    idle + 1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_task_is_found_once_wherever_it_stands() {
    let stage = Slow::open().await;
    let (play, other) = (Play::on(&stage).await, Play::on(&stage).await.another("w2").await);
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let (mut come, mut idle) = (0, 0);
    while seen.len() < BATCHES * OF_EACH {
        if come < BATCHES {
            let task = |number: usize| {
                let mut task = new_task(&format!("t{come}-{number}"));
                task.options.priority = priority(come);
                task
            };
            let by = if come % 2 == 0 { &play } else { &other };
            by.enqueue((0..OF_EACH).map(task).collect()).await;
            come += 1;
        }
        for by in [&play, &other] {
            let taken = by.takes(4).await;
            for task in &taken {
                *seen.entry(task.id.to_string()).or_default() += 1;
            }
            by.finish_all(taken.iter().map(completed).collect()).await;
            // A cursor lasts for a while, then a full scan follows.
            idle = if taken.is_empty() { rest_after(idle).await } else { 0 };
        }
    }
    assert!(seen.values().all(|times| *times == 1), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_run_is_found_once_wherever_it_stands() {
    let stage = Slow::open().await;
    let (play, other) = (Play::on(&stage).await, Play::on(&stage).await.another("w2").await);
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let (mut come, mut idle) = (0, 0);
    while seen.len() < BATCHES * OF_EACH {
        if come < BATCHES {
            let run =
                |number: usize| NewRun { priority: priority(come), ..new_run(&format!("r{come}-{number}")) };
            let by = if come % 2 == 0 { &play } else { &other };
            by.create((0..OF_EACH).map(run).collect()).await;
            come += 1;
        }
        for by in [&play, &other] {
            let claimed = by.claims(4).await;
            for claimed in &claimed {
                *seen.entry(claimed.run.id.to_string()).or_default() += 1;
                by.done(&Draft::of(claimed).completed()).await;
            }
            idle = if claimed.is_empty() { rest_after(idle).await } else { 0 };
        }
    }
    assert!(seen.values().all(|times| *times == 1), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_every_queue_the_highest_priority_comes_first_from_a_front_on_too() {
    let stage = Slow::open().await;
    let play = Play::on(&stage).await;
    let take = async || {
        let queues = vec![("a".to_owned(), 2), ("b".to_owned(), 2)];
        let request = ClaimTasks { queues, ..play.take_request(2) };
        let claimed = play.world.claim_tasks(request).await.expect("tasks are claimed").tasks;
        claimed.iter().map(|task| task.id.to_string()).collect::<Vec<_>>()
    };
    let put = async |round: u32| {
        let task = |queue: &str, priority: i32, number: u32| {
            let mut task = new_task(&format!("{queue}{priority}-{round}-{number}"));
            task.options.queue = queue.into();
            task.options.priority = priority;
            task
        };
        let of =
            |queue| [(0, 0), (5, 0), (0, 1), (5, 1)].map(|(priority, number)| task(queue, priority, number));
        play.enqueue([of("a"), of("b")].concat()).await;
    };
    for round in 0..3 {
        put(round).await;
        for priority in [5, 0] {
            let expected = ["a", "b"]
                .map(|queue| [0, 1].map(|number| format!("{queue}{priority}-{round}-{number}")))
                .concat();
            assert_eq!(take().await, expected);
        }
        assert_eq!(take().await, Vec::<String>::new());
    }
}

/// While more timers are due than a sweep fires, a sweep begins where the last one fired (`storm.rs`).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_timers_fires_all_of_them_and_those_that_came_late_before_its_front() {
    let stage = Slow::open().await;
    let play = Play::on(&stage).await;
    let run = |number: usize| NewRun { delay: Millis(1), ..new_run(&format!("r{number:02}")) };
    play.create((0..40).map(run).collect()).await;
    let client = stage.database.client().await;
    let long_ago = "UPDATE rhythm.timer SET due_at = due_at - 60000 WHERE run LIKE 'r3%'";
    let (mut seen, mut idle) = (BTreeSet::new(), 0);
    while seen.len() < 40 {
        let report = play.upkeep(Upkeep::sweep(4)).await;
        assert!(report.changed <= 4, "a line of at most four");
        if seen.len() == 8 {
            assert_eq!(client.execute(long_ago, &[]).await.unwrap(), 10, "none of them has fired");
        }
        let claimed = play.claims(4).await;
        for claimed in &claimed {
            assert!(seen.insert(claimed.run.id.to_string()), "{} twice", claimed.run.id);
            play.done(&Draft::of(claimed).completed()).await;
        }
        idle = if claimed.is_empty() { rest_after(idle).await } else { 0 };
    }
}
