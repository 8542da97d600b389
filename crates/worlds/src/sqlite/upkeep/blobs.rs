//! Deletes blobs that nothing refers to. The search reads all data, so it runs beside the writer, on one
//! snapshot of the database. A blob that was stored again since is left alone.

use std::collections::HashSet;

use rhythm_core::{Millis, Timestamp};
use rhythm_engine::world::{WorldResult, named_blobs};
use rusqlite::params;
use rusqlite::types::ValueRef;

use crate::sqlite::sql::{Sql, int, size, sql};
use crate::sqlite::tx::Tx;

/// State of a blob when the search began.
pub struct Looked {
    row: i64,
    hash: String,
    seen_at: i64,
    unused: bool,
    is_named: bool,
}

pub fn look(sql: Sql<'_>, now: Timestamp, grace: Millis, limit: usize) -> WorldResult<Vec<Looked>> {
    let before = now.millis().saturating_sub(int(grace.as_u64()));
    let mut due = sql.all(sql!("blobs", "due"), params![before, size(limit)], |row| {
        let (row, hash, seen_at, unused) = (row.take()?, row.take()?, row.take()?, row.take()?);
        Ok(Looked { row, hash, seen_at, unused, is_named: false })
    })?;
    if due.is_empty() {
        return Ok(due);
    }
    let mut sought: HashSet<String> = due.iter().map(|blob| blob.hash.clone()).collect();
    sql.all(sql!("blobs", "named"), [], |row| {
        if let ValueRef::Text(text) | ValueRef::Blob(text) = row.raw()? {
            named_blobs(text).for_each(|hash| {
                sought.remove(hash);
            });
        }
        Ok(())
    })?;
    due.iter_mut().for_each(|blob| blob.is_named = !sought.contains(&blob.hash));
    Ok(due)
}

pub fn settle(tx: &Tx<'_>, looked: &[Looked]) -> WorldResult<u64> {
    let mut changed = 0;
    for Looked { row, hash, seen_at, unused, is_named } in looked {
        changed += match (is_named, unused) {
            (false, true) => tx.run(sql!("blobs", "remove"), params![row, hash, seen_at])?,
            _ => tx.run(sql!("blobs", "mark"), params![row, hash, seen_at, tx.now.millis(), !is_named])?,
        };
    }
    Ok(changed as u64)
}
