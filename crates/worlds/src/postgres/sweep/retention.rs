//! Creates partitions for the next months, and deletes runs and tasks that ended long ago.

use rhythm_engine::world::{WorldError, WorldResult};

use crate::postgres::commit::columns::millis;
use crate::postgres::connection::errors::StatementError;
use crate::postgres::connection::session::Session;
use crate::postgres::connection::transactions::Transactions;
use crate::postgres::read::rows::count;
use crate::postgres::sql;

/// Duties that one process at a time may do. The number is part of the key of an advisory lock.
#[derive(Clone, Copy)]
pub enum Duty {
    Partitions = 1,
    Retention = 2,
    Blobs = 3,
}

/// Lock timeout of DDL; the next call tries again.
const SHORT_WAIT: &str = "SET LOCAL lock_timeout = '500ms'";

/// Creates partitions for this month and the next two. Returns how many.
pub async fn prepare(transactions: &Transactions, now: Option<i64>) -> WorldResult<u64> {
    let made = transactions
        .run(move |session| async move {
            let session = session.alone().await?;
            session
                .transact(async {
                    session.execute(SHORT_WAIT).await?;
                    let Some(now) = take(&session, Duty::Partitions, now).await? else { return Ok(0) };
                    let mut made = 0;
                    for ahead in 0..3_i32 {
                        let rows = session.query(sql::MAKE_MONTH, &[&now, &ahead]).await?;
                        made += u64::try_from(rows[0].get::<_, i32>(0)).unwrap_or(0);
                    }
                    Ok(made)
                })
                .await
        })
        .await;
    quietly(made)
}

/// Deletes runs and tasks that ended longer ago than `keep`: whole months where possible, the rest row by
/// row.
pub async fn retain(
    transactions: &Transactions,
    now: Option<i64>,
    (keep, keep_failed): (rhythm_core::Millis, rhythm_core::Millis),
    limit: usize,
) -> WorldResult<u64> {
    let (keep, keep_failed) = (millis(keep), millis(keep_failed));
    let dropped = transactions
        .run(move |session| async move { drop_months(&session, now, keep, keep_failed).await })
        .await;
    let rows = transactions
        .run(move |session| async move {
            let session = session.alone().await?;
            session
                .transact(async {
                    let Some(now) = take(&session, Duty::Retention, now).await? else { return Ok(0) };
                    let mut gone = 0;
                    let limit = limit as i64;
                    let rows = session.query(sql::RETAIN_RUNS, &[&now, &keep, &limit, &keep_failed]).await?;
                    gone += count(rows[0].get(0));
                    let rows = session.query(sql::RETAIN_TASKS, &[&now, &keep, &limit]).await?;
                    gone += count(rows[0].get(0));
                    Ok(gone)
                })
                .await
        })
        .await?;
    Ok(quietly(dropped)? + rows)
}

async fn drop_months(
    session: &Session,
    now: Option<i64>,
    keep: i64,
    keep_failed: i64,
) -> Result<u64, StatementError> {
    let session = session.alone().await?;
    session
        .transact(async {
            session.execute(SHORT_WAIT).await?;
            let Some(now) = take(&session, Duty::Partitions, now).await? else { return Ok(0) };
            let mut gone = 0;
            for month in session.query(sql::OLD_MONTHS, &[&now, &keep]).await? {
                let month: i32 = month.get(0);
                let rows = session.query(sql::DROP_MONTH, &[&month, &now, &keep_failed]).await?;
                gone += count(rows[0].get(0));
                tracing::info!(month, "a month of history was dropped");
            }
            Ok(gone)
        })
        .await
}

/// Takes a duty until the transaction ends. Returns the time, or `None` if another process has the duty.
pub async fn take(session: &Session, duty: Duty, now: Option<i64>) -> Result<Option<i64>, StatementError> {
    let rows = session.query(sql::TRY_DUTY, &[&(duty as i64), &now]).await?;
    Ok(rows[0].get::<_, bool>(0).then(|| rows[0].get(1)))
}

/// Treats a lock timeout as nothing done: the next call tries again.
fn quietly(done: WorldResult<u64>) -> WorldResult<u64> {
    match done {
        Err(WorldError::Unavailable(why)) if why.contains("lock timeout") => Ok(0),
        other => other,
    }
}
