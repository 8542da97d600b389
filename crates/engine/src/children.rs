//! Starts children: chooses the version, checks the input, and builds the run.

use rhythm_core::failure::codes;
use rhythm_core::{Actor, ChildSpec, Failure, Millis, RunId, TenantId, label};

use crate::inputs::Schemas;
use crate::world::*;

/// Returns the version a child starts with, or why it cannot start.
pub async fn pin(
    world: &dyn World,
    tenant: &TenantId,
    schemas: &Schemas,
    child: &ChildSpec,
) -> WorldResult<Result<Definition, Failure>> {
    let (workflow, version) = (child.workflow.clone(), child.version.clone());
    let found = world.definition(DefinitionQuery { tenant: tenant.clone(), workflow, version }).await?;
    let Some(definition) = found else {
        let message = format!("no workflow named {} is registered", child.workflow);
        return Ok(Err(Failure::permanent(codes::UNKNOWN_WORKFLOW, message)));
    };
    let fits = schemas.check(world, tenant, &definition, &child.input).await?;
    Ok(fits.map(|()| definition).map_err(|misfit| {
        let message = format!("the input does not fit workflow {}: {misfit}", child.workflow);
        Failure::permanent(codes::INVALID_INPUT, message)
    }))
}

/// Returns the run of a child that starts with this definition.
pub fn new_child(parent: &RunId, child: ChildSpec, definition: Definition) -> NewRun {
    NewRun {
        id: parent.child(child.child),
        workflow: child.workflow,
        version: definition.version,
        kind: definition.kind,
        input: child.input,
        priority: child.priority,
        delay: Millis::ZERO,
        deadline: child.deadline,
        labels: child.label.into_iter().map(|label| (label::CHILD_LABEL.to_owned(), label)).collect(),
        parent: Some(Parent { run: parent.clone(), child: child.child }),
        actor: Actor::run(parent),
        trace: None,
    }
}
