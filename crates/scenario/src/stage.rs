//! Plays one scenario: the real engine and the in-memory world, a clock that jumps, and a stagehand who answers for
//! everybody outside.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rhythm_core::failure::codes;
use rhythm_core::flow::Flow;
use rhythm_core::flow::inspect::{Waiting, WaitingKind, describe};
use rhythm_core::message::{Cancel, Message, MessageBody, SignalReceived};
use rhythm_core::{
    Actor, BlockedCode, Event, EventData, Failure, MessageId, Millis, Payload, RunId, Status, TaskId,
    TenantId, Timestamp, WorkerId, WorkflowKind,
};
use rhythm_engine::client::{Client, StartRun};
use rhythm_engine::config::Config;
use rhythm_engine::definitions::{Refused, define};
use rhythm_engine::engine::Engine;
use rhythm_engine::error::EngineError;
use rhythm_engine::memory::MemoryWorld;
use rhythm_engine::process::Process;
use rhythm_engine::programs::Programs;
use rhythm_engine::time::{Monotonic, WorldTime};
use rhythm_engine::worker::{Cancellation, Handlers, Worker, last_word};
use rhythm_engine::world::*;

use crate::file::{Scenario, Subject};
use crate::outcome::{Call, Ending, Fault, Outcome, Rejection, value};
use crate::script::{Script, payload, seconds};

/// How messages reach the run. The outcome must not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// As they come.
    Straight,
    /// By another process after every transition: program and snapshot are loaded anew.
    Reloaded,
    /// Every one of them twice.
    Twice,
}

impl Way {
    pub const ALL: [Self; 3] = [Self::Straight, Self::Reloaded, Self::Twice];
}

/// Noon of some day. Nothing may depend on which.
const START: Timestamp = Timestamp(1_767_268_800_000);
/// Claims never run out: who answers late is scripted to.
const FOR_EVER: Millis = Millis(100 * 365 * 24 * 3_600 * 1_000);
/// A scenario that is still moving after so many events never ends.
const MOST_EVENTS: u64 = 50_000;
const WORKER: &str = "stagehand";

/// Where a scenario is played: a world and the clock it goes by, with a tenant that nobody else uses.
#[derive(Clone)]
pub struct Place {
    pub world: Arc<dyn World>,
    pub clock: Arc<ManualClock>,
    pub tenant: TenantId,
}

impl Place {
    pub fn in_memory(start: Timestamp) -> Self {
        let clock = ManualClock::at(start);
        let world = Arc::new(MemoryWorld::new(Some(clock.clone())));
        Self { world, clock, tenant: TenantId::default() }
    }
}

/// What came of a scenario, and what the worlds wrote down of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    pub outcome: Outcome,
    /// Of the run and its inline children.
    pub histories: BTreeMap<RunId, Vec<Event>>,
}

/// What happens in a scenario. The error says what kept it from being played.
pub async fn play(scenario: &Scenario, way: Way, seed: u64) -> Result<Outcome, String> {
    play_at(&Place::in_memory(START), scenario, way, seed).await.map(|played| played.outcome)
}

/// The same on any world that has nothing else to do.
pub async fn play_at(place: &Place, scenario: &Scenario, way: Way, seed: u64) -> Result<Played, String> {
    let subject = scenario.subject()?;
    let mut stage = Stage::new(place, scenario, way, seed);
    let mut refused = Vec::new();
    let mut name = String::new();
    let others = scenario.others();
    if others.iter().chain([&subject]).any(|each| each.kind == WorkflowKind::Graph) {
        return Err("graphs cannot be played yet: this version plays flows".into());
    }
    for each in others.iter().chain([&subject]) {
        // Those that stand in the scenario have the name that is written there.
        let named = !std::ptr::eq(each, &subject);
        match stage.register(each, named).await? {
            Ok(registered) => name = registered,
            Err(rejections) => refused.extend(rejections),
        }
    }
    if !refused.is_empty() {
        return Ok(Played { outcome: Outcome::rejected(refused), histories: BTreeMap::new() });
    }
    match stage.start(name, scenario).await {
        Ok(()) => {}
        Err(EngineError::World(error)) => return Err(error.to_string()),
        Err(error) => {
            let (code, message) = (error.code().to_owned(), error.to_string());
            let outcome = Outcome::rejected(vec![Rejection { code, message }]);
            return Ok(Played { outcome, histories: BTreeMap::new() });
        }
    }
    stage.perform().await.map_err(|error| error.to_string())?;
    if stage.events > MOST_EVENTS {
        let elapsed = stage.clock.now().since(stage.start);
        return Err(format!(
            "it was still moving after {} events and {elapsed}: does it ever end?",
            stage.events
        ));
    }
    stage.played().await.map_err(|error| error.to_string())
}

