//! Workers, queues, schedules and workflows.

use std::collections::BTreeMap;

use rhythm_core::{TenantId, Timestamp, WorkflowKind};
use rhythm_engine::world::{
    Need, QueueRow, ReadyWork, Schedule, VersionRow, WorkerRow, WorkflowRow, WorldResult,
};
use rhythm_graph::NodeType;
use rusqlite::params;

use crate::sqlite::rows;
use crate::sqlite::sql::{Sql, sql};
use crate::sqlite::tx::Handle;

pub fn workers(sql: Sql<'_>, reader: &Handle, tenant: &TenantId) -> WorldResult<Vec<WorkerRow>> {
    let now = reader.clock.now();
    let rows = sql.all(sql!("records", "workers"), params![tenant.as_str()], |row| {
        let handle: String = row.take()?;
        let (card, started_at, beat_at) = (row.json()?, row.time()?, row.time()?);
        Ok((handle, WorkerRow { card, started_at, beat_at, running: row.take()?, live: true }))
    })?;
    let judged = |(handle, row): (String, WorkerRow)| row.judged(reader.is_there(&handle), now);
    Ok(rows.into_iter().map(judged).collect())
}

/// Every queue that is paused, listed by a worker, or holds a task.
pub fn queues(sql: Sql<'_>, reader: &Handle, tenant: &TenantId) -> WorldResult<Vec<QueueRow>> {
    let mut queues: BTreeMap<String, QueueRow> = BTreeMap::new();
    let paused: Vec<String> =
        sql.all(sql!("records", "paused_queues"), params![tenant.as_str()], |row| row.take())?;
    for name in paused {
        queues.entry(name).or_default().paused = true;
    }
    for worker in workers(sql, reader, tenant)?.into_iter().filter(|worker| worker.live) {
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

pub fn ready_work(sql: Sql<'_>, now: Timestamp, tenant: &TenantId) -> WorldResult<Vec<ReadyWork>> {
    let runs = sql.all(sql!("records", "ready_runs"), params![tenant.as_str(), now.millis()], |row| {
        let need = Need::Run { kind: row.word(WorkflowKind::parse)?, workflow: row.take()? };
        Ok(ReadyWork { need, count: row.count()?, oldest: row.time()? })
    })?;
    let tasks = sql.all(sql!("records", "ready_tasks"), params![tenant.as_str()], |row| {
        let need = Need::Task { queue: row.take()?, name: row.take()? };
        Ok(ReadyWork { need, count: row.count()?, oldest: row.time()? })
    })?;
    let mut work: Vec<ReadyWork> = runs.into_iter().chain(tasks).collect();
    work.sort_by(|a, b| a.need.cmp(&b.need));
    Ok(work)
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
            number: row.count()?,
            versions: row.count()?,
            paused: row.take()?,
            registered_at: row.time()?,
        })
    })
}

pub fn versions(sql: Sql<'_>, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<VersionRow>> {
    sql.all(sql!("records", "versions"), params![tenant.as_str(), workflow], |row| {
        Ok(VersionRow {
            number: row.count()?,
            version: row.id()?,
            kind: row.word(WorkflowKind::parse)?,
            registered_at: row.time()?,
            current: row.take()?,
            open_runs: row.count()?,
        })
    })
}
