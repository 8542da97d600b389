//! Workflow versions and blobs: immutable content by name.

use std::sync::Arc;

use rhythm_core::{BlobRef, TenantId, WorkflowKind};
use rhythm_engine::world::{Definition, DefinitionQuery, Register, WorldError, WorldResult};
use rusqlite::params;

use super::sql::{Columns, Sql, int, sql};
use super::tx::Tx;
use crate::blob_codec;

/// Stores versions. The version registered last is the current one of its workflow.
pub fn register(tx: &Tx<'_>, request: &Register) -> WorldResult<()> {
    for definition in &request.definitions {
        let row = params![
            request.tenant.as_str(),
            definition.workflow,
            definition.version.as_str(),
            definition.kind.as_str(),
            definition.source,
            definition.compiled,
            definition.format,
            tx.now.millis(),
            tx.next_number(),
        ];
        tx.run(sql!("definitions", "register"), row)?;
    }
    Ok(())
}

fn definition(row: &mut Columns<'_>) -> rusqlite::Result<Definition> {
    Ok(Definition {
        workflow: row.take()?,
        version: row.id()?,
        kind: row.word(WorkflowKind::parse)?,
        source: row.take()?,
        compiled: row.take()?,
        format: row.take()?,
    })
}

pub fn find(sql: Sql<'_>, query: &DefinitionQuery) -> WorldResult<Option<Definition>> {
    let tenant = query.tenant.as_str();
    match &query.version {
        Some(version) => {
            let id = params![tenant, query.workflow, version.as_str()];
            sql.one(sql!("definitions", "version"), id, definition)
        }
        None => sql.one(sql!("definitions", "current"), params![tenant, query.workflow], definition),
    }
}

pub fn put_blob(tx: &Tx<'_>, tenant: &TenantId, blob: &BlobRef, packed: &[u8]) -> WorldResult<()> {
    let row = params![tenant.as_str(), blob.hash, int(blob.bytes), packed, tx.now.millis()];
    tx.run(sql!("definitions", "put_blob"), row).map(drop)
}

/// Marks blobs as used by this transaction. Returns those that do not exist.
pub fn use_blobs(tx: &Tx<'_>, tenant: &TenantId, hashes: &[String]) -> WorldResult<Vec<String>> {
    let mut missing = Vec::new();
    for hash in hashes {
        let row = params![tenant.as_str(), hash, tx.now.millis()];
        if tx.run(sql!("definitions", "use_blob"), row)? == 0 {
            missing.push(hash.clone());
        }
    }
    Ok(missing)
}

pub fn read_blob(sql: Sql<'_>, tenant: &TenantId, blob: &BlobRef) -> WorldResult<Arc<[u8]>> {
    let id = params![tenant.as_str(), blob.hash];
    match sql.one(sql!("definitions", "blob"), id, |row| row.take::<Vec<u8>>())? {
        Some(packed) => blob_codec::unpack(blob, &packed),
        None => Err(WorldError::NotFound(format!("blob {}", blob.hash))),
    }
}
