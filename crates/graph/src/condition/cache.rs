//! Cache of a program's conditions, compiled once for each content.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Condition, ConditionError};

/// Returns the same compiled condition for the same content.
#[derive(Clone, Debug, Default)]
pub struct Conditions(BTreeMap<[u8; 32], Arc<Condition>>);

impl Conditions {
    pub fn compile(&mut self, source: &Value) -> Result<Arc<Condition>, ConditionError> {
        let key: [u8; 32] = Sha256::digest(source.to_string()).into();
        if let Some(known) = self.0.get(&key) {
            return Ok(known.clone());
        }
        let condition = Arc::new(Condition::compile(source)?);
        self.0.insert(key, condition.clone());
        Ok(condition)
    }

    /// Returns the number of different conditions.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
