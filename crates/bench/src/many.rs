//! W11: W1 done by several worker processes on one database.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rhythm_engine::world::World;
use serde_json::json;

use crate::BenchError;
use crate::flows::STEPS;
use crate::ground::Ground;
use crate::processes::Team;
use crate::progress::Progress;
use crate::report::Measured;
use crate::throughput::Load;

/// Every number of processes is measured so often, and the middle one counts. Before that comes a round that does not count: it
/// opens connections and prepares statements, as the first runs of W1 do.
const ROUNDS: usize = 3;

/// One measurement for each number of processes, with its ratio to the first.
pub async fn measure(
    ground: &Ground,
    load: &Load,
    processes: &[u32],
    progress: &Progress,
) -> Result<Vec<Measured>, BenchError> {
    let world = ground.open().await?;
    let mut all: Vec<Measured> = Vec::new();
    for count in processes {
        progress.say(&format!("{count} worker processes"));
        let mut measured = together(ground, &world, load, *count).await?;
        measured.detail.insert("processes".into(), json!(count));
        measured.note_ratio(all.first());
        all.push(measured);
    }
    Ok(all)
}

async fn together(
    ground: &Ground,
    world: &Arc<dyn World>,
    load: &Load,
    processes: u32,
) -> Result<Measured, BenchError> {
    let team = Team::new(ground, world, load.concurrency)?;
    STEPS.register(&team.client).await?;
    let _workers = team.spawn_all(processes).await?;
    let mut walls = [Duration::ZERO; ROUNDS + 1];
    for (round, wall) in walls.iter_mut().enumerate() {
        let began = Instant::now();
        load.start(&team.client).await?;
        team.until_ended(load.tasks() * (round as u64 + 1)).await?;
        *wall = began.elapsed();
    }
    let lost = load.lost(&team.client, walls.len() as u64).await?;
    walls[1..].sort_unstable();
    let executions = team.executions()?.saturating_sub(load.tasks() * ROUNDS as u64);
    Ok(load.measured(walls[1 + ROUNDS / 2], lost, executions))
}
