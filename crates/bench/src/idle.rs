//! W6: cost of an idle worker process.

use std::time::Duration;

use rhythm_core::TenantId;
use serde_json::json;

use crate::BenchError;
use crate::database;
use crate::processes::OwnProcess;
use crate::report::{Measured, object};
use crate::scratch_db::{Ground, fresh_tenant};
use crate::wait::{Look, until};

/// Watches a worker started like an operator would. `settle` is the pause before: the server's counters lag
/// by up to ten seconds, and must include the worker's start.
pub async fn measure(ground: &Ground, watch: Duration, settle: Duration) -> Result<Measured, BenchError> {
    // Creates the schema, so that the worker does not.
    drop(ground.open().await?);
    let fresh = fresh_tenant();
    let worker = OwnProcess::rhythm(ground.url(), &["worker", "--tenant", &fresh.0])?;
    comes_up(ground, &fresh).await?;
    tokio::time::sleep(settle).await;
    let (transactions, cpu) = (transactions(ground).await?, worker.cpu_seconds()?);
    tokio::time::sleep(watch).await;
    let seconds = watch.as_secs_f64();
    let cpu = worker.cpu_seconds()? - cpu;
    let rss_mb = worker.rss_mb()?;
    // The first read of the counter is a transaction too.
    let after = self::transactions(ground).await?;
    let queries = after.zip(transactions).map(|(after, before)| (after - before - 1).max(0) as f64);
    Ok(Measured {
        rss_mb: Some(rss_mb),
        queries_per_s: queries.map(|queries| queries / seconds),
        detail: object(json!({ "seconds": seconds, "cpu_percent": cpu / seconds * 100.0 })),
        ..Measured::default()
    })
}

/// Waits until the worker is known. The connection used for that must be closed afterwards.
async fn comes_up(ground: &Ground, tenant: &TenantId) -> Result<(), BenchError> {
    let world = ground.open().await?;
    let mut known = false;
    until(async || {
        known = !world.workers(tenant).await?.is_empty();
        Ok(Look { done: known, moved: 0 })
    })
    .await?;
    match known {
        true => Ok(()),
        false => Err(BenchError::NotMeasured("the worker did not come up".into())),
    }
}

/// Returns the number of transactions the server counted; None for SQLite.
async fn transactions(ground: &Ground) -> Result<Option<i64>, BenchError> {
    if ground.folder().is_some() {
        return Ok(None);
    }
    let db = database::connect(ground.url()).await?;
    Ok(Some(db.query_one(include_str!("sql/transactions.sql"), &[]).await?.get(0)))
}
