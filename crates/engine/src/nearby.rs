//! The worker in the process of a client. A run that it can step at once begins with its first step: one commit instead of a
//! creation, a claim and a commit.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use rhythm_core::TenantId;

use crate::drive::Driver;
use crate::world::{NewRun, WorldResult};

/// Shared by the clients and the worker of one process; empty until a worker moves in.
#[derive(Default)]
pub struct Nearby(Mutex<Option<Weak<Driver>>>);

impl Nearby {
    pub fn move_in(&self, driver: &Arc<Driver>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::downgrade(driver));
    }

    /// Whether the worker took the run on. Otherwise nothing is known of the run: it has to be created like any other.
    pub async fn begin(&self, tenant: &TenantId, run: &NewRun) -> WorldResult<bool> {
        let driver = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(Weak::upgrade);
        match driver {
            Some(driver) => driver.begin(tenant, run).await,
            None => Ok(false),
        }
    }
}
