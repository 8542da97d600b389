//! Dead letters: requeued or discarded.

use rhythm_core::message::Message;
use rhythm_core::{Millis, TaskId, TaskOptions, TenantId};
use rhythm_engine::world::{Controlled, WorldError, WorldResult};
use rusqlite::params;

use crate::sqlite::inbox::Target;
use crate::sqlite::sql::sql;
use crate::sqlite::tasks::unblock_if_last_held;
use crate::sqlite::tx::Tx;

pub struct Letter {
    number: i64,
    run_key: Option<i64>,
    /// Its run has consumed the failure and went on, or may.
    passed: bool,
    held: bool,
    deadline: Option<Millis>,
}

pub fn letter(tx: &Tx<'_>, tenant: &TenantId, task: &TaskId) -> WorldResult<Letter> {
    let found = tx.one(sql!("dead", "letter"), params![task.as_str(), tenant.as_str()], |row| {
        let (number, run_key, passed, held) = (row.take()?, row.take()?, row.take()?, row.take()?);
        let options: TaskOptions = row.json()?;
        Ok(Letter { number, run_key, passed, held, deadline: options.deadline })
    })?;
    found.ok_or_else(|| WorldError::NotFound(format!("dead letter {task}")))
}

pub fn requeue(tx: &Tx<'_>, tenant: &TenantId, task: &TaskId) -> WorldResult<Controlled> {
    let letter = letter(tx, tenant, task)?;
    if letter.passed && !letter.held {
        return Err(WorldError::Conflict(format!(
            "the run of task {task} has gone on without it; discard the letter instead"
        )));
    }
    revive(tx, tenant, task)?;
    if let Some(run) = letter.run_key {
        unblock_if_last_held(tx, run)?;
    }
    Ok(Controlled::Done)
}

/// A dead letter becomes a ready task again, with fresh attempts and the claim number going on.
pub fn revive(tx: &Tx<'_>, tenant: &TenantId, task: &TaskId) -> WorldResult<()> {
    let letter = letter(tx, tenant, task)?;
    let id = params![task.as_str(), tenant.as_str()];
    tx.run(sql!("dead", "delete_task"), id)?;
    tx.run(sql!("dead", "delete_ended_task"), id)?;
    let deadline_at = letter.deadline.map(|deadline| tx.now.plus(deadline).millis());
    // An answer of its first life that nobody has consumed yet is taken back.
    tx.run(sql!("dead", "withdraw_answer"), params![letter.number])?;
    tx.run(sql!("dead", "revive"), params![letter.number, tx.next_number(), tx.now.millis(), deadline_at])?;
    tx.run(sql!("dead", "delete"), params![letter.number])?;
    tx.hint_tasks();
    Ok(())
}

pub fn discard(
    tx: &Tx<'_>,
    tenant: &TenantId,
    task: &TaskId,
    message: Option<&Message>,
) -> WorldResult<Controlled> {
    let letter = letter(tx, tenant, task)?;
    tx.run(sql!("dead", "delete"), params![letter.number])?;
    if letter.held {
        tx.run(sql!("dead", "delete_task"), params![task.as_str(), tenant.as_str()])?;
        if let Some(run) = letter.run_key {
            unblock_if_last_held(tx, run)?;
            if let Some(message) = message {
                Target::of_key(tx, run)?.put(tx, message)?;
            }
        }
    }
    Ok(Controlled::Done)
}
