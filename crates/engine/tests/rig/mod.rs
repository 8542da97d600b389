//! A whole process driven by hand: virtual time, no threads, no sleeps. Like the simulator, but without
//! faults.
#![allow(dead_code, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use rhythm_core::{
    Actor, Failure, Millis, Payload, RunId, Status, TenantId, Timestamp, WorkerId, WorkflowKind,
};
use rhythm_engine::client::{Client, EnqueueTask, StartRun};
use rhythm_engine::config::Config;
use rhythm_engine::engine::Engine;
use rhythm_engine::memory::MemoryWorld;
use rhythm_engine::process::Process;
use rhythm_engine::programs::Programs;
use rhythm_engine::time::{Monotonic, WorldTime};
use rhythm_engine::upkeep::Upkeep;
use rhythm_engine::verify::verify;
use rhythm_engine::worker::{Attempt, Finished, Handler, Handlers, TaskContext, Worker};
use rhythm_engine::world::{ManualClock, Picture, World};
use serde_json::{Value, json};

pub type Answer = Result<Value, Failure>;
type Script = Box<dyn FnMut(&TaskContext, Value) -> Answer + Send>;

/// Handlers that answer from a script and record their calls.
#[derive(Clone, Default)]
pub struct Stage {
    scripts: Arc<Mutex<BTreeMap<String, Script>>>,
    pub calls: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    pub fn on(&self, name: &str, script: impl FnMut(&TaskContext, Value) -> Answer + Send + 'static) {
        self.scripts.lock().unwrap().insert(name.to_owned(), Box::new(script));
    }

    pub fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }
}

struct Scripted {
    name: String,
    stage: Stage,
}

#[async_trait]
impl Handler for Scripted {
    async fn handle(&self, context: TaskContext, input: Payload) -> Result<Payload, Failure> {
        self.stage.calls.lock().unwrap().push(self.name.clone());
        let input = serde_json::from_str(input.text().unwrap()).unwrap();
        let mut scripts = self.stage.scripts.lock().unwrap();
        match scripts.get_mut(&self.name) {
            Some(script) => script(&context, input).map(|output| Payload::of(&output).unwrap()),
            None => Ok(Payload::of(&input).unwrap()),
        }
    }
}

/// The process's own counter, moved together with the world's clock.
#[derive(Default)]
pub struct Ticks(AtomicU64);

