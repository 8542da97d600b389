//! A rough measure, not a promise: fused steps a second against a durable cluster. Run by hand:
//! `scripts/with-postgres.sh cargo test --release -p rhythm-worlds --test postgres_speed -- --ignored --nocapture`

mod postgres_stage;

use std::sync::Arc;
use std::time::Instant;

use postgres_stage::Database;
use rhythm_core::event::{Event, EventData, StepScheduled};
use rhythm_core::fold::{End, RunState};
use rhythm_core::message::TaskCompleted;
use rhythm_core::{
    Actor, CommandId, CommitId, MessageId, Millis, Payload, RunId, Snapshot, TaskOptions, TenantId,
    Timestamp, Version, WorkerId, WorkflowKind,
};
use rhythm_engine::world::*;
use rhythm_worlds::postgres::{PostgresOptions, PostgresWorld};

const RUNS: usize = 1_000;
const STEPS: u64 = 10;

fn event(seq: u64, data: EventData) -> Event {
    Event { seq, at: Timestamp(1), cause: None, message: None, actor: Actor::system(), trace: None, data }
}

/// The commit that ends step `done` and begins the next one.
fn item(run: &RunId, fence: Fence, done: u64) -> CommitItem {
    let next = done + 1;
    let last = done == STEPS;
    let output = Payload::parse("{\"ok\":true,\"amount\":12345}".into()).unwrap();
    let input = Payload::parse("{\"order\":\"0190c1de-aaaa\",\"step\":1}".into()).unwrap();
    let completed =
        EventData::StepCompleted(TaskCompleted { task: CommandId(done), attempt: 1, output: output.clone() });
    let scheduled = EventData::StepScheduled(StepScheduled {
        task: CommandId(next),
        name: "charge".into(),
        queue: "default".into(),
        input: input.clone(),
    });
    let seq = done * 2;
    let task = NewTask {
        id: run.task(CommandId(next)),
        run: Some((run.clone(), CommandId(next))),
        name: "charge".into(),
        input,
        options: TaskOptions::default(),
        actor: Actor::run(run),
        trace: None,
        claim: true,
    };
    let finished = FinishedTask {
        task: run.task(CommandId(done)),
        claim: 1,
        outcome: TaskOutcome::Completed { output: output.clone() },
        message: None,
    };
    CommitItem {
        run: run.clone(),
        commit: CommitId(format!("{run}/{done}")),
        fence,
        revision: done,
        arrived: 0,
        consumed: vec![MessageId::task(CommandId(done))],
        finished: if fence == Fence::Fused { vec![finished] } else { vec![] },
        events: vec![event(seq + 1, completed), event(seq + 2, scheduled)],
        state: RunState {
            snapshot: Some(Snapshot { format: 1, bytes: Arc::from(vec![b'x'; 300]) }),
            seq: seq + 2,
            ..RunState::default()
        },
        end: last.then_some(End::Completed(output)),
        failed_by: None,
        more: false,
        tasks: if last { vec![] } else { vec![task] },
        timers: vec![],
        children: vec![],
        deliveries: vec![],
        cancel_tasks: vec![],
        cancel_timers: vec![],
        cancel_open: None,
    }
}

async fn commit_one(world: &PostgresWorld, item: CommitItem) {
    let request = Commit {
        tenant: TenantId::default(),
        worker: WorkerId::new("w"),
        hold: Millis(30_000),
        items: vec![item],
        released: vec![],
    };
    let done = world.commit(request).await.unwrap();
    assert!(matches!(done.outcomes[0], CommitOutcome::Done(_)), "{done:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn fused_steps_a_second() {
    let database = Database::create().await;
    let world = Arc::new(PostgresWorld::connect(&database.url, PostgresOptions::default()).await.unwrap());
    let new = |_: usize| NewRun {
        id: RunId::new(uuid::Uuid::now_v7().to_string()),
        workflow: "order".into(),
        version: Version::of(b"order"),
        kind: WorkflowKind::Drill,
        input: Payload::null(),
        priority: 0,
        delay: Millis::ZERO,
        deadline: None,
        tags: Default::default(),
        parent: None,
        actor: Actor::system(),
        trace: None,
    };
    let asked = std::env::var("IN_FLIGHT").ok().and_then(|text| text.parse().ok());
    for in_flight in asked.map_or(vec![1, 64, 256, 1_000], |one| vec![one; 5]) {
        let runs = if in_flight == 1 { 50 } else { RUNS };
        let begun = Instant::now();
        let request = CreateRuns { tenant: TenantId::default(), runs: (0..runs).map(new).collect() };
        world.create_runs(request).await.unwrap();
        let created = begun.elapsed();
        let begun = Instant::now();
        let mut claimed = Vec::new();
        while claimed.len() < runs {
            let request = ClaimRuns {
                tenant: TenantId::default(),
                worker: WorkerId::new("w"),
                kinds: vec![WorkflowKind::Drill],
                workflows: vec![],
                limit: 200,
                hold: Millis(30_000),
            };
            claimed.extend(world.claim_runs(request).await.unwrap().runs);
        }
        let claim_time = begun.elapsed();
        let begun = Instant::now();
        let items = claimed.iter().map(|run| item(&run.run.id, Fence::Claim(run.claim), 0)).collect();
        let request = Commit {
            tenant: TenantId::default(),
            worker: WorkerId::new("w"),
            hold: Millis(30_000),
            items,
            released: vec![],
        };
        world.commit(request).await.unwrap();
        let first = begun.elapsed();
        let begun = Instant::now();
        let mut workers = Vec::new();
        for part in claimed.chunks(claimed.len().div_ceil(in_flight)) {
            let (world, part) =
                (world.clone(), part.iter().map(|run| run.run.id.clone()).collect::<Vec<_>>());
            workers.push(tokio::spawn(async move {
                for run in part {
                    for done in 1..=STEPS {
                        commit_one(&world, item(&run, Fence::Fused, done)).await;
                    }
                }
            }));
        }
        for worker in workers {
            worker.await.unwrap();
        }
        let steps = runs as f64 * STEPS as f64;
        let took = begun.elapsed();
        println!(
            "{in_flight} in flight: {:.0} fused steps/s, {:.2} ms a step; {runs} runs created in {created:?}, \
             claimed in {claim_time:?}, first commits in {first:?}",
            steps / took.as_secs_f64(),
            took.as_secs_f64() * 1000.0 / steps * in_flight as f64,
        );
    }
}
