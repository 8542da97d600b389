//! A separate database for each test, in the cluster that `scripts/with-postgres.sh` started.
#![allow(dead_code, reason = "each test binary uses another part")]

use std::sync::Arc;

use async_trait::async_trait;
use rhythm_conformance::Stage;
use rhythm_core::Timestamp;
use rhythm_engine::world::{ManualClock, World};
use rhythm_worlds::postgres::{PostgresOptions, PostgresWorld};
use tokio_postgres::{Client, NoTls};

pub struct PostgresStage {
    pub database: Database,
    clock: Arc<ManualClock>,
}

impl PostgresStage {
    pub async fn open() -> Self {
        Self { database: Database::create().await, clock: Self::noon() }
    }

    /// Like `open`, on a copy of a migrated database: for tests that need hundreds of stages.
    pub async fn open_copy() -> Self {
        static MIGRATED: tokio::sync::OnceCell<String> = tokio::sync::OnceCell::const_new();
        let migrated = MIGRATED.get_or_init(migrated).await;
        Self { database: Database::copy_of(Some(migrated)).await, clock: Self::noon() }
    }

    fn noon() -> Arc<ManualClock> {
        // Noon of a day in a month that has partitions, whatever the real date is.
        ManualClock::at(Timestamp::from_millis(1_794_744_000_000))
    }

    pub async fn world(&self) -> PostgresWorld {
        let options = PostgresOptions { clock: Some(self.clock.clone()), ..PostgresOptions::default() };
        PostgresWorld::connect(&self.database.url, options).await.expect("the world opens")
    }
}

/// Opens a world with this clock, and returns it with its database.
pub async fn open_at(clock: Arc<ManualClock>) -> (Arc<dyn World>, PostgresStage) {
    let stage = PostgresStage::open_copy().await;
    // Lanes write in parallel: rows they create in the same millisecond have no order.
    let options = PostgresOptions { clock: Some(clock), lanes: 1, ..PostgresOptions::default() };
    let world = PostgresWorld::connect(&stage.database.url, options).await.expect("the world opens");
    (Arc::new(world), stage)
}

#[async_trait]
impl Stage for PostgresStage {
    async fn handle(&self) -> Arc<dyn World> {
        Arc::new(self.world().await)
    }

    fn clock(&self) -> &ManualClock {
        &self.clock
    }
}

/// An empty database, dropped with the cluster.
pub struct Database {
    pub url: String,
}

impl Database {
    pub async fn create() -> Self {
        Self::copy_of(None).await
    }

    async fn copy_of(template: Option<&str>) -> Self {
        let cluster = cluster();
        let name = format!("test_{}", uuid::Uuid::now_v7().simple());
        let of = template.map(|name| format!("TEMPLATE {name}")).unwrap_or_default();
        let made = sql(&cluster).await.batch_execute(&format!("CREATE DATABASE {name} {of}")).await;
        made.expect("a database is made");
        let (server, _) = cluster.rsplit_once('/').expect("the url names a database");
        Self { url: format!("{server}/{name}") }
    }

    pub fn name(&self) -> &str {
        self.url.rsplit('/').next().expect("the url names a database")
    }

    pub async fn client(&self) -> Client {
        sql(&self.url).await
    }
}

/// Makes a database with the schema, and returns its name. It must have no connections while it is copied.
async fn migrated() -> String {
    let stage = PostgresStage::open().await;
    drop(stage.world().await);
    let name = stage.database.url.rsplit('/').next().expect("the url names a database").to_owned();
    let cluster = sql(&cluster()).await;
    let end = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
    let left = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'");
    cluster
        .batch_execute(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"))
        .await
        .expect("it closes");
    cluster.batch_execute(&end).await.expect("connections end");
    while cluster.query_one(&left, &[]).await.expect("a count").get::<_, i64>(0) > 0 {
        tokio::task::yield_now().await;
    }
    name
}

/// A missing cluster fails the test: a test that cannot run proves nothing.
pub fn cluster() -> String {
    std::env::var("RHYTHM_TEST_POSTGRES")
        .expect("RHYTHM_TEST_POSTGRES is not set: run this under scripts/with-postgres.sh")
}

pub async fn sql(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("PostgreSQL answers");
    tokio::spawn(connection);
    client
}
