//! W7: the worker of W1 is killed in the middle, and another one is started at once.

use std::time::Instant;

use serde_json::json;

use crate::BenchError;
use crate::flows::STEPS;
use crate::processes::Team;
use crate::report::{Measured, object};
use crate::scratch_db::Ground;
use crate::throughput::Load;

pub async fn measure(ground: &Ground, load: &Load) -> Result<Measured, BenchError> {
    let team = Team::new(ground, &ground.open().await?, load.concurrency)?;
    STEPS.register(&team.client).await?;
    let mut workers = team.spawn_all(1).await?;
    load.start(&team.client).await?;
    team.until_executed(load.tasks() / 2).await?;
    let killed = Instant::now();
    for worker in &mut workers {
        worker.kill()?;
    }
    let done_before = team.executions()?;
    if done_before >= load.tasks() {
        let text = "the worker had done everything before it was killed; measure more runs".to_owned();
        return Err(BenchError::NotMeasured(text));
    }
    // Tasks held by the killed worker. No other worker exists that could release them.
    let queues = team.client.world().queues(team.client.tenant()).await?;
    let in_flight: u64 = queues.iter().map(|queue| queue.running).sum();
    let _second = team.spawn()?;
    team.until_ended(load.tasks()).await?;
    let wall = killed.elapsed();
    let mut detail = load.detail();
    detail.extend(object(json!({
        "tasks": load.tasks(),
        "executed_before_the_kill": done_before,
        "in_flight": in_flight,
    })));
    let lost = load.lost(&team.client, 1).await?;
    // A rate across a crash would mean nothing.
    Ok(Measured { per_s: None, detail, ..load.measured(wall, lost, team.executions()?) })
}
