//! Standalone tasks and workers on the reference world, driven by hand.

mod rig;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use rhythm_core::cron::{CatchUp, Overlap};
use rhythm_core::{BlobRef, Millis, Payload, Status, TenantId, Timestamp, WorkflowKind};
use rhythm_engine::client::NewSchedule;
use rhythm_engine::config::Config;
use rhythm_engine::worker::{Cancellation, Finished};
use rhythm_engine::world::*;
use rhythm_graph::NodeType;
use serde_json::json;

use rig::{Rig, failing, task};

async fn state(rig: &Rig, task: &rhythm_core::TaskId) -> TaskState {
    rig.client.world().task(rig.client.tenant(), task).await.unwrap().unwrap().state
}

#[tokio::test]
async fn a_task_is_done_and_its_output_stays_readable() {
    let rig = Rig::new();
    rig.stage.on("a", |context, _| Ok(json!(context.idempotency_key())));
    let task = rig.enqueue("a", json!({})).await;
    rig.settle().await;
    let summary = rig.client.world().task(rig.client.tenant(), &task).await.unwrap().unwrap();
    assert_eq!(summary.state, TaskState::Completed);
    assert_eq!(summary.output.unwrap().text().unwrap(), format!("\"{task}:1\""));
}

#[tokio::test]
async fn a_key_given_to_a_task_is_what_its_handler_passes_on() {
    let rig = Rig::new();
    rig.stage.on("a", |context, _| match context.attempt() {
        1 => failing("ONCE")(context, json!(null)),
        _ => Ok(json!([context.idempotency_key(), context.stable_key()])),
    });
    let task = rig.enqueue("a", json!({"key": "order-7"})).await;
    rig.run_for(Millis(5_000)).await;
    let summary = rig.client.world().task(rig.client.tenant(), &task).await.unwrap().unwrap();
    assert_eq!(summary.output.unwrap().text().unwrap(), r#"["order-7","order-7"]"#);
}

#[tokio::test]
async fn a_dead_letter_can_be_requeued_with_fresh_attempts() {
    let rig = Rig::new();
    rig.stage.on("a", failing("DOWN"));
    let task = rig.enqueue("a", json!({"retries": {"max_attempts": 2, "initial_delay": 1}})).await;
    rig.run_for(Millis(5_000)).await;
    assert_eq!(state(&rig, &task).await, TaskState::Failed);
    assert_eq!(rig.stage.calls().len(), 2);
    rig.stage.on("a", |context, _| Ok(json!(context.attempt())));
    rig.client.requeue_dead(&task).await.unwrap();
    rig.settle().await;
    assert_eq!(state(&rig, &task).await, TaskState::Completed);
}

#[tokio::test]
async fn listed_error_types_are_not_retried() {
    let rig = Rig::new();
    rig.stage.on("a", failing("NO_STOCK"));
    let task = rig.enqueue("a", json!({"retries": {"no_retry_on": ["NO_STOCK"]}})).await;
    rig.settle().await;
    assert_eq!(state(&rig, &task).await, TaskState::Failed);
    assert_eq!(rig.stage.calls().len(), 1);
}

#[tokio::test]
async fn a_panic_is_a_failure_of_that_attempt() {
    let rig = Rig::new();
    let mut first = true;
    rig.stage.on("a", move |_, _| {
        assert!(!std::mem::take(&mut first), "boom");
        Ok(json!("fine"))
    });
    let task = rig.enqueue("a", json!({})).await;
    rig.settle().await;
    assert_eq!(state(&rig, &task).await, TaskState::Delayed);
}

#[tokio::test]
async fn an_attempt_whose_workers_die_is_delivered_again_and_then_poison() {
    let rig = Rig::new();
    let task = rig.enqueue("a", json!({})).await;
    for n in 1..=5 {
        let doomed = rig.another(&format!("doomed-{n}"), |config| config);
        doomed.worker.beat(false).await.unwrap();
        let attempts = doomed.worker.tick().await.unwrap();
        assert_eq!((attempts[0].task.attempt, attempts[0].task.delivery), (1, n));
        assert_eq!(attempts[0].context.claim(), u64::from(n), "a claim's number only grows");
        drop((attempts, doomed));
        for _ in 0..2 {
            rig.memory.upkeep(Upkeep::sweep(10)).await.unwrap();
            rig.pass(Millis(1_100));
        }
        rig.memory.upkeep(Upkeep::sweep(10)).await.unwrap();
    }
    rig.settle().await;
    let summary = rig.client.world().task(rig.client.tenant(), &task).await.unwrap().unwrap();
    assert_eq!(summary.state, TaskState::Failed);
    assert_eq!(summary.failure.unwrap().code, "POISON");
    assert!(rig.stage.calls().is_empty(), "the sixth delivery is not executed");
}

#[tokio::test]
async fn what_shares_its_worker_with_a_deadly_task_is_not_poisoned_with_it() {
    let rig = Rig::new();
    let innocent = [rig.enqueue("a", json!({})).await, rig.enqueue("b", json!({})).await];
    let deadly = rig.enqueue("bad", json!({})).await;
    let late = rig.enqueue("c", json!({})).await;
    for life in 0.. {
        let doomed = rig.another(&format!("doomed-{life}"), |config| config);
        doomed.worker.beat(false).await.unwrap();
        let attempts = doomed.worker.tick().await.unwrap();
        if attempts.is_empty() {
            break;
        }
        let dies = attempts.iter().any(|attempt| attempt.task.id == deadly && attempt.task.delivery <= 5);
        if !dies {
            let mut results = Vec::new();
            for attempt in attempts {
                let result = attempt.perform(&doomed.worker).await;
                results.push(Finished { task: attempt.task, result });
            }
            doomed.worker.settle(results).await.unwrap();
        }
        drop(doomed);
        for _ in 0..3 {
            rig.memory.upkeep(Upkeep::sweep(10)).await.unwrap();
            rig.pass(Millis(1_100));
        }
    }
    for task in innocent.iter().chain([&late]) {
        assert_eq!(state(&rig, task).await, TaskState::Completed);
    }
    assert_eq!(state(&rig, &deadly).await, TaskState::Failed);
}

#[tokio::test]
async fn a_worker_that_wakes_up_late_cannot_finish_what_another_took_over() {
    let rig = Rig::new();
    let run = rig.start(json!({"steps": [{"task": task("a")}]})).await;
    let sleeper = rig.another("sleeper", |config| config);
    let ticked = sleeper.engine.tick().await;
    assert_eq!(ticked.attempts.len(), 1, "the sleeper holds the task");
    rig.run_for(Millis(31_000)).await;
    assert_eq!(rig.output(&run).await, json!([null]));
    let before = rig.picture(&run).await;
    let results: Vec<Finished> = ticked
        .attempts
        .into_iter()
        .map(|attempt| Finished { task: attempt.task, result: Ok(Payload::of("late").unwrap()) })
        .collect();
    sleeper.worker.settle(results).await.unwrap();
    assert_eq!(rig.picture(&run).await, before);
}

#[tokio::test]
async fn a_heartbeat_keeps_a_long_task_and_its_progress_reaches_the_next_delivery() {
    let rig = Rig::new();
    rig.enqueue("slow", json!({})).await;
    let slow = rig.another("slow-worker", |config| config);
    let attempts = slow.worker.tick().await.unwrap();
    attempts[0].context.report(Payload::of("half").unwrap());
    for _ in 0..10 {
        slow.worker.beat(false).await.unwrap();
        rig.run_for(Millis(10_000)).await;
    }
    assert!(rig.stage.calls().is_empty(), "nobody took it while its worker was beating");
    drop((attempts, slow));
    let seen = Arc::new(Mutex::new(None));
    let told = seen.clone();
    rig.stage.on("slow", move |context, _| {
        *told.lock().unwrap() = context.last_progress().map(|p| p.to_stored());
        Ok(json!(null))
    });
    rig.run_for(Millis(3_000)).await;
    assert_eq!(seen.lock().unwrap().as_deref(), Some("\"half\""));
}

#[tokio::test]
async fn a_cancelled_task_is_told_and_its_run_hears_of_it() {
    let rig = Rig::new();
    let run = rig
        .start(json!({"steps": [{"task_within": {"task": task("slow"), "timeout": "10s"}}, {"sleep": 1}]}))
        .await;
    let other = rig.another("w2", |config| config);
    let ticked = other.engine.tick().await;
    let attempt = ticked.attempts.into_iter().next().unwrap();
    for _ in 0..11 {
        rig.run_for(Millis(1_000)).await;
        other.worker.beat(false).await.unwrap();
    }
    assert!(attempt.context.is_cancelled());
    let result = Err(rhythm_core::Failure::new("STOPPED", "as asked"));
    other.worker.settle(vec![Finished { task: attempt.task, result }]).await.unwrap();
    rig.run_for(Millis(2_000)).await;
    assert_eq!(rig.output(&run).await, json!([null]));
    assert!(
        rig.client
            .world()
            .list_dead(DeadQuery { limit: 9, ..Default::default() })
            .await
            .unwrap()
            .rows
            .is_empty()
    );
}

#[tokio::test]
async fn a_task_nobody_serves_fails_at_its_deadline() {
    let rig = Rig::new();
    let run = rig
        .start(json!({"steps": [{"try_task": {"name": "x", "options": {"queue": "nobody", "deadline": "20s"}}}]}))
        .await;
    rig.run_for(Millis(15_000)).await;
    let why = rhythm_engine::explain::explain(&rig.client, &run).await.unwrap();
    assert_eq!(why.reasons[0].code, "no_worker");
    rig.run_for(Millis(20_000)).await;
    assert_eq!(rig.output(&run).await, json!(["DEADLINE_EXCEEDED"]));
}

#[tokio::test]
async fn tasks_without_a_handler_wait_and_explain_names_the_reason() {
    let rig = Rig::new();
    let run = rig.start(json!({"steps": [{"task": task("unheard_of")}]})).await;
    rig.settle().await;
    let why = rhythm_engine::explain::explain(&rig.client, &run).await.unwrap();
    assert_eq!(why.reasons[0].code, "unknown_task");
}

#[tokio::test]
async fn queue_limits_and_concurrency_are_kept() {
    let rig = Rig::new();
    for _ in 0..20 {
        rig.enqueue("a", json!({"queue": "few"})).await;
        rig.enqueue("a", json!({"queue": "many"})).await;
    }
    let queues = vec![("few".to_owned(), 2), ("many".to_owned(), 100)];
    let worker =
        rig.another("limited", |config| rhythm_engine::config::Config { queues, concurrency: 7, ..config });
    let mut held = Vec::new();
    for _ in 0..5 {
        held.extend(worker.worker.tick().await.unwrap());
    }
    let few = held.iter().filter(|attempt| attempt.task.options.queue == "few").count();
    assert_eq!((few, held.len()), (2, 7));
}

#[tokio::test]
async fn what_waits_in_a_full_queue_is_not_forgotten_beside_an_empty_one() {
    let rig = Rig::new();
    for _ in 0..3 {
        rig.enqueue("a", json!({"queue": "few"})).await;
    }
    let queues = vec![("few".to_owned(), 1), ("many".to_owned(), 100)];
    let two = rig.another("limited", |config| Config { queues, concurrency: 7, ..config });
    let mut held = two.worker.tick().await.unwrap();
    assert_eq!(held.len(), 1);
    for _ in 0..5 {
        if !two.worker.asks_again() {
            break;
        }
        assert!(two.worker.tick().await.unwrap().is_empty());
    }
    assert!(!two.worker.asks_again(), "it does not ask for ever");
    assert!(two.worker.has_backlog(), "whoever ends the one has the next one claimed");
    let first = held.remove(0);
    two.worker.settle(vec![Finished { task: first.task, result: Ok(Payload::null()) }]).await.unwrap();
    assert_eq!(two.worker.tick().await.unwrap().len(), 1);
}

#[tokio::test]
async fn with_less_room_than_queues_each_is_asked() {
    let rig = Rig::new();
    for queue in ["q0", "q1", "q2"] {
        let queues = (0..3).map(|number| (format!("q{number}"), 10)).collect();
        let two = rig.another(queue, |config| Config { queues, concurrency: 1, ..config });
        rig.enqueue("a", json!({ "queue": queue })).await;
        let mut held = two.worker.tick().await.unwrap();
        while held.is_empty() && two.worker.asks_again() {
            held = two.worker.tick().await.unwrap();
        }
        assert_eq!(held.len(), 1, "{queue}");
    }
}

#[tokio::test]
async fn a_run_that_goes_on_and_on_lets_what_waits_have_its_turn() {
    let rig = Rig::new();
    let (clock, ticks) = (rig.clock.clone(), rig.ticks.clone());
    rig.stage.on("a", move |_, _| {
        rig::pass(&clock, &ticks, Millis(400));
        Ok(json!(null))
    });
    let steps: Vec<_> = (0..10).map(|_| json!({"task": task("a")})).collect();
    let run = rig.start(json!({ "steps": steps })).await;
    let two = rig.another("w2", |config| Config { concurrency: 1, ..config });
    rig.enqueue("b", json!({})).await;
    two.settle().await;
    let calls = rig.stage.calls();
    assert_eq!(calls.len(), 11);
    assert_eq!(calls.iter().position(|name| name == "b"), Some(3), "{calls:?}");
    assert_eq!(rig.status(&run).await, Status::Completed);
}

#[tokio::test]
async fn a_worker_that_leaves_hands_its_tasks_back() {
    let rig = Rig::new();
    let task = rig.enqueue("a", json!({})).await;
    let leaver = rig.another("leaver", |config| config);
    let attempts = leaver.worker.tick().await.unwrap();
    assert_eq!(attempts.len(), 1);
    assert_eq!(leaver.worker.hand_back().await.unwrap(), 1);
    leaver.worker.beat(true).await.unwrap();
    rig.settle().await;
    assert_eq!(state(&rig, &task).await, TaskState::Completed);
    let workers = rig.client.world().workers(rig.client.tenant()).await.unwrap();
    assert_eq!(workers.len(), 1);
}

fn every_minute(target: ScheduleTarget, catch_up: CatchUp, overlap: Overlap) -> NewSchedule {
    NewSchedule {
        name: "minutely".into(),
        cron: "* * * * *".into(),
        zone: "UTC".into(),
        target,
        catch_up,
        overlap,
    }
}

#[tokio::test]
async fn a_schedule_starts_its_task_every_minute_once_whoever_looks() {
    let rig = Rig::new();
    let target =
        ScheduleTarget::Task { name: "a".into(), input: Payload::null(), options: Default::default() };
    rig.client.put_schedule(every_minute(target, CatchUp::Skip, Overlap::Skip)).await.unwrap();
    let other = rig.another("w2", |config| config);
    for _ in 0..240 {
        rig.pass(Millis(1_000));
        rig.settle().await;
        other.settle().await;
    }
    assert_eq!(rig.stage.calls().len(), 4);
    let schedule = rig.client.world().schedules(rig.client.tenant()).await.unwrap().remove(0);
    assert_eq!((schedule.fired, schedule.missed), (4, 0));
}

/// No fire time is skipped or late, whatever the rule.
#[tokio::test]
async fn a_schedule_by_the_second_fires_each_of_its_times_within_a_second() {
    let rig = Rig::new();
    let target =
        ScheduleTarget::Task { name: "a".into(), input: Payload::null(), options: Default::default() };
    let secondly =
        NewSchedule { cron: "* * * * * *".into(), ..every_minute(target, CatchUp::Skip, Overlap::Skip) };
    rig.client.put_schedule(secondly).await.unwrap();
    for tenth in 1..=300 {
        rig.pass(Millis(100));
        rig.settle().await;
        let fired = rig.stage.calls().len();
        let due = tenth / 10;
        assert!(fired.abs_diff(due) <= 1, "{fired} fires after {tenth} tenths of a second");
    }
    let schedule = rig.client.world().schedules(rig.client.tenant()).await.unwrap().remove(0);
    assert_eq!(schedule.missed, 0);
}

#[tokio::test]
async fn overlap_and_catch_up_policies_hold() {
    for (overlap, expected) in [(Overlap::Skip, 1), (Overlap::Allow, 3), (Overlap::CancelPrevious, 3)] {
        let rig = Rig::new();
        rig.register("long", json!({"steps": [{"sleep": "1h"}]})).await;
        let target = ScheduleTarget::Workflow { workflow: "long".into(), input: Payload::null() };
        rig.client.put_schedule(every_minute(target, CatchUp::All, overlap)).await.unwrap();
        rig.run_for(Millis(180_000)).await;
        let query = RunQuery { tenant: TenantId::default(), limit: 100, ..Default::default() };
        let runs = rig.client.world().list_runs(query).await.unwrap().rows;
        assert_eq!(runs.len(), expected, "{overlap:?}");
        let cancelled = runs.iter().filter(|run| run.status == Status::Cancelled).count();
        assert_eq!(cancelled, if overlap == Overlap::CancelPrevious { 2 } else { 0 });
    }
    for (catch_up, expected) in [(CatchUp::Skip, 0), (CatchUp::One, 1), (CatchUp::All, 11)] {
        let rig = Rig::new();
        let target =
            ScheduleTarget::Task { name: "a".into(), input: Payload::null(), options: Default::default() };
        let hourly =
            NewSchedule { cron: "0 * * * *".into(), ..every_minute(target, catch_up, Overlap::Allow) };
        let next = rig.client.put_schedule(hourly).await.unwrap().next_at.unwrap();
        // No process runs for ten and a half hours after the first fire time.
        rig.clock.set(next.plus(Millis(10 * 3_600_000 + 1_800_000)));
        rig.settle().await;
        assert_eq!(rig.stage.calls().len(), expected, "{catch_up:?}");
    }
}

#[tokio::test]
async fn a_run_whose_task_nobody_can_do_is_blocked_within_half_a_minute_and_says_so_once() {
    let rig = Rig::new();
    // It moves now and then, and is marked again each time.
    let source = "let lost = Task.run(\"teleport\", {})\n\
        for (const n of [1, 2, 3]) { await Timer.delay(\"60s\") }\n\
        await lost";
    rig.client.register("main", WorkflowKind::Flow, source).await.unwrap();
    let run = rig.start_named("main").await;
    rig.run_for(Millis(30_000)).await;
    let picture = rig.client.picture(&run).await.unwrap();
    let blocked = picture.summary.blocked.expect("it is blocked");
    assert_eq!(blocked.code, rhythm_core::BlockedCode::NoWorker);
    assert!(blocked.detail.contains("teleport"), "{}", blocked.detail);
    rig.run_for(Millis(240_000)).await;
    assert!(rig.client.picture(&run).await.unwrap().summary.blocked.is_some());
    let kinds = rig.kinds(&run).await;
    let count = |wanted: &str| kinds.iter().filter(|kind| *kind == wanted).count();
    assert_eq!((count("timer_fired"), count("warning")), (3, 1), "{kinds:?}");
    rig.verify(&run).await;
}

/// Loses the answers of some commits and finishes: they are written, but the caller gets an error. It can
/// also fail blob requests for a while, and refuse the result of one task.
struct Forgetful {
    inner: Arc<dyn World>,
    forgets: bool,
    calls: AtomicU32,
    blobs_away: Arc<AtomicBool>,
    refuses: Arc<Mutex<Option<rhythm_core::TaskId>>>,
}

impl Forgetful {
    fn loses(&self) -> bool {
        self.forgets && !self.calls.fetch_add(1, Ordering::SeqCst).is_multiple_of(3)
    }
}

fn lost<T>() -> WorldResult<T> {
    Err(WorldError::Unavailable("the answer was lost".into()))
}

#[async_trait]
impl Records for Forgetful {
    async fn list_runs(&self, query: RunQuery) -> WorldResult<Page<RunSummary>> {
        self.inner.list_runs(query).await
    }
    async fn picture(&self, tenant: &TenantId, run: &rhythm_core::RunId) -> WorldResult<Option<Picture>> {
        self.inner.picture(tenant, run).await
    }
    async fn history(&self, query: HistoryQuery) -> WorldResult<Vec<rhythm_core::Event>> {
        self.inner.history(query).await
    }
    async fn attempts(&self, tenant: &TenantId, run: &rhythm_core::RunId) -> WorldResult<Vec<AttemptRow>> {
        self.inner.attempts(tenant, run).await
    }
    async fn list_tasks(&self, query: TaskQuery) -> WorldResult<Page<TaskSummary>> {
        self.inner.list_tasks(query).await
    }
    async fn task(&self, tenant: &TenantId, task: &rhythm_core::TaskId) -> WorldResult<Option<TaskSummary>> {
        self.inner.task(tenant, task).await
    }
    async fn list_dead(&self, query: DeadQuery) -> WorldResult<Page<DeadLetter>> {
        self.inner.list_dead(query).await
    }
    async fn list_approvals(&self, query: ApprovalQuery) -> WorldResult<Page<ApprovalRow>> {
        self.inner.list_approvals(query).await
    }
    async fn approval(
        &self,
        tenant: &TenantId,
        run: &rhythm_core::RunId,
        approval: rhythm_core::CommandId,
    ) -> WorldResult<Option<ApprovalRow>> {
        self.inner.approval(tenant, run, approval).await
    }
    async fn workers(&self, tenant: &TenantId) -> WorldResult<Vec<WorkerRow>> {
        self.inner.workers(tenant).await
    }
    async fn queues(&self, tenant: &TenantId) -> WorldResult<Vec<QueueRow>> {
        self.inner.queues(tenant).await
    }
    async fn ready_work(&self, tenant: &TenantId) -> WorldResult<Vec<ReadyWork>> {
        self.inner.ready_work(tenant).await
    }
    async fn schedules(&self, tenant: &TenantId) -> WorldResult<Vec<Schedule>> {
        self.inner.schedules(tenant).await
    }
    async fn node_types(&self, tenant: &TenantId) -> WorldResult<Vec<NodeType>> {
        self.inner.node_types(tenant).await
    }
    async fn workflows(&self, tenant: &TenantId) -> WorldResult<Vec<WorkflowRow>> {
        self.inner.workflows(tenant).await
    }
    async fn versions(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<VersionRow>> {
        self.inner.versions(tenant, workflow).await
    }
    async fn version_numbers(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<NumberedVersion>> {
        self.inner.version_numbers(tenant, workflow).await
    }
    async fn artifacts(&self, tenant: &TenantId) -> WorldResult<Vec<ArtifactRow>> {
        self.inner.artifacts(tenant).await
    }
    async fn tags(&self, tenant: &TenantId) -> WorldResult<Vec<TagMove>> {
        self.inner.tags(tenant).await
    }
    async fn tag_history(&self, tenant: &TenantId, tag: &str, limit: usize) -> WorldResult<Vec<TagMove>> {
        self.inner.tag_history(tenant, tag, limit).await
    }
    async fn workflow_patches(&self, tenant: &TenantId, workflow: &str) -> WorldResult<Vec<WorkflowPatch>> {
        self.inner.workflow_patches(tenant, workflow).await
    }
    async fn damage(&self, query: DamageQuery) -> WorldResult<Page<Damage>> {
        self.inner.damage(query).await
    }
    async fn health(&self) -> WorldResult<Health> {
        self.inner.health().await
    }
}

#[async_trait]
impl World for Forgetful {
    async fn now(&self) -> WorldResult<Timestamp> {
        self.inner.now().await
    }
    async fn register(&self, request: Register) -> WorldResult<()> {
        self.inner.register(request).await
    }
    async fn definition(&self, request: DefinitionQuery) -> WorldResult<Option<Definition>> {
        self.inner.definition(request).await
    }
    async fn create_runs(&self, request: CreateRuns) -> WorldResult<Vec<Creation>> {
        self.inner.create_runs(request).await
    }
    async fn enqueue_tasks(&self, request: EnqueueTasks) -> WorldResult<Vec<Creation>> {
        self.inner.enqueue_tasks(request).await
    }
    async fn deliver(&self, request: Deliver) -> WorldResult<Vec<Delivered>> {
        self.inner.deliver(request).await
    }
    async fn claim_runs(&self, request: ClaimRuns) -> WorldResult<ClaimedRuns> {
        self.inner.claim_runs(request).await
    }
    async fn find_due(&self, request: FindDue) -> WorldResult<FoundDue> {
        self.inner.find_due(request).await
    }
    async fn claim_tasks(&self, request: ClaimTasks) -> WorldResult<ClaimedTasks> {
        self.inner.claim_tasks(request).await
    }
    async fn commit(&self, request: Arc<Commit>) -> WorldResult<Committed> {
        let answer = self.inner.commit(request).await;
        if self.loses() { lost() } else { answer }
    }
    async fn finish_tasks(&self, request: FinishTasks) -> WorldResult<Vec<Finish>> {
        let refused = self.refuses.lock().unwrap().clone();
        if request.finished.iter().any(|finished| Some(&finished.task) == refused.as_ref()) {
            return Err(WorldError::Invalid("this result is not to be had".into()));
        }
        let answer = self.inner.finish_tasks(request).await;
        if self.loses() { lost() } else { answer }
    }
    async fn extend(&self, request: Extend) -> WorldResult<Extended> {
        self.inner.extend(request).await
    }
    async fn control(&self, request: ControlRequest) -> WorldResult<Controlled> {
        self.inner.control(request).await
    }
    async fn put_blob(&self, tenant: &TenantId, blob: &BlobRef, content: &[u8]) -> WorldResult<()> {
        if self.blobs_away.load(Ordering::SeqCst) {
            return lost();
        }
        self.inner.put_blob(tenant, blob, content).await
    }
    async fn read_blob(&self, tenant: &TenantId, blob: &BlobRef) -> WorldResult<Arc<[u8]>> {
        self.inner.read_blob(tenant, blob).await
    }
    fn wakeups(&self) -> Wakeups {
        self.inner.wakeups()
    }
    fn timer_batch_size(&self) -> usize {
        self.inner.timer_batch_size()
    }
    async fn upkeep(&self, request: Upkeep) -> WorldResult<UpkeepReport> {
        self.inner.upkeep(request).await
    }
}

/// A rig on such a world, with controls for its failures.
fn troubled(forgets: bool) -> (Rig, Arc<AtomicBool>, Arc<Mutex<Option<rhythm_core::TaskId>>>) {
    let (blobs_away, refuses) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
    let (away, refused) = (blobs_away.clone(), refuses.clone());
    let rig = Rig::with(|inner| {
        Arc::new(Forgetful { inner, forgets, calls: AtomicU32::new(1), blobs_away: away, refuses: refused })
    });
    (rig, blobs_away, refuses)
}

#[tokio::test]
async fn a_large_result_outlives_a_world_that_is_away() {
    let (rig, blobs_away, _) = troubled(false);
    rig.stage.on("a", |_, _| Ok(json!("x".repeat(100_000))));
    let task = rig.enqueue("a", json!({"retries": 1})).await;
    blobs_away.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        rig.one.round().await;
    }
    assert_eq!(state(&rig, &task).await, TaskState::Running, "the result waits, the attempt is not failed");
    blobs_away.store(false, Ordering::SeqCst);
    rig.settle().await;
    assert_eq!(state(&rig, &task).await, TaskState::Completed);
    assert_eq!(rig.stage.calls().len(), 1, "what was done is not done again");
}

#[tokio::test]
async fn a_result_the_world_refuses_takes_no_other_with_it_and_its_claim_is_let_go() {
    let (rig, _, refuses) = troubled(false);
    let mut tasks = Vec::new();
    for _ in 0..5 {
        tasks.push(rig.enqueue("a", json!({})).await);
    }
    *refuses.lock().unwrap() = Some(tasks[2].clone());
    rig.settle().await;
    for (place, task) in tasks.iter().enumerate() {
        let expected = if place == 2 { TaskState::Running } else { TaskState::Completed };
        assert_eq!(state(&rig, task).await, expected, "{place}");
    }
    assert_eq!(rig.one.worker.running(), 0, "nobody goes on renewing it");
    *refuses.lock().unwrap() = None;
    rig.run_for(Millis(31_000)).await;
    assert_eq!(state(&rig, &tasks[2]).await, TaskState::Completed);
}

#[tokio::test]
async fn a_failure_is_cut_to_what_can_be_kept() {
    let rig = Rig::new();
    rig.stage.on("a", |_, _| {
        let mut failure = rhythm_core::Failure::permanent("HUGE", "é".repeat(1_000_000));
        failure.data = Some(Payload::of(&"y".repeat(1_000_000)).unwrap());
        Err(failure)
    });
    let task = rig.enqueue("a", json!({})).await;
    rig.settle().await;
    let kept = rig.client.world().task(rig.client.tenant(), &task).await.unwrap().unwrap().failure.unwrap();
    assert!(kept.message.len() < 20_000 && kept.data.is_none(), "{}", kept.message.len());
    assert!(kept.message.contains("(cut)") && kept.message.contains("was left out"));
}

#[tokio::test]
async fn lost_answers_cause_no_second_effect() {
    let (rig, ..) = troubled(true);
    let run = rig
        .start(json!({"steps": [{"repeat": {"times": 10, "task": task("a")}}, {"parallel": [task("b"), task("c")]}]}))
        .await;
    let alone = rig.enqueue("undo", json!({})).await;
    rig.run_for(Millis(5_000)).await;
    assert_eq!(rig.output(&run).await.as_array().unwrap().len(), 11);
    assert_eq!(state(&rig, &alone).await, TaskState::Completed);
    let calls = rig.stage.calls();
    for (name, times) in [("a", 10), ("b", 1), ("c", 1), ("undo", 1)] {
        assert_eq!(calls.iter().filter(|call| *call == name).count(), times, "{name}");
    }
    assert_eq!(rig.picture(&run).await.dead, Vec::new());
}

#[tokio::test]
async fn an_attempt_that_stops_because_its_worker_does_is_handed_back() {
    let rig = Rig::new();
    let task = rig.enqueue("a", json!({"retries": 1})).await;
    let leaver = rig.another("leaver", |config| config);
    let attempt = leaver.worker.tick().await.unwrap().remove(0);
    leaver.worker.cancel_all(Cancellation::Shutdown);
    let result = Err(rhythm_core::Failure::new("STOPPED", "going home"));
    leaver.worker.settle(vec![Finished { task: attempt.task, result }]).await.unwrap();
    assert_eq!(state(&rig, &task).await, TaskState::Ready);
    rig.settle().await;
    assert_eq!(state(&rig, &task).await, TaskState::Completed);
}

#[tokio::test]
async fn a_task_past_its_deadline_is_not_executed() {
    let rig = Rig::new();
    let task = rig.enqueue("a", json!({"deadline": "1s"})).await;
    rig.pass(Millis(1_000));
    rig.settle().await;
    assert_eq!(state(&rig, &task).await, TaskState::Failed);
    assert!(rig.stage.calls().is_empty());
}

#[tokio::test]
async fn a_worker_that_starts_again_under_its_old_name_makes_new_commits() {
    let rig = Rig::new();
    let first = rig.another("fixed", |config| config).process.commit_id();
    let second = rig.another("fixed", |config| config).process.commit_id();
    assert_ne!(first, second, "or the world would take the second for a repetition of the first");
}

#[tokio::test]
async fn a_task_claimed_in_time_and_begun_too_late_is_not_executed() {
    let rig = Rig::new();
    rig.enqueue("a", json!({"deadline": "1s"})).await;
    rig.one.worker.beat(false).await.unwrap();
    let attempt = rig.one.worker.tick().await.unwrap().remove(0);
    rig.pass(Millis(1_000));
    let failure = attempt.perform(&rig.one.worker).await.unwrap_err();
    assert_eq!(failure.code, "DEADLINE_EXCEEDED");
    assert!(rig.stage.calls().is_empty());
}
