//! Artifacts, tags, and patches of workflows.

use rhythm_core::{Actor, TenantId};
use rhythm_engine::world::{
    ArtifactRow, Controlled, Definition, NewArtifact, NewTagMove, NewWorkflowPatch, NumberedVersion,
    Register, TagMove, TagTarget, WorkflowPatch, WorldError, WorldResult, moved_meanwhile,
};
use rusqlite::params;

use super::control::changed_if;
use super::definitions::{register, use_blobs};
use super::sql::{Columns, Sql, int, size, sql};
use super::tx::Tx;

fn tag_move(row: &mut Columns<'_>) -> rusqlite::Result<TagMove> {
    Ok(TagMove {
        tag: row.take()?,
        number: row.count()?,
        at: row.time()?,
        actor: Actor(row.take()?),
        reason: row.take()?,
        from: target(row)?,
        to: target(row)?,
    })
}

fn target(row: &mut Columns<'_>) -> rusqlite::Result<Option<TagTarget>> {
    let (workflow, version) = (row.take::<Option<String>>()?, row.id_option()?);
    Ok(workflow.zip(version).map(|(workflow, version)| TagTarget { workflow, version }))
}

fn patch(row: &mut Columns<'_>) -> rusqlite::Result<WorkflowPatch> {
    Ok(WorkflowPatch {
        number: row.count()?,
        at: row.time()?,
        actor: Actor(row.take()?),
        reason: row.take()?,
        tag: row.take()?,
        base: row.id()?,
        version: row.id()?,
        operations: row.payload()?,
        inverse: row.payload()?,
    })
}

pub fn put(tx: &Tx<'_>, tenant: &TenantId, actor: &Actor, new: &NewArtifact) -> WorldResult<Controlled> {
    let NewArtifact { blob, name } = new;
    if !use_blobs(tx, tenant, std::slice::from_ref(&blob.hash))?.is_empty() {
        return Err(WorldError::NotFound(format!("blob {}", blob.hash)));
    }
    let row = params![tenant.as_str(), blob.hash, name, int(blob.bytes), actor.0, tx.now.millis()];
    Ok(changed_if(tx.run(sql!("artifacts", "put"), row)? > 0))
}

pub fn remove(tx: &Tx<'_>, tenant: &TenantId, hash: &str) -> WorldResult<Controlled> {
    match tx.run(sql!("artifacts", "remove"), params![tenant.as_str(), hash])? {
        0 => Err(WorldError::NotFound(format!("artifact {hash}"))),
        _ => Ok(Controlled::Done),
    }
}

pub fn all(sql: Sql<'_>, tenant: &TenantId) -> WorldResult<Vec<ArtifactRow>> {
    sql.all(sql!("artifacts", "all"), params![tenant.as_str()], |row| {
        let (hash, name, bytes) = (row.take()?, row.take()?, row.count()?);
        Ok(ArtifactRow { hash, name, bytes, at: row.time()?, actor: Actor(row.take()?) })
    })
}

pub fn version_numbers(sql: Sql<'_>, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<NumberedVersion>> {
    sql.all(sql!("artifacts", "version_numbers"), params![tenant.as_str(), workflow], |row| {
        Ok(NumberedVersion { number: row.count()?, version: row.id()? })
    })
}

pub fn tags(sql: Sql<'_>, tenant: &TenantId) -> WorldResult<Vec<TagMove>> {
    sql.all(sql!("artifacts", "tags"), params![tenant.as_str()], tag_move)
}

pub fn tag_history(sql: Sql<'_>, tenant: &TenantId, tag: &str, limit: usize) -> WorldResult<Vec<TagMove>> {
    sql.all(sql!("artifacts", "last_move"), params![tenant.as_str(), tag, size(limit)], tag_move)
}

pub fn workflow_patches(sql: Sql<'_>, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<WorkflowPatch>> {
    sql.all(sql!("artifacts", "patches"), params![tenant.as_str(), workflow], patch)
}

