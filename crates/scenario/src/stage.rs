//! Plays one scenario: the real engine on the in-memory world, a clock that jumps, and scripted answers for
//! tasks and people.

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

/// A way in which messages reach the run. The outcome must be the same in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Once, in one process.
    Straight,
    /// In another process after every transition, which loads the program and the snapshot again.
    Reloaded,
    /// Every message twice.
    Twice,
}

impl Way {
    pub const ALL: [Self; 3] = [Self::Straight, Self::Reloaded, Self::Twice];
}

/// Length of claims. They never expire, because late answers are scripted.
const FOR_EVER: Millis = Millis(100 * 365 * 24 * 3_600 * 1_000);
/// Number of events after which a scenario counts as endless.
const MOST_EVENTS: u64 = 50_000;
/// Largest number of claims in a row that change nothing.
const MOST_IDLE: u32 = 100;
const WORKER: &str = "stagehand";

/// Surroundings of a scenario: a world, its clock, and a tenant that no other scenario uses.
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

/// The outcome of a scenario, and the histories that the world stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    pub outcome: Outcome,
    /// Histories of the run and its inline children.
    pub histories: BTreeMap<RunId, Vec<Event>>,
    /// Notes for the author of the scenario that the outcome does not show.
    pub notes: Vec<String>,
    /// Possible reasons for an unexpected outcome.
    pub hints: Vec<Hint>,
}

/// A reason for an outcome that the outcome itself does not show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// A task or node that the run waits for, and the closest name in `tasks`, if one is similar.
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

/// Plays a scenario on any world that is otherwise idle. Fails with a message if the scenario cannot be
/// played.
pub async fn play_at(place: &Place, scenario: &Scenario, way: Way, seed: u64) -> Result<Played, String> {
    let subject = scenario.subject()?;
    let mut stage = Stage::new(place, scenario, way, seed);
    let mut refused = Vec::new();
    let mut name = String::new();
    let others = scenario.others();
    stage.is_graph = subject.kind == WorkflowKind::Graph;
    for each in others.iter().chain([&subject]) {
        // Inline workflows are registered under the name that the scenario gives them.
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
    /// Planned acts of the outside, in the order of planning.
    plans: Vec<Plan>,
    planned: u64,
    /// Number of history rows read of each played run, inline children included.
    seen: BTreeMap<RunId, u64>,
    /// Tasks that have not started, with the times at which they expire.
    deadlines: BTreeMap<TaskId, Timestamp>,
    calls: Vec<Call>,
    order: Vec<String>,
    /// Number of executions of other runs' nodes, by name.
    further: BTreeMap<String, u64>,
    /// Whether the run under test is a graph, so that `order` lists nodes.
    is_graph: bool,
    graphs: Graphs,
    cast: Arc<Cast>,
    rides: Arc<Rides>,
    notes: Vec<String>,
    hints: Vec<Hint>,
    events: u64,
    /// Whether an event since the last check may have cancelled tasks.
    unsettled: bool,
}

/// An act and the time at which it happens.
struct Plan {
    at: Timestamp,
    place: u64,
    act: Act,
}

enum Act {
    Answer {
        task: Box<ClaimedTask>,
        result: Result<Payload, Failure>,
        /// Whether this is a timeout or deadline that the scenario did not script.
        late: bool,
    },
    /// Keeps a task that will never be answered.
    Hold(Box<ClaimedTask>),
    Send(Message),
    /// A person's decision about a node's approval.
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

    /// Returns the order among acts of the same moment: the order of planning, or one made from the seed.
    fn turn(&self) -> u64 {
        match self.seed {
            0 => self.planned,
            seed => (seed ^ self.planned).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29),
        }
    }

    /// Registers a workflow and returns its name.
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

    /// Plays until the run has ended or nothing is left that could move it.
    async fn perform(&mut self) -> Result<(), EngineError> {
        loop {
            self.come_to_rest().await?;
            let over = self.client.picture(&self.run).await?.summary.status.is_final();
            if over || self.events > MOST_EVENTS {
                return Ok(());
            }
            // Acts come before timers of the same moment, except timers that were set earlier.
            if self.has_something_due() {
                self.act().await?;
                continue;
            }
            let swept = self.sweep().await?;
            // The sweep made due work ready: handle it first.
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

    /// Fires the due timers that the same run started before this task: of two events at one moment, the
    /// earlier started comes first.
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

    /// Steps runs and hands out tasks until there are none left.
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
            // A run that cannot be stepped is claimed and released without end.
            idle = if handed_out || self.events > before { 0 } else { idle + 1 };
        }
        Ok(())
    }

    /// Performs the acts that are due.
    async fn act(&mut self) -> Result<(), EngineError> {
        self.expire().await?;
        let now = self.clock.now();
        let (mut due, later): (Vec<Plan>, Vec<Plan>) = std::mem::take(&mut self.plans)
            .into_iter()
            .partition(|plan| plan.at <= now && !matches!(plan.act, Act::Hold(_)));
        self.plans = later;
        // A cancellation comes after other acts of the same moment.
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

/// Returns an engine as a new process would have it: with no program loaded.
fn engine(place: &Place, cast: &Arc<Cast>, rides: &Arc<Rides>) -> Engine {
    let config = Config {
        tenant: place.tenant.clone(),
        incarnation: format!("{WORKER}#{}", rhythm_engine::client::fresh_id()),
        hold: FOR_EVER,
        // One run at a time, so that their order is fixed.
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
