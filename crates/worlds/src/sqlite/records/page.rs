//! Pages of numbered rows.

use rhythm_engine::world::{Page, WorldError, WorldResult};

/// Where a page begins: everything older than this.
pub fn before(cursor: Option<&str>) -> WorldResult<i64> {
    match cursor {
        None => Ok(i64::MAX),
        Some(text) => text.parse().map_err(|_| WorldError::Invalid(format!("not a cursor: {text}"))),
    }
}

/// One row more than wanted was asked for, to learn whether there are more.
pub fn page<T>(mut rows: Vec<(i64, T)>, limit: usize) -> Page<T> {
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(|(number, _)| number.to_string());
    Page { rows: rows.into_iter().map(|(_, row)| row).collect(), next }
}
