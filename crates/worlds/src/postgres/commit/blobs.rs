//! Deletes blobs that nothing refers to. One process at a time, because the search reads all data. Its
//! statements share one snapshot of the database; a blob that is stored again during the search stays.

use std::collections::HashSet;

use rhythm_core::Millis;
use rhythm_engine::world::WorldResult;

use crate::postgres::commit::columns::millis;
use crate::postgres::connection::errors::StatementError;
use crate::postgres::connection::reconnecting::Param;
use crate::postgres::connection::session::Session;
use crate::postgres::connection::transactions::Transactions;
use crate::postgres::read::rows::count;
use crate::postgres::sql;
use crate::postgres::sweep::retention::{Duty, take};

const ONE_STATE: &str = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ";

/// State of the blobs when the search began, column by column.
#[derive(Default)]
struct Looked {
    now: i64,
    hashes: Vec<String>,
    tenants: Vec<String>,
    stored_at: Vec<i64>,
    unused: Vec<bool>,
    named: Vec<bool>,
}

pub async fn collect(
    transactions: &Transactions,
    now: Option<i64>,
    grace: Millis,
    limit: usize,
) -> WorldResult<u64> {
    transactions
        .run(move |session| async move {
            let session = session.alone().await?;
            let looked = session
                .transact(async {
                    session.execute(ONE_STATE).await?;
                    look(&session, now, millis(grace), limit).await
                })
                .await?;
            if looked.hashes.is_empty() {
                return Ok(0);
            }
            let params: &[Param<'_>] = &[
                &looked.hashes,
                &looked.tenants,
                &looked.stored_at,
                &looked.unused,
                &looked.named,
                &looked.now,
            ];
            Ok(count(session.query(sql::SETTLE_BLOBS, params).await?[0].get(0)))
        })
        .await
}

async fn look(
    session: &Session,
    now: Option<i64>,
    grace: i64,
    limit: usize,
) -> Result<Looked, StatementError> {
    let Some(now) = take(session, Duty::Blobs, now).await? else { return Ok(Looked::default()) };
    let mut looked = Looked { now, ..Looked::default() };
    for row in session.query(sql::DUE_BLOBS, &[&now, &grace, &(limit as i64)]).await? {
        looked.hashes.push(row.get(0));
        looked.tenants.push(row.get(1));
        looked.stored_at.push(row.get(2));
        looked.unused.push(row.get(3));
    }
    if looked.hashes.is_empty() {
        return Ok(looked);
    }
    let mut named: HashSet<String> = HashSet::new();
    let mut months: Vec<i32> = Vec::new();
    for row in session.query(sql::MONTHS, &[]).await? {
        months.push(row.get(0));
    }
    for statement in [sql::NAMED_BLOBS, sql::NAMED_BY_DEFAULT] {
        let rows = session.query(statement, &[&looked.hashes]).await?;
        named.extend(rows.iter().map(|row| row.get::<_, String>(0)));
    }
    for month in months {
        let rows = session.query(sql::NAMED_IN_MONTH, &[&looked.hashes, &month]).await?;
        named.extend(rows.iter().map(|row| row.get::<_, String>(0)));
    }
    looked.named = looked.hashes.iter().map(|hash| named.contains(hash)).collect();
    Ok(looked)
}
