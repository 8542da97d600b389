//! W8: do finished and sleeping runs slow anything down? Measures W1 and a worker's frequent calls on an
//! empty database and on filled ones.

use std::cmp::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rhythm_core::{Millis, TenantId, WorkerId, WorkflowKind};
use rhythm_engine::client::{Client, EnqueueTask};
use rhythm_engine::world::*;
use serde_json::{Map, Value, json};

use crate::figures::{Samples, ratio};
use crate::flows::{FINISHED, SLEEPING, Script};
use crate::in_process::{InProcess, client};
use crate::progress::Progress;
use crate::report::{Measured, object};
use crate::scratch_db::Ground;
use crate::throughput::{self, Load};
use crate::{BenchError, handler, scratch_db};

const SAMPLES: usize = 200;
/// Number of times each state is measured, in turn with an empty database, because the speed of machines
/// changes within minutes. The median counts.
const ROUNDS: usize = 7;
const FILL_CONCURRENCY: u32 = 100;
/// Name of the worker that makes the calls.
const PROBE: &str = "probe";

/// Contents of the database.
#[derive(Clone, Debug)]
pub struct Growth {
    /// Number of finished runs in each state.
    pub finished: Vec<u32>,
    /// Number of sleeping runs in every state that has finished runs.
    pub sleeping: u32,
}

/// Measures each state, with its ratio to an empty database measured at the same time.
pub async fn measure(
    ground: &Ground,
    load: &Load,
    growth: &Growth,
    progress: &Progress,
) -> Result<Vec<Measured>, BenchError> {
    let world = &ground.open().await?;
    // What fills it and what is measured share a tenant: every index a claim reads begins with it.
    let tenant = &scratch_db::fresh_tenant();
    // A database only ever gets fuller.
    let mut goals = growth.finished.clone();
    goals.sort_unstable();
    let (mut finished, mut sleeping) = (0, 0);
    let mut all: Vec<Measured> = Vec::new();
    for goal in goals {
        if goal > 0 {
            fill(world, tenant, &SLEEPING, growth.sleeping - sleeping, progress).await?;
            sleeping = growth.sleeping;
        }
        fill(world, tenant, &FINISHED, goal - finished, progress).await?;
        finished = goal;
        progress.say(&format!("measuring with {finished} finished and {sleeping} sleeping runs"));
        ground.rest().await?;
        let empty = ground.open_another().await?;
        let (mut measured, beside) = in_turn((world, tenant), empty.as_ref(), load).await?;
        // If no other database can be created, compare with the first state.
        let beside = beside.or_else(|| all.first().and_then(|first| first.per_s)).or(measured.per_s);
        measured.detail.extend(object(json!({
            "finished": finished,
            "sleeping": sleeping,
            "empty_per_s": beside,
            "ratio_to_empty": ratio(measured.per_s, beside),
        })));
        measured.detail.extend(calls((world, tenant), empty.as_ref()).await?);
        all.push(measured);
    }
    Ok(all)
}

/// Returns the median round on this database, and the steps per second of the median round on the empty one.
async fn in_turn(
    (world, tenant): (&Arc<dyn World>, &TenantId),
    empty: Option<&Arc<dyn World>>,
    load: &Load,
) -> Result<(Measured, Option<f64>), BenchError> {
    let nobody = scratch_db::fresh_tenant();
    let (mut rounds, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        if let Some(empty) = empty {
            beside.push(throughput::runs(empty, nobody.clone(), load).await?);
        }
        rounds.push(throughput::runs(world, tenant.clone(), load).await?);
    }
    Ok((middle(rounds), empty.and_then(|_| middle(beside).per_s)))
}

fn middle(mut rounds: Vec<Measured>) -> Measured {
    rounds.sort_by(|one, other| one.per_s.partial_cmp(&other.per_s).unwrap_or(Ordering::Equal));
    rounds.swap_remove(rounds.len() / 2)
}

/// Adds runs that end at once or sleep for a long time, processed by an ordinary engine.
async fn fill(
    world: &Arc<dyn World>,
    tenant: &TenantId,
    script: &Script,
    runs: u32,
    progress: &Progress,
) -> Result<(), BenchError> {
    if runs == 0 {
        return Ok(());
    }
    progress.say(&format!("filling the database: {runs} runs of {}", script.name));
    let worker = InProcess::of(world, tenant.clone(), FILL_CONCURRENCY).await?;
    script.register(&worker.client).await?;
    script.fill(&worker, runs, &json!({ "number": 1 }), progress).await?;
    worker.stop().await;
    Ok(())
}