struct Stage {
    way: Way,
    seed: u64,
    start: Timestamp,
    clock: Arc<ManualClock>,
    world: Arc<dyn World>,
    client: Client,
    engine: Engine,
    script: Script,
    duplicated: Vec<String>,
    run: RunId,
    /// What the outside will do, in the order it was planned.
    plans: Vec<Plan>,
    planned: u64,
    /// The rows seen of each run that was played, inline children included.
    seen: BTreeMap<RunId, u64>,
    /// Tasks nobody has begun yet, by when it will be too late to.
    deadlines: BTreeMap<TaskId, Timestamp>,
    calls: Vec<Call>,
    order: Vec<String>,
    events: u64,
    /// Something has happened that may have cancelled tasks.
    unsettled: bool,
}

/// Something that happens at a moment.
struct Plan {
    at: Timestamp,
    place: u64,
    act: Act,
}

enum Act {
    Answer {
        task: Box<ClaimedTask>,
        result: Result<Payload, Failure>,
    },
    /// It is held, and will never be answered.
    Hold(Box<ClaimedTask>),
    Send(Message),
}

impl Stage {
    fn new(place: &Place, scenario: &Scenario, way: Way, seed: u64) -> Self {
        let Place { world, clock, tenant } = place.clone();
        let client =
            Client::new(world.clone(), tenant, Actor("scenario".into())).with_ids(|| "scenario".into());
        let engine = engine(place);
        let run = RunId::new("scenario");
        let mut stage = Self {
            way,
            seed,
            start: clock.now(),
            clock,
            world,
            client,
            engine,
            script: Script::new(scenario.tasks.clone()),
            duplicated: scenario.duplicate.clone(),
            seen: BTreeMap::from([(run.clone(), 0)]),
            run,
            plans: Vec::new(),
            planned: 0,
            deadlines: BTreeMap::new(),
            calls: Vec::new(),
            order: Vec::new(),
            events: 0,
            unsettled: false,
        };
        for signal in &scenario.signals {
            let body =
                SignalReceived { name: signal.name.clone(), payload: payload(signal.payload.as_deref()) };
            stage.send_at(signal.at, "signal", MessageBody::Signal(body));
        }
        if let Some(cancel) = &scenario.cancel {
            stage.send_at(cancel.at, "cancel", MessageBody::Cancel(Cancel { reason: "asked to".into() }));
        }
        stage
    }

    fn send_at(&mut self, at: f64, what: &str, body: MessageBody) {
        let at = self.start.plus(seconds(at));
        let id = MessageId::new(format!("{what}:{}", self.planned));
        let message = Message { id, at, actor: Actor("scenario".into()), trace: None, body };
        self.plan(at, Act::Send(message));
    }

    fn plan(&mut self, at: Timestamp, act: Act) {
        self.planned += 1;
        let place = self.turn();
        self.plans.push(Plan { at, place, act });
    }

    fn place(&self) -> Place {
        Place { world: self.world.clone(), clock: self.clock.clone(), tenant: self.client.tenant().clone() }
    }

