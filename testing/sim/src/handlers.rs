//! The simulated task handlers, and the ledger of their executions, which is kept outside the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use rhythm_core::failure::codes;
use rhythm_core::{Failure, Payload, TaskId};
use rhythm_engine::worker::{Handler, Handlers, TaskContext};
use rhythm_graph::condition::SANDBOX_TASK;
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::executor::Owner;
use crate::faults::Fault;
use crate::fnv::Fnv;
use crate::graphs::COMPENSATOR;
use crate::network::Network;

/// Task names with a handler. The input, or the node's config, contains the duration (`ms`) and the number of
/// attempts that fail first (`fails`).
pub const NAMES: &[&str] =
    &["work", "flaky", "doomed", "big", "teller", "stubborn", "agent", COMPENSATOR, SANDBOX_TASK];
/// Size in bytes that is too large to be stored inline.
const BIG: usize = 70_000;

/// Executions of one attempt of a task, over all its deliveries.
#[derive(Clone, Debug)]
pub struct Effect {
    pub task: TaskId,
    pub attempt: u32,
    pub begun: u64,
    pub highest_delivery: u32,
    pub output: Option<Payload>,
    /// Codes of its failures.
    pub failures: BTreeSet<String>,
}

#[derive(Default)]
pub struct Ledger {
    effects: Mutex<BTreeMap<(TaskId, u32), Effect>>,
    /// Virtual time of the last heartbeat under each claim.
    beats: Mutex<BTreeMap<(TaskId, u64), u64>>,
}

impl Ledger {
    pub fn effects(&self) -> Vec<Effect> {
        self.lock().values().cloned().collect()
    }

    /// Returns the output a handler gave for an attempt. It is the same for all deliveries of the attempt.
    pub fn output(&self, task: &TaskId, attempt: u32) -> Option<Payload> {
        self.lock().get(&(task.clone(), attempt))?.output.clone()
    }

    /// Returns whether a handler failed with this code in an attempt.
    pub fn failed(&self, task: &TaskId, attempt: u32, code: &str) -> bool {
        self.lock().get(&(task.clone(), attempt)).is_some_and(|effect| effect.failures.contains(code))
    }

    /// Returns the virtual time of the last heartbeat under a claim, if there was one.
    pub fn last_beat(&self, task: &TaskId, claim: u64) -> Option<u64> {
        self.lock_beats().get(&(task.clone(), claim)).copied()
    }

    pub fn beat(&self, task: &TaskId, claim: u64, now: u64) {
        self.lock_beats().insert((task.clone(), claim), now);
    }

    fn begin(&self, context: &TaskContext) {
        let mut effects = self.lock();
        let key = (context.task_id().clone(), context.attempt());
        let effect = effects.entry(key).or_insert_with(|| Effect {
            task: context.task_id().clone(),
            attempt: context.attempt(),
            begun: 0,
            highest_delivery: 0,
            output: None,
            failures: BTreeSet::new(),
        });
        effect.begun += 1;
        effect.highest_delivery = effect.highest_delivery.max(context.delivery());
    }

    fn give(&self, context: &TaskContext, output: &Payload) {
        let key = (context.task_id().clone(), context.attempt());
        if let Some(effect) = self.lock().get_mut(&key) {
            effect.output = Some(output.clone());
        }
    }

    fn fail(&self, context: &TaskContext, code: &str) {
        let key = (context.task_id().clone(), context.attempt());
        if let Some(effect) = self.lock().get_mut(&key) {
            effect.failures.insert(code.to_owned());
        }
    }