impl Monotonic for Ticks {
    fn millis(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Advances the world's clock and the process's counter.
pub fn pass(clock: &ManualClock, ticks: &Ticks, time: Millis) {
    clock.advance(time);
    ticks.0.fetch_add(time.as_u64(), Ordering::SeqCst);
}

/// One process on a world.
pub struct Actor1 {
    pub process: Arc<Process>,
    pub engine: Engine,
    pub worker: Arc<Worker>,
    pub upkeep: Upkeep,
}

/// A world, its clock, and one process on it.
pub struct Rig {
    pub clock: Arc<ManualClock>,
    pub ticks: Arc<Ticks>,
    pub memory: MemoryWorld,
    pub stage: Stage,
    pub client: Client,
    pub one: Actor1,
}

pub const NAMES: &[&str] = &["a", "b", "c", "undo", "slow", "bad"];

impl Rig {
    pub fn new() -> Self {
        Self::with(|world| world)
    }

    /// `wrap` may put something between the process and the world.
    pub fn with(wrap: impl FnOnce(Arc<dyn World>) -> Arc<dyn World>) -> Self {
        let clock = ManualClock::at(Timestamp(1_000_000));
        let memory = MemoryWorld::new(Some(clock.clone()));
        let ticks = Arc::new(Ticks::default());
        let stage = Stage::default();
        let world: Arc<dyn World> = Arc::new(memory.handle());
        let client = Client::new(world.clone(), TenantId::default(), Actor("user:test".into()));
        let one = process("w1", wrap(world), &stage, ticks.clone(), |config| config);
        Self { clock, ticks, memory, stage, client, one }
    }

    /// Another process, as if on another machine.
    pub fn another(&self, name: &str, configure: impl FnOnce(Config) -> Config) -> Actor1 {
        process(name, Arc::new(self.memory.handle()), &self.stage, self.ticks.clone(), configure)
    }

    pub fn pass(&self, time: Millis) {
        pass(&self.clock, &self.ticks, time);
    }

    /// Ticks everything until nothing moves any more. Virtual time stands still.
    pub async fn settle(&self) {
        self.one.settle().await;
    }

    /// Advances time in small steps, settling after each.
    pub async fn run_for(&self, time: Millis) {
        let mut left = time.as_u64();
        self.settle().await;
        while left > 0 {
            let step = left.min(500);
            self.pass(Millis(step));
            left -= step;
            self.settle().await;
        }
    }

    pub async fn register(&self, name: &str, plan: Value) {
        self.client.register(name, WorkflowKind::Drill, &plan.to_string()).await.unwrap();
    }

    /// Registers a drill and starts one run of it.
    pub async fn start(&self, plan: Value) -> RunId {
        self.register("main", plan).await;
        self.start_named("main").await
    }

    pub async fn start_named(&self, workflow: &str) -> RunId {
        let start = StartRun { workflow: workflow.into(), ..StartRun::default() };
        self.client.start_run(start).await.unwrap()
    }

    pub async fn enqueue(&self, name: &str, options: Value) -> rhythm_core::TaskId {
        let options = serde_json::from_value(options).unwrap();
        let task = EnqueueTask { name: name.into(), options, ..EnqueueTask::default() };
        self.client.enqueue_task(task).await.unwrap()
    }

    pub async fn picture(&self, run: &RunId) -> Picture {
        self.client.picture(run).await.unwrap()
    }

    pub async fn status(&self, run: &RunId) -> Status {
        self.picture(run).await.summary.status
    }

    /// The output of a completed run whose history verifies.
    pub async fn output(&self, run: &RunId) -> Value {
        let picture = self.picture(run).await;
        assert_eq!(picture.summary.status, Status::Completed, "{:?} {:?}", picture.failure, picture.tasks);
        self.verify(run).await;
        serde_json::from_str(picture.output.unwrap().text().unwrap()).unwrap()
    }

    /// The failure code of a failed run whose history verifies.
    pub async fn failure(&self, run: &RunId) -> String {
        let picture = self.picture(run).await;
        assert_eq!(picture.summary.status, Status::Failed);
        self.verify(run).await;
        picture.failure.unwrap().code
    }

    pub async fn verify(&self, run: &RunId) {
        let verified = verify(&self.client, &Programs::default(), run).await.unwrap();
        assert_eq!(verified.problem, None);
    }

    pub async fn kinds(&self, run: &RunId) -> Vec<String> {
        let events = self.client.history(run).await.unwrap();
        events.iter().map(|event| event.data.kind().to_owned()).collect()
    }
}

pub fn process(
    name: &str,
    world: Arc<dyn World>,
    stage: &Stage,
    ticks: Arc<Ticks>,
    configure: impl FnOnce(Config) -> Config,
) -> Actor1 {
    let mut handlers = Handlers::default();
    for name in NAMES {
        let (name, stage) = ((*name).to_owned(), stage.clone());
        handlers.add(name.clone(), Arc::new(Scripted { name, stage }));
    }
    let config = configure(Config::new(WorkerId::new(name)));
    let process = Arc::new(Process::new(world, config, Programs::default(), WorldTime::new(ticks)));
    let worker = Arc::new(Worker::new(process.clone(), handlers, "test".into(), 1));
    Actor1 {
        engine: Engine::new(process.clone(), worker.clone()),
        upkeep: Upkeep::new(process.clone()),
        worker,
        process,
    }
}

impl Actor1 {
    /// One round: upkeep, runs, tasks. Returns whether anything moved.
    pub async fn round(&self) -> bool {
        let _ = self.worker.beat(false).await;
        let _ = self.upkeep.tick(false).await;
        let mut attempts: Vec<Attempt> = Vec::new();
        let mut moved = false;
        let ticked = self.engine.tick().await;
        moved |= ticked.runs > 0 && ticked.error.is_none();
        attempts.extend(ticked.attempts);
        attempts.extend(self.worker.tick().await.unwrap_or_default());
        attempts.extend(self.worker.resend().await.unwrap_or_default());
        moved |= !attempts.is_empty();
        while !attempts.is_empty() {
            let mut results = Vec::new();
            for attempt in attempts.drain(..) {
                let result = attempt.perform(&self.worker).await;
                results.push(Finished { task: attempt.task, result });
            }
            attempts = self.worker.settle(results).await.unwrap_or_default();
        }
        moved
    }

    pub async fn settle(&self) {
        for _ in 0..10_000 {
            let moved = self.round().await;
            if !moved && !self.worker.has_unfinished() && !self.process.has_unsettled() {
                return;
            }
        }
        panic!("the rig does not come to rest");
    }
}

pub fn task(name: &str) -> Value {
    json!({"name": name})
}

pub fn failing(code: &'static str) -> impl FnMut(&TaskContext, Value) -> Answer + Send + 'static {
    move |_, _| Err(Failure::new(code, "no luck"))
}

pub fn permanent(code: &'static str) -> impl FnMut(&TaskContext, Value) -> Answer + Send + 'static {
    move |_, _| Err(Failure::permanent(code, "never"))
}
