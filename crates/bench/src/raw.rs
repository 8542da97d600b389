//! The raw limit of a database: how many step-sized writes it takes a second, one per commit and a hundred per
//! commit, measured in the same run as the workload.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use serde::Serialize;
use tokio_postgres::{Client, NoTls};

/// Payloads as in the steps workload.
const SNAPSHOT: &[u8] = br#"{"next":0,"round":5,"commands":5,"input":null,"kept":[null,null,null,null],"wait":{"Tasks":{"open":{"5":0},"outputs":[null],"group":null,"forgiving":false}},"cleaning":false}"#;
const DATA: &str = r#"{"task":5,"attempt":1,"output":null}"#;
const BATCH: usize = 100;
const MEASURE: Duration = Duration::from_millis(1_500);

#[derive(Clone, Copy, Debug, Serialize)]
pub struct RawLimit {
    /// Steps a second, one per commit, one connection.
    pub single_per_s: f64,
    /// Steps a second, a hundred per commit, one connection.
    pub batched_per_s: f64,
    /// Median time of a commit of one step.
    pub commit_ms: f64,
}

struct Run {
    id: String,
    revision: i64,
}

fn runs(prefix: &str) -> Vec<Run> {
    (0..BATCH).map(|n| Run { id: format!("{prefix}-{n}"), revision: 0 }).collect()
}

/// On a database file of its own beside the measured one: same disk, same settings.
pub fn sqlite(folder: &Path) -> rusqlite::Result<RawLimit> {
    let path = folder.join("raw-limit.db");
    let mut db = Connection::open(&path)?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.execute_batch(include_str!("sql/raw_sqlite.sql"))?;
    let mut runs = runs("run");
    let seed = db.transaction()?;
    for run in &runs {
        seed.execute(include_str!("sql/raw_sqlite_run.sql"), params![run.id, SNAPSHOT])?;
        seed.execute(include_str!("sql/raw_sqlite_enqueue.sql"), params![format!("{}:0", run.id), run.id])?;
    }
    seed.commit()?;
    let mut times = Vec::new();
    let single_per_s = measure(|| {
        let run = &mut runs[times.len() % BATCH];
        let began = Instant::now();
        let commit = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        sqlite_step(&commit, run)?;
        commit.commit()?;
        times.push(began.elapsed());
        Ok::<_, rusqlite::Error>(1)
    })?;
    let batched_per_s = measure(|| {
        let commit = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        for run in &mut runs {
            sqlite_step(&commit, run)?;
        }
        commit.commit()?;
        Ok::<_, rusqlite::Error>(BATCH)
    })?;
    drop(db);
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", path.display()));
    }
    Ok(RawLimit { single_per_s, batched_per_s, commit_ms: median_ms(times) })
}

fn sqlite_step(db: &Connection, run: &mut Run) -> rusqlite::Result<()> {
    let next = run.revision + 1;
    db.prepare_cached(include_str!("sql/raw_sqlite_update.sql"))?.execute(params![
        run.id,
        run.revision,
        SNAPSHOT
    ])?;
    db.prepare_cached(include_str!("sql/raw_sqlite_delete.sql"))?
        .execute([format!("{}:{}", run.id, run.revision)])?;
    db.prepare_cached(include_str!("sql/raw_sqlite_enqueue.sql"))?
        .execute(params![format!("{}:{next}", run.id), run.id])?;
    db.prepare_cached(include_str!("sql/raw_sqlite_event.sql"))?.execute(params![run.id, next, DATA])?;
    run.revision = next;
    Ok(())
}

fn measure<E>(mut step: impl FnMut() -> Result<usize, E>) -> Result<f64, E> {
    let began = Instant::now();
    let mut done = 0;
    while began.elapsed() < MEASURE {
        done += step()?;
    }
    Ok(done as f64 / began.elapsed().as_secs_f64())
}

fn median_ms(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}

/// In a schema of its own that is dropped afterwards.
pub async fn postgres(url: &str) -> Result<RawLimit, tokio_postgres::Error> {
    let (db, connection) = tokio_postgres::connect(url, NoTls).await?;
    let driver = tokio::spawn(connection);
    db.batch_execute(include_str!("sql/raw_postgres.sql")).await?;
    db.execute(include_str!("sql/raw_postgres_seed.sql"), &[&(BATCH as i64), &SNAPSHOT]).await?;
    let limit = postgres_steps(&db).await;
    db.batch_execute("DROP SCHEMA rhythm_raw CASCADE").await?;
    drop(db);
    let _ = driver.await;
    limit
}

async fn postgres_steps(db: &Client) -> Result<RawLimit, tokio_postgres::Error> {
    let single = db.prepare(include_str!("sql/raw_postgres_single.sql")).await?;
    let mut runs = runs("run");
    let (mut times, began) = (Vec::new(), Instant::now());
    while began.elapsed() < MEASURE {
        let run = &mut runs[times.len() % BATCH];
        let start = Instant::now();
        db.execute(&single, &[&run.id, &SNAPSHOT, &run.revision, &DATA]).await?;
        run.revision += 1;
        times.push(start.elapsed());
    }
    let single_per_s = times.len() as f64 / began.elapsed().as_secs_f64();
    let update = db.prepare(include_str!("sql/raw_postgres_update.sql")).await?;
    let delete = db.prepare(include_str!("sql/raw_postgres_delete.sql")).await?;
    let enqueue = db.prepare(include_str!("sql/raw_postgres_enqueue.sql")).await?;
    let event = db.prepare(include_str!("sql/raw_postgres_event.sql")).await?;
    let (mut done, began) = (0, Instant::now());
    while began.elapsed() < MEASURE {
        let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
        let revisions: Vec<i64> = runs.iter().map(|run| run.revision).collect();
        let next: Vec<i64> = revisions.iter().map(|revision| revision + 1).collect();
        let old_tasks: Vec<String> = runs.iter().map(|run| format!("{}:{}", run.id, run.revision)).collect();
        let new_tasks: Vec<String> =
            runs.iter().map(|run| format!("{}:{}", run.id, run.revision + 1)).collect();
        let snapshots: Vec<&[u8]> = vec![SNAPSHOT; BATCH];
        let data: Vec<&str> = vec![DATA; BATCH];
        let (u, d): ([&(dyn tokio_postgres::types::ToSql + Sync); 3], _) =
            ([&ids, &revisions, &snapshots], [&old_tasks as &(dyn tokio_postgres::types::ToSql + Sync)]);
        let (q, e): (
            [&(dyn tokio_postgres::types::ToSql + Sync); 2],
            [&(dyn tokio_postgres::types::ToSql + Sync); 3],
        ) = ([&new_tasks, &ids], [&ids, &next, &data]);
        // One pipelined round trip, as the worlds do it.
        let (begin, a, b, c, f, commit) = tokio::join!(
            db.batch_execute("BEGIN"),
            db.execute(&update, &u),
            db.execute(&delete, &d),
            db.execute(&enqueue, &q),
            db.execute(&event, &e),
            db.batch_execute("COMMIT"),
        );
        begin?;
        for answer in [a, b, c, f] {
            answer?;
        }
        commit?;
        done += BATCH;
        for run in &mut runs {
            run.revision += 1;
        }
    }
    let batched_per_s = done as f64 / began.elapsed().as_secs_f64();
    Ok(RawLimit { single_per_s, batched_per_s, commit_ms: median_ms(times) })
}
