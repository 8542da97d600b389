//! A client process. It does the actions of the workload in order, repeats a call whose answer was lost under
//! the same name, and records what was acknowledged.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rhythm_core::message::ApprovalDecided;
use rhythm_core::{Actor, CommandId, EventData, MessageId, Payload, RunId, Status, TaskId, TenantId};
use rhythm_engine::client::{Client, EnqueueTask, NewSchedule, RetryNode, StartRun};
use rhythm_engine::error::EngineError;
use rhythm_engine::patches::PatchRun;
use rhythm_engine::tokens::standing;
use rhythm_engine::world::{Control, DeadLetter, DeadQuery, Picture, ScheduleTarget, World, WorldError};
use serde_json::Value;

use crate::checks::Objection;
use crate::dice::Dice;
use crate::executor::Owner;
use crate::faults::Fault;
use crate::network::Network;
use crate::workload::{Act, Action};

/// A request that was acknowledged to a client.
#[derive(Clone, Debug)]
pub enum Acknowledged {
    Started(RunId),
    Enqueued(TaskId),
    /// A signal, a decision, a cancellation or a patch.
    Delivered(RunId, MessageId),
}

/// Acknowledged requests and progress of a client. It is kept outside the engine and outlives the client
/// process.
#[derive(Default)]
pub struct ClientLog {
    acknowledged: Mutex<Vec<Acknowledged>>,
    next_action: AtomicU64,
    names: AtomicU64,
    /// Name the client chose last.
    last_name: Mutex<String>,
}

impl ClientLog {
    fn told(&self, what: Acknowledged) {
        self.acknowledged().push(what);
    }

    fn was_started(&self, run: &RunId) -> bool {
        self.acknowledged().iter().any(|told| matches!(told, Acknowledged::Started(known) if known == run))
    }

    fn last_name(&self) -> String {
        self.last_name.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn acknowledged(&self) -> MutexGuard<'_, Vec<Acknowledged>> {
        self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn done(&self) -> usize {
        usize::try_from(self.next_action.load(Ordering::SeqCst)).unwrap_or(usize::MAX)
    }
}

/// Builds a client whose generated names come from a counter of the simulation.
pub fn client_on(world: Arc<dyn World>, log: &Arc<ClientLog>) -> Client {
    let log = log.clone();
    let name = move || {
        let name = format!("n{}", log.names.fetch_add(1, Ordering::SeqCst));
        name.clone_into(&mut log.last_name.lock().unwrap_or_else(PoisonError::into_inner));
        name
    };
    Client::new(world, TenantId::default(), Actor("user:sim".into())).with_ids(name)
}

pub struct Caller {
    pub owner: Owner,
    pub network: Arc<Network>,
    pub client: Client,
    pub log: Arc<ClientLog>,
    pub dice: Dice,
}

impl Caller {
    /// Continues where the last client stopped. A call that was interrupted by a crash is either repeated or
    /// skipped.
    pub async fn work(mut self, actions: Arc<Vec<Action>>) {
        while let Some(action) = actions.get(self.log.done()) {
            let now = self.network.kernel.now();
            self.network.kernel.sleep(action.at.saturating_sub(now)).await;
            if self.network.draws(Fault::ClientCrash) {
                if self.dice.chance(0.5) {
                    self.log.next_action.fetch_add(1, Ordering::SeqCst);
                }
                let (network, owner, after) = (self.network.clone(), self.owner, self.dice.skewed(50));
                let act = format!("{:?}", action.act);
                let assassin = async move {
                    network.kernel.sleep(after).await;
                    if !network.kernel.is_dead(owner) {
                        network.strike(owner, Fault::ClientCrash, || act);
                        network.kernel.kill(owner);
                    }
                };
                self.network.kernel.spawn(crate::executor::NOBODY, Box::pin(assassin));
            }
            self.until_known(&action.act).await;
            self.log.next_action.fetch_add(1, Ordering::SeqCst);
        }
    }

    pub async fn until_known(&mut self, act: &Act) {
        loop {
            let outcome = self.perform(act).await;
            self.network.trace.note(self.owner, "client", &(act, outcome.is_ok()), || match &outcome {
                Ok(()) => format!("{act:?} acknowledged"),
                Err(error) => format!("{act:?} {error}"),
            });
            match outcome {
                Err(EngineError::World(error)) if error.is_passing() && is_repeatable(act) => {
                    let pause = self.dice.skewed(2_000);
                    self.network.kernel.sleep(pause).await;
                }
                Err(error) if !self.may_happen(act, &error) => {
                    let what = format!("{act:?} was answered with: {error}");
                    let objection = match act.run() {
                        Some(run) => Objection::of_run(&RunId::new(run), what),
                        None => Objection::general(what),
                    };
                    self.network.object("client", objection);
                    return;
                }
                _ => return,
            }
        }
    }

