//! Number of connections a process takes, and its behaviour when the server has none left.

mod postgres_stage;

use std::sync::Arc;
use std::time::{Duration, Instant};

use postgres_stage::{Database, sql};
use rhythm_core::{Actor, Millis, TenantId, WorkerId};
use rhythm_engine::world::{
    Control, ControlRequest, Extend, Records, Upkeep, WorkerRegistration, World, WorldError, WorldResult,
};
use rhythm_worlds::postgres::{PostgresOptions, PostgresWorld};
use tokio_postgres::Client;

async fn open(database: &Database, parameters: &str, idle: Duration) -> Arc<PostgresWorld> {
    let options = PostgresOptions { idle, ..PostgresOptions::default() };
    let url = format!("{}{parameters}", database.url);
    Arc::new(PostgresWorld::connect(&url, options).await.expect("the world opens"))
}

/// Counts the connections of worlds.
struct Counter(Client);

impl Counter {
    async fn of(database: &Database) -> Self {
        Self(database.client().await)
    }

    async fn count(&self) -> i64 {
        let held = "SELECT count(*) FROM pg_stat_activity \
            WHERE application_name = 'rhythm' AND datname = current_database()";
        self.0.query_one(held, &[]).await.expect("the server answers").get(0)
    }

    /// Waits for this number of connections. A closed connection disappears a moment later.
    async fn until(&self, count: i64) {
        let give_up = Instant::now() + Duration::from_secs(30);
        while self.count().await != count {
            assert!(Instant::now() < give_up, "{} connections instead of {count}", self.count().await);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Sends every kind of request at once.
async fn busy(world: &Arc<PostgresWorld>) {
    let tasks = (0..8).map(|round| {
        let world = world.clone();
        tokio::spawn(async move { everything(&world, round).await })
    });
    for done in futures_util::future::join_all(tasks).await {
        done.expect("no panic").expect("the world answers");
    }
}

async fn everything(world: &PostgresWorld, round: usize) -> WorldResult<()> {
    let day = Millis::from_secs(86_400);
    world.now().await?;
    world.queues(&TenantId::default()).await?;
    world.workflows(&TenantId::default()).await?;
    world.health().await?;
    for upkeep in [
        Upkeep::Sweep { runs: 10, tasks: 10 },
        Upkeep::FindStuck { idle: day, limit: 10 },
        Upkeep::MarkUnserved { idle: day, limit: 10 },
        Upkeep::DueSchedules { limit: 10 },
        Upkeep::Prepare,
        Upkeep::Retain { keep: day, keep_failed: day, limit: 10 },
        Upkeep::CollectBlobs { grace: day, limit: 10 },
    ] {
        world.upkeep(upkeep).await?;
    }
    let control = Control::PauseQueue { queue: format!("q{round}") };
    let request = ControlRequest { tenant: TenantId::default(), actor: Actor::system(), control };
    world.control(request).await.map(|_| ())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_takes_three_connections_and_closes_the_third() {
    let database = Database::create().await;
    let world = open(&database, "", Duration::from_millis(300)).await;
    let counter = Counter::of(&database).await;
    counter.until(2).await;
    busy(&world).await;
    assert!(counter.count().await <= 3);
    // Slow reads open their connection again.
    counter.until(2).await;
    busy(&world).await;
    assert!(counter.count().await <= 3);
    drop(world);
    counter.until(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_says_how_many_connections_a_process_takes() {
    let database = Database::create().await;
    let counter = Counter::of(&database).await;
    for (count, steady) in [(1, 1), (2, 1), (5, 4), (8, 7)] {
        let parameters = format!("?connections={count}");
        let world = open(&database, &parameters, Duration::from_secs(30)).await;
        counter.until(steady).await;
        busy(&world).await;
        assert!(counter.count().await <= count, "{} of {count}", counter.count().await);
        drop(world);
        counter.until(0).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heartbeats_do_not_wait_for_reads_though_there_is_one_connection() {
    let database = Database::create().await;
    let world = open(&database, "?connections=1", Duration::from_secs(30)).await;
    let client = database.client().await;
    // Listing workflows waits for this lock, as it would for a long scan.
    client
        .batch_execute("BEGIN; LOCK TABLE rhythm.definition IN ACCESS EXCLUSIVE MODE")
        .await
        .expect("a lock");
    let reading = tokio::spawn({
        let world = world.clone();
        async move { world.workflows(&TenantId::default()).await.map(|_| ()) }
    });
    let waits = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'rhythm' \
        AND datname = current_database() AND wait_event_type = 'Lock')";
    while !client.query_one(waits, &[]).await.expect("the server answers").get::<_, bool>(0) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let began = Instant::now();
    world.extend(beat()).await.expect("a heartbeat");
    assert!(began.elapsed() < Duration::from_secs(3), "it took {:?}", began.elapsed());
    client.batch_execute("COMMIT").await.expect("the lock goes");
    reading.await.expect("no panic").expect("the read is tried again");
}

fn beat() -> Extend {
    let card = WorkerRegistration {
        id: WorkerId("w".to_owned()),
        host: "here".to_owned(),
        pid: 1,
        version: String::new(),
        queues: vec![],
        tasks: vec![],
        kinds: vec![],
        workflows: vec![],
        concurrency: 1,
        silence: Millis::from_secs(30),
    };
    let tenant = TenantId::default();
    let (running, hold) = (0, Millis::from_secs(30));
    Extend { tenant, card, running, hold, tasks: vec![], leaving: false }
}

#[tokio::test]
async fn a_server_that_is_full_says_so_at_the_start() {
    let database = Database::create().await;
    let role = format!("few_{}", uuid::Uuid::now_v7().simple());
    let admin = sql(&database.url).await;
    let made = format!("CREATE ROLE {role} LOGIN PASSWORD 'few' CONNECTION LIMIT 1");
    admin.batch_execute(&made).await.expect("a role is made");
    let grant = format!("GRANT ALL ON DATABASE {} TO {role}", database.name());
    admin.batch_execute(&grant).await.expect("it may do all");
    let (_, place) = database.url.split_once('@').expect("the url has a user");
    let url = format!("postgres://{role}:few@{place}");
    let first = PostgresWorld::connect(&format!("{url}?connections=1"), PostgresOptions::default()).await;
    let first = first.expect("there is room for one");
    for parameters in ["", "?connections=1"] {
        let second = PostgresWorld::connect(&format!("{url}{parameters}"), PostgresOptions::default()).await;
        let error = second.err().expect("there is no room");
        assert!(matches!(error, WorldError::Crowded(_)), "{error:?}");
        assert!(error.to_string().contains("takes no more connections"), "{error}");
        assert!(error.advice().contains("?connections=1"), "{}", error.advice());
    }
    first.now().await.expect("the first goes on");
    drop(first);
    // A process that wants more connections than there are fails when it opens the world, not when it has
    // work.
    let greedy = PostgresWorld::connect(&url, PostgresOptions::default()).await;
    assert!(matches!(greedy.err(), Some(WorldError::Crowded(_))));
}
