//! Checks the input of a run against the schema of its workflow.

mod misfit;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rhythm_core::{Payload, TenantId, Version, WorkflowKind};
use rhythm_flow::front_matter::settings_of;
use rhythm_syntax::schema::Schema;
use serde_json::Value;

use crate::world::{Definition, World, WorldResult};

pub use misfit::Misfit;

/// Checks an input against a schema; the error lists the problems.
pub fn check(schema: &Schema, input: &Value) -> Result<(), Misfit> {
    match schema.misfits(input).as_slice() {
        [] => Ok(()),
        misfits => Err(Misfit::of(misfits)),
    }
}

/// Input schemas by version, each compiled once in this process.
#[derive(Default)]
pub struct Schemas(Mutex<HashMap<Version, Option<Arc<Schema>>>>);

impl Schemas {
    /// Checks an input against the schema of its workflow. Without a schema, any input fits. Fails if the
    /// world fails.
    pub async fn check(
        &self,
        world: &dyn World,
        tenant: &TenantId,
        definition: &Definition,
        input: &Payload,
    ) -> WorldResult<Result<(), Misfit>> {
        let Some(schema) = self.schema(definition) else { return Ok(Ok(())) };
        let parsed = match input {
            Payload::Inline(raw) => serde_json::from_str(raw.get()),
            Payload::Blob(blob) => serde_json::from_slice(&world.read_blob(tenant, blob).await?),
        };
        Ok(match parsed {
            Ok(input) => check(&schema, &input),
            Err(error) => Err(Misfit::unreadable(&error)),
        })
    }

    fn schema(&self, definition: &Definition) -> Option<Arc<Schema>> {
        if !matches!(definition.kind, WorkflowKind::Flow | WorkflowKind::Graph) {
            return None;
        }
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&definition.version).cloned();
        if let Some(known) = known {
            return known;
        }
        // A schema that does not compile is refused at registration.
        let text = match definition.kind {
            WorkflowKind::Graph => inputs_of(definition),
            _ => settings_of(&definition.source).input,
        };
        let schema = text.and_then(|text| Schema::compile(&text).ok());
        let schema = schema.map(Arc::new);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(definition.version.clone(), schema.clone());
        schema
    }
}

/// Returns the input schema of a compiled graph.
fn inputs_of(definition: &Definition) -> Option<Value> {
    #[derive(serde::Deserialize)]
    struct Inputs {
        #[serde(default)]
        inputs: Option<Value>,
    }
    serde_json::from_slice::<Inputs>(&definition.compiled).ok()?.inputs
}

#[cfg(test)]
mod tests;