    /// Returns whether a client must expect this error, because the target may have moved on.
    fn may_happen(&self, act: &Act, error: &EngineError) -> bool {
        use EngineError::{Compensated, Ended, PastDeadline, UnknownLetter, UnknownRun, World};
        let passing = matches!(error, World(error) if error.is_passing());
        let missing = matches!(error, UnknownRun(_) | World(WorldError::NotFound(_)));
        let crossed = matches!(error, World(WorldError::Conflict(_)));
        match act {
            // Objects created under a fresh name cannot conflict.
            Act::Start { .. } | Act::Enqueue { .. } | Act::Schedule { .. } => passing,
            Act::CancelTask { .. } => passing || missing,
            Act::SettleDead { .. } => {
                passing
                    || missing
                    || crossed
                    || matches!(error, UnknownLetter(_) | PastDeadline(_) | Compensated(_))
            }
            act => {
                let known = act.run().is_some_and(|run| self.log.was_started(&RunId::new(run)));
                let retried = matches!(act, Act::Retry { .. } | Act::RetryNode { .. });
                passing
                    || crossed
                    || matches!(error, Ended(_))
                    || (missing && (!known || retried))
                    || (retried && matches!(error, PastDeadline(_) | Compensated(_)))
                    || went_on(act, error)
            }
        }
    }

