//! Races of concurrent decisions, of a decision against a timeout or a cancel, and of two changes of one run.
//! One side wins, and every caller gets the true outcome. Runs on any world; the crate of the worlds includes
//! this file.

use std::sync::Arc;

use rhythm_core::{
    Actor, CommandId, EventData, MessageId, Millis, Payload, RunId, Status, TenantId, WorkflowKind,
};
use rhythm_engine::client::{Client, Decide, Decision, StartRun};
use rhythm_engine::error::EngineError;
use rhythm_engine::patches::{PatchOutcome, PatchRun, RunPatch};
use rhythm_engine::programs::Programs;
use rhythm_engine::verify::verify;
use rhythm_engine::world::{ApprovalRow, ApprovalState, ManualClock, World};
use serde_json::json;

use crate::rig::{Actor1, Stage, Ticks, pass, process};

const ASKED: CommandId = CommandId(1);
/// A history is folded again after this many rounds.
const VERIFIED: usize = 250;

/// Environment of the races.
pub struct Track {
    world: Arc<dyn World>,
    clock: Arc<ManualClock>,
    ticks: Arc<Ticks>,
    process: Arc<Actor1>,
    dice: u64,
}

/// Number of races each side won.
#[derive(Debug, Default)]
pub struct Tally {
    pub first: usize,
    pub second: usize,
}

impl Track {
    pub async fn open(world: Arc<dyn World>, clock: Arc<ManualClock>, seed: u64) -> Self {
        let (stage, ticks) = (Stage::default(), Arc::new(Ticks::default()));
        let process = Arc::new(process("w1", world.clone(), &stage, ticks.clone(), |config| config));
        let track = Self { world, clock, ticks, process, dice: seed };
        let graph = json!({"nodes": [
            {"id": "ask", "type": "human", "dependents": ["yes"], "rejection_path": ["no"],
             "human_config": {"approvers": ["ann", "bob"], "timeout": "1h"}},
            {"id": "yes", "type": "task", "config": {"task": "a"}},
            {"id": "no", "type": "task", "config": {"task": "b"}},
        ]});
        let client = track.client("admin");
        client.register("g", WorkflowKind::Graph, &graph.to_string()).await.unwrap();
        track
    }

    fn client(&self, name: &str) -> Client {
        Client::new(self.world.clone(), TenantId::default(), Actor(format!("user:{name}")))
    }

    async fn asked(&self) -> RunId {
        let start = StartRun { workflow: "g".into(), ..StartRun::default() };
        let run = self.client("admin").start_run(start).await.unwrap();
        self.process.settle().await;
        run
    }

