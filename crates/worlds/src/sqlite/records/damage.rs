//! Finds stored content that does not match its checksum. A cursor is the number of a row.

use rhythm_core::{BlobRef, Snapshot, TenantId};
use rhythm_engine::world::{Damage, DamageQuery, Page, Stored, WorldError, WorldResult};
use rusqlite::params;
use rusqlite::types::ValueRef;

use crate::blob_codec::unpack;
use crate::sqlite::sql::{Columns, Sql, size, sql};

/// Number of a row, and its damage, if any.
type Looked = (i64, Option<Damage>);

pub fn damage(sql: Sql<'_>, query: &DamageQuery) -> WorldResult<Page<Damage>> {
    let after = match &query.cursor {
        None => i64::MIN,
        Some(text) => text.parse().map_err(|_| WorldError::Invalid(format!("not a cursor: {text}")))?,
    };
    let row = params![after, size(query.limit)];
    let looked = match query.stored {
        Stored::Snapshots => sql.all(sql!("records", "snapshots"), row, snapshot)?,
        Stored::Blobs => sql.all(sql!("records", "blobs"), row, blob)?,
    };
    let next = looked.last().filter(|_| looked.len() >= query.limit).map(|(number, _)| number.to_string());
    Ok(Page { rows: looked.into_iter().filter_map(|(_, damage)| damage).collect(), next })
}

fn snapshot(row: &mut Columns<'_>) -> rusqlite::Result<Looked> {
    let (number, tenant, name) = (row.take()?, row.id::<TenantId>()?, row.take::<String>()?);
    let snapshot = Snapshot { format: row.take()?, bytes: bytes(row)?.into() };
    let damage = snapshot.open().err().map(|error| Damage { tenant, name, detail: error.to_string() });
    Ok((number, damage))
}

/// Reads bytes. A value of another type counts as damage and must not stop the search.
fn bytes(row: &mut Columns<'_>) -> rusqlite::Result<Vec<u8>> {
    Ok(match row.raw()? {
        ValueRef::Blob(bytes) | ValueRef::Text(bytes) => bytes.to_vec(),
        _ => Vec::new(),
    })
}

fn blob(row: &mut Columns<'_>) -> rusqlite::Result<Looked> {
    let (number, tenant, name) = (row.take()?, row.id::<TenantId>()?, row.take::<String>()?);
    let blob = BlobRef { hash: name.clone(), bytes: BlobRef::UNKNOWN_SIZE };
    let damage = unpack(&blob, &bytes(row)?).err();
    Ok((number, damage.map(|error| Damage { tenant, name, detail: error.to_string() })))
}