    /// Where something stands among what happens at the same moment: in order, or as a seed has it.
    fn turn(&self) -> u64 {
        match self.seed {
            0 => self.planned,
            seed => (seed ^ self.planned).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29),
        }
    }

    /// Gives the name it is registered under.
    async fn register(
        &self,
        subject: &Subject,
        named: bool,
    ) -> Result<Result<String, Vec<Rejection>>, String> {
        let mut defined = match define(&subject.name, subject.kind, &subject.source) {
            Ok(defined) => defined,
            Err(refused) => return Ok(Err(rejections(refused))),
        };
        if named {
            defined.definition.workflow.clone_from(&subject.name);
        }
        let (tenant, name) = (self.client.tenant().clone(), defined.definition.workflow.clone());
        let request = Register { tenant, definitions: vec![defined.definition] };
        self.world.register(request).await.map_err(|error| error.to_string())?;
        Ok(Ok(name))
    }

    async fn start(&self, workflow: String, scenario: &Scenario) -> Result<(), EngineError> {
        let input = scenario.inputs.as_deref().map_or_else(no_inputs, |inputs| payload(Some(inputs)));
        let start = StartRun { workflow, input, id: Some(self.run.clone()), ..StartRun::default() };
        for _ in 0..self.times() {
            self.client.start_run(start.clone()).await?;
        }
        Ok(())
    }

    fn times(&self) -> usize {
        if self.way == Way::Twice { 2 } else { 1 }
    }

    /// Lets everything happen until the run has ended or nothing is left that could move it.
    async fn perform(&mut self) -> Result<(), EngineError> {
        loop {
            self.come_to_rest().await?;
            let over = self.client.picture(&self.run).await?.summary.status.is_final();
            if over || self.events > MOST_EVENTS {
                return Ok(());
            }
            // Before timers of the same moment, but for those that were set earlier.
            if self.has_something_due() {
                self.act().await?;
                continue;
            }
            let swept = self.sweep().await?;
            // What was due at once has just become ready.
            if swept.changed > 0 {
                continue;
            }
            let planned =
                self.plans.iter().filter(|plan| !matches!(plan.act, Act::Hold(_))).map(|plan| plan.at);
            let late = self.deadlines.values().copied();
            let Some(next) = planned.chain(swept.next_due).chain(late).min() else { return Ok(()) };
            self.clock.set(next.max(self.clock.now()));
            self.act().await?;
            self.sweep().await?;
        }
    }

    fn has_something_due(&self) -> bool {
        let now = self.clock.now();
        self.plans.iter().any(|plan| plan.at <= now && !matches!(plan.act, Act::Hold(_)))
    }

    /// Fires what is due now and was started by the same run before this task: of what happens at one moment, the
    /// earlier comes first.
    async fn fire_timers_before(&self, task: &ClaimedTask) -> Result<(), EngineError> {
        let Some((run, number)) = &task.run else { return Ok(()) };
        let now = self.clock.now();
        loop {
            let Ok(picture) = self.client.picture(run).await else { return Ok(()) };
            let earlier =
                |timer: &TimerRow| timer.due_at <= now && timer.timer.is_some_and(|timer| timer < *number);
            if !picture.timers.iter().any(earlier) || self.sweep().await?.changed == 0 {
                return Ok(());
            }
        }
    }

    async fn sweep(&self) -> Result<UpkeepReport, EngineError> {
        Ok(self.world.upkeep(Upkeep::Sweep { limit: 10_000 }).await?)
    }

    /// Steps runs and hands out tasks until neither is left.
    async fn come_to_rest(&mut self) -> Result<(), EngineError> {
        loop {
            let ticked = self.engine.tick().await;
            if let Some(error) = ticked.error {
                return Err(error.into());
            }
            self.look().await?;
            if self.way == Way::Reloaded && ticked.runs > 0 {
                self.engine = engine(&self.place());
            }
            let handed_out = self.hand_out().await?;
            self.stop_unwanted().await?;
            if ticked.runs == 0 && !handed_out {
                return Ok(());
            }
        }
    }

    /// Reads what was written since the last look.
    async fn look(&mut self) -> Result<(), EngineError> {
        let mut runs: Vec<(RunId, u64)> = self.seen.iter().map(|(run, seen)| (run.clone(), *seen)).collect();
        while let Some((run, after)) = runs.pop() {
            let (tenant, limit) = (self.client.tenant().clone(), usize::MAX);
            let rows = self.world.history(HistoryQuery { tenant, run: run.clone(), after, limit }).await?;
            let Some(last) = rows.last() else { continue };
            self.seen.insert(run.clone(), last.seq);
            self.events += rows.len() as u64;
            for row in &rows {
                self.unsettled |= may_cancel(&row.data);
                match &row.data {
                    EventData::StepScheduled(step) => {
                        let input = self.client.load(&step.input).await?;
                        let input = serde_json::from_str(&input).unwrap_or_default();
                        self.calls.push(Call(step.name.clone(), input));
                        let task = self.world.task(self.client.tenant(), &run.task(step.task)).await?;
                        let waits = task.filter(|task| task.state == TaskState::Delayed);
                        let until = waits.and_then(|task| Some((task.id, task.deadline_at?)));
                        self.deadlines.extend(until);
                    }
                    EventData::ChildStarted(child) => {
                        let child = run.child(child.child);
                        self.seen.insert(child.clone(), 0);
                        runs.push((child, 0));
                    }
                    _ => {}
                }
            }
            if self.way == Way::Twice {
                self.repeat(&run, &rows).await?;
            }
        }
        Ok(())
    }

    /// Delivers again what was consumed.
    async fn repeat(&self, run: &RunId, rows: &[Event]) -> Result<(), EngineError> {
        let again = |message: Message| Delivery { to: run.clone(), message };
        let deliveries: Vec<Delivery> = rows.iter().filter_map(Event::to_message).map(again).collect();
        self.world.deliver(Deliver { tenant: self.client.tenant().clone(), deliveries }).await?;
        Ok(())
    }

    /// Takes every task that is ready and plans its end; false when there was none.
    async fn hand_out(&mut self) -> Result<bool, EngineError> {
        let claimed = self.claim(false).await?;
        let any = !claimed.is_empty();
        for mut task in claimed {
            // Policies are real, but nothing is left to chance.
            task.options.retries.get_or_insert_default().jitter = 0.0;
            self.begin(task);
        }
        Ok(any)
    }

    async fn claim(&self, overdue: bool) -> Result<Vec<ClaimedTask>, EngineError> {
        const MOST: usize = 100_000;
        let tenant = self.client.tenant().clone();
        let queues: Vec<(String, usize)> = match overdue {
            // Whichever queue they are in.
            true => vec![(String::new(), MOST)],
            false => self.world.queues(&tenant).await?.into_iter().map(|queue| (queue.name, MOST)).collect(),
        };
        if queues.is_empty() {
            return Ok(Vec::new());
        }
        let request = ClaimTasks {
            tenant,
            worker: WorkerId::new(WORKER),
            queues,
            names: Vec::new(),
            hold: FOR_EVER,
            with_runs: false,
            overdue,
            ask: Ask::default(),
        };
        Ok(self.world.claim_tasks(request).await?.tasks)
    }

    /// Fails what is too late to be begun.
    async fn expire(&mut self) -> Result<(), EngineError> {
        let now = self.clock.now();
        if !self.deadlines.values().any(|deadline| *deadline <= now) {
            return Ok(());
        }
        self.deadlines.retain(|_, deadline| *deadline > now);
        for task in self.claim(true).await? {
            self.finish(&task, Err(too_late()), None).await?;
        }
        Ok(())
    }

    fn begin(&mut self, task: ClaimedTask) {
        self.deadlines.remove(&task.id);
        self.order.push(task.name.clone());
        let now = self.clock.now();
        let answer = self.script.next(&task.name);
        let answered = answer.and_then(|answer| Some((now.plus(answer.delay()), answer.result()?)));
        // Only a timeout that was asked for counts: others may take as long as the script says.
        let timeout = task.options.timeout.map(|timeout| {
            let message = format!("the attempt took longer than {timeout}");
            (now.plus(timeout), Err(Failure::new(codes::TIMEOUT, message)))
        });
        let deadline = task.deadline_at.map(|deadline| (deadline.max(now), Err(too_late())));
        // The answer wins when it comes at the last moment.
        let end = [answered, timeout, deadline].into_iter().flatten().min_by_key(|(at, _)| *at);
        let task = Box::new(task);
        match end {
            Some((at, result)) => self.plan(at, Act::Answer { task, result }),
            None => self.plan(now, Act::Hold(task)),
        }
    }

    /// Ends attempts that somebody cancelled.
    async fn stop_unwanted(&mut self) -> Result<(), EngineError> {
        if !std::mem::take(&mut self.unsettled) {
            return Ok(());
        }
        let held = |plan: &Plan| match &plan.act {
            Act::Answer { task, .. } | Act::Hold(task) => {
                Some(TaskClaim { task: task.id.clone(), claim: task.claim })
            }
            Act::Send(_) => None,
        };
        let tasks: Vec<Beat> =
            self.plans.iter().filter_map(held).map(|claim| Beat { claim, progress: None }).collect();
        if tasks.is_empty() {
            return Ok(());
        }
        let (tenant, running) =
            (self.client.tenant().clone(), u32::try_from(tasks.len()).unwrap_or(u32::MAX));
        let request = Extend { tenant, card: card(), running, hold: FOR_EVER, tasks, leaving: false };
        let told = self.world.extend(request).await?;
        let (mut stopped, mut kept) = (Vec::new(), Vec::new());
        for plan in std::mem::take(&mut self.plans) {
            match plan.act {
                Act::Answer { task, .. } | Act::Hold(task) if told.cancelled.contains(&task.id) => {
                    stopped.push(task)
                }
                Act::Answer { task, .. } | Act::Hold(task) if told.lost.contains(&task.id) => drop(task),
                act => kept.push(Plan { act, ..plan }),
            }
        }
        self.plans = kept;
        for task in stopped {
            let failure = Failure::cancelled("the task was cancelled");
            self.finish(&task, Err(failure), Some(Cancellation::Requested)).await?;
        }
        Ok(())
    }

    /// Does all that is planned for now.
    async fn act(&mut self) -> Result<(), EngineError> {
        self.expire().await?;
        let now = self.clock.now();
        let (mut due, later): (Vec<Plan>, Vec<Plan>) = std::mem::take(&mut self.plans)
            .into_iter()
            .partition(|plan| plan.at <= now && !matches!(plan.act, Act::Hold(_)));
        self.plans = later;
        // A cancellation comes after what happens at the same moment.
        due.sort_by_key(|plan| (plan.at, plan.act.is_cancel(), plan.place));
        let mut cancels = Vec::new();
        for plan in due {
            match plan.act {
                Act::Answer { task, result } => {
                    self.fire_timers_before(&task).await?;
                    self.finish(&task, result, None).await?;
                }
                Act::Send(message) if matches!(message.body, MessageBody::Cancel(_)) => cancels.push(message),
                Act::Send(message) => self.deliver(message).await?,
                Act::Hold(_) => {}
            }
        }
        if !cancels.is_empty() {
            self.sweep().await?;
        }
        for message in cancels {
            self.deliver(message).await?;
        }
        Ok(())
    }

    async fn deliver(&self, mut message: Message) -> Result<(), EngineError> {
        if let MessageBody::Signal(signal) = &mut message.body {
            signal.payload = self.client.store(signal.payload.clone()).await?;
        }
        for _ in 0..self.times() {
            let deliveries = vec![Delivery { to: self.run.clone(), message: message.clone() }];
            self.world.deliver(Deliver { tenant: self.client.tenant().clone(), deliveries }).await?;
        }
        Ok(())
    }

    async fn finish(
        &self,
        task: &ClaimedTask,
        result: Result<Payload, Failure>,
        stopped: Option<Cancellation>,
    ) -> Result<(), EngineError> {
        let worker = WorkerId::new(WORKER);
        let result = match result {
            Ok(output) => Ok(self.client.store(output).await?),
            Err(failure) => Err(failure),
        };
        let finished = last_word(task, result, stopped, &worker, self.clock.now());
        let again = usize::from(self.duplicated.contains(&task.name));
        for _ in 0..self.times() + again {
            let (tenant, finished) = (self.client.tenant().clone(), vec![finished.clone()]);
            self.world.finish_tasks(FinishTasks { tenant, worker: worker.clone(), finished }).await?;
        }
        Ok(())
    }

    /// What the run waits for: a flow knows it itself, what it started and forgot is not among it.
    async fn waiting(&self, picture: &Picture) -> Result<Vec<String>, EngineError> {
        let row = &picture.row;
        let (tenant, workflow, version) =
            (row.tenant.clone(), row.workflow.clone(), Some(row.version.clone()));
        let definition = self.world.definition(DefinitionQuery { tenant, workflow, version }).await?;
        let flow = definition.filter(|definition| definition.kind == WorkflowKind::Flow);
        let flow = flow.and_then(|definition| Flow::load(&definition.compiled).ok());
        let described =
            flow.zip(row.state.snapshot.as_ref()).and_then(|(flow, snapshot)| describe(&flow, snapshot).ok());
        // A task that is held as a dead letter is still what the run waits for.
        let stuck =
            picture.summary.blocked.as_ref().filter(|blocked| blocked.code != BlockedCode::DeadLetter);
        let Some(described) = described.filter(|_| stuck.is_none()) else {
            return Ok(waiting(picture));
        };
        let kind = |waiting: &Waiting| match waiting.kind {
            WaitingKind::Task => "task",
            WaitingKind::Child => "child",
            WaitingKind::Timer => "timer",
            WaitingKind::Signal => "signal",
        };
        let kinds: BTreeSet<&str> = described.waiting_for.iter().map(kind).collect();
        Ok(kinds.into_iter().map(str::to_owned).collect())
    }

    async fn played(self) -> Result<Played, EngineError> {
        let mut histories = BTreeMap::new();
        for run in self.seen.keys() {
            histories.insert(run.clone(), self.client.history(run).await?);
        }
        Ok(Played { outcome: self.outcome().await?, histories })
    }

    async fn outcome(self) -> Result<Outcome, EngineError> {
        let picture = self.client.picture(&self.run).await?;
        let status = match picture.summary.status {
            Status::Completed => Ending::Completed,
            Status::Failed => Ending::Failed,
            Status::Cancelled => Ending::Cancelled,
            Status::Pending | Status::Running | Status::Waiting => Ending::Waiting,
        };
        let mut output = picture.output.as_ref().map(value);
        if let Some(large @ Payload::Blob(_)) = &picture.output {
            output = serde_json::from_str(&self.client.load(large).await?).ok();
        }
        let end = picture.summary.ended_at.unwrap_or_else(|| self.clock.now());
        let waiting = if status == Ending::Waiting { self.waiting(&picture).await? } else { Vec::new() };
        let mut counts = BTreeMap::new();
        for name in &self.order {
            *counts.entry(name.clone()).or_insert(0) += 1;
        }
        Ok(Outcome {
            output,
            error: picture.failure.as_ref().map(Fault::from),
            calls: self.calls,
            order: self.order,
            counts,
            waiting,
            elapsed: end.since(self.start).as_u64() as f64 / 1_000.0,
            ..Outcome::of(status)
        })
    }
}

