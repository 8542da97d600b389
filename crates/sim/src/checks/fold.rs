//! I7 and I8: every history folds to the stored snapshot, with the same commands on the way.

use std::sync::Arc;

use rhythm_core::RunId;
use rhythm_engine::client::Client;
use rhythm_engine::programs::Programs;
use rhythm_engine::verify::verify;

use super::{Checks, Objection};
use crate::network::Network;

/// Not a [`super::Check`]: it needs the world itself.
pub struct Fold<'a> {
    pub network: &'a Arc<Network>,
    pub client: &'a Client,
}

impl Fold<'_> {
    pub fn look(&self, runs: &[RunId], checks: &mut Checks) {
        let programs = Programs::default();
        for run in runs {
            let problem = match self.network.wait(verify(self.client, &programs, run)) {
                Ok(verified) => verified.problem,
                Err(error) => Some(error.to_string()),
            };
            if let Some(problem) = problem {
                checks.object("fold", Objection::of_run(run, problem));
            }
        }
    }
}
