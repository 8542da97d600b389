//! The schema: its embedded migrations and how they are applied.

use rhythm_engine::world::{WorldError, WorldResult};
use tokio_postgres::Client;

use crate::migrations::{Applied, Migration, pending};
use crate::postgres::connection::connect::{Dial, Purpose};
use crate::postgres::connection::errors::world_error;
use crate::postgres::sql;

macro_rules! migration {
    ($version:literal, $name:literal) => {
        Migration { version: $version, name: $name, sql: include_str!(concat!("migrations/", $name, ".sql")) }
    };
}

pub const MIGRATIONS: &[Migration] = &[
    migration!(1, "0001_tables"),
    migration!(2, "0002_partitions"),
    migration!(3, "0003_views"),
    migration!(4, "0004_approvals"),
    migration!(5, "0005_artifacts"),
    migration!(6, "0006_repairs"),
    migration!(7, "0007_views"),
    migration!(8, "0008_artifacts"),
    migration!(9, "0009_labels"),
];

/// The schema version this build needs.
pub fn known() -> i64 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}

/// Schema version of a database, and the version this build needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaStatus {
    pub version: i64,
    pub known: i64,
    /// Names of the migrations still to apply.
    pub pending: Vec<&'static str>,
}

/// Applies the pending migrations and returns their names. Fails if the server cannot be reached, or the
/// schema does not fit this build.
pub async fn migrate(url: &str) -> WorldResult<Vec<&'static str>> {
    apply(&Dial::parse(url)?.client(Purpose::Plain).await?).await
}

pub async fn schema_status(url: &str) -> WorldResult<SchemaStatus> {
    let client = Dial::parse(url)?.client(Purpose::Plain).await?;
    let applied = applied(&client).await?;
    let version = applied.iter().map(|step| step.version).max().unwrap_or(0);
    let pending = pending(MIGRATIONS, &applied)?.iter().map(|migration| migration.name).collect();
    Ok(SchemaStatus { version, known: known(), pending })
}

/// Checks the schema. Applies pending migrations if `auto_migrate` is set, otherwise refuses an older schema.
pub(super) async fn check(client: &Client, auto_migrate: bool) -> WorldResult<()> {
    let applied = applied(client).await?;
    if pending(MIGRATIONS, &applied)?.is_empty() {
        return Ok(());
    }
    if !auto_migrate {
        let found = applied.iter().map(|step| step.version).max().unwrap_or(0);
        return Err(WorldError::OldSchema { found, needed: known() });
    }
    apply(client).await.map(|_| ())
}

async fn applied(client: &Client) -> WorldResult<Vec<Applied>> {
    let told = |error| world_error(&error);
    let there = client.query_one(sql::HAS_SCHEMA.text, &[]).await.map_err(told)?;
    if !there.get::<_, bool>(0) {
        return Ok(Vec::new());
    }
    let rows = client.query(sql::APPLIED_MIGRATIONS.text, &[]).await.map_err(told)?;
    Ok(rows.iter().map(|row| Applied { version: row.get(0), checksum: row.get(1) }).collect())
}

/// Applies pending migrations, one process at a time, each migration in a transaction of its own.
async fn apply(client: &Client) -> WorldResult<Vec<&'static str>> {
    let told = |error| world_error(&error);
    client.batch_execute("SET statement_timeout = 0; SET lock_timeout = 0").await.map_err(told)?;
    client.batch_execute(sql::MIGRATION_LOCK.text).await.map_err(told)?;
    client.batch_execute(sql::CREATE_SCHEMA.text).await.map_err(told)?;
    let applied = applied(client).await?;
    let mut done = Vec::new();
    for step in pending(MIGRATIONS, &applied)? {
        client.batch_execute("BEGIN").await.map_err(told)?;
        client.batch_execute(step.sql).await.map_err(told)?;
        let row: [crate::postgres::connection::reconnecting::Param<'_>; 3] =
            [&step.version, &step.name, &step.checksum()];
        client.execute(sql::MIGRATION_APPLIED.text, &row).await.map_err(told)?;
        client.batch_execute("COMMIT").await.map_err(told)?;
        tracing::info!(step = step.name, "a migration was applied");
        done.push(step.name);
    }
    client.batch_execute(sql::MIGRATION_UNLOCK.text).await.map_err(told)?;
    Ok(done)
}
