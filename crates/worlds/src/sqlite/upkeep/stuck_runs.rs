//! Finds runs that nothing will move: stuck runs, and runs that no live worker can serve.

use std::collections::HashMap;

use rhythm_core::{Millis, RunId, TenantId, Timestamp, WorkflowKind};
use rhythm_engine::world::{WorkerRegistration, WorldResult, unserved_run, unserved_task};
use rusqlite::params;

use crate::sqlite::claim_runs::ready_programs;
use crate::sqlite::sql::{Columns, Sql, int, size, sql};
use crate::sqlite::tx::Tx;

fn before(now: Timestamp, idle: Millis) -> i64 {
    now.millis().saturating_sub(int(idle.as_u64()))
}

/// Scans all live runs, so it runs beside the writer. The result is checked again.
pub fn stuck_candidates(sql: Sql<'_>, now: Timestamp, idle: Millis, limit: usize) -> WorldResult<Vec<i64>> {
    sql.all(sql!("watch", "stuck"), params![before(now, idle), size(limit)], |row| row.take())
}

pub fn report_stuck(
    tx: &Tx<'_>,
    idle: Millis,
    limit: usize,
    candidates: &[i64],
) -> WorldResult<Vec<(TenantId, RunId)>> {
    let mut stuck = Vec::new();
    for key in candidates.iter().take(limit) {
        let row = params![key, before(tx.now, idle)];
        stuck.extend(tx.one(sql!("watch", "report"), row, |row| Ok((row.id()?, row.id()?)))?);
    }
    Ok(stuck)
}

/// Tenant, queue and name of a waiting task.
pub type TaskKind = (String, String, String);

/// Scans all ready tasks, so it runs beside the writer. The result is checked again.
pub fn waiting_kinds(sql: Sql<'_>, now: Timestamp, idle: Millis) -> WorldResult<Vec<TaskKind>> {
    sql.all(sql!("watch", "waiting_kinds"), params![before(now, idle)], |row| {
        Ok((row.take()?, row.take()?, row.take()?))
    })
}

/// Result of a search for runs that no worker can serve.
#[derive(Default)]
pub struct Unserved {
    pub marked: Vec<(TenantId, RunId, String)>,
    pub unmarked: u64,
}

/// Blocks runs that no worker can serve, and unblocks those that a worker can serve again.
pub fn mark_unserved(tx: &Tx<'_>, idle: Millis, limit: usize, waiting: &[TaskKind]) -> WorldResult<Unserved> {
    let late = before(tx.now, idle);
    let mut crew = Crew { tx, cards: HashMap::new() };
    let mut found = Unserved::default();
    for run in tx.all(sql!("watch", "marked"), [], Marked::read)? {
        if !crew.is_lost(&run, late)? {
            found.unmarked += tx.run(sql!("watch", "unmark"), params![run.key])? as u64;
        }
    }
    let mut mark = |text, (tenant, a, b): (&str, &str, &str), why: String| -> WorldResult<()> {
        let room = size(limit.saturating_sub(found.marked.len()));
        let row = params![tenant, a, b, late, tx.now.millis(), why, room];
        let runs = tx.all(text, row, |row| Ok((row.id()?, row.id()?)))?;
        found.marked.extend(runs.into_iter().map(|(tenant, run)| (tenant, run, why.clone())));
        Ok(())
    };
    let tenants: Vec<String> = tx.all(sql!("watch", "tenants"), [], |row| row.take())?;
    for tenant in tenants {
        for (kind, workflow) in ready_programs(tx, &tenant)? {
            let Some(known) = WorkflowKind::parse(&kind) else { continue };
            if !crew.steps(&tenant, known, &workflow)? {
                let why = unserved_run(known, &workflow);
                mark(sql!("watch", "mark"), (&tenant, &kind, &workflow), why)?;
            }
        }
    }
    for (tenant, queue, name) in waiting {
        if !crew.does(tenant, queue, name)? {
            mark(sql!("watch", "mark_task"), (tenant, queue, name), unserved_task(name, queue))?;
        }
    }
    found.marked.sort();
    Ok(found)
}

struct Marked {
    key: i64,
    tenant: String,
    run: String,
    kind: String,
    workflow: String,
    ready: bool,
}

impl Marked {
    fn read(row: &mut Columns<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            key: row.take()?,
            tenant: row.take()?,
            run: row.take()?,
            kind: row.take()?,
            workflow: row.take()?,
            ready: row.take()?,
        })
    }
}

/// The cards of each tenant's workers.
struct Crew<'t, 'c> {
    tx: &'t Tx<'c>,
    cards: HashMap<String, Vec<WorkerRegistration>>,
}

impl Crew<'_, '_> {
    fn cards(&mut self, tenant: &str) -> WorldResult<&[WorkerRegistration]> {
        if !self.cards.contains_key(tenant) {
            let cards = self.tx.all(sql!("watch", "cards"), params![tenant], |row| row.json())?;
            self.cards.insert(tenant.to_owned(), cards);
        }
        Ok(&self.cards[tenant])
    }

    fn steps(&mut self, tenant: &str, kind: WorkflowKind, workflow: &str) -> WorldResult<bool> {
        let listed = |card: &WorkerRegistration| card.workflows.iter().any(|listed| listed == workflow);
        Ok(self.cards(tenant)?.iter().any(|card| card.kinds.contains(&kind) || listed(card)))
    }

    /// Whether a worker can do a task. A paused queue counts as served, because the pause explains why its
    /// tasks wait.
    fn does(&mut self, tenant: &str, queue: &str, name: &str) -> WorldResult<bool> {
        let lists = |names: &[String], wanted: &str| names.iter().any(|name| name == wanted);
        let able = |card: &WorkerRegistration| lists(&card.queues, queue) && lists(&card.tasks, name);
        if self.cards(tenant)?.iter().any(able) {
            return Ok(true);
        }
        Ok(self.tx.number(sql!("watch", "paused_queue"), params![tenant, queue])? != 0)
    }

    fn is_lost(&mut self, run: &Marked, late: i64) -> WorldResult<bool> {
        if let Some(kind) = WorkflowKind::parse(&run.kind).filter(|_| run.ready)
            && !self.steps(&run.tenant, kind, &run.workflow)?
        {
            return Ok(true);
        }
        let row = params![run.key, run.run, late];
        let kind = |row: &mut Columns<'_>| Ok((row.take()?, row.take()?));
        let tasks: Vec<(String, String)> = self.tx.all(sql!("watch", "waiting_tasks_of"), row, kind)?;
        for (queue, name) in tasks {
            if !self.does(&run.tenant, &queue, &name)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