impl Act {
    fn is_cancel(&self) -> bool {
        matches!(self, Self::Send(message) if matches!(message.body, MessageBody::Cancel(_)))
    }
}

/// Whether tasks may have been cancelled by what led to this. Most of what happens cancels nothing.
fn may_cancel(event: &EventData) -> bool {
    !matches!(
        event,
        EventData::WorkflowStarted(_)
            | EventData::StepScheduled(_)
            | EventData::StepCompleted(_)
            | EventData::TimerScheduled(_)
            | EventData::Log(_)
    )
}

/// What a run waits for, by kind.
fn waiting(picture: &Picture) -> Vec<String> {
    let mut kinds = Vec::new();
    if let Some(blocked) = &picture.summary.blocked {
        kinds.push(format!("{:?}: {}", blocked.code, blocked.detail).to_lowercase());
    }
    let awaits = |named: bool| picture.row.state.awaiting.iter().any(|name| name.starts_with('@') == named);
    for (there, kind) in [
        (awaits(false), "signal"),
        (awaits(true), "approval"),
        (!picture.tasks.is_empty(), "task"),
        (picture.timers.iter().any(|timer| timer.timer.is_some()), "timer"),
        (picture.children.iter().any(|child| !child.status.is_final()), "child"),
    ] {
        if there {
            kinds.push(kind.to_owned());
        }
    }
    kinds
}

