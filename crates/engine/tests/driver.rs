//! The driver on the real runtime: loops, timeouts, cancellation and shutdown.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use rhythm_core::{Actor, Failure, Millis, Payload, RunId, Status, TaskId, TenantId, WorkerId, WorkflowKind};
use rhythm_engine::client::{Client, EnqueueTask, StartRun};
use rhythm_engine::config::Config;
use rhythm_engine::drive::{Driver, HostClock, wait_for_run, wait_for_task};
use rhythm_engine::local_worker::LocalWorker;
use rhythm_engine::memory::MemoryWorld;
use rhythm_engine::process::Process;
use rhythm_engine::programs::Programs;
use rhythm_engine::time::WorldTime;
use rhythm_engine::worker::{Handler, Handlers, TaskContext, Worker};
use rhythm_engine::world::{ClaimTasks, Control, TaskState, World};
use serde_json::{Value, json};

struct Function<F>(F);

#[async_trait]
impl<F, Fut> Handler for Function<F>
where
    F: Fn(TaskContext, Payload) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Payload, Failure>> + Send,
{
    async fn handle(&self, context: TaskContext, input: Payload) -> Result<Payload, Failure> {
        (self.0)(context, input).await
    }
}

struct Theatre {
    client: Client,
    memory: MemoryWorld,
}

impl Theatre {
    fn new() -> Self {
        let memory = MemoryWorld::new(None);
        let client = Client::new(Arc::new(memory.handle()), TenantId::default(), Actor("user:test".into()));
        Self { client, memory }
    }

    fn driver(&self, handlers: Handlers, configure: impl FnOnce(Config) -> Config) -> Arc<Driver> {
        self.measured(handlers, configure).0
    }

    fn measured(
        &self,
        handlers: Handlers,
        configure: impl FnOnce(Config) -> Config,
    ) -> (Arc<Driver>, Arc<Process>) {
        let config = configure(Config::new(WorkerId::new("w1")));
        let world: Arc<dyn World> = Arc::new(self.memory.handle());
        let time = WorldTime::new(Arc::new(HostClock::default()));
        let process = Arc::new(Process::new(world, config, Programs::default(), time));
        let worker = Arc::new(Worker::new(process.clone(), handlers, "test".into(), 1));
        (Driver::new(process.clone(), worker), process)
    }

    async fn start(&self, plan: Value) -> RunId {
        self.client.register("main", WorkflowKind::Drill, &plan.to_string()).await.unwrap();
        let start = StartRun { workflow: "main".into(), ..StartRun::default() };
        self.client.start_run(start).await.unwrap()
    }

    async fn enqueue(&self, name: &str, options: Value) -> TaskId {
        let options = serde_json::from_value(options).unwrap();
        let task = EnqueueTask { name: name.into(), options, ..EnqueueTask::default() };
        self.client.enqueue_task(task).await.unwrap()
    }
}

