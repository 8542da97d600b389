//! Whether the input of a run fits the schema of its workflow.

mod misfit;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rhythm_core::{Payload, TenantId, Version, WorkflowKind};
use rhythm_flow::front_matter::settings_of;
use rhythm_syntax::schema::Schema;
use serde_json::Value;

use crate::world::{Definition, World, WorldResult};

pub use misfit::Misfit;

/// Whether an input fits a schema.
pub fn check(schema: &Schema, input: &Value) -> Result<(), Misfit> {
    match schema.misfits(input).as_slice() {
        [] => Ok(()),
        misfits => Err(Misfit::of(misfits)),
    }
}

/// The schemas of the workflows this process has started, compiled once for each version.
#[derive(Default)]
pub struct Schemas(Mutex<HashMap<Version, Option<Arc<Schema>>>>);

impl Schemas {
    /// Checks an input. What has no schema takes anything.
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
        // What cannot be compiled is never registered.
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

/// The schema a compiled graph has for its inputs.
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
