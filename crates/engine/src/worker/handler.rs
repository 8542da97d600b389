//! The interface between user code and a worker.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use rhythm_core::{Failure, Payload, TaskDefaults};

use super::context::TaskContext;

/// The code of one task name.
#[async_trait]
pub trait Handler: Send + Sync {
    /// Performs one attempt. Blobs in the input are loaded already; the worker stores a large output.
    async fn handle(&self, context: TaskContext, input: Payload) -> Result<Payload, Failure>;
}

/// The handlers of a worker, by task name.
#[derive(Clone, Default)]
pub struct Handlers {
    handlers: BTreeMap<String, Arc<dyn Handler>>,
    defaults: BTreeMap<String, TaskDefaults>,
}

impl Handlers {
    /// Adds a handler. A later one with the same name replaces it.
    pub fn add(&mut self, name: impl Into<String>, handler: Arc<dyn Handler>) {
        self.handlers.insert(name.into(), handler);
    }

    /// Sets the options that tasks of this name have unless the workflow sets others.
    pub fn set_defaults(&mut self, name: impl Into<String>, defaults: TaskDefaults) {
        self.defaults.insert(name.into(), defaults);
    }

    pub fn defaults(&self, name: &str) -> Option<&TaskDefaults> {
        self.defaults.get(name)
    }

    pub fn get(&self, name: &str) -> Option<Arc<dyn Handler>> {
        self.handlers.get(name).cloned()
    }

    /// Returns the names of all tasks with a handler.
    pub fn names(&self) -> Vec<String> {
        self.handlers.keys().cloned().collect()
    }

    pub fn is_empty(&self) -> bool {
        self.handlers.is_empty()
    }
}
