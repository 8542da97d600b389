//! Stores schedules, and starts the runs and tasks of a schedule that fires.

use rhythm_core::{TenantId, Timestamp};
use rhythm_engine::world::{Controlled, NewRun, NewTask, Schedule, WorldError, WorldResult};
use rusqlite::params;

use super::request::changed_if;
use crate::sqlite::runs::create_run;
use crate::sqlite::sql::{json, sql};
use crate::sqlite::tasks::enqueue;
use crate::sqlite::tx::Tx;

pub fn put(tx: &Tx<'_>, tenant: &TenantId, schedule: &Schedule) -> WorldResult<Controlled> {
    let row = params![
        tenant.as_str(),
        schedule.name,
        schedule.paused,
        schedule.next_at.map(Timestamp::millis),
        json(schedule)
    ];
    tx.run(sql!("schedules", "put"), row)?;
    Ok(Controlled::Done)
}

pub fn remove(tx: &Tx<'_>, tenant: &TenantId, name: &str) -> WorldResult<Controlled> {
    match tx.run(sql!("schedules", "remove"), params![tenant.as_str(), name])? {
        0 => Err(unknown(name)),
        _ => Ok(Controlled::Done),
    }
}

pub fn pause(tx: &Tx<'_>, tenant: &TenantId, name: &str) -> WorldResult<Controlled> {
    let schedule = find(tx, tenant, name)?;
    if !schedule.paused {
        put(tx, tenant, &Schedule { paused: true, ..schedule })?;
        return Ok(Controlled::Done);
    }
    Ok(Controlled::Unchanged)
}

pub fn resume(
    tx: &Tx<'_>,
    tenant: &TenantId,
    name: &str,
    next_at: Option<Timestamp>,
) -> WorldResult<Controlled> {
    let schedule = find(tx, tenant, name)?;
    let was_paused = schedule.paused;
    if was_paused {
        put(tx, tenant, &Schedule { paused: false, next_at, ..schedule })?;
    }
    Ok(changed_if(was_paused))
}

pub struct Firing<'a> {
    pub expected: Timestamp,
    pub next_at: Option<Timestamp>,
    pub runs: &'a [NewRun],
    pub tasks: &'a [NewTask],
    pub missed: u64,
}

pub fn fire(tx: &Tx<'_>, tenant: &TenantId, name: &str, firing: &Firing<'_>) -> WorldResult<Controlled> {
    let mut schedule = find(tx, tenant, name)?;
    if schedule.paused || schedule.next_at != Some(firing.expected) {
        return Ok(Controlled::Unchanged);
    }
    schedule.next_at = firing.next_at;
    schedule.missed += firing.missed;
    let started = firing.runs.len() + firing.tasks.len();
    if started > 0 {
        schedule.last_at = Some(tx.now);
        schedule.fired += started as u64;
        let last_run = firing.runs.last().map(|run| run.id.to_string());
        schedule.last_started = last_run.or(firing.tasks.last().map(|task| task.id.to_string()));
    }
    put(tx, tenant, &schedule)?;
    for run in firing.runs {
        create_run(tx, tenant, run)?;
    }
    for task in firing.tasks {
        enqueue(tx, tenant, task)?;
    }
    Ok(Controlled::Done)
}

fn find(tx: &Tx<'_>, tenant: &TenantId, name: &str) -> WorldResult<Schedule> {
    let found = tx.one(sql!("schedules", "find"), params![tenant.as_str(), name], |row| row.json())?;
    found.ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> WorldError {
    WorldError::NotFound(format!("schedule {name}"))
}
