//! W11: W1 done by several worker processes on one database.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rhythm_engine::world::World;
use serde_json::json;

use crate::BenchError;
use crate::flows::STEPS;
use crate::processes::Team;
use crate::progress::Progress;
use crate::report::Measured;
use crate::scratch_db::Ground;
use crate::throughput::Load;

/// Number of passes over all process counts, and rounds in each pass. The passes are repeated because the
/// speed of machines changes within minutes. The median of all rounds counts.
const PASSES: usize = 3;
const ROUNDS: usize = 3;
/// Warm-up rounds before them: they open connections and prepare statements, like the first runs of W1.
const FIRST: usize = 1;

/// Measures each number of processes, with its ratio to the first.
pub async fn measure(
    ground: &Ground,
    load: &Load,
    processes: &[u32],
    progress: &Progress,
) -> Result<Vec<Measured>, BenchError> {
    let world = ground.open().await?;
    let mut tallies: Vec<Tally> = processes.iter().map(|_| Tally::default()).collect();
    for pass in 1..=PASSES {
        for (count, tally) in processes.iter().zip(&mut tallies) {
            progress.say(&format!("{count} worker processes, {pass} of {PASSES}"));
            together(ground, &world, load, *count, tally).await?;
        }
    }
    let mut all: Vec<Measured> = Vec::new();
    for (count, mut tally) in processes.iter().zip(tallies) {
        tally.walls.sort_unstable();
        let needed = load.tasks() * (PASSES * (FIRST + ROUNDS) - 1) as u64;
        let executions = tally.executions.saturating_sub(needed);
        let mut measured = load.measured(tally.walls[tally.walls.len() / 2], tally.lost, executions);
        measured.detail.insert("processes".into(), json!(count));
        measured.note_ratio(all.first());
        all.push(measured);
    }
    Ok(all)
}

/// Results of one number of processes over all passes.
#[derive(Default)]
struct Tally {
    walls: Vec<Duration>,
    lost: u64,
    executions: u64,
}

async fn together(
    ground: &Ground,
    world: &Arc<dyn World>,
    load: &Load,
    processes: u32,
    tally: &mut Tally,
) -> Result<(), BenchError> {
    let team = Team::new(ground, world, load.concurrency)?;
    STEPS.register(&team.client).await?;
    let _workers = team.spawn_all(processes).await?;
    for round in 0..FIRST + ROUNDS {
        let began = Instant::now();
        load.start(&team.client).await?;
        team.until_ended(load.tasks() * (round as u64 + 1)).await?;
        if round >= FIRST {
            tally.walls.push(began.elapsed());
        }
    }
    tally.lost += load.lost(&team.client, (FIRST + ROUNDS) as u64).await?;
    tally.executions += team.executions()?;
    Ok(())
}
