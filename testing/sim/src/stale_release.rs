//! The fault `StaleRelease`: a process that lost a run without knowing it gives the run back late, while the
//! next process holds it.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use rhythm_core::{Blocked, BlockedCode, Millis, RunId, TenantId, Timestamp, WorkerId};
use rhythm_engine::world::*;

use crate::executor::{NOBODY, Owner};
use crate::faults::Fault;
use crate::network::Network;
use crate::sim_world::COMMIT;

/// Longest delay after the next claim; short enough that the run is mostly still held.
const AFTER_MS: u64 = 5;

/// A process and the identity it claims with.
pub type Claimant = (Owner, TenantId, WorkerId);

/// The last claimant of each run, with its claim number.
pub type Formers = BTreeMap<RunId, (Claimant, u64)>;

/// Gives each newly claimed run a chance to be given back by its former claimant.
pub fn give_back_again(network: &Arc<Network>, world: &Arc<dyn World>, by: Claimant, claimed: &ClaimedRuns) {
    for run in &claimed.runs {
        let mut formers = network.formers.lock().unwrap_or_else(PoisonError::into_inner);
        let former = formers.insert(run.run.id.clone(), (by.clone(), run.claim));
        drop(formers);
        if let Some((former, claim)) = former
            && claim < run.claim
            && network.draws(Fault::StaleRelease)
        {
            give_back(network, world, former, &run.run.id, claim);
        }
    }
}

fn give_back(
    network: &Arc<Network>,
    world: &Arc<dyn World>,
    (owner, tenant, worker): Claimant,
    run: &RunId,
    claim: u64,
) {
    let (kernel, network) = (&network.kernel, network.clone());
    let (world, run) = (world.clone(), run.clone());
    let detail = "whoever lost the run says so".to_owned();
    let blocked = Blocked { code: BlockedCode::Quarantined, since: Timestamp::default(), detail };
    let outcomes = [
        ReleaseOutcome::Idle { arrived: 0 },
        ReleaseOutcome::Later { after: Millis(0), blocked: None },
        ReleaseOutcome::Aside(blocked),
    ];
    let (after, outcome) = {
        let mut dice = network.dice.lock().unwrap_or_else(PoisonError::into_inner);
        (dice.number(0..AFTER_MS), dice.pick(&outcomes).clone())
    };
    let late = async move {
        network.kernel.sleep(after).await;
        let seen = network.wait(world.picture(&tenant, &run));
        if !seen.is_ok_and(|seen| seen.is_some_and(|seen| seen.claimed_by.is_some())) {
            return;
        }
        network.strike(owner, Fault::StaleRelease, || format!("{run}, claim {claim}"));
        let released = vec![ReleasedRun { run, claim, outcome }];
        let commit = Commit { tenant, worker, hold: Millis(0), items: Vec::new(), released };
        let _ = network.apply(owner, &*world, COMMIT, Arc::new(commit));
    };
    kernel.spawn(NOBODY, Box::pin(late));
}