pub fn move_tag(tx: &Tx<'_>, tenant: &TenantId, actor: &Actor, wish: &NewTagMove) -> WorldResult<Controlled> {
    if let Some(TagTarget { workflow, version }) = &wish.to {
        let id = params![tenant.as_str(), workflow, version.as_str()];
        if tx.number(sql!("artifacts", "has_version"), id)? == 0 {
            return Err(WorldError::NotFound(format!("version {version} of {workflow}")));
        }
    }
    let last = tx.one(sql!("artifacts", "last_move"), params![tenant.as_str(), wish.tag, 1], tag_move)?;
    if last.as_ref().is_some_and(|last| last.answers(wish, actor)) {
        return Ok(Controlled::Unchanged);
    }
    let number = last.as_ref().map_or(0, |last| last.number);
    let from = last.and_then(|last| last.to);
    if number != wish.expected {
        let now = from.map_or_else(|| "nothing".to_owned(), |at| format!("{} {}", at.workflow, at.version));
        return Err(moved_meanwhile(&format!("tag {}", wish.tag), &now));
    }
    let row = params![
        tenant.as_str(),
        wish.tag,
        int(number + 1),
        tx.now.millis(),
        actor.0,
        wish.reason,
        from.as_ref().map(|from| &from.workflow),
        from.as_ref().map(|from| from.version.as_str()),
        wish.to.as_ref().map(|to| &to.workflow),
        wish.to.as_ref().map(|to| to.version.as_str()),
    ];
    tx.run(sql!("artifacts", "move"), row)?;
    Ok(Controlled::Done)
}

/// Tells whether the version is new.
pub fn store_version(tx: &Tx<'_>, tenant: &TenantId, definition: &Definition) -> WorldResult<bool> {
    let row = params![
        tenant.as_str(),
        definition.workflow,
        definition.version.as_str(),
        definition.kind.as_str(),
        definition.source,
        definition.compiled,
        definition.format,
        tx.now.millis(),
        // Below all that ever were current: the current version stays.
        -tx.next_number(),
    ];
    Ok(tx.run(sql!("artifacts", "store_version"), row)? > 0)
}

pub fn patch_workflow(
    tx: &Tx<'_>,
    tenant: &TenantId,
    actor: &Actor,
    wish: &NewWorkflowPatch,
) -> WorldResult<Controlled> {
    let definition = &wish.definition;
    let of_workflow = params![tenant.as_str(), definition.workflow];
    let last = tx.one(sql!("artifacts", "last_patch"), of_workflow, patch)?;
    if last.as_ref().is_some_and(|last| last.answers(wish, actor)) {
        return Ok(Controlled::Unchanged);
    }
    match &wish.tag {
        None => {
            let current: Option<String> =
                tx.one(sql!("artifacts", "current_version"), of_workflow, |row| row.take())?;
            if current.as_deref() != Some(wish.base.as_str()) {
                let what = format!("workflow {}", definition.workflow);
                return Err(moved_meanwhile(&what, &current.unwrap_or_default()));
            }
            register(tx, &Register { tenant: tenant.clone(), definitions: vec![definition.clone()] })?;
        }
        Some((tag, expected)) => {
            store_version(tx, tenant, definition)?;
            let to = TagTarget { workflow: definition.workflow.clone(), version: definition.version.clone() };
            let (tag, reason, expected) = (tag.clone(), wish.reason.clone(), *expected);
            move_tag(tx, tenant, actor, &NewTagMove { tag, to: Some(to), reason, expected })?;
        }
    }
    let row = params![
        tenant.as_str(),
        definition.workflow,
        int(last.map_or(0, |last| last.number) + 1),
        tx.now.millis(),
        actor.0,
        wish.reason,
        wish.tag.as_ref().map(|(tag, _)| tag),
        wish.base.as_str(),
        definition.version.as_str(),
        wish.operations.to_stored(),
        wish.inverse.to_stored(),
    ];
    tx.run(sql!("artifacts", "keep_patch"), row)?;
    Ok(Controlled::Done)
}
