//! Finds stored content that does not match its checksum. A cursor is the creation number of a run, or the
//! hash and tenant of a blob.

use rhythm_core::{BlobRef, Snapshot, TenantId};
use rhythm_engine::world::{Damage, DamageQuery, Page, Stored, WorldError, WorldResult};
use tokio_postgres::Row;

use crate::blob_codec::unpack;
use crate::postgres::connection::reconnecting::ReconnectingClient;
use crate::postgres::read::rows::small;
use crate::postgres::sql;

/// Describes the damage of a row, if there is any.
type Check = fn(&Row) -> Option<String>;

pub async fn damage(link: &ReconnectingClient, query: &DamageQuery) -> WorldResult<Page<Damage>> {
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let bad = |text: &str| WorldError::Invalid(format!("not a cursor: {text}"));
    let cursor = query.cursor.as_deref();
    let (rows, check): (Vec<Row>, Check) = match query.stored {
        Stored::Snapshots => {
            let after = cursor.map(|text| text.parse::<i64>().map_err(|_| bad(text))).transpose()?;
            (link.query(sql::SNAPSHOTS, &[&after.unwrap_or(i64::MIN), &limit]).await?, snapshot)
        }
        Stored::Blobs => {
            let after = cursor.map(|text| text.split_once('/').ok_or_else(|| bad(text))).transpose()?;
            let (hash, tenant) = after.unwrap_or_default();
            (link.query(sql::BLOBS, &[&hash, &tenant, &limit]).await?, blob)
        }
    };
    let last = rows.last().filter(|_| rows.len() >= query.limit);
    let next = last.map(|row| row.get::<_, String>("cursor"));
    let damaged = |row: &Row| {
        let detail = check(row)?;
        Some(Damage { tenant: TenantId(row.get("tenant")), name: row.get("name"), detail })
    };
    Ok(Page { rows: rows.iter().filter_map(damaged).collect(), next })
}

fn snapshot(row: &Row) -> Option<String> {
    let bytes: Vec<u8> = row.get("content");
    let snapshot = Snapshot { format: small(row.get("format")), bytes: bytes.into() };
    snapshot.open().err().map(|error| error.to_string())
}

fn blob(row: &Row) -> Option<String> {
    let blob = BlobRef { hash: row.get("name"), bytes: BlobRef::UNKNOWN_SIZE };
    unpack(&blob, row.get("content")).err().map(|error| error.to_string())
}
