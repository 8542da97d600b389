//! Finding runs that nothing will move: stuck ones, and ones no live worker can step.

use rhythm_core::{Millis, RunId, TenantId, Timestamp, WorkflowKind};
use rhythm_engine::world::{WorkerCard, WorldResult};
use rusqlite::params;

use crate::sqlite::claim_runs::ready_programs;
use crate::sqlite::sql::{Columns, Sql, int, size, sql};
use crate::sqlite::tx::Tx;

fn before(now: Timestamp, idle: Millis) -> i64 {
    now.millis().saturating_sub(int(idle.as_u64()))
}

/// Looks through all live runs, so it runs beside the writer; what it finds is checked again.
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

/// Marks ready runs no worker lists, and unmarks those one lists again.
pub fn mark_unserved(tx: &Tx<'_>, idle: Millis, limit: usize) -> WorldResult<u64> {
    let mut changed = 0;
    let cards_of = |tenant: &str| -> WorldResult<Vec<WorkerCard>> {
        tx.all(sql!("watch", "cards"), params![tenant], |row| row.json())
    };
    let program = |row: &mut Columns<'_>| Ok((row.take()?, row.take()?, row.take()?));
    let marked: Vec<(String, String, String)> = tx.all(sql!("watch", "marked"), [], program)?;
    for (tenant, kind, workflow) in marked {
        if is_served(&cards_of(&tenant)?, &kind, &workflow) {
            changed += tx.run(sql!("watch", "unmark"), params![tenant, kind, workflow])?;
        }
    }
    let tenants: Vec<String> = tx.all(sql!("watch", "tenants"), [], |row| row.take())?;
    for tenant in tenants {
        let cards = cards_of(&tenant)?;
        for (kind, workflow) in ready_programs(tx, &tenant)? {
            if !is_served(&cards, &kind, &workflow) {
                let (late, room) = (before(tx.now, idle), size(limit.saturating_sub(changed)));
                let detail = format!("no live worker can step {kind} workflow {workflow}");
                let row = params![tenant, kind, workflow, late, tx.now.millis(), detail, room];
                changed += tx.run(sql!("watch", "mark"), row)?;
            }
        }
    }
    Ok(changed as u64)
}

fn is_served(cards: &[WorkerCard], kind: &str, workflow: &str) -> bool {
    let kind = WorkflowKind::parse(kind);
    cards.iter().any(|card| {
        kind.is_some_and(|kind| card.kinds.contains(&kind))
            || card.workflows.iter().any(|listed| listed == workflow)
    })
}