/// Returns the median times of a worker's frequent calls, and their ratios to an empty database.
async fn calls(
    (world, tenant): (&Arc<dyn World>, &TenantId),
    empty: Option<&Arc<dyn World>>,
) -> Result<Map<String, Value>, BenchError> {
    let here = Caller::new(world, tenant.clone()).await?;
    let there = match empty {
        Some(empty) => Some(Caller::new(empty, scratch_db::fresh_tenant()).await?),
        None => None,
    };
    let mut figures = Map::new();
    for (name, call) in
        [("empty_claim", Call::ClaimRuns), ("sweep", Call::Sweep), ("task_claim", Call::ClaimTask)]
    {
        let (mut times, mut beside) = (Samples::default(), Samples::default());
        for _ in 0..SAMPLES {
            if let Some(there) = &there {
                beside.add(there.time(call).await?);
            }
            times.add(here.time(call).await?);
        }
        figures.insert(format!("{name}_ms"), json!(times.p50()));
        figures.insert(format!("{name}_of_empty"), json!(ratio(times.p50(), beside.p50())));
    }
    here.finish().await?;
    if let Some(there) = there {
        there.finish().await?;
    }
    Ok(figures)
}

#[derive(Clone, Copy)]
enum Call {
    /// Claims runs when none is ready.
    ClaimRuns,
    ClaimTask,
    Sweep,
}

/// Makes a worker's calls in one database that holds exactly as many ready tasks as will be claimed.
struct Caller {
    client: Client,
    claimed: Mutex<Vec<ClaimedTask>>,
}

impl Caller {
    async fn new(world: &Arc<dyn World>, tenant: TenantId) -> Result<Self, BenchError> {
        let client = client(world.clone(), tenant);
        let task = EnqueueTask { name: handler::NAME.to_owned(), ..EnqueueTask::default() };
        client.enqueue_tasks(vec![task; SAMPLES]).await?;
        Ok(Self { client, claimed: Mutex::default() })
    }

    async fn time(&self, call: Call) -> Result<Duration, BenchError> {
        let began = Instant::now();
        match call {
            Call::ClaimRuns => match claim_runs(&self.client).await?.runs.len() {
                0 => {}
                runs => return Err(BenchError::NotMeasured(format!("{runs} runs were still to be stepped"))),
            },
            Call::ClaimTask => {
                let tasks = claim_task(&self.client).await?.tasks;
                self.claimed.lock().unwrap_or_else(PoisonError::into_inner).extend(tasks);
            }
            Call::Sweep => drop(self.client.world().upkeep(Upkeep::sweep(2_000)).await?),
        }
        Ok(began.elapsed())
    }

    /// Finishes the claimed tasks. Otherwise the worker of the next state would get them during its load.
    async fn finish(self) -> Result<(), BenchError> {
        finish(&self.client, self.claimed.into_inner().unwrap_or_else(PoisonError::into_inner)).await
    }
}

async fn finish(client: &Client, claimed: Vec<ClaimedTask>) -> Result<(), BenchError> {
    if claimed.len() != SAMPLES {
        let text = format!("{} claims of a task came to {} tasks", SAMPLES, claimed.len());
        return Err(BenchError::NotMeasured(text));
    }
    let finished = claimed.into_iter().map(|task| FinishedTask {
        task: task.id,
        claim: task.claim,
        outcome: TaskOutcome::Completed { output: task.input },
        message: None,
    });
    let finished = finished.collect();
    let request = FinishTasks { tenant: client.tenant().clone(), worker: WorkerId::new(PROBE), finished };
    client.world().finish_tasks(request).await?;
    Ok(())
}

async fn claim_runs(client: &Client) -> Result<ClaimedRuns, BenchError> {
    let request = ClaimRuns {
        tenant: client.tenant().clone(),
        worker: WorkerId::new(PROBE),
        kinds: vec![WorkflowKind::Flow],
        workflows: Vec::new(),
        limit: 200,
        of: None,
        hold: Millis::from_secs(30),
        ask: Default::default(),
    };
    Ok(client.world().claim_runs(request).await?)
}

async fn claim_task(client: &Client) -> Result<ClaimedTasks, BenchError> {
    let request = ClaimTasks {
        tenant: client.tenant().clone(),
        worker: WorkerId::new(PROBE),
        queues: vec![("default".into(), 1)],
        names: vec![handler::NAME.to_owned()],
        of: None,
        hold: Millis::from_secs(30),
        with_runs: true,
        overdue: false,
        ask: Default::default(),
    };
    Ok(client.world().claim_tasks(request).await?)
}
