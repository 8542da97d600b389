//! Tests of what the SDK adds to the engine: typed handlers, workers that start and stop, typed results.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rhythm::{
    Backoff, EnqueueTask, Error, Millis, NodeType, Payload, RetryPolicy, Rhythm, TaskContext, TaskDefaults,
    TaskError, TaskOptions, WorkflowKind, codes,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    customer: String,
    cents: u32,
}

async fn world() -> Rhythm {
    Rhythm::open("sqlite::memory:").await.unwrap()
}

fn once(name: &str, input: &impl Serialize) -> EnqueueTask {
    let mut options = TaskOptions::default();
    options.retries.get_or_insert_default().max_attempts = 1;
    EnqueueTask { name: name.into(), input: Payload::of(input).unwrap(), options, ..EnqueueTask::default() }
}

fn failure(result: Result<serde_json::Value, Error>) -> rhythm::Failure {
    match result {
        Err(Error::Failed(failure)) => failure,
        other => panic!("{other:?}"),
    }
}

async fn eventually(what: &str, is_so: impl AsyncFn() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !is_so().await {
        assert!(Instant::now() < until, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn inputs_and_outputs_are_typed_in_async_and_blocking_handlers() {
    let rhythm = world().await;
    let worker = rhythm
        .worker()
        .task("raise", |_ctx, order: Order| async move {
            Ok::<_, TaskError>(Order { cents: order.cents + 1, ..order })
        })
        .blocking_task("name", |_ctx, order: Order| Ok::<_, TaskError>(order.customer))
        .start()
        .await
        .unwrap();
    let client = rhythm.client();
    let order = Order { customer: "Ann".into(), cents: 1 };
    let raised = client.enqueue("raise", &order).await.unwrap();
    let name = client.enqueue("name", &order).await.unwrap();
    assert_eq!(client.task_result::<Order>(&raised).await.unwrap().cents, 2);
    assert_eq!(client.task_result::<String>(&name).await.unwrap(), "Ann");
    let wrong = client.task_result::<u8>(&name).await.unwrap_err();
    assert_eq!(wrong.code(), codes::BAD_PAYLOAD);
    worker.stop().await.unwrap();
}

#[tokio::test]
async fn failures_keep_code_type_data_and_permanence() {
    let rhythm = world().await;
    let worker = rhythm
        .worker()
        .task("io", |_ctx, (): ()| async move { Err::<(), _>(std::io::Error::other("disk on fire")) })
        .task("declined", |_ctx, (): ()| async move {
            Err::<(), _>(TaskError::permanent("CARD", "declined").with_data(&["visa"]))
        })
        .blocking_task("panics", |_ctx, (): ()| -> Result<(), TaskError> { panic!("out of cheese") })
        .task("typed", |_ctx, order: Order| async move { Ok::<_, TaskError>(order.cents) })
        .start()
        .await
        .unwrap();
    let client = rhythm.client();
    let ended = async |task: EnqueueTask| {
        let task = client.enqueue_task(task).await.unwrap();
        failure(client.task_result(&task).await)
    };
    let io = ended(once("io", &())).await;
    assert_eq!((io.code.as_str(), io.kind.as_str()), (codes::FAILED, "io::Error"));
    // Three attempts, the default, would take seconds. This failure is permanent, so there is one.
    let declined = ended(EnqueueTask { options: TaskOptions::default(), ..once("declined", &()) }).await;
    assert_eq!((declined.code.as_str(), declined.attempts), ("CARD", 1));
    assert_eq!(declined.data.unwrap().text(), Some("[\"visa\"]"));
    let panic = ended(once("panics", &())).await;
    assert_eq!((panic.code.as_str(), panic.message.as_str()), (codes::PANIC, "out of cheese"));
    let bad =
        EnqueueTask { options: TaskOptions::default(), ..once("typed", &serde_json::json!({"customer": 1})) };
    let bad = ended(bad).await;
    assert_eq!((bad.code.as_str(), bad.attempts), (codes::BAD_PAYLOAD, 1));
    assert!(bad.message.contains("customer: invalid type"), "{bad}");
    worker.stop().await.unwrap();
}

#[tokio::test]
async fn a_handler_may_say_how_often_its_tasks_are_tried() {
    let rhythm = world().await;
    let policy = |max_attempts| RetryPolicy {
        max_attempts,
        initial_delay: Millis(1),
        backoff: Backoff::Constant,
        ..RetryPolicy::default()
    };
    let defaults = TaskDefaults { retries: Some(policy(5)), ..TaskDefaults::default() };
    let worker = rhythm
        .worker()
        .task("fails", |_ctx, (): ()| async move { Err::<(), _>(TaskError::new("not today")) })
        .task_defaults("fails", defaults)
        .start()
        .await
        .unwrap();
    let client = rhythm.client();
    let attempts = async |retries: Option<RetryPolicy>| {
        let options = TaskOptions { retries, ..TaskOptions::default() };
        let task = EnqueueTask { options, ..once("fails", &()) };
        failure(client.task_result(&client.enqueue_task(task).await.unwrap()).await).attempts
    };
    assert_eq!(attempts(None).await, 5);
    assert_eq!(attempts(Some(policy(2))).await, 2, "the task's own word comes first");
    // A script may set the retries of its tasks in front matter; without front matter the handler's defaults
    // apply.
    let run = async |name: &str, front: &str| {
        let script = r#"try { await Task.run("fails", null) } catch (e) { return e.attempts }"#;
        let source = format!("```\nname: {name}\n{front}```\n{script}\n");
        client.register(name, WorkflowKind::Flow, &source).await.unwrap();
        let run = client.start(name, &()).await.unwrap();
        client.result::<u32>(&run).await.unwrap()
    };
    assert_eq!(run("silent", "").await, 5);
    let refused = client.register("broken", WorkflowKind::Flow, "let let").await.unwrap_err();
    assert!(refused.to_string().contains("broken:1:5"), "{refused}");
    assert_eq!(run("outspoken", "retries: { max_attempts: 3, initial_delay: 1ms }\n").await, 3);
    worker.stop().await.unwrap();
}

#[tokio::test]
async fn a_queue_limit_holds() {
    let rhythm = world().await;
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, peak) = (running.clone(), most.clone());
    let worker = rhythm
        .worker()
        .queue_limit("narrow", 2)
        .task("count", move |_ctx, (): ()| {
            let (counted, peak) = (counted.clone(), peak.clone());
            async move {
                let now = counted.fetch_add(1, Ordering::SeqCst) + 1;
                peak.fetch_max(now, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(5)).await;
                counted.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, TaskError>(())
            }
        })
        .start()
        .await
        .unwrap();
    let client = rhythm.client();
    let narrow = TaskOptions { queue: "narrow".into(), ..TaskOptions::default() };
    let tasks = (0..20).map(|_| EnqueueTask { options: narrow.clone(), ..once("count", &()) }).collect();
    for task in client.enqueue_tasks(tasks).await.unwrap() {
        client.task_result::<()>(&task).await.unwrap();
    }
    assert_eq!(most.load(Ordering::SeqCst), 2);
    worker.stop().await.unwrap();
}

#[tokio::test]
async fn a_worker_stops_with_its_future_and_with_its_handle() {
    let rhythm = world().await;
    let client = rhythm.client();
    let listed = async || client.world().workers(client.tenant()).await.unwrap().len();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(rhythm.worker().run_until(async move { drop(stopped.await) }));
    eventually("it is listed", async || listed().await == 1).await;
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
    assert_eq!(listed().await, 0);
    let worker = rhythm.worker().id("by-hand").start().await.unwrap();
    assert_eq!(worker.id().as_str(), "by-hand");
    assert_eq!(listed().await, 1);
    drop(worker);
    eventually("it has left", async || listed().await == 0).await;
}

#[tokio::test]
async fn a_run_gives_a_typed_result_and_remembers_who_asked() {
    let rhythm =
        Rhythm::builder().world("sqlite::memory:").tenant("shop").actor("user:ann").open().await.unwrap();
    let worker = rhythm
        .worker()
        .task("double", |_ctx: TaskContext, number: u32| async move { Ok::<_, TaskError>(number * 2) })
        .start()
        .await
        .unwrap();
    let client = rhythm.client();
    let source = r#"{"steps": [{"task": {"name": "double", "input": 21}}]}"#;
    client.register("sum", WorkflowKind::Drill, source).await.unwrap();
    let run = client.start("sum", &()).await.unwrap();
    let result: serde_json::Value = client.result(&run).await.unwrap();
    assert!(result.to_string().contains("42"), "{result}");
    let history = client.history(&run).await.unwrap();
    assert_eq!(history[0].actor.0, "user:ann");
    worker.stop().await.unwrap();
}

#[tokio::test]
async fn a_worker_brings_its_node_types_along() {
    let rhythm = world().await;
    let scorer: NodeType = serde_json::from_value(json!({"name": "scorer", "queue": "models"})).unwrap();
    let worker = rhythm
        .worker()
        .queue("models")
        .node_type(scorer)
        .task("scorer", |_ctx: TaskContext, given: serde_json::Value| async move {
            Ok::<_, TaskError>(given["config"]["base"].as_u64().unwrap_or_default() + 2)
        })
        .start()
        .await
        .unwrap();
    let client = rhythm.client();
    let graph = json!({"nodes": [{"id": "score", "type": "scorer", "config": {"base": 40}}]}).to_string();
    client.register("lead", WorkflowKind::Graph, &graph).await.unwrap();
    let run = client.start("lead", &()).await.unwrap();
    assert_eq!(client.result::<u64>(&run).await.unwrap(), 42);
    worker.stop().await.unwrap();

    let built_in: NodeType = serde_json::from_value(json!({"name": "delay"})).unwrap();
    let refused = rhythm.worker().node_type(built_in).start().await.err().unwrap();
    assert!(refused.to_string().contains("built in"), "{refused}");
}

#[tokio::test]
async fn a_type_with_max_concurrency_bounds_its_queue_in_the_worker_that_brings_it_along() {
    let rhythm = world().await;
    let bounded = json!({"name": "scorer", "queue": "models", "capabilities": {"max_concurrency": 1}});
    let scorer: NodeType = serde_json::from_value(bounded).unwrap();
    let (under_way, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (now, seen) = (under_way.clone(), most.clone());
    let worker = rhythm
        .worker()
        .queue("models")
        .node_type(scorer)
        .task("scorer", move |_ctx: TaskContext, _: serde_json::Value| {
            let (now, seen) = (now.clone(), seen.clone());
            async move {
                seen.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                // Gives a second task the chance to begin now, if the limit does not hold.
                for _ in 0..1_000 {
                    tokio::task::yield_now().await;
                }
                now.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, TaskError>(1)
            }
        })
        .start()
        .await
        .unwrap();
    let client = rhythm.client();
    let graph = json!({"nodes": [{"id": "score", "type": "scorer"}]}).to_string();
    client.register("lead", WorkflowKind::Graph, &graph).await.unwrap();
    let mut runs = Vec::new();
    for _ in 0..8 {
        runs.push(client.start("lead", &()).await.unwrap());
    }
    for run in &runs {
        assert_eq!(client.result::<u64>(run).await.unwrap(), 1);
    }
    assert_eq!((most.load(Ordering::SeqCst), under_way.load(Ordering::SeqCst)), (1, 0));
    worker.stop().await.unwrap();
}

#[tokio::test]
async fn a_world_that_cannot_be_opened_says_why() {
    let code = async |url: &str| Rhythm::open(url).await.err().unwrap().code().to_owned();
    assert_eq!(code("mysql://host/db").await, "WORLD013");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.txt");
    std::fs::write(&file, "these are notes, no database at all ".repeat(100)).unwrap();
    assert_eq!(code(&format!("sqlite:{}", file.display())).await, "WORLD019");
    let fresh =
        Rhythm::builder().world(format!("sqlite:{}/new.db", folder.path().display())).auto_migrate(false);
    assert_eq!(fresh.open().await.err().unwrap().code(), "WORLD011");
}
