//! What a user's code looks like to a worker.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use rhythm_core::{Failure, Payload};

use super::context::TaskContext;

/// The code of one task name.
#[async_trait]
pub trait Handler: Send + Sync {
    /// Performs one attempt. Blobs in the input were loaded; a large output is stored by the worker.
    async fn handle(&self, context: TaskContext, input: Payload) -> Result<Payload, Failure>;
}

/// The handlers of a worker, by task name.
#[derive(Clone, Default)]
pub struct Handlers(BTreeMap<String, Arc<dyn Handler>>);

impl Handlers {
    /// Later registrations of a name win.
    pub fn add(&mut self, name: impl Into<String>, handler: Arc<dyn Handler>) {
        self.0.insert(name.into(), handler);
    }

    pub fn get(&self, name: &str) -> Option<Arc<dyn Handler>> {
        self.0.get(name).cloned()
    }

    pub fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
