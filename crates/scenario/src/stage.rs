//! Plays one scenario: the real engine and the in-memory world, a clock that jumps, and a stagehand who answers for
//! everybody outside.

mod ending;
mod graph;
mod people;
mod tasks;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;

use rhythm_core::message::{Cancel, Message, MessageBody, SignalReceived};
use rhythm_core::{
    Actor, Event, Failure, MessageId, Millis, Payload, RunId, TaskId, TenantId, Timestamp, WorkerId,
    WorkflowKind,
};
use rhythm_engine::client::{Client, StartRun};
use rhythm_engine::config::Config;
use rhythm_engine::definitions::{ReadProgram, Refused, Surroundings, define_with};
use rhythm_engine::engine::Engine;
use rhythm_engine::error::EngineError;
use rhythm_engine::memory::MemoryWorld;
use rhythm_engine::process::Process;
use rhythm_engine::programs::Programs;
use rhythm_engine::time::{Monotonic, WorldTime};
use rhythm_engine::worker::{Handlers, Worker};
use rhythm_engine::world::*;
use rhythm_graph::Graph;
use rhythm_sandbox::{Sandbox, read_program};

use crate::file::{Scenario, Subject};
use crate::inline_patches::{InlinePatches, Rides};
use crate::lint;
use crate::node_stub::Cast;
use crate::outcome::{Call, Outcome, Rejection};
use crate::script::{Script, payload, seconds};
use graph::Graphs;
use people::Said;

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

/// Claims never run out: who answers late is scripted to.
const FOR_EVER: Millis = Millis(100 * 365 * 24 * 3_600 * 1_000);
/// A scenario that is still moving after so many events never ends.
const MOST_EVENTS: u64 = 50_000;
/// Runs may be taken this often in a row without anything coming of it.
const MOST_IDLE: u32 = 100;
const WORKER: &str = "stagehand";

/// Where a scenario is played: a world and the clock it goes by, with a tenant that nobody else uses.
#[derive(Clone)]
pub struct Place {
    pub world: Arc<dyn World>,
    pub clock: Arc<ManualClock>,
    pub tenant: TenantId,
    pub sandbox: Sandbox,
}

impl Place {
    pub fn in_memory(start: Timestamp, sandbox: Sandbox) -> Self {
        let clock = ManualClock::at(start);
        let world = Arc::new(MemoryWorld::new(Some(clock.clone())));
        Self { world, clock, tenant: TenantId::default(), sandbox }
    }
}

/// What came of a scenario, and what the worlds wrote down of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    pub outcome: Outcome,
    /// Of the run and its inline children.
    pub histories: BTreeMap<RunId, Vec<Event>>,
    /// What the outcome does not show, but whoever wrote the scenario should know.
    pub notes: Vec<String>,
    /// Why it may have come to something else than was expected.
    pub hints: Vec<Hint>,
}

/// A reason for an outcome that the outcome itself does not tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Tasks or nodes the run waits for, and the name in `tasks` that was meant, if one is alike.
    Unanswered {
        name: String,
        near: Option<String>,
    },
    PatchRefused {
        author: String,
        why: String,
    },
}

impl Played {
    fn rejected(rejections: Vec<Rejection>) -> Self {
        let (outcome, histories, notes) = (Outcome::rejected(rejections), BTreeMap::new(), Vec::new());
        Self { outcome, histories, notes, hints: Vec::new() }
    }
}

