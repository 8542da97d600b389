//! Artifacts, tags, and patches of workflows.

use rhythm_core::{Actor, TenantId, Version};
use rhythm_engine::world::{
    ArtifactRow, Controlled, Definition, NewArtifact, NewTagMove, NewWorkflowPatch, NumberedVersion, TagMove,
    TagTarget, WorkflowPatch, WorldError, WorldResult, moved_meanwhile,
};
use tokio_postgres::Row;

use crate::postgres::commit::columns::number;
use crate::postgres::connection::errors::StatementError;
use crate::postgres::connection::reconnecting::{Param, ReconnectingClient};
use crate::postgres::operate::control::Operator;
use crate::postgres::read::rows::{count, payload, time};
use crate::postgres::sql;

fn tag_move(row: &Row) -> TagMove {
    let target = |workflow: &str, version: &str| {
        let workflow: Option<String> = row.get(workflow);
        let version = row.get::<_, Option<String>>(version).map(Version);
        workflow.zip(version).map(|(workflow, version)| TagTarget { workflow, version })
    };
    TagMove {
        tag: row.get("tag"),
        number: count(row.get("number")),
        at: time(row, "at"),
        actor: Actor(row.get("actor")),
        reason: row.get("reason"),
        from: target("from_workflow", "from_version"),
        to: target("to_workflow", "to_version"),
    }
}

fn patch(row: &Row) -> WorldResult<WorkflowPatch> {
    Ok(WorkflowPatch {
        number: count(row.get("number")),
        at: time(row, "at"),
        actor: Actor(row.get("actor")),
        reason: row.get("reason"),
        tag: row.get("tag"),
        base: Version(row.get("base")),
        version: Version(row.get("version")),
        operations: payload(row, "operations")?,
        inverse: payload(row, "inverse")?,
    })
}

pub async fn put(desk: &Operator<'_>, new: &NewArtifact) -> Result<Controlled, StatementError> {
    let NewArtifact { blob, name } = new;
    let params: &[Param<'_>] =
        &[&desk.tenant.as_str(), &blob.hash, name, &number(blob.bytes), &desk.actor.0, &desk.now];
    let row = &desk.session.query(sql::PUT_ARTIFACT, params).await?[0];
    match (row.get::<_, i64>("used"), row.get::<_, i64>("kept")) {
        (0, _) => Err(WorldError::NotFound(format!("blob {}", blob.hash)).into()),
        (_, 0) => Ok(Controlled::Unchanged),
        _ => Ok(Controlled::Done),
    }
}

pub async fn remove(desk: &Operator<'_>, hash: &str) -> Result<Controlled, StatementError> {
    let rows = desk.session.query(sql::REMOVE_ARTIFACT, &[&desk.tenant.as_str(), &hash]).await?;
    match rows.is_empty() {
        true => Err(WorldError::NotFound(format!("artifact {hash}")).into()),
        false => Ok(Controlled::Done),
    }
}

pub async fn all(link: &ReconnectingClient, tenant: &TenantId) -> WorldResult<Vec<ArtifactRow>> {
    let read = |row: &Row| ArtifactRow {
        hash: row.get("hash"),
        name: row.get("name"),
        bytes: count(row.get("bytes")),
        at: time(row, "at"),
        actor: Actor(row.get("actor")),
    };
    Ok(link.query(sql::ARTIFACTS, &[&tenant.as_str()]).await?.iter().map(read).collect())
}

pub async fn version_numbers(
    link: &ReconnectingClient,
    tenant: &TenantId,
    workflow: &str,
) -> WorldResult<Vec<NumberedVersion>> {
    let read = |row: &Row| NumberedVersion { number: count(row.get(0)), version: Version(row.get(1)) };
    Ok(link.query(sql::VERSION_NUMBERS, &[&tenant.as_str(), &workflow]).await?.iter().map(read).collect())
}

pub async fn tags(link: &ReconnectingClient, tenant: &TenantId) -> WorldResult<Vec<TagMove>> {
    Ok(link.query(sql::TAGS, &[&tenant.as_str()]).await?.iter().map(tag_move).collect())
}

pub async fn tag_history(
    link: &ReconnectingClient,
    tenant: &TenantId,
    tag: &str,
    limit: usize,
) -> WorldResult<Vec<TagMove>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = link.query(sql::TAG_HISTORY, &[&tenant.as_str(), &tag, &limit]).await?;
    Ok(rows.iter().map(tag_move).collect())
}

pub async fn workflow_patches(
    link: &ReconnectingClient,
    tenant: &TenantId,
    workflow: &str,
) -> WorldResult<Vec<WorkflowPatch>> {
    let rows = link.query(sql::WORKFLOW_PATCHES, &[&tenant.as_str(), &workflow]).await?;
    rows.iter().map(patch).collect()
}