fn handlers() -> Handlers {
    let mut handlers = Handlers::default();
    handlers.add("echo", Arc::new(Function(|_, input| async move { Ok(input) })));
    handlers.add("hang", Arc::new(Function(|_, _| std::future::pending())));
    handlers.add(
        "obedient",
        Arc::new(Function(|context: TaskContext, _| async move {
            context.cancelled().await;
            Err(Failure::new("STOPPED", "as asked"))
        })),
    );
    handlers.add(
        "block",
        Arc::new(Function(|_, _| async move {
            // A handler that blocks its thread must not block others.
            std::thread::sleep(Duration::from_millis(300));
            Ok(Payload::null())
        })),
    );
    handlers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_and_tasks_are_done_without_polling_by_hand() {
    let theatre = Theatre::new();
    let driver = theatre.driver(handlers(), |config| config);
    let stopper = driver.stopper();
    let running = tokio::spawn(async move { driver.run(Duration::from_secs(5)).await });
    let echo = json!({"name": "echo", "input": 1});
    let run = theatre
        .start(json!({"steps": [{"repeat": {"times": 20, "task": echo}}, {"sleep": "50ms"}, {"task": echo}]}))
        .await;
    let picture = wait_for_run(&theatre.client, &run).await.unwrap();
    assert_eq!(picture.summary.status, Status::Completed);
    let tasks = (0..500).map(|n| EnqueueTask {
        name: "echo".into(),
        input: Payload::of(&n).unwrap(),
        ..EnqueueTask::default()
    });
    for task in theatre.client.enqueue_tasks(tasks.collect()).await.unwrap() {
        assert_eq!(wait_for_task(&theatre.client, &task).await.unwrap().state, TaskState::Completed);
    }
    stopper.stop();
    running.await.unwrap().unwrap();
    assert!(theatre.client.world().workers(theatre.client.tenant()).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loop_of_short_timers_costs_one_commit_a_round() {
    let theatre = Theatre::new();
    let (driver, process) = theatre.measured(handlers(), |config| config);
    let stopper = driver.stopper();
    let running = tokio::spawn(async move { driver.run(Duration::from_secs(5)).await });
    let run = theatre.start(json!({"steps": vec![json!({"sleep": "1ms"}); 200]})).await;
    let picture = wait_for_run(&theatre.client, &run).await.unwrap();
    assert_eq!(picture.summary.status, Status::Completed);
    let written = process.meter.written();
    assert!((200..=202).contains(&written.items), "{written:?}");
    assert!(written.commits <= written.items, "{written:?}");
    assert!(written.sweeps <= 100, "a sweep now and then, not one a round: {written:?}");
    stopper.stop();
    running.await.unwrap().unwrap();
}

/// More timers than one sweep takes, each followed by a task.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_timers_is_weathered() {
    let theatre = Theatre::new();
    let driver = theatre.driver(handlers(), |config| config);
    let stopper = driver.stopper();
    let plan = json!({"steps": [{"sleep": "300ms"}, {"task": {"name": "echo", "input": 1}}]});
    theatre.client.register("main", WorkflowKind::Drill, &plan.to_string()).await.unwrap();
    let start = StartRun { workflow: "main".into(), ..StartRun::default() };
    let runs = theatre.client.start_runs(vec![start; 5 * theatre.memory.timer_batch_size()]).await.unwrap();
    let running = tokio::spawn(async move { driver.run(Duration::from_secs(5)).await });
    for run in runs {
        assert_eq!(wait_for_run(&theatre.client, &run).await.unwrap().summary.status, Status::Completed);
    }
    stopper.stop();
    running.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_that_hangs_is_timed_out_and_one_without_heartbeat_too() {
    let theatre = Theatre::new();
    let driver = theatre.driver(handlers(), |config| config);
    let stopper = driver.stopper();
    let running = tokio::spawn(async move { driver.run(Duration::ZERO).await });
    let hung = theatre.enqueue("hang", json!({"timeout": "200ms", "retries": 1})).await;
    let silent = theatre.enqueue("hang", json!({"heartbeat_timeout": "200ms", "retries": 1})).await;
    let late = theatre.enqueue("hang", json!({"deadline": "1s"})).await;
    for (task, code) in [(hung, "TIMEOUT"), (silent, "HEARTBEAT_TIMEOUT"), (late, "DEADLINE_EXCEEDED")] {
        let ended = wait_for_task(&theatre.client, &task).await.unwrap();
        assert_eq!(ended.failure.unwrap().code, code);
    }
    stopper.stop();
    running.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_attempt_may_stop_by_itself_or_is_stopped() {
    let theatre = Theatre::new();
    let driver = theatre.driver(handlers(), |config| Config { grace: Millis(200), ..config });
    let stopper = driver.stopper();
    let running = tokio::spawn(async move { driver.run(Duration::ZERO).await });
    for name in ["obedient", "hang"] {
        let task = theatre.enqueue(name, json!({})).await;
        loop {
            let world = theatre.client.world();
            let state = world.task(theatre.client.tenant(), &task).await.unwrap().unwrap().state;
            if state == TaskState::Running {
                break;
            }
            tokio::task::yield_now().await;
        }
        theatre.client.control(Control::CancelTask { task: task.clone() }).await.unwrap();
        let ended = wait_for_task(&theatre.client, &task).await.unwrap();
        assert_eq!(ended.state, TaskState::Cancelled, "{name}");
    }
    stopper.stop();
    running.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_worker_beats_while_others_are_cancelled_all_the_time() {
    let theatre = Theatre::new();
    let driver = theatre.driver(handlers(), |config| Config { beat: Millis(200), ..config });
    let stopper = driver.stopper();
    // A task of another worker, in a queue this worker does not serve; cancelling it wakes up all workers.
    let foreign = theatre.enqueue("hang", json!({"queue": "elsewhere"})).await;
    let (tenant, worker) = (TenantId::default(), WorkerId::new("w2"));
    let queues = vec![("elsewhere".to_owned(), 1)];
    let claim = ClaimTasks {
        tenant,
        worker,
        queues,
        names: vec![],
        of: None,
        hold: Millis::from_secs(300),
        with_runs: false,
        overdue: false,
        ask: Default::default(),
    };
    let other = theatre.memory.handle();
    assert_eq!(other.claim_tasks(claim).await.unwrap().tasks.len(), 1);
    let running = tokio::spawn(async move { driver.run(Duration::ZERO).await });
    let world = theatre.client.world();
    let mut beats = std::collections::BTreeSet::new();
    let give_up = std::time::Instant::now() + Duration::from_secs(60);
    while beats.len() < 4 {
        assert!(std::time::Instant::now() < give_up, "only {} heartbeats were heard", beats.len());
        theatre.client.control(Control::CancelTask { task: foreign.clone() }).await.unwrap();
        let workers = world.workers(theatre.client.tenant()).await.unwrap();
        beats.extend(workers.iter().map(|worker| worker.beat_at));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    stopper.stop();
    running.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_finishes_what_can_be_finished_and_hands_the_rest_back() {
    let theatre = Theatre::new();
    let driver = theatre.driver(handlers(), |config| config);
    let stopper = driver.stopper();
    let stuck = theatre.enqueue("hang", json!({})).await;
    let running = tokio::spawn(async move { driver.run(Duration::from_millis(100)).await });
    let world = theatre.client.world();
    while world.task(theatre.client.tenant(), &stuck).await.unwrap().unwrap().state != TaskState::Running {
        tokio::task::yield_now().await;
    }
    stopper.stop();
    running.await.unwrap().unwrap();
    let left = world.task(theatre.client.tenant(), &stuck).await.unwrap().unwrap();
    assert_eq!((left.state, left.delivery), (TaskState::Ready, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_its_thread_does_not_stop_the_others() {
    let theatre = Theatre::new();
    static DONE: AtomicU32 = AtomicU32::new(0);
    let mut handlers = handlers();
    handlers.add(
        "count",
        Arc::new(Function(|_, input| async move {
            DONE.fetch_add(1, Ordering::SeqCst);
            Ok(input)
        })),
    );
    let driver = theatre.driver(handlers, |config| config);
    let stopper = driver.stopper();
    let blocking = theatre.enqueue("block", json!({})).await;
    let running = tokio::spawn(async move { driver.run(Duration::from_secs(5)).await });
    for _ in 0..50 {
        let task = theatre.enqueue("count", json!({})).await;
        wait_for_task(&theatre.client, &task).await.unwrap();
    }
    wait_for_task(&theatre.client, &blocking).await.unwrap();
    assert_eq!(DONE.load(Ordering::SeqCst), 50);
    stopper.stop();
    running.await.unwrap().unwrap();
}

/// Ordinary runs are announced by a wake-up; a run that begins with its first step never enters the queue.
#[tokio::test]
async fn a_run_started_beside_its_idle_worker_begins_with_its_first_step() {
    let theatre = Theatre::new();
    let nearby = Arc::<LocalWorker>::default();
    let beside =
        Theatre { client: theatre.client.clone().beside(nearby.clone()), memory: theatre.memory.handle() };
    let plan = json!({"steps": [{"task": {"name": "echo"}}]});
    // No worker has started yet.
    let offers = theatre.memory.handle().wakeups().runs;
    let first = beside.start(plan.clone()).await;
    assert!(offers.has_changed().unwrap());

    let driver = theatre.driver(handlers(), |config| config);
    nearby.move_in(&driver);
    let stopper = driver.stopper();
    let running = tokio::spawn(async move { driver.run(Duration::from_secs(5)).await });
    wait_for_run(&beside.client, &first).await.unwrap();
    // A worker that is finishing a task lets a start go through the queue, so some may.
    let mut begun = 0;
    for _ in 0..50 {
        let mut offers = theatre.memory.handle().wakeups().runs;
        offers.mark_unchanged();
        let run = beside.start(plan.clone()).await;
        let at_once = theatre.client.picture(&run).await.unwrap();
        let ended = wait_for_run(&beside.client, &run).await.unwrap();
        assert_eq!(ended.summary.status, Status::Completed);
        if !offers.has_changed().unwrap() {
            assert!(at_once.row.revision > 0, "it is under way when the caller hears of it");
            begun += 1;
        }
    }
    assert!(begun >= 3, "only {begun} were offered to nobody");

    // A cached workflow is read again after it has changed.
    let other = json!({"steps": [{"task": {"name": "echo"}}, {"task": {"name": "echo"}}]}).to_string();
    theatre.client.register("main", WorkflowKind::Drill, &other).await.unwrap();
    let start = StartRun { workflow: "main".into(), ..StartRun::default() };
    let run = beside.client.start_run(start).await.unwrap();
    let ended = wait_for_run(&beside.client, &run).await.unwrap();
    assert_eq!(ended.row.version, rhythm_core::Version::of(other.as_bytes()));

    // A worker that stops begins no runs.
    stopper.stop();
    running.await.unwrap().unwrap();
    let late = beside.start(plan).await;
    assert_eq!(theatre.client.picture(&late).await.unwrap().row.revision, 0);
}
