//! Lets a client use the worker in its own process. A run that this worker can step begins with its first
//! step: one commit instead of a creation, a claim and a commit, and without reading the workflow if it was
//! seen before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rhythm_core::TenantId;

use crate::drive::Driver;
use crate::world::{Definition, NewRun, WorldResult};

/// Shared by the clients and the worker of one process; empty until a worker starts.
#[derive(Default)]
pub struct LocalWorker {
    worker: Mutex<Option<Weak<Driver>>>,
    /// Current versions of workflows, as last read.
    seen: Mutex<HashMap<(TenantId, String), Arc<Definition>>>,
}

impl LocalWorker {
    /// Connects the worker of this process.
    pub fn move_in(&self, driver: &Arc<Driver>) {
        *lock(&self.worker) = Some(Arc::downgrade(driver));
    }

    fn driver(&self) -> Option<Arc<Driver>> {
        lock(&self.worker).as_ref().and_then(Weak::upgrade)
    }

    /// Returns the version of a workflow that was current when last read; it may have changed since.
    pub fn last_seen(&self, tenant: &TenantId, workflow: &str) -> Option<Arc<Definition>> {
        lock(&self.seen).get(&(tenant.clone(), workflow.to_owned())).cloned()
    }

    /// Remembers the current version of a workflow, if there is a worker.
    pub fn saw(&self, tenant: &TenantId, current: &Definition) {
        let known = self.last_seen(tenant, &current.workflow);
        if self.driver().is_some() && known.is_none_or(|known| known.version != current.version) {
            let key = (tenant.clone(), current.workflow.clone());
            lock(&self.seen).insert(key, Arc::new(current.clone()));
        }
    }

    /// Lets the worker create the run and step it; with `if_current` only if its version is the current one.
    /// `false` means that nothing was written and the caller must create the run. Fails if the world fails.
    pub async fn begin(&self, tenant: &TenantId, run: &NewRun, if_current: bool) -> WorldResult<bool> {
        match self.driver() {
            Some(driver) => driver.begin(tenant, run, if_current).await,
            None => Ok(false),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
