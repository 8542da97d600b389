//! Creates runs, and puts runs into the queue.

use rhythm_core::message::MessageBody;
use rhythm_core::{MessageId, Millis, TenantId, Timestamp};
use rhythm_engine::world::{CreateRuns, Creation, NewRun, WorldResult};
use rusqlite::params;

use super::rows::place;
use super::sql::{int, json, sql};
use super::tx::Tx;

pub fn create_runs(tx: &Tx<'_>, request: &CreateRuns) -> WorldResult<Vec<Creation>> {
    request.runs.iter().map(|run| create_run(tx, &request.tenant, run)).collect()
}

pub fn create_run(tx: &Tx<'_>, tenant: &TenantId, new: &NewRun) -> WorldResult<Creation> {
    let ready = new.delay == Millis::ZERO;
    let created = insert_run(tx, tenant, new, tx.now, if ready { place::READY } else { place::OUT })?;
    if created == Creation::Created && ready {
        tx.hint_runs();
    }
    Ok(created)
}

/// Creates a run whose first commit follows in the same transaction.
pub fn create_begun(
    tx: &Tx<'_>,
    tenant: &TenantId,
    new: &NewRun,
    created_at: Timestamp,
) -> WorldResult<Creation> {
    insert_run(tx, tenant, new, created_at, place::OUT)
}

fn insert_run(
    tx: &Tx<'_>,
    tenant: &TenantId,
    new: &NewRun,
    now: Timestamp,
    first: i64,
) -> WorldResult<Creation> {
    let input = new.input.to_stored();
    let id = params![new.id.as_str(), tenant.as_str()];
    let same = |row: &mut super::sql::Columns<'_>| {
        Ok(row.take::<String>()? == new.workflow && row.take::<String>()? == input)
    };
    if let Some(same) = tx.one(sql!("runs", "known"), id, same)? {
        return Ok(if same { Creation::Exists } else { Creation::Conflict });
    }
    let key = tx.next_number();
    let deadline_at = new.deadline.map(|deadline| now.plus(deadline));
    tx.run(
        sql!("runs", "insert"),
        params![
            key,
            tenant.as_str(),
            new.id.as_str(),
            new.workflow,
            new.version.as_str(),
            new.kind.as_str(),
            new.priority,
            new.parent.as_ref().map(|parent| parent.run.as_str()),
            new.parent.as_ref().map(|parent| int(parent.child.0)),
            now.millis(),
            deadline_at.map(Timestamp::millis),
        ],
    )?;
    tx.run(
        sql!("runs", "insert_place"),
        params![key, tenant.as_str(), new.kind.as_str(), new.workflow, new.priority, first, now.millis()],
    )?;
    tx.run(sql!("runs", "insert_start"), params![key, input, new.actor.0, new.trace])?;
    for (name, value) in &new.labels {
        tx.run(sql!("runs", "insert_label"), params![key, name, value])?;
    }
    if let Some(due_at) = deadline_at {
        insert_timer(tx, key, &MessageId::deadline(), due_at, Some(MessageBody::DeadlineReached))?;
    }
    if new.delay > Millis::ZERO {
        insert_timer(tx, key, &MessageId::start(), now.plus(new.delay), None)?;
    }
    Ok(Creation::Created)
}

/// Stores a timer, which sends a message to a run later. Without a body it only makes the run ready.
pub fn insert_timer(
    tx: &Tx<'_>,
    key: i64,
    id: &MessageId,
    due_at: Timestamp,
    body: Option<MessageBody>,
) -> WorldResult<()> {
    let number = match &body {
        Some(MessageBody::TimerFired(fired)) => Some(int(fired.timer.0)),
        _ => None,
    };
    let row = params![tx.next_number(), key, id.as_str(), due_at.millis(), number, body.as_ref().map(json)];
    tx.run(sql!("runs", "insert_timer"), row).map(drop)
}

/// Gives a live run a place in the queue, unless it has one, is paused or set aside.
pub fn make_ready(tx: &Tx<'_>, key: i64) -> WorldResult<()> {
    let changed = tx.run(sql!("runs", "make_ready"), params![key, tx.now.millis(), tx.next_number()])?;
    if changed > 0 {
        tx.hint_runs();
    }
    Ok(())
}
