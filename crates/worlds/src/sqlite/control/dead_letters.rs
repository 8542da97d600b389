//! Requeues and discards dead letters.

use rhythm_core::message::Message;
use rhythm_core::{Actor, Millis, TaskId, TaskOptions, TenantId};
use rhythm_engine::world::{
    Controlled, Fate, LetterStatus, WorldError, WorldResult, gone_past, handled_already,
};
use rusqlite::params;

use crate::sqlite::inbox::Target;
use crate::sqlite::rows;
use crate::sqlite::sql::sql;
use crate::sqlite::tasks::unblock_if_last_held;
use crate::sqlite::tx::Tx;

pub struct Letter {
    number: i64,
    run_key: Option<i64>,
    status: i64,
    held: bool,
    fate: Fate,
    run_is_live: bool,
    /// Its run failed because of this failure.
    failed_run: bool,
    deadline: Option<Millis>,
}

/// Whether a revived task answers a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Revival {
    /// It answers its run, if it has one.
    Attached,
    /// It answers no run, because its run has ended.
    Detached,
}

impl Letter {
    fn find(tx: &Tx<'_>, tenant: &TenantId, task: &TaskId) -> WorldResult<Option<Self>> {
        tx.one(sql!("dead", "letter"), params![task.as_str(), tenant.as_str()], |row| {
            let (number, run_key, status, held) = (row.take()?, row.take()?, row.take()?, row.take()?);
            let (fate, run_is_live, failed_run) = (row.word(Fate::parse)?, row.take()?, row.take()?);
            let deadline = row.json::<TaskOptions>()?.deadline;
            Ok(Self { number, run_key, status, held, fate, run_is_live, failed_run, deadline })
        })
    }

    /// Returns how the letter may become a task again. `None` while its run goes on, or if another failure
    /// failed the run.
    fn revival(&self) -> Option<Revival> {
        match self.fate {
            Fate::Held | Fate::Standalone => Some(Revival::Attached),
            Fate::Unread => Some(Revival::Detached),
            // If the failed run is reopened, it finds the new answer of the task in its inbox.
            Fate::Undecided if !self.run_is_live => Some(Revival::Attached),
            Fate::FailedRun if self.failed_run => Some(Revival::Attached),
            _ => None,
        }
    }

    fn decide(&self, tx: &Tx<'_>, status: LetterStatus, actor: &Actor) -> WorldResult<()> {
        let change =
            params![self.number, rows::letter_number(status), status.as_str(), tx.now.millis(), actor.0];
        tx.run(sql!("dead", "decide"), change).map(drop)
    }
}

/// Finds a pending letter.
pub fn letter(tx: &Tx<'_>, tenant: &TenantId, task: &TaskId) -> WorldResult<Letter> {
    let found = Letter::find(tx, tenant, task)?;
    let pending = rows::letter_number(LetterStatus::Pending);
    let found = found.filter(|letter| letter.status == pending);
    found.ok_or_else(|| WorldError::NotFound(format!("dead letter {task}")))
}

pub fn requeue(tx: &Tx<'_>, tenant: &TenantId, task: &TaskId, actor: &Actor) -> WorldResult<Controlled> {
    if Letter::find(tx, tenant, task)?.is_some_and(|letter| letter.fate == Fate::Handled) {
        return Err(handled_already(task));
    }
    let letter = letter(tx, tenant, task)?;
    let Some(revival) = letter.revival() else { return Err(gone_past(task)) };
    revive(tx, tenant, task, revival, actor)?;
    if let Some(run) = letter.run_key {
        unblock_if_last_held(tx, run)?;
    }
    Ok(Controlled::Done)
}

/// Turns a dead letter into a ready task with new attempts. Its claim number keeps growing.
pub fn revive(
    tx: &Tx<'_>,
    tenant: &TenantId,
    task: &TaskId,
    revival: Revival,
    actor: &Actor,
) -> WorldResult<()> {
    let letter = letter(tx, tenant, task)?;
    let id = params![task.as_str(), tenant.as_str()];
    tx.run(sql!("dead", "delete_task"), id)?;
    tx.run(sql!("dead", "delete_ended_task"), id)?;
    let deadline_at = letter.deadline.map(|deadline| tx.now.plus(deadline).millis());
    // Deletes an unconsumed answer of its first life.
    tx.run(sql!("dead", "withdraw_answer"), params![letter.number])?;
    let detached = revival == Revival::Detached;
    let row = params![letter.number, tx.next_number(), tx.now.millis(), deadline_at, detached];
    tx.run(sql!("dead", "revive"), row)?;
    letter.decide(tx, LetterStatus::Reprocessed, actor)?;
    tx.hint_tasks();
    Ok(())
}

pub fn discard(
    tx: &Tx<'_>,
    tenant: &TenantId,
    task: &TaskId,
    message: Option<&Message>,
    actor: &Actor,
) -> WorldResult<Controlled> {
    let letter = letter(tx, tenant, task)?;
    letter.decide(tx, LetterStatus::Discarded, actor)?;
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
