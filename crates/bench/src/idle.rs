//! What a worker costs while there is nothing to do.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde::Serialize;
use tokio_postgres::NoTls;

use crate::BenchError;

/// Before the watch begins.
const SETTLE: Duration = Duration::from_secs(12);

#[derive(Clone, Debug, Serialize)]
pub struct Idle {
    pub world: String,
    pub seconds: f64,
    pub rss_mb: f64,
    pub cpu_percent: f64,
    /// Transactions the database counted; absent where it counts none.
    pub queries_per_s: Option<f64>,
}

/// Starts `command` (a worker on `url`), lets it settle, and watches it for a while.
pub async fn measure(
    mut command: Command,
    url: &str,
    label: &str,
    watch: Duration,
) -> Result<Idle, BenchError> {
    let mut worker =
        Killed(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
    // The server's counters lag by up to ten seconds: what the start did must be in them already.
    tokio::time::sleep(SETTLE).await;
    let (transactions, cpu) = (transactions(url).await?, cpu_seconds(worker.0.id())?);
    tokio::time::sleep(watch).await;
    let seconds = watch.as_secs_f64();
    // Our own look at the counter is a transaction too.
    let after = self::transactions(url).await?;
    let queries = after.zip(transactions).map(|(after, before)| (after - before - 1) as f64 / seconds);
    let cpu_percent = (cpu_seconds(worker.0.id())? - cpu) / seconds * 100.0;
    let rss_mb = rss_mb(worker.0.id())?;
    let _ = worker.0.kill();
    let _ = worker.0.wait();
    Ok(Idle { world: label.to_owned(), seconds, rss_mb, cpu_percent, queries_per_s: queries })
}

/// A process that does not outlive the measurement, however that ends.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn transactions(url: &str) -> Result<Option<i64>, BenchError> {
    if !url.starts_with("postgres") {
        return Ok(None);
    }
    let (db, connection) = tokio_postgres::connect(url, NoTls).await?;
    let driver = tokio::spawn(connection);
    let row = db.query_one(include_str!("sql/transactions.sql"), &[]).await?;
    drop(db);
    let _ = driver.await;
    Ok(Some(row.get(0)))
}

pub fn rss_mb(process: u32) -> Result<f64, BenchError> {
    let status = std::fs::read_to_string(Path::new("/proc").join(process.to_string()).join("status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes: f64 = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0.0);
    Ok(kilobytes / 1024.0)
}

fn cpu_seconds(process: u32) -> Result<f64, BenchError> {
    let stat = std::fs::read_to_string(Path::new("/proc").join(process.to_string()).join("stat"))?;
    // Fields 14 and 15 (user and system time in ticks of 10 ms), counted after the command's closing bracket.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |place: usize| fields.get(place).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    Ok((ticks(11) + ticks(12)) / 100.0)
}
