//! Ends runs, and gives claims back without a transition.

use rhythm_core::fold::End;
use rhythm_core::message::Message;
use rhythm_core::{Blocked, Failure, MessageId, Status, TenantId, WorkerId};
use rhythm_engine::world::{ReleaseOutcome, ReleasedRun, WorldResult};
use rusqlite::params;

use super::sql::{int, json, sql};
use super::tx::Tx;

/// Moves a run to the ended runs. A failed run keeps its inbox and timers in case it is reopened, except its
/// deadline.
pub fn end(tx: &Tx<'_>, key: i64, end: &End, failed_by: Option<&Message>) -> WorldResult<()> {
    let (status, output, failure) = match end {
        End::Completed(output) => (Status::Completed, Some(output.to_stored()), None),
        End::Failed(failure) => (Status::Failed, None, Some(json(failure))),
        End::Cancelled(reason) => (Status::Cancelled, None, Some(json(&Failure::cancelled(reason.clone())))),
    };
    let row = params![key, status.as_str(), tx.now.millis(), output, failure, failed_by.map(json)];
    tx.run(sql!("commit", "end"), row)?;
    tx.run(sql!("commit", "delete_live"), params![key])?;
    tx.run(sql!("commit", "delete_place"), params![key])?;
    if status == Status::Failed {
        tx.run(sql!("commit", "delete_timer"), params![key, MessageId::deadline().as_str()])?;
    } else {
        tx.run(sql!("commit", "delete_inbox"), params![key])?;
        tx.run(sql!("commit", "delete_timers"), params![key])?;
    }
    Ok(())
}

/// Gives a claim back without a transition. A claim that is not current is ignored.
pub fn release(tx: &Tx<'_>, tenant: &TenantId, worker: &WorkerId, released: &ReleasedRun) -> WorldResult<()> {
    let claim = params![released.run.as_str(), tenant.as_str(), worker.as_str(), int(released.claim)];
    let Some(key) = tx.one(sql!("commit", "claimed"), claim, |row| row.take::<i64>())? else {
        return Ok(());
    };
    match &released.outcome {
        ReleaseOutcome::Idle { arrived } => {
            let row = params![key, int(*arrived), tx.now.millis(), tx.next_number()];
            if tx.number(sql!("commit", "release_idle"), row)? != 0 {
                tx.hint_runs();
            }
        }
        ReleaseOutcome::Later { after, blocked: why } => {
            block(tx, key, why.as_ref(), false)?;
            let row = params![key, tx.now.plus(*after).millis(), tx.next_number()];
            tx.run(sql!("commit", "release_later"), row)?;
            tx.hint_runs();
        }
        ReleaseOutcome::Aside(why) => {
            block(tx, key, Some(why), true)?;
            tx.run(sql!("commit", "leave_queue"), params![key])?;
        }
    }
    Ok(())
}

fn block(tx: &Tx<'_>, key: i64, why: Option<&Blocked>, aside: bool) -> WorldResult<()> {
    let row = params![
        key,
        why.map(|blocked| blocked.code.as_str()),
        why.map(|blocked| blocked.since.millis()),
        why.map(|blocked| blocked.detail.as_str()),
        aside,
    ];
    tx.run(sql!("commit", "block"), row).map(drop)
}