    async fn perform(&self, act: &Act) -> Result<(), EngineError> {
        let client = &self.client;
        match act {
            Act::Start { run, workflow, input, delay, deadline, priority } => {
                let start = StartRun {
                    workflow: workflow.clone(),
                    input: payload(input),
                    id: Some(RunId::new(run.clone())),
                    delay: *delay,
                    deadline: *deadline,
                    priority: *priority,
                    ..StartRun::default()
                };
                let run = client.start_run(start).await?;
                self.log.told(Acknowledged::Started(run));
                Ok(())
            }
            Act::Signal { run, name, id, payload: content } => {
                let run = RunId::new(run.clone());
                client.signal(&run, name, payload(content), Some(id.clone())).await?;
                let message = MessageId::new(format!("signal:{id}"));
                self.log.told(Acknowledged::Delivered(run, message));
                Ok(())
            }
            Act::Enqueue { task, name, input, options } => {
                let (id, name) = (Some(TaskId::new(task.clone())), name.clone());
                let (input, options) = (payload(input), options.clone());
                let task = client
                    .enqueue_task(EnqueueTask { id, name, input, options, ..EnqueueTask::default() })
                    .await?;
                self.log.told(Acknowledged::Enqueued(task));
                Ok(())
            }
            Act::Cancel { run } => {
                let run = RunId::new(run.clone());
                client.cancel(&run, "enough").await?;
                let message = MessageId::new(format!("cancel:{}", self.log.last_name()));
                self.log.told(Acknowledged::Delivered(run, message));
                Ok(())
            }
            Act::Patch { run, operations, id } => {
                let run = RunId::new(run.clone());
                let (operations, reason, id) = (payload(operations), "another way".to_owned(), id.clone());
                let message = client.patch(&run, PatchRun { operations, reason, id }).await?;
                self.log.told(Acknowledged::Delivered(run, message));
                Ok(())
            }
            Act::Decide { run } => {
                let run = RunId::new(run.clone());
                if let Some(approval) = decide(client, &run).await? {
                    self.log.told(Acknowledged::Delivered(run, MessageId::approval(approval)));
                }
                Ok(())
            }
            Act::Retry { run } => retry(client, &RunId::new(run.clone())).await,
            Act::RetryNode { run, config } => {
                retry_node(client, &RunId::new(run.clone()), config.as_ref()).await
            }
            Act::Compensate { run } => {
                client.compensate(&RunId::new(run.clone()), "not wanted").await.map(|_| ())
            }
            Act::SettleDead { requeue } => settle_dead(client, *requeue).await,
            Act::Schedule { name, workflow, catch_up, overlap } => {
                let (name, workflow, cron) = (name.clone(), workflow.clone(), "* * * * *".to_owned());
                let target = ScheduleTarget::Workflow { workflow, input: Payload::null() };
                let (zone, catch_up, overlap) = ("UTC".to_owned(), *catch_up, *overlap);
                client.put_schedule(NewSchedule { name, cron, zone, target, catch_up, overlap }).await?;
                Ok(())
            }
            operators => client.control(control(operators)).await.map(|_| ()),
        }
    }
}

/// Returns whether the action may be repeated: the calls that carry a name.
fn is_repeatable(act: &Act) -> bool {
    !matches!(
        act,
        Act::Cancel { .. }
            | Act::Patch { id: None, .. }
            | Act::Retry { .. }
            | Act::RetryNode { .. }
            | Act::Compensate { .. }
            | Act::SettleDead { .. }
    )
}

/// Returns whether the error says that the run cannot be repaired, or not any more.
fn went_on(act: &Act, error: &EngineError) -> bool {
    use EngineError::{
        Compensated, Compensating, NodeNotFailed, NotStopped, NothingToCompensate, PatchRefused,
        UnknownLetter,
    };
    match act {
        Act::Compensate { .. } => {
            matches!(error, Compensated(_) | Compensating(_) | NothingToCompensate(_))
        }
        // Only a retry with another config can be refused as a patch.
        Act::RetryNode { config, .. } => {
            matches!(error, NodeNotFailed { .. } | NotStopped(_) | UnknownLetter(_))
                || (config.is_some() && matches!(error, PatchRefused { .. }))
        }
        _ => false,
    }
}

fn control(act: &Act) -> Control {
    let reason = || "as an operator wants".to_owned();
    match act {
        Act::PauseRun { run } => Control::PauseRun { run: RunId::new(run.clone()), reason: reason() },
        Act::ResumeRun { run } => Control::ResumeRun { run: RunId::new(run.clone()), reason: reason() },
        Act::PauseWorkflow { workflow } => Control::PauseWorkflow { workflow: workflow.clone() },
        Act::ResumeWorkflow { workflow } => Control::ResumeWorkflow { workflow: workflow.clone() },
        Act::PauseQueue { queue } => Control::PauseQueue { queue: queue.clone() },
        Act::ResumeQueue { queue } => Control::ResumeQueue { queue: queue.clone() },
        Act::CancelTask { task } => Control::CancelTask { task: TaskId::new(task.clone()) },
        other => unreachable!("{other:?} is no control"),
    }
}

/// Answers the newest open approval of a run, if there is one.
pub async fn decide(client: &Client, run: &RunId) -> Result<Option<CommandId>, EngineError> {
    let history = client.history(run).await?;
    let mut open: Vec<(CommandId, Option<u32>)> = Vec::new();
    for event in &history {
        match &event.data {
            EventData::ApprovalCreated(created) => {
                open.push((created.approval, created.visit));
            }
            EventData::ApprovalDecided(decided) => open.retain(|(approval, _)| *approval != decided.approval),
            _ => {}
        }
    }
    let Some((approval, visit)) = open.pop() else { return Ok(None) };
    // Graphs count visits and have an edge for rejected approvals.
    let refused = visit.is_some() && approval.0 % 3 == 0;
    let decision = if refused { "rejected" } else { "approved" }.to_owned();
    let by = "user:sim".to_owned();
    let decided = ApprovalDecided { approval, decision, by, comments: String::new(), data: Payload::null() };
    client.answer_unasked(run, decided).await?;
    Ok(Some(approval))
}

/// Retries a run that failed or was quarantined.
async fn retry(client: &Client, run: &RunId) -> Result<(), EngineError> {
    let summary = client.picture(run).await?.summary;
    if summary.status == Status::Failed || summary.blocked.is_some() {
        client.retry_run(run, "once more").await?;
    }
    Ok(())
}

/// Retries the node that failed the run or for which the run is held, if there is one.
async fn retry_node(client: &Client, run: &RunId, config: Option<&Value>) -> Result<(), EngineError> {
    let picture = client.picture(run).await?;
    let node = match failed_node(&picture) {
        Some(node) => Some(node),
        None => held_node(client, &picture).await?,
    };
    let Some(node) = node else { return Ok(()) };
    let wish = RetryNode { node, config: config.cloned(), reason: "once more".to_owned() };
    client.retry_node(run, wish).await
}

fn failed_node(picture: &Picture) -> Option<String> {
    let failure = picture.failure.as_ref().filter(|_| picture.summary.status == Status::Failed)?;
    failure.code.strip_prefix("node_failed:").map(str::to_owned)
}

async fn held_node(client: &Client, picture: &Picture) -> Result<Option<String>, EngineError> {
    let held = |letter: &DeadLetter| letter.number.filter(|_| letter.held);
    let Some(command) = picture.dead.iter().find_map(held) else { return Ok(None) };
    let places = standing(client, &picture.row).await?.map(|standing| standing.places).unwrap_or_default();
    Ok(places.into_iter().find(|place| place.command == Some(command)).map(|place| place.node))
}

/// Requeues or discards the newest dead letter.
pub async fn settle_dead(client: &Client, requeue: bool) -> Result<(), EngineError> {
    let query = DeadQuery { tenant: client.tenant().clone(), limit: 100, ..DeadQuery::default() };
    let page = client.world().list_dead(query).await?;
    // Worlds do not order letters of the same millisecond.
    let newest = page.rows.iter().max_by_key(|letter| (letter.died_at, letter.task.as_str()));
    let Some(letter) = newest else { return Ok(()) };
    match requeue {
        true => client.requeue_dead(&letter.task).await,
        false => client.discard_dead(&letter.task).await,
    }
}

pub fn payload(value: &Value) -> Payload {
    Payload::of(value).expect("JSON values serialise")
}
