//! State of the database, and findings that an operator should act on.

use rhythm_engine::world::{Health, WorldResult};

use crate::sqlite::errors;
use crate::sqlite::schema;
use crate::sqlite::sql::{Sql, sql};

pub fn health(sql: Sql<'_>) -> WorldResult<Health> {
    let count =
        |statement: &'static str| -> WorldResult<u64> { Ok(sql.number(statement, [])?.unsigned_abs()) };
    let pages: i64 = pragma(sql, "page_count")?;
    let page_size: i64 = pragma(sql, "page_size")?;
    Ok(Health {
        world: "sqlite".into(),
        server: format!("SQLite {}", rusqlite::version()),
        schema: sql.number(sql!("records", "schema"), [])?,
        schema_known: schema::known(),
        live_runs: count(sql!("records", "count_live_runs"))?,
        ended_runs: count(sql!("records", "count_ended_runs"))?,
        open_tasks: count(sql!("records", "count_tasks"))?,
        timers: count(sql!("records", "count_timers"))?,
        dead_letters: count(sql!("records", "count_dead"))?,
        kept_runs: count(sql!("records", "count_kept_runs"))?,
        bytes: Some((pages * page_size).unsigned_abs()),
        findings: findings(sql)?,
    })
}

fn pragma(sql: Sql<'_>, name: &str) -> WorldResult<i64> {
    sql.connection().pragma_query_value(None, name, |row| row.get(0)).map_err(errors::from_sqlite)
}

/// Returns damage that SQLite finds in the file, and runs without a row in the queue.
fn findings(sql: Sql<'_>) -> WorldResult<Vec<String>> {
    let mut findings = Vec::new();
    let damage: String = sql
        .connection()
        .pragma_query_value(None, "quick_check", |row| row.get(0))
        .map_err(errors::from_sqlite)?;
    if damage != "ok" {
        findings.push(format!("the file is damaged ({damage}): restore it from a backup"));
    }
    let lost: Vec<String> = sql.all(sql!("records", "runs_without_place"), [], |row| row.take())?;
    for run in lost {
        findings.push(format!("run {run} has no place in the queue of runs: pause and resume it"));
    }
    Ok(findings)
}