fn rejections(refused: Refused) -> Vec<Rejection> {
    let errors =
        refused.diagnostics.into_iter().filter(|found| found.severity == rhythm_core::flow::Severity::Error);
    let told = errors.map(|found| {
        let parts = [Some(found.title), Some(found.label).filter(|label| !label.is_empty()), found.help];
        let message = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
        Rejection { code: found.code.to_owned(), message }
    });
    told.collect()
}

fn too_late() -> Failure {
    let message = "the task's deadline passed before an attempt could succeed";
    Failure::permanent(codes::DEADLINE_EXCEEDED, message)
}

fn no_inputs() -> Payload {
    Payload::of(&serde_json::Map::new()).unwrap_or_default()
}

fn card() -> WorkerCard {
    WorkerCard {
        id: WorkerId::new(WORKER),
        host: String::new(),
        pid: 0,
        version: String::new(),
        queues: Vec::new(),
        tasks: Vec::new(),
        kinds: Vec::new(),
        workflows: Vec::new(),
        concurrency: u32::MAX,
        silence: FOR_EVER,
    }
}

/// A process of its own: it has loaded nothing yet.
fn engine(place: &Place) -> Engine {
    let config = Config {
        tenant: place.tenant.clone(),
        incarnation: format!("{WORKER}#{}", rhythm_engine::client::fresh_id()),
        hold: FOR_EVER,
        // One run after the other: what they do has one order.
        run_batch: 1,
        ..Config::new(WorkerId::new(WORKER))
    };
    let time = WorldTime::new(Arc::new(Virtual(place.clock.clone())));
    let process = Arc::new(Process::new(place.world.clone(), config, Programs::default(), time));
    let worker = Worker::new(process.clone(), Handlers::default(), String::new(), 0);
    Engine::new(process, Arc::new(worker))
}

struct Virtual(Arc<ManualClock>);

impl Monotonic for Virtual {
    fn millis(&self) -> u64 {
        u64::try_from(self.0.now().millis()).unwrap_or(0)
    }
}
