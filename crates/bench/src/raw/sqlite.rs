//! SQLite has no statement that writes into several tables, so one step is four prepared statements. A
//! hundred steps are four statements over all rows: 24,800 instructions a step, against 30,500 for single
//! rows. `json_each` took half as much processor time again as single rows. Without `OR ROLLBACK` the time in
//! system calls doubled.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Statement, ToSql, TransactionBehavior, params};

use super::{BATCH, INPUT, Payloads, RawLimit, Run, Stopwatch, limit as raw_limit};
use crate::figures::Samples;

/// Measures in a new database file beside the measured one: same disk, same settings.
pub fn limit(folder: &Path, each: Duration) -> rusqlite::Result<RawLimit> {
    let path = folder.join("raw-limit.db");
    let measured = on(&path, each);
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", path.display()));
    }
    measured
}

fn on(path: &Path, each: Duration) -> rusqlite::Result<RawLimit> {
    let mut db = Connection::open(path)?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.execute_batch(include_str!("sqlite.sql"))?;
    let payloads = Payloads::of_w1();
    let mut runs = Run::batch();
    let seed = db.transaction()?;
    for run in &runs {
        seed.execute(include_str!("sqlite_run.sql"), params![run.id, payloads.snapshot])?;
        seed.execute(include_str!("sqlite_enqueue.sql"), params![run.task(), run.id, INPUT])?;
    }
    seed.commit()?;
    let single = singles(&mut db, &mut runs, &payloads, each)?;
    Ok(raw_limit(single, batches(&mut db, &mut runs, &payloads, each)?))
}

fn singles(
    db: &mut Connection,
    runs: &mut [Run],
    payloads: &Payloads,
    each: Duration,
) -> rusqlite::Result<(f64, Samples)> {
    let mut watch = Stopwatch::start(each);
    while watch.is_running() {
        let began = Instant::now();
        let run = &mut runs[watch.steps % BATCH];
        let commit = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        step(&commit, run, payloads)?;
        commit.commit()?;
        run.revision += 1;
        watch.committed(1, began);
    }
    Ok((watch.per_s(), watch.commits))
}

fn batches(
    db: &mut Connection,
    runs: &mut [Run],
    payloads: &Payloads,
    each: Duration,
) -> rusqlite::Result<f64> {
    let texts = Texts::new();
    let mut watch = Stopwatch::start(each);
    while watch.is_running() {
        let began = Instant::now();
        let commit = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        texts.steps(&commit, runs, payloads)?;
        commit.commit()?;
        for run in &mut *runs {
            run.revision += 1;
        }
        watch.committed(BATCH, began);
    }
    Ok(watch.per_s())
}

fn step(db: &Connection, run: &Run, Payloads { snapshot, data }: &Payloads) -> rusqlite::Result<()> {
    let enqueue = params![run.next_task(), run.id, INPUT];
    db.prepare_cached(include_str!("sqlite_update.sql"))?.execute(params![run.id, run.revision, snapshot])?;
    db.prepare_cached(include_str!("sqlite_delete.sql"))?.execute([run.task()])?;
    db.prepare_cached(include_str!("sqlite_enqueue.sql"))?.execute(enqueue)?;
    db.prepare_cached(include_str!("sqlite_event.sql"))?.execute(params![run.id, run.revision + 1, data])?;
    Ok(())
}

/// Statements of a whole batch.
struct Texts {
    update: String,
    delete: String,
    enqueue: String,
    event: String,
}

impl Texts {
    fn new() -> Self {
        Self {
            update: for_batch(include_str!("sqlite_update_many.sql")),
            delete: for_batch(include_str!("sqlite_delete_many.sql")),
            enqueue: for_batch(include_str!("sqlite_enqueue_many.sql")),
            event: for_batch(include_str!("sqlite_event_many.sql")),
        }
    }

    fn steps(&self, db: &Connection, runs: &[Run], payloads: &Payloads) -> rusqlite::Result<()> {
        let Payloads { snapshot, data } = payloads;
        with_rows(&mut *db.prepare_cached(&self.update)?, runs, |run, bind| {
            bind(&run.id)?;
            bind(&run.revision)?;
            bind(snapshot)
        })?;
        with_rows(&mut *db.prepare_cached(&self.delete)?, runs, |run, bind| bind(&run.task()))?;
        with_rows(&mut *db.prepare_cached(&self.enqueue)?, runs, |run, bind| {
            bind(&run.next_task())?;
            bind(&run.id)?;
            bind(&INPUT)
        })?;
        with_rows(&mut *db.prepare_cached(&self.event)?, runs, |run, bind| {
            bind(&run.id)?;
            bind(&(run.revision + 1))?;
            bind(data)
        })
    }
}

/// Repeats the part between the marks once for each run.
fn for_batch(text: &str) -> String {
    let repeated =
        |(place, part): (usize, &str)| if place == 1 { vec![part; BATCH].join(",") } else { part.to_owned() };
    text.split("/*row*/").enumerate().map(repeated).collect()
}

type Bind<'a> = dyn FnMut(&dyn ToSql) -> rusqlite::Result<()> + 'a;

/// Executes a statement with a row for each run. Fails when it found fewer rows, because then it measured
/// nothing.
fn with_rows(
    statement: &mut Statement<'_>,
    runs: &[Run],
    row: impl Fn(&Run, &mut Bind<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut place = 0;
    let mut bind = |value: &dyn ToSql| {
        place += 1;
        statement.raw_bind_parameter(place, value)
    };
    for run in runs {
        row(run, &mut bind)?;
    }
    match statement.raw_execute()? {
        BATCH => Ok(()),
        other => Err(rusqlite::Error::StatementChangedRows(other)),
    }
}
