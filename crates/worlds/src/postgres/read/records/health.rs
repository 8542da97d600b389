//! State of the database, and findings that an operator should act on.

use rhythm_engine::world::{Health, WorldResult};

use crate::postgres::connection::reconnecting::ReconnectingClient;
use crate::postgres::read::rows::count;
use crate::postgres::schema;
use crate::postgres::sql;

/// Age in seconds from which an open snapshot is reported, because it keeps dead tuples in all tables.
const OLD_SNAPSHOT_SECS: i64 = 600;

pub async fn health(link: &ReconnectingClient) -> WorldResult<Health> {
    let rows = link.query(sql::HEALTH, &[]).await?;
    let row = &rows[0];
    let mut findings = Vec::new();
    if row.get::<_, &str>("fsync") != "on" {
        findings.push("fsync is off: acknowledged work can be lost; set fsync = on".to_owned());
    }
    if row.get("standby") {
        findings.push("this is a standby: connect to the primary".to_owned());
    }
    if let Some(age) = row.get::<_, Option<i64>>("oldest_snapshot").filter(|age| *age > OLD_SNAPSHOT_SECS) {
        findings.push(format!(
            "a transaction is open for {age} s: end it, it keeps dead rows from being cleaned up"
        ));
    }
    if row.get::<_, i64>("in_default") > 0 {
        findings.push(
            "history lies in the default partition: run upkeep so that months are prepared ahead".to_owned(),
        );
    }
    if row.get::<_, i64>("free_connections") < 10 {
        findings.push("fewer than 10 connections are left: raise max_connections".to_owned());
    }
    Ok(Health {
        world: "postgres".into(),
        server: format!("PostgreSQL {}", row.get::<_, &str>("server")),
        schema: row.get("schema"),
        schema_known: schema::known(),
        live_runs: count(row.get("live_runs")),
        ended_runs: count(row.get("ended_runs")),
        open_tasks: count(row.get("open_tasks")),
        timers: count(row.get("timers")),
        dead_letters: count(row.get("dead_letters")),
        kept_runs: count(row.get("kept_runs")),
        bytes: Some(count(row.get("bytes"))),
        findings,
    })
}
