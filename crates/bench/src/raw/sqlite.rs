//! SQLite has no statements that write into several tables, and no way to the server to save: a step is its four
//! prepared statements, one after the other.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::{INPUT, Payloads, RawLimit, Run, Stopwatch, limit as raw_limit};

/// On a database file of its own beside the measured one: same disk, same settings.
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
    let mut single = Stopwatch::start(each);
    while single.is_running() {
        let began = Instant::now();
        let place = single.steps % runs.len();
        commit(&mut db, &mut runs[place..=place], &payloads)?;
        single.committed(1, began);
    }
    let single = (single.per_s(), single.commits);
    let mut batched = Stopwatch::start(each);
    while batched.is_running() {
        let began = Instant::now();
        commit(&mut db, &mut runs, &payloads)?;
        batched.committed(runs.len(), began);
    }
    Ok(raw_limit(single, batched.per_s()))
}

fn commit(db: &mut Connection, runs: &mut [Run], payloads: &Payloads) -> rusqlite::Result<()> {
    let commit = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for run in runs {
        step(&commit, run, payloads)?;
    }
    commit.commit()
}

fn step(db: &Transaction<'_>, run: &mut Run, payloads: &Payloads) -> rusqlite::Result<()> {
    let Payloads { snapshot, data } = payloads;
    let (revision, next) = (run.revision, run.revision + 1);
    db.prepare_cached(include_str!("sqlite_update.sql"))?.execute(params![run.id, revision, snapshot])?;
    db.prepare_cached(include_str!("sqlite_delete.sql"))?.execute([run.task()])?;
    db.prepare_cached(include_str!("sqlite_enqueue.sql"))?.execute(params![
        run.next_task(),
        run.id,
        INPUT
    ])?;
    db.prepare_cached(include_str!("sqlite_event.sql"))?.execute(params![run.id, next, data])?;
    run.revision = next;
    Ok(())
}
