//! I7 and I8: every history folds to the stored snapshot, with the same commands on the way. This calls the
//! engine's own `verify`, so it is only as good as that. The test below shows that it objects to a changed
//! snapshot.

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rhythm_core::{Millis, Snapshot, WorkerId, WorkflowKind};
    use rhythm_engine::client::StartRun;
    use rhythm_engine::config::Config;
    use rhythm_engine::engine::Engine;
    use rhythm_engine::memory::MemoryWorld;
    use rhythm_engine::process::Process;
    use rhythm_engine::time::{Monotonic, WorldTime};
    use rhythm_engine::worker::{Handlers, Worker};
    use rhythm_engine::world::*;

    use super::*;
    use crate::client::{ClientLog, client_on};
    use crate::dice::Dice;
    use crate::executor::Executor;
    use crate::faults::Faults;
    use crate::trace::Trace;

    struct Still;

    impl Monotonic for Still {
        fn millis(&self) -> u64 {
            0
        }
    }

    /// Starts a run and steps it until it awaits its signal.
    async fn waiting_run(world: &Arc<dyn World>, client: &Client) -> RunId {
        let plan = r#"{"steps": [{"signal": {"name": "go"}}]}"#;
        client.register("drill", WorkflowKind::Drill, plan).await.unwrap();
        let run =
            client.start_run(StartRun { workflow: "drill".into(), ..StartRun::default() }).await.unwrap();
        let config = Config::new(WorkerId::new("w"));
        let time = WorldTime::new(Arc::new(Still));
        let process = Arc::new(Process::new(world.clone(), config, Programs::default(), time));
        let worker = Worker::new(process.clone(), Handlers::default(), "test".into(), 1);
        let ticked = Engine::new(process, Arc::new(worker)).tick().await;
        assert!(ticked.error.is_none() && ticked.runs == 1);
        run
    }

    /// Overwrites a run's snapshot with another one, through a valid claim and commit.
    async fn change_snapshot(world: &Arc<dyn World>, client: &Client, run: &RunId) {
        client.signal(run, "go", rhythm_core::Payload::null(), None).await.unwrap();
        let claim = ClaimRuns {
            tenant: client.tenant().clone(),
            worker: WorkerId::new("forger"),
            kinds: vec![WorkflowKind::Drill],
            workflows: Vec::new(),
            limit: 1,
            of: None,
            hold: Millis(1_000),
            ask: Ask::default(),
        };
        let claimed = world.claim_runs(claim).await.unwrap().runs.remove(0);
        let mut state = claimed.run.state.clone();
        let snapshot = state.snapshot.take().unwrap();
        let mut bytes = snapshot.bytes.to_vec();
        bytes[0] ^= 1;
        state.snapshot = Some(Snapshot { bytes: bytes.into(), ..snapshot });
        let item = CommitItem {
            revision: claimed.run.revision,
            ..CommitItem::new(run.clone(), "forged".into(), Fence::Claim(claimed.claim), state)
        };
        let commit = Commit {
            tenant: client.tenant().clone(),
            worker: WorkerId::new("forger"),
            hold: Millis(1_000),
            items: vec![item],
            released: Vec::new(),
        };
        let committed = world.commit(std::sync::Arc::new(commit)).await.unwrap();
        assert!(matches!(committed.outcomes[0], CommitOutcome::Done(_)));
    }

    #[test]
    fn fold_objects_to_a_snapshot_that_was_changed() {
        let kernel = Executor::new(Dice::new(1, "scheduler")).kernel();
        let trace = Trace::new(kernel.clone(), false);
        let checks = Checks::new(BTreeMap::new());
        let network = Arc::new(Network::new(kernel, trace, Faults::none(), Dice::new(1, "network"), checks));
        let world: Arc<dyn World> = Arc::new(MemoryWorld::new(None));
        let client = client_on(world.clone(), &Arc::new(ClientLog::default()));
        let run = network.wait(waiting_run(&world, &client));
        let look = || {
            let mut checks = Checks::new(BTreeMap::new());
            Fold { network: &network, client: &client }.look(std::slice::from_ref(&run), &mut checks);
            checks.found().len()
        };
        assert_eq!(look(), 0);
        network.wait(change_snapshot(&world, &client, &run));
        assert_eq!(look(), 1);
    }
}
