//! One step is one statement. A hundred steps are four statements over arrays in one pipelined transaction.

use std::time::{Duration, Instant};

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Statement};

use super::{BATCH, INPUT, Payloads, RawLimit, Run, Stopwatch, limit as raw_limit};
use crate::BenchError;
use crate::database;
use crate::figures::Samples;

type Parameter<'a> = &'a (dyn ToSql + Sync);

/// Measures in a schema of its own, which is dropped afterwards.
pub async fn limit(url: &str, each: Duration) -> Result<RawLimit, BenchError> {
    let db = database::connect(url).await?;
    let measured = on(&db, each).await;
    db.batch_execute(include_str!("postgres_drop.sql")).await?;
    Ok(measured?)
}

async fn on(db: &Client, each: Duration) -> Result<RawLimit, Error> {
    let payloads = Payloads::of_w1();
    let mut runs = Run::batch();
    db.batch_execute(include_str!("postgres_session.sql")).await?;
    db.batch_execute(include_str!("postgres.sql")).await?;
    let seeded: [Parameter<'_>; 3] = [&(BATCH as i64), &payloads.snapshot, &INPUT];
    db.execute(include_str!("postgres_seed.sql"), &seeded).await?;
    let single = singles(db, &mut runs, &payloads, each).await?;
    Ok(raw_limit(single, batches(db, &mut runs, &payloads, each).await?))
}

async fn singles(
    db: &Client,
    runs: &mut [Run],
    payloads: &Payloads,
    each: Duration,
) -> Result<(f64, Samples), Error> {
    let statement = db.prepare(include_str!("postgres_single.sql")).await?;
    let mut watch = Stopwatch::start(each);
    while watch.is_running() {
        let began = Instant::now();
        let run = &mut runs[watch.steps % BATCH];
        let step: [Parameter<'_>; 5] = [&run.id, &payloads.snapshot, &run.revision, &payloads.data, &INPUT];
        db.execute(&statement, &step).await?;
        run.revision += 1;
        watch.committed(1, began);
    }
    Ok((watch.per_s(), watch.commits))
}

async fn batches(db: &Client, runs: &mut [Run], payloads: &Payloads, each: Duration) -> Result<f64, Error> {
    let statements = Statements::prepare(db).await?;
    let mut watch = Stopwatch::start(each);
    while watch.is_running() {
        let began = Instant::now();
        statements.commit(db, runs, payloads).await?;
        for run in &mut *runs {
            run.revision += 1;
        }
        watch.committed(BATCH, began);
    }
    Ok(watch.per_s())
}

struct Statements {
    update: Statement,
    delete: Statement,
    enqueue: Statement,
    event: Statement,
}

impl Statements {
    async fn prepare(db: &Client) -> Result<Self, Error> {
        Ok(Self {
            update: db.prepare(include_str!("postgres_update.sql")).await?,
            delete: db.prepare(include_str!("postgres_delete.sql")).await?,
            enqueue: db.prepare(include_str!("postgres_enqueue.sql")).await?,
            event: db.prepare(include_str!("postgres_event.sql")).await?,
        })
    }

    /// Commits a batch in one pipelined round trip, as the world does.
    async fn commit(&self, db: &Client, runs: &[Run], payloads: &Payloads) -> Result<(), Error> {
        let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
        let revisions: Vec<i64> = runs.iter().map(|run| run.revision).collect();
        let next: Vec<i64> = runs.iter().map(|run| run.revision + 1).collect();
        let done: Vec<String> = runs.iter().map(Run::task).collect();
        let new: Vec<String> = runs.iter().map(Run::next_task).collect();
        let snapshots = vec![payloads.snapshot.as_slice(); runs.len()];
        let data = vec![payloads.data.as_str(); runs.len()];
        let update: [Parameter<'_>; 3] = [&ids, &revisions, &snapshots];
        let delete: [Parameter<'_>; 1] = [&done];
        let enqueue: [Parameter<'_>; 3] = [&new, &ids, &INPUT];
        let event: [Parameter<'_>; 3] = [&ids, &next, &data];
        tokio::try_join!(
            db.batch_execute("BEGIN"),
            async { db.execute(&self.update, &update).await.map(drop) },
            async { db.execute(&self.delete, &delete).await.map(drop) },
            async { db.execute(&self.enqueue, &enqueue).await.map(drop) },
            async { db.execute(&self.event, &event).await.map(drop) },
            db.batch_execute("COMMIT"),
        )?;
        Ok(())
    }
}
