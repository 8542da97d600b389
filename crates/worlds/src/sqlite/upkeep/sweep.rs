//! The sweep: fires due timers, makes due runs and tasks ready, and frees expired claims and claims of dead
//! workers.

use std::collections::{HashMap, HashSet};

use rhythm_core::message::{Actor, Message, MessageBody};
use rhythm_core::{MessageId, Millis, TaskId, TenantId, Timestamp};
use rhythm_engine::world::{WorldResult, sweep_quota};
use rusqlite::params;

use crate::clock_jump::BEFORE_EXPIRY;
use crate::sqlite::claim_runs::ready_what_is_due;
use crate::sqlite::inbox::Target;
use crate::sqlite::runs::make_ready;
use crate::sqlite::sql::{Columns, size, sql};
use crate::sqlite::tasks::cancel;
use crate::sqlite::tx::Tx;

/// Time that a handle's mark must be missing before its workers count as dead.
const GRACE: Millis = Millis(1_000);

pub fn sweep(tx: &Tx<'_>, runs: usize, tasks: usize) -> WorldResult<u64> {
    let later = ready_what_is_due(tx)?;
    if later > 0 {
        tx.hint_runs();
    }
    let room = |limit, count| {
        let ready = tx.number(count, params![size(limit)])?;
        WorldResult::Ok(sweep_quota(ready as usize, limit))
    };
    let room_for_tasks = room(tasks, sql!("upkeep", "count_ready_tasks"))?;
    let delayed = tx.run(sql!("upkeep", "ready_delayed"), params![tx.now.millis(), size(room_for_tasks)])?;
    if delayed > 0 {
        tx.hint_tasks();
    }
    let room_for_runs = room(runs, sql!("upkeep", "count_ready_runs"))?;
    Ok(fire_timers(tx, room_for_runs)? + (later + delayed) as u64 + free_claims(tx)?)
}

struct Timer {
    number: i64,
    run_key: i64,
    message: MessageId,
    body: Option<MessageBody>,
}

fn fire_timers(tx: &Tx<'_>, limit: usize) -> WorldResult<u64> {
    let due = tx.all(sql!("upkeep", "due_timers"), params![tx.now.millis(), size(limit)], |row| {
        Ok(Timer { number: row.take()?, run_key: row.take()?, message: row.id()?, body: row.json_option()? })
    })?;
    let fired = due.len() as u64;
    for Timer { number, run_key, message: id, body } in due {
        tx.run(sql!("upkeep", "delete_timer"), params![number])?;
        match body {
            // A delayed start only makes the run ready. A run that was woken up by a message has started
            // already.
            None => {
                if tx.number(sql!("upkeep", "is_unstarted"), params![run_key])? != 0 {
                    make_ready(tx, run_key)?;
                }
            }
            Some(body) => {
                let message = Message { id, at: tx.now, actor: Actor::system(), trace: None, body };
                Target::of_key(tx, run_key)?.put(tx, &message)?;
            }
        }
    }
    Ok(fired)
}

/// Frees the claims of dead and silent workers, and every expired claim.
fn free_claims(tx: &Tx<'_>) -> WorldResult<u64> {
    let now = tx.now.millis();
    let patience = &tx.handle.patience;
    let (by, observed_for) = match tx.handle.clock.is_injected() {
        true => (now, i64::MAX),
        false => (patience.judge(now), patience.observed_for()),
    };
    let (mut tasks, mut runs) = (Vec::new(), 0);
    if observed_for >= BEFORE_EXPIRY {
        tasks = tx.all(sql!("upkeep", "free_expired_tasks"), params![by, now], freed)?;
        runs = tx.run(sql!("upkeep", "free_expired_runs"), params![by])?;
    }
    for (tenant, worker) in give_up_workers(tx, Timestamp(by), Millis(observed_for.unsigned_abs()))? {
        tasks.extend(tx.all(sql!("upkeep", "free_tasks_of"), params![tenant, worker, now], freed)?);
        runs += tx.run(sql!("upkeep", "free_runs_of"), params![tenant, worker])?;
    }
    // A freed task with a cancel flag is not tried again.
    for (tenant, task, _) in tasks.iter().filter(|(.., cancel)| *cancel) {
        cancel(tx, tenant, task)?;
    }
    if !tasks.is_empty() {
        tx.hint_tasks();
    }
    if runs > 0 {
        tx.hint_runs();
    }
    Ok((tasks.len() + runs) as u64)
}

fn freed(row: &mut Columns<'_>) -> rusqlite::Result<(TenantId, TaskId, bool)> {
    Ok((row.id()?, row.id()?, row.take()?))
}

struct Worker {
    tenant: String,
    worker: String,
    handle: String,
    beat_at: Timestamp,
    silence: Millis,
    missing_since: Option<Timestamp>,
}

fn worker(row: &mut Columns<'_>) -> rusqlite::Result<Worker> {
    Ok(Worker {
        tenant: row.take()?,
        worker: row.take()?,
        handle: row.take()?,
        beat_at: row.time()?,
        silence: Millis(row.take::<i64>()?.unsigned_abs()),
        missing_since: row.time_option()?,
    })
}

/// Removes the rows of workers whose process is dead or that were silent too long. A silence counts only as
/// far as this process has watched it.
fn give_up_workers(tx: &Tx<'_>, by: Timestamp, observed_for: Millis) -> WorldResult<Vec<(String, String)>> {
    let mut looked: HashMap<String, bool> = HashMap::from([(tx.handle.id.clone(), true)]);
    let mut gone = Vec::new();
    let mut dead: HashSet<String> = HashSet::new();
    for row in tx.all(sql!("upkeep", "workers"), [], worker)? {
        let marks = &tx.handle.marks;
        let alive = *looked.entry(row.handle.clone()).or_insert_with(|| marks.is_alive(&row.handle));
        let missing_since = if alive { None } else { Some(row.missing_since.unwrap_or(by)) };
        let is_dead = missing_since.is_some_and(|since| by.since(since) >= GRACE);
        if is_dead || by.since(row.beat_at).min(observed_for) > row.silence {
            tx.run(sql!("extend", "leave"), params![row.tenant, row.worker, row.handle])?;
            if is_dead {
                dead.insert(row.handle);
            }
            gone.push((row.tenant, row.worker));
        } else if missing_since != row.missing_since {
            let since = missing_since.map(Timestamp::millis);
            tx.run(sql!("upkeep", "missing"), params![row.tenant, row.worker, since])?;
        }
    }
    for handle in dead {
        tx.handle.marks.forget(&handle);
    }
    Ok(gone)
}
