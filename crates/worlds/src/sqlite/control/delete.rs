//! Deleting ended runs before retention does.

use rhythm_core::{RunId, TenantId};
use rhythm_engine::world::{Controlled, InUse, WorldError, WorldResult, in_use};
use rusqlite::params;

use crate::sqlite::sql::sql;
use crate::sqlite::tx::Tx;
use crate::sqlite::upkeep::forget_run;

/// The run and the runs below it.
pub fn delete(tx: &Tx<'_>, tenant: &TenantId, run: &RunId, letters: bool) -> WorldResult<Controlled> {
    let family = params![tenant.as_str(), run.as_str()];
    if let Some(live) = tx.one(sql!("delete", "live"), family, |row| row.take::<String>())? {
        return Err(in_use(run, InUse::Live(&live)));
    }
    let ended =
        tx.one(sql!("control", "ended"), params![run.as_str(), tenant.as_str()], |row| row.take::<i64>())?;
    if ended.is_none() {
        return Err(WorldError::NotFound(format!("run {run}")));
    }
    if let Some(task) = tx.one(sql!("delete", "under_way"), family, |row| row.take::<String>())? {
        return Err(in_use(run, InUse::Task(&task)));
    }
    let letter = tx.one(sql!("delete", "pending"), family, |row| row.take::<String>())?;
    if let Some(letter) = letter.filter(|_| !letters) {
        return Err(in_use(run, InUse::Letter(&letter)));
    }
    for key in tx.all(sql!("delete", "ended"), family, |row| row.take::<i64>())? {
        forget_run(tx, key)?;
    }
    Ok(Controlled::Done)
}
