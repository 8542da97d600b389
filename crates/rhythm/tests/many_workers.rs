//! 200 workers on one PostgreSQL server that allows 300 connections. Each worker has one connection.

#[path = "../../worlds/tests/private_server/mod.rs"]
mod private_server;

use std::sync::Arc;
use std::time::Duration;

use private_server::PrivateServer;
use rhythm::{Rhythm, RunningWorker, TaskContext, TaskError};
use tokio::sync::Barrier;

const WORKERS: usize = 200;

/// Returns the number of connections that workers hold, and the server's `max_connections`.
async fn connections(url: &str) -> (i64, i64) {
    let (client, connection) = rhythm_worlds::postgres::connect(url).await.expect("it answers");
    tokio::spawn(connection);
    let asked = "SELECT count(*), current_setting('max_connections')::bigint \
        FROM pg_stat_activity WHERE application_name = 'rhythm' AND pid <> pg_backend_pid()";
    let row = client.query_one(asked, &[]).await.expect("it answers");
    (row.get(0), row.get(1))
}

async fn worker(url: String, barrier: Arc<Barrier>) -> RunningWorker {
    let rhythm = Rhythm::open(&url).await.expect("there is room for all");
    let meet = move |_: TaskContext, (): ()| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            Ok::<_, TaskError>(())
        }
    };
    let worker = rhythm.worker().concurrency(1).task("meet", meet);
    let worker = worker.task("double", |_, number: u64| async move { Ok::<_, TaskError>(number * 2) });
    worker.start().await.expect("it starts")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_workers_with_a_connection_each_do_their_work() {
    let server = PrivateServer::start();
    let rhythm = Rhythm::open(&server.url).await.expect("the server answers");
    let barrier = Arc::new(Barrier::new(WORKERS));
    let url = format!("{}?connections=1", server.url);
    let mut workers = Vec::new();
    for _ in 0..10 {
        let opening = (0..WORKERS / 10).map(|_| tokio::spawn(worker(url.clone(), barrier.clone())));
        for opened in opening.collect::<Vec<_>>() {
            workers.push(opened.await.expect("no panic"));
        }
    }
    let (held, most) = connections(&server.url).await;
    assert_eq!(most, 300);
    assert!(held <= WORKERS as i64 + 3, "{held} connections");
    let client = rhythm.client();
    // The barrier opens only when all workers have one of these tasks: so all of them have work at the same
    // time.
    let mut meetings = Vec::new();
    for _ in 0..WORKERS {
        meetings.push(client.enqueue("meet", &()).await.expect("it is enqueued"));
    }
    let met = async {
        for task in &meetings {
            client.task_result::<()>(task).await.expect("they meet");
        }
    };
    tokio::time::timeout(Duration::from_secs(120), met).await.expect("some never got work");
    let mut doubled = Vec::new();
    for number in 0..400_u64 {
        doubled.push((number, client.enqueue("double", &number).await.expect("it is enqueued")));
    }
    for (number, task) in doubled {
        assert_eq!(client.task_result::<u64>(&task).await.expect("it is done"), number * 2);
    }
    // One more process still gets a connection while all workers hold theirs.
    let another = Rhythm::open(&server.url).await.expect("a command finds room");
    drop(another);
    let (held, _) = connections(&server.url).await;
    assert!(held <= WORKERS as i64 + 6, "{held} connections");
    for worker in workers {
        worker.stop().await.expect("it stops");
    }
}