    /// Pseudo-random delay of a racer, in yields: only the threads' timing is left to chance.
    fn hesitation(&mut self) -> usize {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 60) as usize
    }

    /// Runs both at once, while the process works; then finishes the remaining work.
    async fn race<A, B>(
        &mut self,
        one: impl Future<Output = A> + Send + 'static,
        other: impl Future<Output = B> + Send + 'static,
    ) -> (A, B)
    where
        A: Send + 'static,
        B: Send + 'static,
    {
        let (first, second) = (self.hesitation(), self.hesitation());
        let one = tokio::spawn(async move {
            hesitate(first).await;
            one.await
        });
        let other = tokio::spawn(async move {
            hesitate(second).await;
            other.await
        });
        while !(one.is_finished() && other.is_finished()) {
            self.process.round().await;
            tokio::task::yield_now().await;
        }
        let answers = (one.await.unwrap(), other.await.unwrap());
        self.process.settle().await;
        answers
    }

    /// Returns the answer a decider got in the end.
    async fn told(
        &self,
        who: &str,
        sent: Result<(), EngineError>,
        request: &Decide,
    ) -> Result<(), ApprovalRow> {
        let answer = match sent {
            Ok(()) => self.client(who).verdict(request).await.map(|row| {
                assert!(row.is_some(), "nothing became of it");
            }),
            Err(error) => Err(error),
        };
        match answer {
            Ok(()) => Ok(()),
            Err(EngineError::ApprovalClosed(row)) => Err(*row),
            Err(other) => panic!("{other}"),
        }
    }

    async fn verified(&self, run: &RunId, round: usize) {
        if round.is_multiple_of(VERIFIED) {
            let verified = verify(&self.client("admin"), &Programs::default(), run).await.unwrap();
            assert_eq!(verified.problem, None);
        }
    }

    /// Returns the nodes that got tokens, and the run's status.
    async fn way(&self, run: &RunId) -> (Vec<String>, Status) {
        let client = self.client("admin");
        let history = client.history(run).await.unwrap();
        let emitted = history.into_iter().filter_map(|event| match event.data {
            EventData::NodeEmitted(token) => Some(token.to),
            _ => None,
        });
        (emitted.skip(1).collect(), client.picture(run).await.unwrap().summary.status)
    }

    /// One approves, one rejects.
    pub async fn two_people(&mut self, rounds: usize) -> Tally {
        let mut tally = Tally::default();
        for round in 0..rounds {
            let run = self.asked().await;
            let (ann, bob) = (self.client("ann"), self.client("bob"));
            let yes = Decide::new(run.clone(), ASKED, Decision::Approve);
            let no = Decide::new(run.clone(), ASKED, Decision::Reject);
            let (mine, theirs) = (yes.clone(), no.clone());
            let sent = self
                .race(async move { ann.decide(&mine).await }, async move { bob.decide(&theirs).await })
                .await;
            let told = (self.told("ann", sent.0, &yes).await, self.told("bob", sent.1, &no).await);
            let (winner, decision, way) = match told {
                (Ok(()), Err(row)) => (row, ("ann", "approve"), "yes"),
                (Err(row), Ok(())) => (row, ("bob", "reject"), "no"),
                both => panic!("round {round}: {both:?}"),
            };
            assert_eq!(winner.state, ApprovalState::Decided);
            let said = (winner.decided_by.as_deref(), winner.decision.as_deref());
            assert_eq!(said, (Some(decision.0), Some(decision.1)), "the loser is told who won");
            assert_eq!(self.way(&run).await, (vec![way.to_owned()], Status::Completed));
            self.verified(&run, round).await;
            match way {
                "yes" => tally.first += 1,
                _ => tally.second += 1,
            }
        }
        tally
    }

    /// An approval races with the timeout, which means rejection.
    pub async fn against_the_clock(&mut self, rounds: usize) -> Tally {
        let mut tally = Tally::default();
        for round in 0..rounds {
            let run = self.asked().await;
            let ann = self.client("ann");
            let yes = Decide::new(run.clone(), ASKED, Decision::Approve);
            let mine = yes.clone();
            let (clock, ticks) = (self.clock.clone(), self.ticks.clone());
            let time = async move { pass(&clock, &ticks, Millis::from_secs(3_600)) };
            let (sent, ()) = self.race(async move { ann.decide(&mine).await }, time).await;
            match self.told("ann", sent, &yes).await {
                Ok(()) => {
                    tally.first += 1;
                    assert_eq!(self.way(&run).await, (vec!["yes".to_owned()], Status::Completed));
                }
                Err(row) => {
                    tally.second += 1;
                    assert_eq!(row.state, ApprovalState::Timeout);
                    assert_eq!(self.way(&run).await, (vec!["no".to_owned()], Status::Completed));
                }
            }
            self.verified(&run, round).await;
        }
        tally
    }

    /// An approval races with a cancel of the run.
    pub async fn against_a_cancel(&mut self, rounds: usize) -> Tally {
        let mut tally = Tally::default();
        for round in 0..rounds {
            let run = self.asked().await;
            let (ann, admin, of) = (self.client("ann"), self.client("admin"), run.clone());
            let yes = Decide::new(run.clone(), ASKED, Decision::Approve);
            let mine = yes.clone();
            let cancel = async move { admin.cancel(&of, "enough").await };
            let (sent, cancelled) = self.race(async move { ann.decide(&mine).await }, cancel).await;
            let told = self.told("ann", sent, &yes).await;
            let (way, status) = self.way(&run).await;
            match told {
                // The cancel may still have stopped the work after the decision.
                Ok(()) => {
                    tally.first += 1;
                    assert_eq!(way, ["yes"], "round {round}");
                }
                Err(row) => {
                    tally.second += 1;
                    assert_eq!((row.state, status), (ApprovalState::Cancelled, Status::Cancelled));
                    assert_eq!(way, [""; 0], "round {round}");
                    cancelled.expect("whoever won is told so");
                }
            }
            self.verified(&run, round).await;
        }
        tally
    }

    /// Two patches change the same part of one run, each based on the same state.
    pub async fn two_patches(&mut self, rounds: usize) -> Tally {
        let mut tally = Tally::default();
        for round in 0..rounds {
            let run = self.asked().await;
            let (mine, theirs) = (self.rename(&run, "ann"), self.rename(&run, "bob"));
            let (mine, theirs) = self.race(mine, theirs).await;
            let patches = self.client("admin").patches(&run).await.unwrap();
            let outcome = |id: &MessageId| match patches
                .iter()
                .filter(|patch| patch.message.as_ref() == Some(id))
                .collect::<Vec<_>>()[..]
            {
                [RunPatch { outcome: PatchOutcome::Adopted { .. }, .. }] => true,
                [RunPatch { outcome: PatchOutcome::Refused { code, .. }, .. }] => {
                    assert_eq!(code, "inapplicable_patch", "the loser is told why");
                    false
                }
                ref other => panic!("round {round}: {other:?}"),
            };
            let winner = match (outcome(&mine), outcome(&theirs)) {
                (true, false) => "ann",
                (false, true) => "bob",
                both => panic!("round {round}: {both:?}"),
            };
            let ann = self.client("ann");
            ann.decide(&Decide::new(run.clone(), ASKED, Decision::Approve)).await.unwrap();
            self.process.settle().await;
            assert_eq!(self.way(&run).await, (vec![winner.to_owned()], Status::Completed));
            self.verified(&run, round).await;
            match winner {
                "ann" => tally.first += 1,
                _ => tally.second += 1,
            }
        }
        tally
    }

    /// Renames the node `yes`; the second patch finds no `yes`.
    fn rename(&self, run: &RunId, name: &str) -> impl Future<Output = MessageId> + Send + 'static {
        let operations = json!([
            {"op": "test", "path": "/nodes/1/id", "value": "yes"},
            {"op": "replace", "path": "/nodes/1/id", "value": name},
            {"op": "replace", "path": "/nodes/0/dependents", "value": [name]}]);
        let patch = PatchRun { operations: Payload::of(&operations).unwrap(), ..PatchRun::default() };
        let (client, run) = (self.client(name), run.clone());
        async move { client.patch(&run, patch).await.unwrap() }
    }
}

async fn hesitate(times: usize) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}