    fn lock_beats(&self) -> MutexGuard<'_, BTreeMap<(TaskId, u64), u64>> {
        self.beats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(TaskId, u32), Effect>> {
        self.effects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Actor {
    name: &'static str,
    owner: Owner,
    network: Arc<Network>,
    ledger: Arc<Ledger>,
    dice: Arc<Mutex<Dice>>,
}

/// Builds the handlers of one process.
pub fn handlers(network: &Arc<Network>, ledger: &Arc<Ledger>, owner: Owner, seed: u64) -> Handlers {
    let dice = Arc::new(Mutex::new(Dice::new(seed, &format!("handlers of {}", owner.0))));
    let mut handlers = Handlers::default();
    for name in NAMES {
        let (network, ledger, dice) = (network.clone(), ledger.clone(), dice.clone());
        handlers.add(*name, Arc::new(Actor { name, owner, network, ledger, dice }));
    }
    handlers
}

#[async_trait]
impl Handler for Actor {
    async fn handle(&self, context: TaskContext, input: Payload) -> Result<Payload, Failure> {
        self.ledger.begin(&context);
        self.note("begins", &context);
        let result = self.act(&context, input).await;
        if let Err(failure) = &result {
            self.ledger.fail(&context, &failure.code);
        }
        result
    }
}

impl Actor {
    async fn act(&self, context: &TaskContext, input: Payload) -> Result<Payload, Failure> {
        let input: Value = input.text().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let whole = &input;
        let input = input.get("config").unwrap_or(&input);
        self.pass_time(context, input).await?;
        self.misbehave(context).await?;
        if u64::from(context.attempt()) <= input["fails"].as_u64().unwrap_or_default() {
            return Err(Failure::new("FLAKY", "not yet"));
        }
        if self.name == "doomed" && !self.network.faults().is_calm() {
            return Err(Failure::permanent("DOOMED", "never"));
        }
        let mut output = json!({"task": context.task_id().as_str(), "attempt": context.attempt()});
        if self.name == "big" {
            output["padding"] = Value::String("x".repeat(BIG));
        }
        if whole.get("config").is_some() {
            output["n"] = json!(lot(context) % 3);
        }
        if self.name == "agent" {
            output["next_nodes"] = chosen(&whole["available_next_nodes"], lot(context));
        }
        if self.name == SANDBOX_TASK {
            output = [json!(true), json!(false), json!("perhaps")][(lot(context) % 3) as usize].clone();
        }
        let output = Payload::of(&output).map_err(|error| Failure::new("SIM", error.to_string()))?;
        self.ledger.give(context, &output);
        self.note("did", context);
        Ok(output)
    }

    fn note(&self, what: &str, context: &TaskContext) {
        let attempt = (context.task_id().as_str(), context.attempt(), context.delivery());
        self.network.trace.note(self.owner, what, &attempt, || shown(context));
    }

    /// Lets the task's duration pass. All handlers except the stubborn ones stop when they are asked to.
    async fn pass_time(&self, context: &TaskContext, input: &Value) -> Result<(), Failure> {
        let kernel = &self.network.kernel;
        let mut left = input["ms"].as_u64().unwrap_or_default();
        if self.network.strikes(self.owner, Fault::HandlerSlow, || shown(context)) {
            left += self.dice().skewed(60_000) + 1;
        }
        while left > 0 {
            let part = left.min(500);
            left -= part;
            tokio::select! {
                biased;
                () = kernel.sleep(part) => {}
                _ = context.cancelled(), if self.name != "stubborn" => {
                    return Err(Failure::cancelled("stopped when asked to"));
                }
            }
            if self.name == "teller" {
                self.ledger.beat(context.task_id(), context.claim(), kernel.now());
                context.report(Payload::of(&json!({"left": left})).unwrap_or_default());
            }
        }
        Ok(())
    }

    async fn misbehave(&self, context: &TaskContext) -> Result<(), Failure> {
        let strikes = |fault: Fault| self.network.strikes(self.owner, fault, || shown(context));
        if strikes(Fault::HandlerHangs) {
            std::future::pending::<()>().await;
        }
        if strikes(Fault::HandlerPanics) {
            self.ledger.fail(context, codes::PANIC);
            // Unwinds without the panic hook's message.
            std::panic::resume_unwind(Box::new("simulated panic"));
        }
        if strikes(Fault::HandlerFails) {
            return Err(Failure::new("SIMULATED", "no luck"));
        }
        Ok(())
    }

    fn dice(&self) -> MutexGuard<'_, Dice> {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a pseudo-random number that depends only on the task, so every delivery gets the same one.
fn lot(context: &TaskContext) -> u64 {
    let mut hash = Fnv(Fnv::START);
    hash.bytes(context.task_id().as_str().as_bytes());
    hash.0 ^ (hash.0 >> 32)
}

/// Chooses a subset of the nodes an agent may go to, one bit of `lot` per node.
fn chosen(available: &Value, lot: u64) -> Value {
    let names = available.as_array().map(Vec::as_slice).unwrap_or_default();
    names
        .iter()
        .enumerate()
        .filter(|(place, _)| lot >> place & 1 == 1)
        .map(|(_, name)| name.clone())
        .collect()
}

fn shown(context: &TaskContext) -> String {
    format!("{} attempt {} delivery {}", context.task_id(), context.attempt(), context.delivery())
}
