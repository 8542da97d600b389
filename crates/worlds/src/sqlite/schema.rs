//! The schema: embedded migrations, and how they are checked and applied.

use std::path::Path;
use std::time::Duration;

use rhythm_engine::world::{WorldError, WorldResult};
use rusqlite::{Connection, params};

use super::connect::{Access, Place};
use super::errors;
use super::sql::{Columns, Sql, sql};
use crate::migrations::{Applied, Migration, pending};

pub const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "tables", sql: include_str!("migrations/0001_tables.sql") },
    Migration { version: 2, name: "views", sql: include_str!("migrations/0002_views.sql") },
    Migration { version: 3, name: "approvals", sql: include_str!("migrations/0003_approvals.sql") },
    Migration { version: 4, name: "artifacts", sql: include_str!("migrations/0004_artifacts.sql") },
    Migration { version: 5, name: "repairs", sql: include_str!("migrations/0005_repairs.sql") },
    Migration { version: 6, name: "views", sql: include_str!("migrations/0006_views.sql") },
    Migration { version: 7, name: "artifacts", sql: include_str!("migrations/0007_artifacts.sql") },
    Migration { version: 8, name: "labels", sql: include_str!("migrations/0008_labels.sql") },
];

const PATIENCE: Duration = Duration::from_secs(10);

/// Schema version of a database, and the version this build needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaStatus {
    pub version: i64,
    pub known: i64,
    /// Steps still to apply: version and name.
    pub pending: Vec<(i64, &'static str)>,
}

/// Applies the pending migrations to the database at `path`, which is created if it does not exist. Fails if
/// the file cannot be written, or the schema does not fit this build.
pub fn migrate(path: &Path) -> WorldResult<SchemaStatus> {
    let place = Place::of(path);
    place.prepare()?;
    let mut connection = place.connect(Access::Create, PATIENCE)?;
    apply(&mut connection)?;
    status_of(&connection)
}

/// Reads the schema version of the database at `path`, and changes nothing. A missing file has version 0.
pub fn schema_status(path: &Path) -> WorldResult<SchemaStatus> {
    if !path.exists() {
        return status_after(&[]);
    }
    let connection = Place::of(path).connect(Access::Read, PATIENCE)?;
    status_of(&connection)
}

pub fn known() -> i64 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}

/// Checks the schema. Applies pending migrations if `auto_migrate` is set, otherwise refuses an older schema.
pub fn ensure(connection: &mut Connection, auto_migrate: bool) -> WorldResult<()> {
    match ensure_known(connection) {
        Err(WorldError::OldSchema { .. }) if auto_migrate => apply(connection),
        answer => answer,
    }
}

/// What a world that only reads does when it opens.
pub fn ensure_known(connection: &Connection) -> WorldResult<()> {
    let status = status_of(connection)?;
    match status.pending.is_empty() {
        true => Ok(()),
        false => Err(WorldError::OldSchema { found: status.version, needed: status.known }),
    }
}

fn status_of(connection: &Connection) -> WorldResult<SchemaStatus> {
    status_after(&applied(connection)?)
}

fn status_after(applied: &[Applied]) -> WorldResult<SchemaStatus> {
    let missing = pending(MIGRATIONS, applied)?;
    let version = applied.iter().map(|step| step.version).max().unwrap_or(0);
    let names = missing.iter().map(|migration| (migration.version, migration.name)).collect();
    Ok(SchemaStatus { version, known: known(), pending: names })
}

fn applied(connection: &Connection) -> WorldResult<Vec<Applied>> {
    let sql = Sql::new(connection);
    if sql.number(sql!("schema", "has_migrations"), [])? == 0 {
        return Ok(Vec::new());
    }
    sql.all(sql!("schema", "applied"), [], |row: &mut Columns<'_>| {
        Ok(Applied { version: row.take()?, checksum: row.take()? })
    })
}

/// Applies pending migrations in one exclusive transaction. If several processes start at once, the later
/// ones find nothing to do.
fn apply(connection: &mut Connection) -> WorldResult<()> {
    let exclusive = connection
        .transaction_with_behavior(rusqlite::TransactionBehavior::Exclusive)
        .map_err(errors::from_sqlite)?;
    exclusive.execute_batch(sql!("schema", "create_migrations")).map_err(errors::from_sqlite)?;
    for migration in pending(MIGRATIONS, &applied(&exclusive)?)? {
        exclusive.execute_batch(migration.sql).map_err(errors::from_sqlite)?;
        let row = params![migration.version, migration.name, migration.checksum()];
        Sql::new(&exclusive).run(sql!("schema", "record"), row)?;
    }
    exclusive.commit().map_err(errors::from_sqlite)
}
