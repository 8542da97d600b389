//! The worker in the process of a client. A run that it can step at once begins with its first step: one commit instead of a
//! creation, a claim and a commit, and without a look at the workflow when that was seen before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rhythm_core::TenantId;

use crate::drive::Driver;
use crate::world::{Definition, NewRun, WorldResult};

/// Shared by the clients and the worker of one process; empty until a worker moves in.
#[derive(Default)]
pub struct Nearby {
    worker: Mutex<Option<Weak<Driver>>>,
    /// What was the current version of a workflow when somebody looked.
    seen: Mutex<HashMap<(TenantId, String), Arc<Definition>>>,
}

impl Nearby {
    pub fn move_in(&self, driver: &Arc<Driver>) {
        *lock(&self.worker) = Some(Arc::downgrade(driver));
    }

    fn driver(&self) -> Option<Arc<Driver>> {
        lock(&self.worker).as_ref().and_then(Weak::upgrade)
    }

    /// The current version of a workflow as it was last seen; it may be another by now.
    pub fn last_seen(&self, tenant: &TenantId, workflow: &str) -> Option<Arc<Definition>> {
        lock(&self.seen).get(&(tenant.clone(), workflow.to_owned())).cloned()
    }

    pub fn saw(&self, tenant: &TenantId, current: &Definition) {
        let known = self.last_seen(tenant, &current.workflow);
        if self.driver().is_some() && known.is_none_or(|known| known.version != current.version) {
            let key = (tenant.clone(), current.workflow.clone());
            lock(&self.seen).insert(key, Arc::new(current.clone()));
        }
    }

    /// Whether the worker took the run on; with `if_current` only when its version is the current one. Otherwise nothing is known
    /// of the run: it has to be created like any other.
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
