//! Collects blobs during the simulation, far more often than a process would, and counts the removed ones. If
//! a blob that is still needed is removed, the run that reads it or the fold of its history reports that.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rhythm_core::{BlobRef, Millis, TenantId};
use rhythm_engine::world::{Upkeep, World, WorldError};

use crate::dice::Dice;
use crate::network::Network;

/// Longer than the time from storing a content to the commit that refers to it, which may be repeated after
/// an outage.
const GRACE: Millis = Millis::from_secs(30);

/// Every stored content that was not yet seen to be gone.
#[derive(Default)]
pub struct Stored(Mutex<BTreeSet<(TenantId, BlobRef)>>);

impl Stored {
    pub fn note(&self, tenant: &TenantId, blob: &BlobRef) {
        self.lock().insert((tenant.clone(), blob.clone()));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<(TenantId, BlobRef)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the blobs that are gone from the set and returns their number.
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

/// Collects unreferenced blobs until the simulation ends. Its requests are not subject to faults.
pub async fn keep_collecting(network: Arc<Network>, world: Arc<dyn World>, mut dice: Dice) {
    loop {
        network.kernel.sleep(dice.number(2_000..10_000)).await;
        collect(&network, &*world, GRACE, "blob collected").await;
    }
}

/// Collects at the end, so that only referenced blobs are left.
pub async fn collect_all(network: &Network, world: &dyn World) {
    // The first pass only marks unreferenced blobs; the second removes them.
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
