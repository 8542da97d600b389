//! A database of its own for each test, in the cluster `scripts/with-postgres.sh` started.
#![allow(dead_code, reason = "each test binary uses another part")]

use std::sync::Arc;

use async_trait::async_trait;
use rhythm_core::Timestamp;
use rhythm_engine::conformance::Stage;
use rhythm_engine::world::{ManualClock, World};
use rhythm_worlds::postgres::{PostgresOptions, PostgresWorld};
use tokio_postgres::{Client, NoTls};

pub struct PostgresStage {
    pub database: Database,
    clock: Arc<ManualClock>,
}

impl PostgresStage {
    pub async fn open() -> Self {
        // Noon of a day in a month that has partitions, however the real clock stands.
        let clock = ManualClock::at(Timestamp::from_millis(1_794_744_000_000));
        Self { database: Database::create().await, clock }
    }

    pub async fn world(&self) -> PostgresWorld {
        let options = PostgresOptions { clock: Some(self.clock.clone()), ..PostgresOptions::default() };
        PostgresWorld::connect(&self.database.url, options).await.expect("the world opens")
    }
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
        let cluster = cluster();
        let name = format!("test_{}", uuid::Uuid::now_v7().simple());
        sql(&cluster)
            .await
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .await
            .expect("a database is made");
        let (server, _) = cluster.rsplit_once('/').expect("the url names a database");
        Self { url: format!("{server}/{name}") }
    }

    pub async fn client(&self) -> Client {
        sql(&self.url).await
    }
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
