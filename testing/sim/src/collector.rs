//! Collects blobs beside everything else, far more often than a process would, and counts those that are gone: a blob that is
//! still needed and was not referred to is missed by the run that reads it, or by the fold of its history.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rhythm_core::{BlobRef, Millis, TenantId};
use rhythm_engine::world::{Upkeep, World, WorldError};

use crate::dice::Dice;
use crate::network::Network;

/// Longer than from storing a content to the commit that refers to it, which may come again after an outage.
const GRACE: Millis = Millis::from_secs(30);

/// Every content that somebody has stored and that was not seen to be gone.
#[derive(Default)]
pub struct Stored(Mutex<BTreeSet<(TenantId, BlobRef)>>);

impl Stored {
    pub fn note(&self, tenant: &TenantId, blob: &BlobRef) {
        self.lock().insert((tenant.clone(), blob.clone()));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<(TenantId, BlobRef)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets those that are gone, and says how many these are.
    async fn count_gone(&self, world: &dyn World) -> u64 {
        let mut gone = 0;
        let all = self.lock().clone();
        for (tenant, blob) in all {
            if matches!(world.read_blob(&tenant, &blob).await, Err(WorldError::NotFound(_))) {
                gone += u64::from(self.lock().remove(&(tenant, blob)));
            }
        }
        gone
    }
}

/// Looks for blobs that nothing names, for as long as the simulation goes on. Nothing of what it does is subject to faults.
pub async fn keep_collecting(network: Arc<Network>, world: Arc<dyn World>, mut dice: Dice) {
    loop {
        network.kernel.sleep(dice.number(2_000..10_000)).await;
        collect(&network, &*world, GRACE, "blob collected").await;
    }
}

/// What is left when all is over is only what something names.
pub async fn collect_all(network: &Network, world: &dyn World) {
    // The first look marks what nothing names.
    for _ in 0..2 {
        collect(network, world, Millis::ZERO, "blob left over").await;
    }
}

async fn collect(network: &Network, world: &dyn World, grace: Millis, what: &'static str) {
    let request = Upkeep::CollectBlobs { grace, limit: 1_000_000 };
    world.upkeep(request).await.expect("nobody disturbs it");
    let gone = network.stored.count_gone(world).await;
    let mut checks = network.checks.lock().unwrap_or_else(PoisonError::into_inner);
    checks.tick(what, gone);
}
