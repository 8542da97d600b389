//! `instructions CASE TIMES`: repeats one operation, so that `bench/instructions.sh` can count its
//! instructions. Without arguments it prints the names of the cases.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measuring program")]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;

use rhythm_core::fold::{Advance, RunState, advance};
use rhythm_core::message::{Message, MessageBody, Start, TaskCompleted};
use rhythm_core::program::{Program, RunFacts, Step, StepInput};
use rhythm_core::{
    Actor, Blobs, CommandId, CommitId, Event, Failure, MessageId, Millis, Payload, RunId, TaskId,
    TaskOptions, TaskSpec, TenantId, Timestamp, Version, WorkerId, WorkflowKind,
};
use rhythm_engine::config::Config;
use rhythm_engine::drive::HostClock;
use rhythm_engine::memory::MemoryWorld;
use rhythm_engine::plan::{Built, CommitBuilder};
use rhythm_engine::process::Process;
use rhythm_engine::programs::Programs;
use rhythm_engine::time::WorldTime;
use rhythm_engine::worker::{Handler, Handlers, TaskContext, Worker};
use rhythm_engine::world::{
    ClaimRuns, ClaimTasks, ClaimedRun, Commit, CommitItem, CommitOutcome, CreateRuns, EnqueueTasks, Fence,
    NewRun, NewTask, RunRow, World,
};
use rhythm_flow::{Defaults, Flow, compile, examine};
use tokio::runtime::Runtime;

/// Repeats an operation this many times.
type Case = fn(u64);

const CASES: &[(&str, Case)] = &[
    ("step: an answer, the next task", step),
    ("fold: the same with events and state", fold),
    ("plan: the same as a commit", plan),
    ("snapshot: opened and sealed", snapshot),
    ("history: two rows as JSON", history),
    ("room: a hundred tasks promised to a worker", room),
    ("asking: a worker's claim of an empty queue", asking),
    ("commit: one run, the reference world", commit),
    ("claim: one run and one task, the reference world", claim),
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [name, times] = &args[..] else {
        CASES.iter().for_each(|(name, _)| println!("{name}"));
        return;
    };
    let (_, case) = CASES.iter().find(|(known, _)| known == name).expect("a case that is listed");
    case(times.parse().expect("a number"));
}

/// State of a W1 run between two of its tasks.
struct Between {
    flow: Flow,
    row: RunRow,
    answer: Message,
    at: Timestamp,
    blobs: Blobs,
}

