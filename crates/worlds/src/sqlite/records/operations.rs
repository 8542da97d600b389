//! Workers, queues, schedules and workflows.

use std::collections::BTreeMap;

use rhythm_core::graph::NodeType;
use rhythm_core::{TenantId, WorkflowKind};
use rhythm_engine::world::{QueueRow, Schedule, VersionRow, WorkerRow, WorkflowRow, WorldResult};
use rusqlite::params;

use crate::sqlite::rows;
use crate::sqlite::sql::{Sql, sql};

pub fn workers(sql: Sql<'_>, tenant: &TenantId) -> WorldResult<Vec<WorkerRow>> {
    sql.all(sql!("records", "workers"), params![tenant.as_str()], |row| {
        Ok(WorkerRow {
            card: row.json()?,
            started_at: row.time()?,
            beat_at: row.time()?,
            running: row.take()?,
        })
    })
}

/// Every queue that is paused, listed by a worker, or holds a task.
pub fn queues(sql: Sql<'_>, tenant: &TenantId) -> WorldResult<Vec<QueueRow>> {
    let mut queues: BTreeMap<String, QueueRow> = BTreeMap::new();
    let paused: Vec<String> =
        sql.all(sql!("records", "paused_queues"), params![tenant.as_str()], |row| row.take())?;
    for name in paused {
        queues.entry(name).or_default().paused = true;
    }
    for worker in workers(sql, tenant)? {
        for name in worker.card.queues {
            queues.entry(name).or_default().workers += 1;
        }
    }
    let counts = sql.all(sql!("records", "queue_counts"), params![tenant.as_str()], |row| {
        Ok((row.take::<String>()?, row.take::<i64>()?, row.count()?, row.time_option()?))
    })?;
    for (name, state, count, oldest) in counts {
        let queue = queues.entry(name).or_default();
        match state {
            rows::DELAYED => queue.delayed = count,
            rows::RUNNING => queue.running = count,
            rows::HELD => queue.held = count,
            _ => {
                queue.ready = count;
                queue.oldest_ready_at = oldest;
            }
        }
    }
    Ok(queues.into_iter().map(|(name, queue)| QueueRow { name, ..queue }).collect())
}

pub fn schedules(sql: Sql<'_>, tenant: &TenantId) -> WorldResult<Vec<Schedule>> {
    sql.all(sql!("schedules", "all"), params![tenant.as_str()], |row| row.json())
}

pub fn node_types(sql: Sql<'_>, tenant: &TenantId) -> WorldResult<Vec<NodeType>> {
    sql.all(sql!("node_types", "all"), params![tenant.as_str()], |row| row.json())
}

pub fn workflows(sql: Sql<'_>, tenant: &TenantId) -> WorldResult<Vec<WorkflowRow>> {
    sql.all(sql!("records", "workflows"), params![tenant.as_str()], |row| {
        Ok(WorkflowRow {
            workflow: row.take()?,
            kind: row.word(WorkflowKind::parse)?,
            version: row.id()?,
            versions: row.count()?,
            paused: row.take()?,
            registered_at: row.time()?,
        })
    })
}

pub fn versions(sql: Sql<'_>, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<VersionRow>> {
    sql.all(sql!("records", "versions"), params![tenant.as_str(), workflow], |row| {
        Ok(VersionRow {
            version: row.id()?,
            kind: row.word(WorkflowKind::parse)?,
            registered_at: row.time()?,
            current: row.take()?,
            open_runs: row.count()?,
        })
    })
}