pub async fn move_tag(desk: &Operator<'_>, wish: &NewTagMove) -> Result<Controlled, StatementError> {
    let tenant = desk.tenant.as_str();
    if let Some(TagTarget { workflow, version }) = &wish.to {
        let known = desk.session.query(sql::HAS_VERSION, &[&tenant, workflow, &version.as_str()]).await?;
        if known.is_empty() {
            return Err(WorldError::NotFound(format!("version {version} of {workflow}")).into());
        }
    }
    let rows = desk.session.query(sql::TAG_HISTORY, &[&tenant, &wish.tag, &1_i64]).await?;
    let last = rows.first().map(tag_move);
    if last.as_ref().is_some_and(|last| last.answers(wish, desk.actor)) {
        return Ok(Controlled::Unchanged);
    }
    let before = last.as_ref().map_or(0, |last| last.number);
    let from = last.and_then(|last| last.to);
    let now = from.as_ref().map_or_else(|| "nothing".into(), |at| format!("{} {}", at.workflow, at.version));
    let lost = || Err(moved_meanwhile(&format!("tag {}", wish.tag), &now).into());
    if before != wish.expected {
        return lost();
    }
    let params: &[Param<'_>] = &[
        &tenant,
        &wish.tag,
        &number(before + 1),
        &desk.now,
        &desk.actor.0,
        &wish.reason,
        &from.as_ref().map(|from| from.workflow.as_str()),
        &from.as_ref().map(|from| from.version.as_str()),
        &wish.to.as_ref().map(|to| to.workflow.as_str()),
        &wish.to.as_ref().map(|to| to.version.as_str()),
    ];
    match desk.session.query(sql::MOVE_TAG, params).await?.is_empty() {
        true => lost(),
        false => Ok(Controlled::Done),
    }
}

pub async fn store_version(
    desk: &Operator<'_>,
    definition: &Definition,
) -> Result<Controlled, StatementError> {
    let id: &[Param<'_>] = &[&desk.tenant.as_str(), &definition.workflow, &definition.version.as_str()];
    if !desk.session.query(sql::HAS_VERSION, id).await?.is_empty() {
        return Ok(Controlled::Unchanged);
    }
    store(desk, sql::STORE_VERSION, definition).await?;
    Ok(Controlled::Done)
}

pub async fn patch_workflow(
    desk: &Operator<'_>,
    wish: &NewWorkflowPatch,
) -> Result<Controlled, StatementError> {
    let (tenant, definition) = (desk.tenant.as_str(), &wish.definition);
    let of_workflow: &[Param<'_>] = &[&tenant, &definition.workflow];
    desk.session.query(sql::LOCK_WORKFLOW, of_workflow).await?;
    let last = desk.session.query(sql::LAST_PATCH, of_workflow).await?;
    let last = last.first().map(patch).transpose()?;
    if last.as_ref().is_some_and(|last| last.answers(wish, desk.actor)) {
        return Ok(Controlled::Unchanged);
    }
    match &wish.tag {
        None => {
            let current = desk.session.query(sql::CURRENT_VERSION, of_workflow).await?;
            let current = current.first().map(|row| row.get::<_, String>(0));
            if current.as_deref() != Some(wish.base.as_str()) {
                let what = format!("workflow {}", definition.workflow);
                return Err(moved_meanwhile(&what, &current.unwrap_or_default()).into());
            }
            store(desk, sql::REGISTER, definition).await?;
        }
        Some((tag, expected)) => {
            store(desk, sql::STORE_VERSION, definition).await?;
            let to = TagTarget { workflow: definition.workflow.clone(), version: definition.version.clone() };
            let (tag, reason, expected) = (tag.clone(), wish.reason.clone(), *expected);
            move_tag(desk, &NewTagMove { tag, to: Some(to), reason, expected }).await?;
        }
    }
    let params: &[Param<'_>] = &[
        &tenant,
        &definition.workflow,
        &number(last.map_or(0, |last| last.number) + 1),
        &desk.now,
        &desk.actor.0,
        &wish.reason,
        &wish.tag.as_ref().map(|(tag, _)| tag.as_str()),
        &wish.base.as_str(),
        &definition.version.as_str(),
        &wish.operations.to_stored(),
        &wish.inverse.to_stored(),
    ];
    desk.session.query(sql::KEEP_PATCH, params).await?;
    Ok(Controlled::Done)
}

async fn store(
    desk: &Operator<'_>,
    statement: sql::Sql,
    definition: &Definition,
) -> Result<(), StatementError> {
    let params: &[Param<'_>] = &[
        &desk.tenant.as_str(),
        &definition.workflow,
        &definition.version.as_str(),
        &definition.kind.as_str(),
        &definition.source,
        &definition.compiled,
        &(definition.format as i32),
        &desk.now,
    ];
    desk.session.query(statement, params).await?;
    Ok(())
}