/// What happens in a scenario, on any world that has nothing else to do. The error says what kept it from being played.
pub async fn play_at(place: &Place, scenario: &Scenario, way: Way, seed: u64) -> Result<Played, String> {
    let subject = scenario.subject()?;
    let mut stage = Stage::new(place, scenario, way, seed);
    let mut refused = Vec::new();
    let mut name = String::new();
    let others = scenario.others();
    stage.is_graph = subject.kind == WorkflowKind::Graph;
    for each in others.iter().chain([&subject]) {
        // Those that stand in the scenario have the name that is written there.
        let named = !std::ptr::eq(each, &subject);
        match stage.register(each, named, scenario).await? {
            Ok(registered) => name = registered,
            Err(rejections) => refused.extend(rejections),
        }
    }
    if !refused.is_empty() {
        return Ok(Played::rejected(refused));
    }
    match stage.start(name, scenario).await {
        Ok(()) => {}
        Err(EngineError::World(error)) => return Err(error.to_string()),
        Err(error) => {
            let (code, message) = (error.code().to_owned(), error.to_string());
            return Ok(Played::rejected(vec![Rejection { code, message }]));
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
    stage.played(scenario).await.map_err(|error| error.to_string())
}

struct Stage {
    way: Way,
    seed: u64,
    start: Timestamp,
    clock: Arc<ManualClock>,
    world: Arc<dyn World>,
    client: Client,
    sandbox: Sandbox,
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
    /// Executions that are none of the run's own nodes.
    further: BTreeMap<String, u64>,
    /// What is played is a graph: its order is one of nodes.
    is_graph: bool,
    graphs: Graphs,
    cast: Arc<Cast>,
    rides: Arc<Rides>,
    notes: Vec<String>,
    hints: Vec<Hint>,
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
        /// Nobody wrote it: the attempt takes too long.
        late: bool,
    },
    /// It is held, and will never be answered.
    Hold(Box<ClaimedTask>),
    Send(Message),
    /// What a person says about a node's question.
    Decide(Box<Said>),
}

impl Stage {
    fn new(place: &Place, scenario: &Scenario, way: Way, seed: u64) -> Self {
        let Place { world, clock, tenant, sandbox } = place.clone();
        let client =
            Client::new(world.clone(), tenant, Actor("scenario".into())).with_ids(|| "scenario".into());
        let run = RunId::new("scenario");
        let (cast, rides) = (Arc::new(Cast::of(scenario)), Arc::new(Rides::of(scenario, run.clone())));
        let engine = engine(place, &cast, &rides);
        let mut stage = Self {
            way,
            seed,
            start: clock.now(),
            clock,
            world,
            client,
            sandbox,
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
            further: BTreeMap::new(),
            is_graph: false,
            graphs: Graphs::new(scenario),
            cast,
            rides,
            notes: Vec::new(),
            hints: Vec::new(),
            events: 0,
            unsettled: false,
        };
        for signal in &scenario.signals {
            let body =
                SignalReceived { name: signal.name.clone(), payload: payload(signal.payload.as_deref()) };
            stage.send_at(signal.at, "signal", MessageBody::Signal(body));
        }
        if let Some(cancel) = &scenario.cancel {
            stage.send_at(cancel.at, "cancel", MessageBody::Cancel(Cancel::because("asked to")));
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
        let (tenant, sandbox) = (self.client.tenant().clone(), self.sandbox.clone());
        Place { world: self.world.clone(), clock: self.clock.clone(), tenant, sandbox }
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
        &mut self,
        subject: &Subject,
        named: bool,
        scenario: &Scenario,
    ) -> Result<Result<String, Vec<Rejection>>, String> {
        let (content, programs) = (scenario.content(), read_program as ReadProgram);
        let registry = scenario.registry()?;
        let around = Surroundings { content, programs, registry, sure_to_throw: true };
        let mut defined = match define_with(&subject.name, subject.kind, &subject.source, &around) {
            Ok(defined) => defined,
            Err(refused) => return Ok(Err(rejections(refused))),
        };
        self.notes.extend(lint::of_compiler(subject, &defined.remarks));
        self.cast.replace(&mut defined.definition);
        if !named && subject.kind == WorkflowKind::Graph {
            let graph: Option<Graph> = serde_json::from_slice(&defined.definition.compiled).ok();
            let nodes = graph.map(|graph| graph.nodes.into_iter().map(|node| node.id).collect());
            self.rides.are_about(nodes.unwrap_or_default());
        }
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
            if self.people_are_late_next().await? {
                return Ok(());
            }
            let planned =
                self.plans.iter().filter(|plan| !matches!(plan.act, Act::Hold(_))).map(|plan| plan.at);
            let late = self.deadlines.values().copied();
            let Some(next) = planned.chain(late).chain(swept.next_due).min() else { return Ok(()) };
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
        Ok(self.world.upkeep(Upkeep::sweep(10_000)).await?)
    }

    /// Steps runs and hands out tasks until neither is left.
    async fn come_to_rest(&mut self) -> Result<(), EngineError> {
        let mut idle = 0;
        while idle < MOST_IDLE {
            let before = self.events;
            let ticked = self.engine.tick().await;
            if let Some(error) = ticked.error {
                return Err(error.into());
            }
            self.look().await?;
            if self.way == Way::Reloaded && ticked.runs > 0 {
                self.engine = engine(&self.place(), &self.cast, &self.rides);
            }
            let handed_out = self.hand_out().await?;
            self.stop_unwanted().await?;
            if ticked.runs == 0 && !handed_out {
                return Ok(());
            }
            // A run that cannot be stepped is taken and given back for ever.
            idle = if handed_out || self.events > before { 0 } else { idle + 1 };
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
                Act::Answer { task, result, .. } => {
                    self.fire_timers_before(&task).await?;
                    let result = self.with_patch(&task, result).await?;
                    self.finish(&task, result, None).await?;
                }
                Act::Decide(said) => self.decide(&said).await?,
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
}

impl Act {
    fn is_cancel(&self) -> bool {
        matches!(self, Self::Send(message) if matches!(message.body, MessageBody::Cancel(_)))
    }
}

fn rejections(refused: Refused) -> Vec<Rejection> {
    let errors =
        refused.diagnostics.into_iter().filter(|found| found.severity == rhythm_syntax::Severity::Error);
    let told = errors.map(|found| {
        let parts = [Some(found.title), Some(found.label).filter(|label| !label.is_empty()), found.help];
        let message = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
        Rejection { code: found.code.to_owned(), message }
    });
    told.collect()
}

fn no_inputs() -> Payload {
    Payload::of(&serde_json::Map::new()).unwrap_or_default()
}

/// A process of its own: it has loaded nothing yet.
fn engine(place: &Place, cast: &Arc<Cast>, rides: &Arc<Rides>) -> Engine {
    let config = Config {
        tenant: place.tenant.clone(),
        incarnation: format!("{WORKER}#{}", rhythm_engine::client::fresh_id()),
        hold: FOR_EVER,
        // One run after the other: what they do has one order.
        run_batch: 1,
        ..Config::new(WorkerId::new(WORKER))
    };
    let time = WorldTime::new(Arc::new(Virtual(place.clock.clone())));
    let mut programs = Programs::default();
    let (cast, rides) = (cast.clone(), rides.clone());
    programs.add_kind(WorkflowKind::Graph, move |definition| {
        let program = cast.program(definition)?;
        Ok(match rides.nodes().is_empty() {
            true => Arc::new(program),
            false => Arc::new(InlinePatches { program, rides: rides.clone() }),
        })
    });
    let process = Arc::new(Process::new(place.world.clone(), config, programs, time));
    let worker = Worker::new(process.clone(), Handlers::default(), String::new(), 0);
    Engine::new(process, Arc::new(worker))
}

struct Virtual(Arc<ManualClock>);

impl Monotonic for Virtual {
    fn millis(&self) -> u64 {
        u64::try_from(self.0.now().millis()).unwrap_or(0)
    }
}