impl Between {
    fn new() -> Self {
        let source = include_str!("../src/flows/steps.flow");
        let examined = examine(source, false);
        let code = compile(&examined.file, source, Defaults::from(&examined.settings)).unwrap();
        let (flow, at, blobs) = (Flow::new(code).unwrap(), Timestamp(20), Blobs::new());
        let mut row = row();
        let start = message("start", MessageBody::Start(Start { input: payload(r#"{"steps":10}"#) }));
        row.state = moved(&flow, &row.facts(), &row.state, &start, at, &blobs);
        let body = TaskCompleted { task: CommandId(1), attempt: 1, output: payload(r#"{"step":0}"#) };
        let answer = message("task:1", MessageBody::TaskCompleted(body));
        Self { flow, row, answer, at, blobs }
    }

    fn plan(&self) -> CommitItem {
        let folding = CommitBuilder {
            program: &self.flow,
            row: &self.row,
            fence: Fence::Fused,
            commit: CommitId::new("worker#1/1"),
            messages: std::slice::from_ref(&self.answer),
            more: false,
            now: self.at,
            blobs: &self.blobs,
            is_long: &|| false,
        };
        match folding.plan(&mut |_| true) {
            Built::Commit(plan) => plan.item,
            _ => panic!("it can be stepped"),
        }
    }
}

fn payload(text: &str) -> Payload {
    Payload::parse(text.to_owned()).unwrap()
}

fn message(id: &str, body: MessageBody) -> Message {
    Message { id: MessageId::new(id), at: Timestamp(10), actor: Actor("worker:w1".into()), trace: None, body }
}

fn row() -> RunRow {
    RunRow {
        id: RunId::new("0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"),
        tenant: TenantId::default(),
        workflow: "bench-steps".into(),
        version: Version::of(b"bench"),
        kind: WorkflowKind::Flow,
        priority: 0,
        parent: None,
        created_at: Timestamp(0),
        revision: 1,
        arrived: 0,
        paused: false,
        state: RunState::default(),
    }
}

fn moved(
    flow: &Flow,
    facts: &RunFacts,
    state: &RunState,
    message: &Message,
    at: Timestamp,
    blobs: &Blobs,
) -> RunState {
    match advance(flow, facts, state, message, at, blobs) {
        Ok(Advance::Advanced(advanced)) => advanced.state,
        _ => panic!("it moves"),
    }
}

fn step(times: u64) {
    let between = Between::new();
    let facts = between.row.facts();
    for _ in 0..times {
        let (snapshot, message) = (between.row.state.snapshot.as_ref(), &between.answer);
        let input = StepInput { facts: &facts, snapshot, message, at: between.at, blobs: &between.blobs };
        assert!(matches!(black_box(between.flow.step(input)), Ok(Step::Transition(_))));
    }
}

fn fold(times: u64) {
    let Between { flow, row, answer, at, blobs } = Between::new();
    let facts = row.facts();
    for _ in 0..times {
        black_box(moved(&flow, &facts, &row.state, &answer, at, &blobs));
    }
}

fn plan(times: u64) {
    let between = Between::new();
    for _ in 0..times {
        assert!(!black_box(between.plan()).consumed.is_empty());
    }
}

fn snapshot(times: u64) {
    let state = Between::new().row.state;
    let sealed = state.snapshot.unwrap();
    for _ in 0..times {
        let content = sealed.open().unwrap().to_vec();
        black_box(rhythm_core::program::Snapshot::seal(sealed.format, content));
    }
}

fn history(times: u64) {
    let events: Vec<Event> = Between::new().plan().events;
    assert_eq!(events.len(), 2);
    for _ in 0..times {
        for event in &events {
            black_box(event.data.to_json());
        }
    }
}

/// A worker with 1,000 free slots, on a world without tasks.
fn worker() -> Worker {
    let config = Config { concurrency: 1_000, ..Config::new(WorkerId::new("w1")) };
    let world = Arc::new(MemoryWorld::new(None));
    let time = WorldTime::new(Arc::new(HostClock::default()));
    let process = Process::new(world, config, Programs::default(), time);
    let mut handlers = Handlers::default();
    handlers.add("noop", Arc::new(Noop));
    Worker::new(Arc::new(process), handlers, "here".into(), 1)
}

struct Noop;

#[async_trait::async_trait]
impl Handler for Noop {
    async fn handle(&self, _: TaskContext, input: Payload) -> Result<Payload, Failure> {
        Ok(input)
    }
}

/// Takes slots for new tasks, as a commit builder does when it claims the tasks it creates.
fn room(times: u64) {
    let worker = worker();
    let input = payload(r#"{"step":0}"#);
    let task = TaskSpec { task: CommandId(1), name: "noop".into(), input, options: TaskOptions::default() };
    for _ in 0..times {
        let mut slots = worker.slots_for_new();
        for _ in 0..100 {
            assert!(black_box(slots.take(&task)));
        }
    }
}

/// A tick of an idle worker: computes the wanted tasks by queue, sends the claim request, reads the empty
/// answer.
fn asking(times: u64) {
    let worker = worker();
    let runtime = runtime();
    for _ in 0..times {
        assert!(black_box(runtime.block_on(worker.tick())).unwrap().is_empty());
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

/// A world with one run that waits for its first step. Its creation is counted too, and costs the same in
/// every version.
fn world_of_one(runtime: &Runtime) -> MemoryWorld {
    let world = MemoryWorld::new(None);
    let run = NewRun {
        id: row().id,
        workflow: "bench-steps".into(),
        version: Version::of(b"bench"),
        kind: WorkflowKind::Flow,
        input: payload(r#"{"steps":10}"#),
        priority: 0,
        delay: Millis::ZERO,
        deadline: None,
        labels: BTreeMap::new(),
        parent: None,
        actor: Actor("user:bench".into()),
        trace: None,
    };
    let request = CreateRuns { tenant: TenantId::default(), runs: vec![run] };
    runtime.block_on(world.create_runs(request)).unwrap();
    world
}

fn claim_run(runtime: &Runtime, world: &MemoryWorld) -> ClaimedRun {
    let request = ClaimRuns {
        of: None,
        tenant: TenantId::default(),
        worker: "w1".into(),
        kinds: vec![WorkflowKind::Flow],
        workflows: Vec::new(),
        limit: 1,
        hold: Millis(30_000),
        ask: Default::default(),
    };
    runtime.block_on(world.claim_runs(request)).unwrap().runs.pop().expect("it is ready")
}

fn commit(times: u64) {
    let runtime = runtime();
    let template = Between::new().plan();
    for _ in 0..times {
        let world = world_of_one(&runtime);
        let claimed = claim_run(&runtime, &world);
        let item = CommitItem {
            run: claimed.run.id.clone(),
            fence: Fence::Claim(claimed.claim),
            revision: claimed.run.revision,
            arrived: claimed.run.arrived,
            finished: Vec::new(),
            consumed: vec![MessageId::start()],
            ..template.clone()
        };
        assert!(!item.tasks.is_empty());
        let commit = Commit {
            tenant: TenantId::default(),
            worker: "w1".into(),
            hold: Millis(30_000),
            items: vec![item],
            released: Vec::new(),
        };
        let committed = runtime.block_on(world.commit(Arc::new(commit))).unwrap();
        assert!(matches!(black_box(committed).outcomes[..], [CommitOutcome::Done(_)]));
    }
}

fn claim(times: u64) {
    let runtime = runtime();
    let new = NewTask {
        id: TaskId::new("task-1"),
        run: None,
        name: "noop".into(),
        input: payload(r#"{"step":0}"#),
        options: TaskOptions::default(),
        actor: Actor("user:bench".into()),
        trace: None,
        claim: false,
    };
    let tasks = ClaimTasks {
        of: None,
        tenant: TenantId::default(),
        worker: "w1".into(),
        queues: vec![("default".into(), 1)],
        names: Vec::new(),
        hold: Millis(30_000),
        with_runs: true,
        overdue: false,
        ask: Default::default(),
    };
    for _ in 0..times {
        let world = world_of_one(&runtime);
        let request = EnqueueTasks { tenant: TenantId::default(), tasks: vec![new.clone()] };
        runtime.block_on(world.enqueue_tasks(request)).unwrap();
        black_box(claim_run(&runtime, &world));
        assert_eq!(runtime.block_on(world.claim_tasks(tasks.clone())).unwrap().tasks.len(), 1);
    }
}
