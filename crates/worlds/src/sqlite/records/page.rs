//! Pages of numbered rows.

use rhythm_engine::world::{Page, WorldError, WorldResult};

/// Parses a cursor. The page holds rows with smaller numbers.
pub fn before(cursor: Option<&str>) -> WorldResult<i64> {
    match cursor {
        None => Ok(i64::MAX),
        Some(text) => text.parse().map_err(|_| WorldError::Invalid(format!("not a cursor: {text}"))),
    }
}

/// Makes a page. The query read one row more than `limit`, to find out whether there are more.
pub fn page<T>(mut rows: Vec<(i64, T)>, limit: usize) -> Page<T> {
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(|(number, _)| number.to_string());
    Page { rows: rows.into_iter().map(|(_, row)| row).collect(), next }
}
