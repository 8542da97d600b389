//! The handlers of the workers. Each finished task adds a line to a ledger file that the engine does not
//! know.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rhythm::{Rhythm, TaskContext, TaskError};
use serde_json::{Value, json};

use crate::{Outcome, world};

const MOMENT: Duration = Duration::from_millis(150);
/// Length of `reserve`: long enough to kill the worker in the middle of it.
const PACKING: Duration = Duration::from_millis(1500);
/// Name of the file that has a line for each time a worker began to reserve.
const RESERVING: &str = "reserving";

/// Runs a worker process until it is killed.
pub async fn work(folder: &Path) -> Outcome<()> {
    let rhythm = Rhythm::open(&world(folder)).await?;
    let at = |name: &'static str| Handler { name, folder: folder.to_owned() };
    let (charge, reserve, release, refund) = (at("charge"), at("reserve"), at("release"), at("refund"));
    let worker = rhythm
        .worker()
        .task("charge", move |context: TaskContext, _: Value| {
            let charge = charge.clone();
            async move {
                tokio::time::sleep(MOMENT).await;
                match context.attempt() {
                    1 => Err(TaskError::new("the bank does not answer")),
                    _ => charge.finish("p-1"),
                }
            }
        })
        .task("reserve", move |_: TaskContext, _: Value| {
            let reserve = reserve.clone();
            async move {
                append(&reserve.folder.join(RESERVING), "began")?;
                tokio::time::sleep(PACKING).await;
                reserve.finish("g-1")
            }
        })
        .task("ship", |_: TaskContext, _: Value| async {
            tokio::time::sleep(MOMENT).await;
            Err::<Value, _>(TaskError::new("no courier goes there"))
        })
        .task("release", move |_: TaskContext, _: Value| {
            let release = release.clone();
            async move { release.finish("") }
        })
        .task("refund", move |_: TaskContext, _: Value| {
            let refund = refund.clone();
            async move { refund.finish("") }
        });
    worker.run_until(std::future::pending()).await?;
    Ok(())
}

#[derive(Clone)]
struct Handler {
    name: &'static str,
    folder: PathBuf,
}

impl Handler {
    fn finish(&self, id: &str) -> Result<Value, TaskError> {
        append(&self.folder.join("ledger"), self.name)?;
        Ok(json!({ "id": id }))
    }
}

fn append(file: &Path, line: &str) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
    writeln!(file, "{line}")
}

/// Returns the number of times a worker began to reserve.
pub fn times_reserve_began(folder: &Path) -> Outcome<usize> {
    Ok(std::fs::read_to_string(folder.join(RESERVING))?.lines().count())
}

/// Waits until a worker has begun to reserve.
pub async fn wait_until_reserving(folder: &Path) {
    while !folder.join(RESERVING).exists() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Returns the names of the finished tasks, in order.
pub fn ledger(folder: &Path) -> Outcome<Vec<String>> {
    Ok(std::fs::read_to_string(folder.join("ledger"))?.lines().map(str::to_owned).collect())
}
