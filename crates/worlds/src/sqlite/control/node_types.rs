//! Stores node types for graphs.

use rhythm_core::TenantId;
use rhythm_engine::world::{Controlled, WorldError, WorldResult};
use rhythm_graph::NodeType;
use rusqlite::params;

use super::request::changed_if;
use crate::sqlite::sql::{json, sql};
use crate::sqlite::tx::Tx;

pub fn put(tx: &Tx<'_>, tenant: &TenantId, kind: &NodeType) -> WorldResult<Controlled> {
    let changed = tx.run(sql!("node_types", "put"), params![tenant.as_str(), kind.name, json(kind)])?;
    Ok(changed_if(changed > 0))
}

pub fn remove(tx: &Tx<'_>, tenant: &TenantId, name: &str) -> WorldResult<Controlled> {
    match tx.run(sql!("node_types", "remove"), params![tenant.as_str(), name])? {
        0 => Err(WorldError::NotFound(format!("node type {name}"))),
        _ => Ok(Controlled::Done),
    }
}
